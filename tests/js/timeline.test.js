const test = require("node:test");
const assert = require("node:assert/strict");
const { S, sample } = require("./load.js");

/** A round of four milliseconds' target pass; times in milliseconds, as whole numbers. */
const round = (index, start, { draft = 0, target = 4, drafted = 0, accepted = 0, origin = "bonus", lanes }) => ({
  index,
  start_s: start,
  nodes: Array.from({ length: drafted + 1 }, (_, id) => ({ id, parent: id - 1, depth: id })),
  drafted: { passes: [], seconds: draft, note: {}, ...(lanes ? { lanes } : {}) },
  scored: { seconds: target, target_pass: { rows: drafted + 1, cached_rows: 9 } },
  judged: { seconds: 0.5, trials: [], path: Array.from({ length: accepted }, (_, at) => at + 1), origin },
  committed: { seconds: 0.5, tokens: [] },
});
const span = (what, start_s, end_s, tokens, lane = "drafter") => ({ lane, what, start_s, end_s, tokens });

/** In turn: 3 drafting, 4 target pass, 1 the rest; then the same with a rejection. */
const inTurn = [
  round(0, 0, { draft: 3, drafted: 3, accepted: 3 }),
  round(1, 99, { draft: 3, drafted: 3, accepted: 1, origin: "correction" }),
];

/** Beside: the target waits 3 for its first draft; the drafter goes on during its passes, and once too far. */
const beside = [
  round(0, 0, { draft: 3, drafted: 2, accepted: 2, lanes: [span("draft", 0, 3, 2)] }),
  round(1, 8, {
    drafted: 3,
    accepted: 0,
    origin: "correction",
    lanes: [span("draft", 3, 6, 2), span("draft", 6, 9, 2), span("roll back", 9, 9, 4)],
  }),
];

const drawn = (rounds) =>
  S.timeline(rounds).spans.map(({ lane, what, round: index, start, end }) => [lane, what, index, start, end]);

test("in turn the lanes follow from the phases, rounds end to end whatever was recorded between them", () => {
  assert.deepEqual(drawn(inTurn), [
    ["drafter", "draft", 0, 0, 3],
    ["target", "target pass", 0, 3, 7],
    ["target", "verdicts", 0, 7, 7.5],
    ["target", "commit", 0, 7.5, 8],
    ["drafter", "draft", 1, 8, 11],
    ["drafter", "roll back", 1, 15.5, 15.5],
    ["target", "target pass", 1, 11, 15],
    ["target", "verdicts", 1, 15, 15.5],
    ["target", "commit", 1, 15.5, 16],
  ]);
  assert.deepEqual(S.timelineNumbers(S.timeline(inTurn)), {
    seconds: 16,
    drafter: 6,
    target: 8,
    rest: 2,
    both: 0,
    idle: { drafter: 10, target: 6 },
    drafted: 6,
    discarded: 2,
  });
});

test("a drafter beside the target is drawn by its own spans, and the target's first phase is waiting", () => {
  assert.deepEqual(drawn(beside), [
    ["drafter", "draft", 0, 0, 3],
    ["target", "target pass", 0, 3, 7],
    ["target", "verdicts", 0, 7, 7.5],
    ["target", "commit", 0, 7.5, 8],
    ["drafter", "draft", 1, 3, 6],
    ["drafter", "draft", 1, 6, 9],
    ["drafter", "roll back", 1, 9, 9],
    ["target", "target pass", 1, 8, 12],
    ["target", "verdicts", 1, 12, 12.5],
    ["target", "commit", 1, 12.5, 13],
  ]);
  assert.deepEqual(S.timelineNumbers(S.timeline(beside)), {
    seconds: 13,
    drafter: 9,
    target: 8,
    rest: 2,
    both: 5, // 3 to 7, and 8 to 9
    idle: { drafter: 4, target: 3 },
    drafted: 6,
    discarded: 4,
  });
});

