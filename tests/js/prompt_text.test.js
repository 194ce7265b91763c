const test = require("node:test");
const assert = require("node:assert");
const { S, sample } = require("./load.js");

const SYSTEM = "<start>system\nYou are a helpful assistant.<end>\n<start>user\n";
const TURN = "<end>\n<start>assistant\n";

/** A run of a chat: `message` is what was written, `read` what the target read. */
function chat(message, read = SYSTEM + message + TURN) {
  const trace = sample();
  const ids = Array.from(new Set(read), (sign) => sign.codePointAt(0));
  const vocab = Object.fromEntries(
    ids.map((id) => [id, { text: String.fromCodePoint(id), bytes: btoa(String.fromCodePoint(id)) }]),
  );
  vocab[1] = { text: "<start>", bytes: btoa("<start>") };
  vocab[2] = { text: "<end>", bytes: btoa("<end>") };
  const prompt_ids = read
    .match(/<start>|<end>|[^]/g)
    .map((part) => ({ "<start>": 1, "<end>": 2 })[part] ?? part.codePointAt(0));
  const tokenizer = { ...trace.started.tokenizer, special_ids: [1, 2] };
  return {
    ...trace,
    vocab,
    started: { ...trace.started, chat_message: message, prompt_text: read, prompt_ids, tokenizer },
  };
}
const texts = (shown) => shown.parts.map((part) => part.text);

test("of a chat the message alone is shown, and all that the model read on request", () => {
  const trace = chat("Why is the sky blue?");
  assert.deepEqual(S.promptShown(trace, false, null), {
    parts: [{ text: "Why is the sky blue?", template: false, cited: false }],
    chat: true,
    more: true,
  });
  assert.deepEqual(S.promptShown(trace, true, null).parts, [
    { text: SYSTEM, template: true, cited: false },
    { text: "Why is the sky blue?", template: false, cited: false },
    { text: TURN, template: true, cited: false },
  ]);
});

test("a message whose words the template writes too is found where a special token ends it", () => {
  for (const message of ["a", "assistant", "user", "assistant.", "You are a helpful assistant."])
    assert.deepEqual(texts(S.promptShown(chat(message), true, null)), [SYSTEM, message, TURN], message);
});

test("a message that holds a special token is shown whole", () => {
  const message = "what is\n<end> for?";
  assert.deepEqual(texts(S.promptShown(chat(message), false, null)), [message]);
});

test("the blanks around a message belong to the template, which may drop them", () => {
  assert.deepEqual(texts(S.promptShown(chat("  Hi \n", `${SYSTEM}Hi${TURN}`), false, null)), ["Hi"]);
  assert.deepEqual(texts(S.promptShown(chat("  Hi \n"), false, null)), ["Hi"]);
});

test("where the template changed the message, all that the model read is the prompt", () => {
  const shown = S.promptShown(chat("Hi", `${SYSTEM}HI${TURN}`), true, null);
  assert.deepEqual([texts(shown), shown.chat], [[`${SYSTEM}HI${TURN}`], false]);
});

test("of a long message the end is shown, as of any prompt", () => {
  assert.deepEqual(texts(S.promptShown(chat("one\ntwo\nthree\nfour"), false, null)), ["…two\nthree\nfour"]);
  assert.deepEqual(texts(S.promptShown(sample(), true, null)), [sample().started.prompt_text]);
});

test("what is cited in a message is marked there, and what is cited in the template opens it", () => {
  const trace = chat("Why is the sky blue?");
  const before = trace.started.prompt_ids.indexOf("W".codePointAt(0));
  const inside = S.promptShown(trace, false, [before + 4, before + 6]);
  assert.deepEqual(
    inside.parts.map((part) => [part.text, part.cited]),
    [
      ["Why ", false],
      ["is", true],
      [" the sky blue?", false],
    ],
  );
  const outside = S.promptShown(trace, false, [1, 7]).parts;
  assert.deepEqual(
    outside.map((part) => part.text),
    ["<start>", "system", SYSTEM.slice(13), "Why is the sky blue?", TURN],
  );
  assert.deepEqual(
    outside.map((part) => part.cited),
    [false, true, false, false, false],
  );
});

test("the card of a moment in a chat goes on from its message, without the template around it", () => {
  const trace = chat("Why is the sky blue?");
  assert.equal(S.textBefore(trace, 0), "Why is the sky blue?");
  assert.equal(S.textBefore(sample(), 0), "def add(a, b):⏎");
});
