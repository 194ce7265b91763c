// The options of the chosen method: what stands in the form, and what changes it.
const test = require("node:test");
const assert = require("node:assert/strict");
const { S } = require("./load.js");

const { withMethod, filledWith, sliderRange } = S;

test("another method is chosen and the options of all others stay", () => {
  const held = '{"method":"model","options":{"model.branching":"3,2"}}';
  assert.deepEqual(JSON.parse(withMethod(held, "ngram")), { method: "ngram", options: { "model.branching": "3,2" } });
  assert.deepEqual(JSON.parse(withMethod("", "ngram")), { method: "ngram", options: {} });
});

test("a value from outside fills what it names and leaves the rest", () => {
  const before = { method: "model", options: { "model.branching": "3,2", "ngram.longest": 4 } };
  assert.deepEqual(filledWith(before, '{"method":"ngram","options":{"ngram.longest":5}}'), {
    method: "ngram",
    options: { "model.branching": "3,2", "ngram.longest": 5 },
  });
  assert.deepEqual(filledWith(before, '{"options":{}}'), before);
});

test("a slider is for ranges of at most 256; whole numbers step by one", () => {
  assert.deepEqual(sliderRange({ type: "int", minimum: 1, maximum: 257 }), [1, 257, 1]);
  assert.deepEqual(sliderRange({ type: "float", minimum: 0, maximum: 1 }), [0, 1, 0.01]);
  assert.equal(sliderRange({ type: "int", minimum: 1, maximum: 258 }), null);
  assert.equal(sliderRange({ type: "int", minimum: 1 }), null);
});
