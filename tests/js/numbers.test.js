const test = require("node:test");
const assert = require("node:assert");
const { S, sample } = require("./load.js");

test("a small probability is never 0.00 and one below certainty never 1.00", () => {
  const cases = [
    [0, "0"],
    [1, "1"],
    [0.5, "0.50"],
    [0.62, "0.62"],
    [0.031, "0.031"],
    [0.0004, "0.0004"],
    [0.00001, "<0.0001"],
    [0.0099, "0.0099"],
    [0.997, "0.997"],
    [0.99996, ">0.9999"],
    [0.9996, "0.9996"],
    [null, "–"],
    [undefined, "–"],
  ];
  for (const [p, text] of cases) assert.equal(S.prob(p), text, String(p));
});

test("every probability in (0, 1) reads as something strictly between", () => {
  for (let step = 1; step < 5000; step++) {
    for (const p of [step / 5000, Math.exp(-step / 200), 1 - Math.exp(-step / 200)]) {
      const text = S.prob(p);
      if (p > 0 && p < 1) assert.ok(/^[<>]/.test(text) || (Number(text) > 0 && Number(text) < 1), `${p} reads ${text}`);
    }
  }
});

test("two numbers that were compared never read the same, unless they are", () => {
  assert.deepEqual(S.compared(0.5, 0.25), ["0.50", "0.25"]);
  assert.deepEqual(S.compared(0.500001, 0.5), ["0.500001", "0.500000"]);
  assert.deepEqual(S.compared(0.1234, 0.1231), ["0.1234", "0.1231"]);
  assert.deepEqual(S.compared(0.2, 0.2), ["0.20", "0.20"]);
  for (let step = 1; step < 200; step++) {
    const [a, b] = S.compared(0.3, 0.3 + 10 ** (-step / 20));
    assert.notEqual(a, b);
  }
});

test("seconds come in the unit that fits", () => {
  assert.deepEqual([0, 2e-7, 0.0005, 0.0085, 0.5, 2, 12.34, null].map(S.seconds), [
    "0",
    "<1 µs",
    "500 µs",
    "8.5 ms",
    "500 ms",
    "2.00 s",
    "12.3 s",
    "–",
  ]);
});

test("what lies behind the end of the text is in no counter", () => {
  const trace = sample(); // a stop string ends it with the second of the last round's three candidates
  const sum = S.counters(trace.rounds);
  const counts = [sum.passes, sum.tokens, sum.spec, sum.drafted, sum.accepted, sum.tested, sum.passed];
  assert.deepEqual(counts, [8, 20, 7, 35, 13, 21, 13]);
  assert.equal(sum.rate, 13 / 35);
  assert.equal(sum.length, 1 + (13 - 1) / 7);
  const last = trace.rounds[7];
  assert.deepEqual([...S.behindTheEnd(last)], [3]);
  assert.deepEqual([S.drafts(last).length, S.counted(last).length, S.acceptedDrafts(last)], [3, 2, 2]);
  assert.deepEqual([...S.behindTheEnd(trace.rounds[0])], [], "a round that did not end the text");
});

test("without drafting there is no rate, not a zero", () => {
  const sum = S.counters([
    {
      nodes: [{}],
      judged: { path: [], trials: [], seconds: 0 },
      committed: { tokens: [1], seconds: 0 },
      drafted: { seconds: 0 },
      scored: { seconds: 0 },
    },
  ]);
  assert.deepEqual([sum.rate, sum.length, sum.tokens], [null, null, 1]);
});

const head = (probs, rest) => ({ tokens: Object.keys(probs).map(Number), probs: Object.values(probs), rest });

test("bars share one axis: the union of both topRows, by target, the rest last", () => {
  const topRows = {
    draft: { tokens: [5, 3], probs: [0.6, 0.2], rest: 0.2 },
    target: { tokens: [3, 7], probs: [0.5, 0.3], rest: 0.2 },
  };
  const { rows, rest } = S.bars(topRows, new Map(), new Set());
  assert.deepEqual(
    rows.map((row) => row.token),
    [3, 7, 5],
  );
  assert.deepEqual([rows[0].overlap, rows[0].excess], [0.2, 0.3]);
  assert.equal(rows[1].draft, null);
  assert.equal(rows[1].most.draft, 0.2);
  assert.equal(rows[1].overlap, null);
  assert.ok(Math.abs(rest.draft - 0.2) < 1e-12 && Math.abs(rest.target - 0.2) < 1e-12);
});

test("a complete head makes an unlisted token zero, not unknown", () => {
  const { rows } = S.bars({ draft: head({ 1: 1 }, 0), target: head({ 2: 1 }, 0) }, new Map(), new Set());
  assert.deepEqual(
    rows.map((row) => [row.token, row.draft, row.target, row.excess]),
    [
      [2, 0, 1, 1],
      [1, 1, 0, 0],
    ],
  );
});

test("what a node knows exactly beats the head, and kept tokens always have a row", () => {
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, step) => [step, 0.08 - step * 0.001]));
  const topRows = { draft: head(many, 0.1), target: head(many, 0.1) };
  const { rows, rest } = S.bars(topRows, new Map([[99, { draft: 0.01, target: 0.001 }]]), new Set([99]), 9);
  assert.equal(rows.length, 9);
  assert.deepEqual([rows[8].token, rows[8].draft, rows[8].target], [99, 0.01, 0.001]);
  const shown = rows.reduce((sum, row) => sum + row.target, 0);
  assert.ok(Math.abs(shown + rest.target - 1) < 1e-12);
});

test("in the sample every chart adds up to one", () => {
  const trace = sample();
  for (const round of trace.rounds) {
    const at = S.view(round, Infinity);
    for (const node of round.nodes) {
      const data = S.barData(trace, round, node.id, at, node.id);
      const { rows, rest } = S.bars(data.topRows, data.exact, data.keep);
      for (const name of ["draft", "target"]) {
        if (!data.topRows[name]) continue;
        const total = rows.reduce((sum, row) => sum + (row[name] ?? 0), rest[name]);
        assert.ok(Math.abs(total - 1) < 1e-3, `round ${round.index} node ${node.id} ${name}: ${total}`);
      }
    }
  }
});

test("nodes that ride along in the target's pass are no drafts", () => {
  const round = structuredClone(sample().rounds[1]);
  round.drafted.riding = [round.judged.path.at(-1)];
  const sum = S.counters([round]);
  assert.deepEqual([sum.drafted, sum.accepted, sum.length], [14, 2, 3]);
});
