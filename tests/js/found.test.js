// Rounds that were looked for, and how the player steps through them.
const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

test("from a found round one goes to the one before and the one after", () => {
  assert.deepStrictEqual(S.foundPlace([1, 4, 7], 4), { at: 2, of: 3, back: 1, on: 7 });
});

test("from another round too, and not beyond either end", () => {
  assert.deepStrictEqual(S.foundPlace([1, 4, 7], 5), { at: 0, of: 3, back: 4, on: 7 });
  assert.deepStrictEqual(S.foundPlace([1, 4, 7], 7), { at: 3, of: 3, back: 4, on: null });
  assert.deepStrictEqual(S.foundPlace([1, 4, 7], 0), { at: 0, of: 3, back: null, on: 1 });
});
