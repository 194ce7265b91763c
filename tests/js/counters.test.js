// The run's numbers on rounds of a few nodes: what each counts, and what it is divided by.
const test = require("node:test");
const assert = require("node:assert");
const { S, sample } = require("./load.js");

/** A round of a chain or of siblings: `parents` of the candidates, `tried` as [node, accepted]. */
function round({
  parents = [],
  path = [],
  tried = [],
  riding = [],
  unreached = [],
  tokens = 1,
  trimmed = null,
  ...more
}) {
  const [draft, pass, judge, commit] = more.seconds || [0, 0, 0, 0];
  const fate = (id) => (path.includes(id) ? "accepted" : unreached.includes(id) ? "unreached" : "rejected");
  return {
    nodes: [{ id: 0, fate: "root" }, ...parents.map((parent, at) => ({ id: at + 1, parent, fate: fate(at + 1) }))],
    drafted: { riding, seconds: draft },
    scored: { seconds: pass },
    judged: {
      rule: more.rule || "sequential",
      order: more.order || "top_down",
      path,
      trials: tried.map(([node, accepted]) => ({ node, accepted })),
      seconds: judge,
    },
    committed: { tokens: Array(tokens).fill(7), trimmed, seconds: commit },
  };
}
const ROOT_ALONE = round({ tokens: 1 });

test("a token left to the next round is in no mean acceptance length, and nor is a round without a draft", () => {
  const open = round({ parents: [0, 1, 2], path: [1, 2], tokens: 2, trimmed: "open" });
  const closed = round({ parents: [0, 1], path: [1], tokens: 2 });
  const sum = S.counters([open, closed, ROOT_ALONE]);
  assert.deepEqual([sum.passes, sum.spec, sum.accepted, sum.without], [3, 2, 3, 1]);
  assert.equal(sum.length, 1 + (3 - 1) / 2);
  const length = S.fourNumbers([open, closed, ROOT_ALONE])[2];
  assert.deepEqual([length.worked, length.value], ["1 + (3 − 1) ÷ 2", "2.00"]);
  assert.match(length.counts, /1 round without a draft is left out/);
});

test("alpha is of candidates that were tried, the acceptance rate of all that were drafted", () => {
  // five nodes: 1 passes, 2 fails, 3 is taken over untried, 4 is unreached, 5 rides along, passes and is no candidate
  const one = round({
    parents: [0, 0, 1, 2, 3],
    path: [1, 3, 5],
    tried: [
      [1, true],
      [2, false],
      [5, true],
    ],
    riding: [5],
    unreached: [4],
    tokens: 4,
  });
  const sum = S.counters([one]);
  assert.deepEqual([sum.tested, sum.passed, sum.drafted, sum.accepted, sum.unreached], [2, 1, 4, 2, 1]);
  const [alpha, rate] = S.fourNumbers([one]);
  assert.deepEqual([alpha.worked, alpha.value], ["1 ÷ 2", "0.50"]);
  assert.deepEqual([rate.worked, rate.value], ["2 ÷ 4", "0.50"]);
  assert.match(alpha.counts, /the 1 unreached node are not in it/);
  const riding = round({ parents: [0, 0], riding: [2], unreached: [1, 2] });
  assert.equal(S.counters([riding]).unreached, 1, "what rides along is unreached by nobody's fault");
});

test("the acceptance rate is below alpha where candidates are unreached", () => {
  const chain = { parents: [0, 1, 2, 3], path: [1], unreached: [3, 4], tokens: 2 };
  const tried = [1, 2].map((node) => [node, node === 1]);
  const one = round({ ...chain, tried });
  assert.deepEqual(
    S.fourNumbers([one])
      .slice(0, 2)
      .map(({ worked, value }) => [worked, value]),
    [
      ["1 ÷ 2", "0.50"],
      ["1 ÷ 4", "0.25"],
    ],
  );
});

test("where one round tries whole paths there is no alpha of the run", () => {
  const walked = round({ parents: [0], path: [1], tried: [[1, true]], tokens: 2 });
  const whole = round({ parents: [0], tried: [[1, false]], rule: "longest_path", order: "longest" });
  assert.equal(S.counters([walked]).tested, 1);
  assert.equal(S.counters([walked, whole]).tested, null);
  assert.deepEqual(
    S.fourNumbers([walked, whole])
      .slice(0, 1)
      .map(({ worked, value }) => [worked, value]),
    [["–", "–"]],
  );
});

test("tokens per second are over the seconds of all four phases", () => {
  const trace = sample();
  trace.started.source = "live";
  trace.started.step_times = [];
  delete trace.finished.plain;
  trace.rounds = [round({ parents: [0], path: [1], tokens: 2, seconds: [1, 2, 0.5, 0.5] })];
  const list = S.counterList(trace);
  assert.deepEqual([list.at(-1).name, list.at(-1).value], ["tokens per second", "0.50"]);
  assert.deepEqual(
    S.roundTimes(trace.rounds[0]).map((one) => one.seconds),
    [1, 2, 0.5, 0.5],
  );
  const untold = () => S.counterList(trace).every((one) => one.name !== "tokens per second");
  assert.ok(!untold());
  trace.started.stop_policy = { name: "oracle", options: {}, lossless: true, deployable: false };
  assert.ok(untold(), "a run that asked the target beforehand has no speed");
  trace.started.stop_policy = null;
  trace.started.source = "simulated";
  assert.ok(untold());
});

test("a plain token takes what one took beside the run, else what a pass over one row took", () => {
  const trace = sample();
  trace.started.step_times = [
    { rows: 2, cached_rows: 8, median_s: 9 },
    { rows: 1, cached_rows: 8, median_s: 3 },
  ];
  delete trace.finished.plain;
  assert.deepEqual([S.plainToken(trace).seconds, S.plainToken(trace).beside], [3, false]);
  trace.finished.plain = { output_tokens: 4, decode_s: 6 };
  assert.deepEqual([S.plainToken(trace).seconds, S.plainToken(trace).beside], [1.5, true]);
});

test("a small ratio has two digits that count", () => {
  assert.deepEqual([0.0157, 0.157, 1.57, 15.7, 157, 1570].map(S.ratio), [
    "0.016",
    "0.16",
    "1.57",
    "15.7",
    "157",
    "1,570",
  ]);
});

test("bars: what an unlisted token can have, and rows of equal target by the draft", () => {
  assert.equal(S.atMost({ tokens: [1, 2], probs: [0.6, 0.1], rest: 0.3 }), 0.1, "no more than the last one listed");
  assert.equal(S.atMost({ tokens: [1, 2], probs: [0.6, 0.35], rest: 0.05 }), 0.05, "no more than all of the rest");
  const topRows = {
    draft: { tokens: [1, 2, 3], probs: [0.2, 0.5, 0.3], rest: 0 },
    target: { tokens: [3, 1, 2], probs: [0.4, 0.3, 0.3], rest: 0 },
  };
  const { rows, rest } = S.bars(topRows, new Map(), new Set(), 2);
  assert.deepEqual(
    rows.map((row) => [row.token, row.overlap]),
    [
      [3, 0.3],
      [2, 0.3],
    ],
  );
  assert.deepEqual([rest.draft, rest.target], [1 - 0.8, 1 - 0.7]);
});