test("a round of a run is what both did between its start and its end", () => {
  const line = S.timeline(beside);
  assert.deepEqual(S.roundNumbers(line, 0), {
    start: 0,
    seconds: 8,
    drafter: 8, // 0 to 3, 3 to 6 and 6 to 8
    target: 4,
    rest: 1,
    both: 4,
    idle: { drafter: 0, target: 3 },
    discarded: 0,
  });
  const second = S.roundNumbers(line, 1);
  assert.deepEqual([second.drafter, second.both, second.idle.target, second.discarded], [1, 1, 0, 4]);
});

test("a lane is busy once, even where two of its spans lie over one another", () => {
  const over = [round(0, 0, { drafted: 1, accepted: 1, lanes: [span("draft", 0, 2, 1), span("draft", 1, 3, 1)] })];
  const { drafter, both } = S.timelineNumbers(S.timeline(over));
  assert.deepEqual([drafter, both], [3, 3]);
});

test("only a lane of its own makes a drafter work beside the target", () => {
  assert.equal(S.isBeside(inTurn), false);
  assert.equal(S.isBeside(beside), true);
  const made = [round(0, 0, { draft: 3, drafted: 1, lanes: [span("draft", 0, 3, 1, "drafter, in turn")] })];
  assert.equal(S.isBeside(made), false, "it waited for the target: its first phase was drafting");
  assert.equal(S.timelineNumbers(S.timeline(made)).both, 0);
});

test("a target pass that ends in a correction is one with rejected candidates", () => {
  const passes = S.timeline(inTurn).spans.filter((one) => one.what === "target pass");
  assert.deepEqual(
    passes.map((one) => one.rejects),
    [false, true],
  );
});

test("the sentence says how long each computed, what they shared, who waited, and what was in vain", () => {
  const words = (rounds, clock = "measured", finished = true) => {
    const milli = S.timelineNumbers(S.timeline(rounds));
    const scaled = JSON.parse(JSON.stringify(milli), (key, value) =>
      typeof value === "number" && !["drafted", "discarded"].includes(key) ? value / 1000 : value,
    );
    return S.timelineWords(scaled, clock, finished);
  };
  assert.equal(
    words(beside),
    "the run, measured: 13 ms. The drafter computed for 9 ms, the target for 8 ms, 5 ms of that at the same time; " +
      "the drafter was idle for 4 ms, the target for 3 ms. 4 of 6 drafted tokens were thrown away.",
  );
  assert.match(words(inTurn, "modelled", false), /^the run so far, modelled: 16 ms\. .*, never at the same time; /);
  assert.match(words([inTurn[0]]), /None of 3 drafted tokens was thrown away\.$/);
  assert.equal(words([round(0, 0, {})]), "the run, measured: 5 ms. Nothing was drafted; the target computed for 4 ms.");
  assert.equal(S.timelineWords({ seconds: 0 }, "measured"), "the run, measured: no times are recorded");
});

test("a long run shows twelve rounds, and the picture stands still while one steps through ten", () => {
  const seen = (count, current) => Object.values(S.timelineWindow(count, current));
  assert.deepEqual(seen(8, 5), [0, 7]);
  assert.deepEqual(seen(40, 0), [0, 11]);
  assert.deepEqual(seen(40, 9), [0, 11]);
  assert.deepEqual(seen(40, 10), [9, 20]);
  assert.deepEqual(seen(40, 19), [9, 20]);
  assert.deepEqual(seen(40, 39), [28, 39]);
  assert.deepEqual(seen(21, 20), [9, 20]);
  for (let current = 0; current < 57; current++) {
    const [from, to] = seen(57, current);
    assert.ok(from <= current && current <= to && to - from === 11);
  }
});

test("the sample's lanes add up to the seconds of its rounds", () => {
  const { rounds } = sample();
  const { drafter, target, rest, seconds, both } = S.timelineNumbers(S.timeline(rounds));
  const whole = rounds.reduce((sum, one) => sum + S.roundSeconds(one), 0);
  assert.ok(Math.abs(seconds - whole) < 1e-12 && Math.abs(drafter + target + rest - whole) < 1e-12);
  assert.equal(both, 0);
});
