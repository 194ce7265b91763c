// Every branch of runs on toy models: which rules write the target's law, and that one which does not is found out.
const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

const NONE = 1e-6; // of probabilities in float32
const model = (options) => (one) =>
  new S.ModelDrafter({ draw: "auto", ...options }, { model: one, target: one, network: null });
const CHAIN = model({ gamma: 2 });
const TREE = model({ branching: [2, 1] });

test("runs of the chain rule write every text with the target's probability", () => {
  const { branches, texts, distance } = S.chainRule();
  assert.equal(texts, 27);
  assert.ok(branches > 100, `${branches} branches`);
  assert.ok(distance < NONE, `${distance} apart`);
});

test("so do those of other lossless rules, over chains and trees", () => {
  for (const [rule, drafter] of [
    ["naive", CHAIN],
    ["naive", TREE],
    ["sequential", TREE],
    ["specinfer", CHAIN],
  ]) {
    const { distance } = S.enumerate({ rule, drafter, length: 2 });
    assert.ok(distance < NONE, `${rule} is ${distance} apart`);
  }
});

test("a rule that accepts too gladly is told from them", () => {
  const { distance } = S.enumerate({ rule: "lenience", drafter: CHAIN, options: { lenience: 0.3 }, length: 2 });
  assert.ok(distance > 0.01, `${distance} apart`);
});
