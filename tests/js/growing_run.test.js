// A run while it is made: which pictures are drawn of it, and what they hold.
const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

const word = (text) => ({ bytes: btoa(text), text });
const started = (id, vocab) => ({
  kind: "started",
  format: "specviz-trace",
  version: "1.3",
  event: { run_id: id },
  vocab,
});
const round = (index, vocab) => ({ kind: "round", event: { index }, vocab });
const finished = { kind: "finished", event: {}, vocab: {} };

/** Steps at their milliseconds → what was drawn, and what was answered to each. */
function grown(steps) {
  const [drawn, said] = [[], []];
  let now = 0;
  const grow = S.growingRun(
    (text) => drawn.push(JSON.parse(text)),
    () => now,
  );
  for (const [at, step] of steps) {
    now = at;
    said.push(grow(step));
  }
  return { drawn, said };
}

test("a picture holds every round so far and no end", () => {
  const { drawn } = grown([
    [0, started("a", { 1: word("one") })],
    [10, round(0, { 2: word("two") })],
    [70, round(1, { 3: word("three") })],
  ]);
  assert.deepEqual(drawn.at(-1), {
    format: "specviz-trace",
    version: "1.3",
    started: { run_id: "a" },
    vocab: { 1: word("one"), 2: word("two"), 3: word("three") },
    rounds: [{ index: 0 }, { index: 1 }],
    finished: null,
    summary: null,
  });
});

test("rounds within fifty milliseconds are shown together", () => {
  const { drawn, said } = grown([
    [0, started("a", {})],
    [10, round(0, {})],
    [30, round(1, {})],
    [59, round(2, {})],
    [60, round(3, {})],
    [61, finished],
  ]);
  assert.deepEqual(
    drawn.map(({ rounds }) => rounds.length),
    [1, 4],
  );
  assert.deepEqual(said, [true, true, false, false, true, false]);
});

test("the next run begins anew, and its first round is shown at once", () => {
  const { drawn } = grown([
    [0, started("a", { 1: word("one") })],
    [10, round(0, {})],
    [11, started("b", { 2: word("two") })],
    [12, round(0, {})],
  ]);
  assert.deepEqual(
    [drawn[1].started.run_id, drawn[1].vocab, drawn[1].rounds],
    ["b", { 2: word("two") }, [{ index: 0 }]],
  );
});
