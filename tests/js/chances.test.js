// A probability is never above one, however much more the target likes a candidate than the draft did.
const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

test("traversal: a candidate likelier to the target than to the draft has the probability of the path above it", () => {
  const facts = {
    round: { judged: { rule: "traversal", order: "backwards", trials: [] }, nodes: [] },
    terms: { parent_reach: 0.5 },
    target_prob: 0.9,
    draft_prob: 0.3,
    kind: "iid",
    earlier: 0,
    p0: null,
    q0: null,
    threshold: 1,
    u: 0.4,
    accepted: true,
  };
  const shown = S.ruleOf({ judged: { rule: "traversal" } }).numbers(facts);
  const probability = Object.fromEntries(shown.map(([name, value]) => [name, value]))["A·p/Q"];
  assert.equal(probability, "1");
});
