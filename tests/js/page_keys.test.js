const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

test("arrows walk a row of tabs in a ring, Home and End lead to its ends, other keys nowhere", () => {
  assert.equal(S.tabAt("ArrowRight", 1, 4), 2);
  assert.equal(S.tabAt("ArrowRight", 3, 4), 0);
  assert.equal(S.tabAt("ArrowLeft", 0, 4), 3);
  assert.equal(S.tabAt("Home", 2, 4), 0);
  assert.equal(S.tabAt("End", 2, 4), 3);
  assert.equal(S.tabAt(" ", 2, 4), null);
});

test("signs for what one cannot see are said in words", () => {
  assert.equal(S.spoken("␣M"), "space M");
  assert.equal(S.spoken("␣␣␣␣"), "4 spaces");
  assert.equal(S.spoken("␣×12"), "12 spaces");
  assert.equal(S.spoken("a⏎"), "a line break");
  assert.equal(S.spoken("⇥␣x, accepted, after ␣"), "tab space x, accepted, after space");
  assert.equal(S.spoken("It goes on with \u2068␣-\u2069."), "It goes on with \u2068space -\u2069.");
  assert.equal(S.spoken("plain  words"), "plain words");
});
