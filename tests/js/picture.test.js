const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

const trace = (...rounds) => ({
  started: { scene: { shapes: [], places: [2], grounded: [7, 9] } },
  rounds: rounds.map((tokens) => ({ committed: { tokens: tokens.map(([token, origin]) => ({ token, origin })) } })),
});
const RUN = trace(
  [
    [5, "draft"],
    [7, "correction"],
  ],
  [
    [7, "draft"],
    [5, "draft"],
    [9, "correction"],
    [9, "bonus"],
    [5, "target"],
  ],
);

test("a shape's path covers whole pixels around its centre", () => {
  const small = { size: "small", x: 10, y: 20 };
  assert.equal(S.shapePath({ ...small, shape: "square" }), "M7,17H14V24H7Z");
  assert.equal(S.shapePath({ ...small, shape: "triangle" }), "M10.5,17L14,24H7Z");
  assert.equal(S.shapePath({ ...small, shape: "circle" }), "M7,20.5a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0");
  assert.match(S.shapePath({ ...small, shape: "cross" }), /^M9,17H12V19H14V22H12V24H9V22H7V19H9Z$/);
});

test("a shape or size that is not known has no path", () => {
  assert.equal(S.shapePath({ size: "small", shape: "star", x: 1, y: 1 }), null);
  assert.equal(S.shapePath({ size: "huge", shape: "circle", x: 1, y: 1 }), null);
});

test("places count by the token that came out, as in studies/captions", () => {
  assert.deepEqual(S.groundedSplit(RUN), { grammar: { accepted: 2, judged: 2 }, grounded: { accepted: 1, judged: 3 } });
  assert.deepEqual(S.groundedSplit(RUN, 1), {
    grammar: { accepted: 1, judged: 1 },
    grounded: { accepted: 0, judged: 1 },
  });
});

test("the split is told as a sentence, and nothing judged is said so", () => {
  assert.equal(
    S.splitWords(S.groundedSplit(RUN)),
    "Drafts so far: 2 of 2 grammar tokens accepted, 1 of 3 that the picture decides.",
  );
  assert.equal(S.splitWords(S.groundedSplit(RUN, 0)), "No draft was judged yet.");
});

test("without a picture no token is decided by one", () => {
  assert.equal(S.isGrounded({ started: {} }, 7), false);
  assert.equal(S.isGrounded(RUN, 7), true);
  assert.equal(S.isGrounded(RUN, 5), false);
});
