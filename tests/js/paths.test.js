// A draft's shape as text, and one node more or less of it.
const test = require("node:test");
const assert = require("node:assert/strict");
const { S } = require("./load.js");

const paths = (text) => S.readPaths(text).paths;
const child = (text, above) => S.pathsText(S.withChild(paths(text), above));
const without = (text, leaf) => {
  const left = S.withoutLeaf(paths(text), leaf);
  return left && S.pathsText(left);
};

test("a list reads in any order and in either form, and is written level by level", () => {
  assert.deepEqual(paths("0,0; 1; 0"), [[0], [1], [0, 0]]);
  assert.deepEqual(paths("[[0], [0, 0], (1,)]"), [[0], [1], [0, 0]]);
  assert.equal(S.pathsText([[0, 0], [10], [2]]), "2; 10; 0,0");
});

test("a press adds a child after those there are", () => {
  assert.equal(child("0", []), "0; 1");
  assert.equal(child("0; 1; 0,0", [0]), "0; 1; 0,0; 0,1");
  assert.equal(child("0; 5", []), "0; 5; 6");
});

test("a removed leaf leaves no rank out: later siblings move up with all below them", () => {
  assert.equal(without("0; 1; 2; 1,0; 1,0,0; 2,0", [0]), "0; 1; 0,0; 1,0; 0,0,0");
  assert.equal(without("0; 1; 0,0; 0,1", [0, 1]), "0; 1; 0,0");
});

test("where ranks were left out before, the others keep theirs", () => {
  assert.equal(without("0; 2; 5", [2]), "0; 5");
});

test("the root, a node with children and the last candidate stay", () => {
  assert.equal(without("0; 1", []), null);
  assert.equal(without("0; 0,0", [0]), null);
  assert.equal(without("0", [0]), null);
});

test("every preset reads back as itself", () => {
  for (const [words, text] of Object.entries(S.PRESETS)) {
    assert.equal(S.readPaths(text).problem, "", words);
    assert.equal(S.pathsText(paths(text)), text);
  }
  assert.deepEqual(
    Object.values(S.PRESETS).map((text) => paths(text).length),
    [4, 12],
  );
});

test("a parent stands between its first and its last child, a leaf in a row of its own", () => {
  const { spots, rows } = S.placed(paths("0; 1; 0,0; 0,1"));
  assert.equal(rows, 3);
  assert.deepEqual(
    spots.map((spot) => [spot.key, spot.depth, spot.row]),
    [
      ["", 0, 1.25],
      ["0", 1, 0.5],
      ["0,0", 2, 0],
      ["0,1", 2, 1],
      ["1", 1, 2],
    ],
  );
});
