// Which words of a text are terms. What happens in the page is tested in a browser.
const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

const found = (text) => S.termParts(text).flatMap((part) => (part.entry ? [`${part.text}: ${part.entry.term}`] : []));

test("the longest term wins, each once, plurals too, and the text stays what it was", () => {
  const text = "One target pass scores the root; target passes cost, says the target. Rounds, a round and roundabouts.";
  assert.deepEqual(found(text), ["target pass: target pass", "root: root", "target: target", "Rounds: round"]);
  assert.equal(
    S.termParts(text)
      .map((part) => part.text)
      .join(""),
    text,
  );
});

test("letters are terms only where they stand alone", () => {
  assert.deepEqual(found("p of it, q and u"), []);
  assert.deepEqual(
    S.entriesOf("q").map((entry) => entry.term),
    ["p, q"],
  );
  assert.deepEqual(
    S.entriesOf("speculation length γ").map((entry) => entry.term),
    ["speculation length γ"],
  );
  assert.deepEqual(S.entriesOf("nothing"), []);
});

test("every entry has a meaning", () => {
  assert.ok(S.GLOSSARY.length > 50);
  for (const entry of S.GLOSSARY) assert.ok(entry.meaning.length > 5 && entry.written.length > 0, entry.term);
});
