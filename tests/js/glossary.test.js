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

test("what a panel draws it brings itself: each place of terms is named by the panel that draws it", () => {
  const fs = require("node:fs");
  const { files } = require("./load.js");
  const areas = fs.readFileSync(files.specviz, "utf-8");
  const named = new Set();
  for (const [script, file] of Object.entries(files)) {
    const text = fs.readFileSync(file, "utf-8");
    const call = /bringsTerms\(\{[^]*?\}\);/.exec(text);
    for (const [place] of (call ? call[0] : "").matchAll(/\.svp-[^"]+/g)) {
      const drawn = text.replace(call[0], "");
      const classes = place.match(/(?<=\.svp-)[\w-]+/g).filter((name) => name !== "small");
      const known = classes.some((name) => drawn.includes(`svp-${name}`) || areas.includes(`area("${name}"`));
      assert.ok(known && file.includes("panels"), `${script}.js names ${place} and draws nothing of it`);
      named.add(place);
    }
  }
  assert.ok(named.size >= 12);
  const places = [...S.termPlaces.sentences, ...S.termPlaces.labels];
  for (const place of named) assert.ok(places.includes(place), place);
});
