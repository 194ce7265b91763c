const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

const bytes = (...values) => Uint8Array.from(values);
const traceOf = (...tokens) => ({
  vocab: Object.fromEntries(
    tokens.map((token, id) => [id, { bytes: Buffer.from(token).toString("base64"), text: "" }]),
  ),
});

test("a character belongs to the token that completes it", () => {
  const trace = traceOf([0x61], [0xf0, 0x9f], [0x9a, 0x80, 0x21]);
  assert.deepEqual(S.pieces(trace, [0, 1, 2]).texts, ["a", "", "🚀!"]);
});

test("an unfinished character waits, an undecodable byte shows at once", () => {
  assert.deepEqual(S.complete(bytes(), bytes(0x61, 0xe2, 0x80)), { text: "a", pending: bytes(0xe2, 0x80) });
  assert.deepEqual(S.complete(bytes(0xe2, 0x80), bytes(0x8b)), { text: "\u200b", pending: bytes() });
  assert.deepEqual(S.complete(bytes(), bytes(0xff)), { text: "\ufffd", pending: bytes() });
  assert.deepEqual(S.complete(bytes(), bytes(0x80, 0x41)), { text: "\ufffdA", pending: bytes() });
  assert.deepEqual(S.complete(bytes(0xc3), bytes(0x41)), { text: "\ufffdA", pending: bytes() });
});

test("a byte order mark is a character like others", () => {
  assert.equal(S.complete(bytes(), bytes(0xef, 0xbb, 0xbf, 0x61)).text, "\ufeffa");
});

test("blanks and what nobody can see become signs", () => {
  assert.equal(S.visible(" a\n\t"), "␣a⏎⇥");
  assert.equal(S.visible("\u202e\u200b\u0000"), "‹202E›‹200B›‹0000›");
  assert.equal(S.visible("\u2068\u2069"), "‹2068›‹2069›");
  assert.equal(S.visible("            "), "␣×12");
  assert.equal(S.visible("é🚀אב"), "é🚀אב");
});

test("a piece of a character shows its bytes, an empty token says so", () => {
  assert.equal(S.visible("", bytes(0xf0, 0x9f)), "⟨F0·9F⟩");
  assert.equal(S.visible("\ufffd\ufffd", bytes(0x20, 0x91, 0x41, 0xe2, 0x80)), "␣⟨91⟩A⟨E2·80⟩");
  assert.equal(S.visible("🚀", bytes(0x9a, 0x80)), "🚀");
  assert.equal(S.visible("", bytes()), "(empty)");
});

test("shortening never cuts inside a character", () => {
  assert.equal(S.short("🚀🚀🚀", 2), "🚀…");
  assert.equal(S.short("🚀🚀", 2), "🚀🚀");
});

test("bytes that can no longer become a character are not waited with", () => {
  for (const [bytes, text, left] of [
    [[0xf0, 0x80], "\ufffd\ufffd", 0],
    [[0xf0, 0x9f, 0x98], "", 3],
    [[0xe2, 0x82], "", 2],
    [[0x41, 0xc3], "A", 1],
    [[0xed, 0xa0], "\ufffd\ufffd", 0],
    [[0xff, 0xc3, 0xa9], "\ufffdé", 0],
  ]) {
    const step = S.complete(new Uint8Array(), Uint8Array.from(bytes));
    assert.deepStrictEqual([step.text, step.pending.length], [text, left]);
  }
});
