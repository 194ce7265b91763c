// Every branch of runs on toy models: which rules write the target's law, and that one which does not is found out.
const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

const NONE = 1e-6; // of probabilities in float32
const model = (options) => (one) =>
  new S.ModelDrafter({ draw: "auto", ...options }, { model: one, target: one, network: null });
const CHAIN = model({ gamma: 2 });
const TREE = model({ branching: [2, 1] });
const FORK = model({ branching: [1, 2] });
const PAIRS = model({ branching: [2, 1], draw: "iid" });

test("runs of the chain rule write every text with the target's probability", () => {
  const { branches, texts, distance } = S.chainRule();
  assert.equal(texts, 27);
  assert.ok(branches > 100, `${branches} branches`);
  assert.ok(distance < NONE, `${distance} apart`);
});

test("so do those of other lossless rules, over chains and trees", () => {
  const cases = [
    ["naive", CHAIN, 3, 2],
    ["naive", TREE, 3, 2],
    ["sequential", TREE, 3, 2],
    ["specinfer", CHAIN, 3, 2],
    ["block", CHAIN, 2, 3],
    ["traversal", CHAIN, 2, 3],
    ["traversal", FORK, 2, 3],
    ["kseq", PAIRS, 2, 3],
  ];
  for (const [rule, drafter, vocab, length] of cases) {
    const { distance } = S.enumerate({ rule, drafter, vocab, length, options: { survivors: 1 } });
    assert.ok(distance < NONE, `${rule} is ${distance} apart`);
  }
});

test("rules that accept too gladly are told from them", () => {
  for (const [rule, options] of [
    ["lenience", { lenience: 0.3 }],
    ["typical", { epsilon: 0.09, delta: 0.3 }],
  ]) {
    const { distance } = S.enumerate({ rule, drafter: CHAIN, options, length: 2 });
    assert.ok(distance > 0.01, `${rule} is ${distance} apart`);
  }
});
