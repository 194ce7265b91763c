// Ways to draft against plain decoding in the visitor's own tab: what is run, what it comes to, and the race it makes.
const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

const [model, trees] = [
  { drafter: "model", shape: "g2" },
  { drafter: "medusa", shape: "own" },
];

/** Tokens of a vocabulary in which each id is a letter: 1 is a, 2 is b. */
const vocab = Object.fromEntries([1, 2, 3, 4].map((id) => [id, { bytes: btoa("?abcd"[id]), text: "?abcd"[id] }]));
/** A round of these tokens, whose four parts take these seconds. */
const round = (index, tokens, [draft, pass, verdicts, commit]) => ({
  index,
  nodes: [{ id: 0, parent: -1 }],
  drafted: { seconds: draft },
  scored: { seconds: pass },
  judged: { seconds: verdicts, path: [], trials: [] },
  committed: { seconds: commit, tokens: tokens.map((token) => ({ token, origin: "draft" })) },
});
/** A round with a chain of `drafted` candidates, of which the first `accepted` are text, or `kept` of these. */
const chain = (drafted, accepted, kept = accepted) => {
  const one = round(0, [], [0, 0, 0, 0]);
  for (let id = 1; id <= drafted; id++) one.nodes.push({ id, parent: id - 1, token: id });
  one.judged.path = one.nodes.slice(1, accepted + 1).map(({ id }) => id);
  const cut = kept < accepted ? { trimmed: "eos", trimmed_tokens: 1 + accepted - kept } : {};
  return { ...one, committed: { ...one.committed, ...cut } };
};
const card = (name, options = {}) => ({ name, options, lossless: true });
/** A run in `seconds` of this text; a summary counts what is behind its end as well, so that it may say anything. */
function trace(seconds, { ids = [1, 2, 3, 4], passes = 4, rounds = [] } = {}) {
  const machine = { processor: "browser: WebAssembly SIMD", dtype: "float32", system: "Mozilla/5.0" };
  const sampling = { temperature: 0, top_k: 0, top_p: 1 };
  const methods = { drafter: card("model", { gamma: 2 }), verifier: card("greedy") };
  return {
    started: { created: "2026-01-02T03:04:05Z", prompt_text: "=1", prompt_ids: [], machine, sampling, ...methods },
    vocab,
    rounds,
    finished: { output_ids: ids, decode_s: seconds, prefill_s: 1 },
    summary: {
      num_output_tokens: ids.length,
      num_target_passes: passes,
      num_draft_tokens: 99,
      num_accepted_draft_tokens: 98,
      tokens_per_second: ids.length / seconds,
    },
  };
}
const lap = (way, repeat, run) => ({ way, repeat, trace: run });
const drafting = { passes: 2, rounds: [chain(2, 1), chain(3, 3, 1)] };

test("plain decoding comes first in every repeat, and who follows it changes in turn", () => {
  const plan = S.plannedLaps([model, trees], "One day", 2);
  assert.deepEqual(
    plan.map(({ way, repeat, request }) => [way, repeat, request.drafter, request.drafter_options]),
    [
      [null, 0, "none", undefined],
      [model, 0, "model", { gamma: 2 }],
      [trees, 0, "medusa", {}],
      [null, 1, "none", undefined],
      [trees, 1, "medusa", {}],
      [model, 1, "model", { gamma: 2 }],
    ],
  );
  assert.ok(plan.every(({ request }) => request.prompt === "One day" && request.temperature === 0));
  const [bare, drafted] = S.plannedLaps([{ drafter: "eagle", shape: "t3,2" }], "One day", 1, 0.8);
  assert.deepEqual([bare.request.temperature, drafted.request.temperature], [0.8, 0.8]);
  assert.deepEqual(drafted.request.drafter_options, { branching: [3, 2] });
});

test("a ratio is taken within a repeat, and the median of the repeats counts", () => {
  const laps = [
    lap(null, 0, trace(8)),
    lap(model, 0, trace(4, drafting)), // 2 times as fast
    lap(null, 1, trace(6)),
    lap(model, 1, trace(6, drafting)), // 1
    lap(null, 2, trace(12)),
    lap(model, 2, trace(8, drafting)), // 1.5
  ];
  assert.deepEqual(S.tabPoints([model, trees], laps), [
    { label: "a small model, γ 2", ratios: [2, 1, 1.5], ratio: 1.5, interval: [1, 2], isNoise: true, perPass: 2,
      rate: 2 / 3 },
  ]); // prettier-ignore
  const [two] = S.tabPoints([model], laps.slice(0, 4));
  assert.equal(two.ratio, 1.5, "of two, the value half-way between them");
});

test("ratios say something where three repeats agree and none passes the tokens of a pass", () => {
  const noise = (...seconds) => {
    const laps = seconds.flatMap((took, repeat) => [
      lap(null, repeat, trace(12)),
      lap(model, repeat, trace(took, drafting)),
    ]);
    return S.tabPoints([model], laps)[0].isNoise;
  };
  assert.equal(noise(8, 8, 6), false);
  assert.equal(noise(8, 8), true, "two repeats");
  assert.equal(noise(8, 8, 16), true, "on both sides of 1");
  assert.equal(noise(8, 8, 4), true, "3 times as fast with 2 tokens a pass");
});

test("a way without plain decoding in its repeat has no ratio, and one that drafted nothing no acceptance", () => {
  assert.deepEqual(S.tabPoints([model], [lap(null, 0, trace(8)), lap(model, 1, trace(4))]), []);
  assert.equal(S.tabPoints([model], [lap(null, 0, trace(8)), lap(model, 0, trace(8))])[0].rate, null);
});

test("what is no race is said in a sentence", () => {
  assert.equal(S.waysProblem([model, trees]), "");
  const few = "Choose 2 to 4 ways to draft; plain decoding always runs beside them.";
  assert.equal(S.waysProblem([model]), few);
  assert.equal(S.waysProblem([1, 2, 3, 4, 5].map((gamma) => ({ drafter: "model", shape: `g${gamma}` }))), few);
  assert.equal(
    S.waysProblem([model, { drafter: "ngram", shape: "g33" }]),
    "γ of “copies from the text” must be a whole number from 1 to 32.",
  );
  assert.equal(
    S.waysProblem([trees, { drafter: "eagle", shape: S.chosenShape("eagle", "4", "9,9") }]),
    "γ of “EAGLE” must be a whole number from 1 to 32, or its tree levels such as 3,2,1 of at most 63 guesses.",
  );
  assert.equal(
    S.waysProblem([model, { ...model }]),
    "“a small model, γ 2” is chosen twice; give it another γ or leave it out.",
  );
});

test("every run is a row for a spreadsheet, which works out no prompt", () => {
  assert.equal(
    S.lapsCsv([lap(null, 0, trace(8)), lap(model, 0, trace(4, drafting))]),
    '"drafter","shape","repeat","tokens","seconds","ratio","target passes","drafted","accepted","temperature",' +
      '"machine","browser","prompt"\r\n' +
      `"none","","1","4","8.000000","1.000","4","0","0","0","browser: WebAssembly SIMD","Mozilla/5.0","'=1"\r\n` +
      `"model","g2","1","4","4.000000","2.000","2","3","2","0","browser: WebAssembly SIMD","Mozilla/5.0","'=1"\r\n`,
  );
});

test("a race has of each the run of median time, its work end to end, and tokens when their round ended", () => {
  const rounds = [round(0, [1, 2], [1, 2, 0, 1]), round(1, [3, 4], [0, 3, 0, 1])];
  const laps = [
    lap(null, 0, trace(9)),
    lap(model, 0, trace(6, drafting)),
    lap(null, 1, trace(16)),
    lap(model, 1, trace(8, { ...drafting, rounds })),
    lap(null, 2, trace(10)),
    lap(model, 2, trace(10, drafting)),
  ];
  const race = S.tabRace([model, trees], laps);
  assert.equal(race.source, "live, in your browser");
  assert.equal(
    race.provenance,
    "2026-01-02 · your browser: WebAssembly SIMD, float32 · temperature 0 · median of 3 runs each",
  );
  assert.equal(race.equality, "Both outputs are the same, token for token: 4 tokens.");
  const [plain, drafted] = race.runners;
  assert.deepEqual([plain.label, plain.verdict, plain.ratio], ["plain decoding", "the baseline", null]);
  assert.deepEqual(drafted.segments, [
    [0, 1, "draft", 0],
    [1, 3, "target", 0],
    [3, 4, "commit", 0],
    [4, 7, "target", 1],
    [7, 8, "commit", 1],
  ]);
  assert.deepEqual(drafted.arrivals, [
    [4, "a", "draft"],
    [4, "b", "draft"],
    [8, "c", "draft"],
    [8, "d", "draft"],
  ]);
  assert.deepEqual([drafted.finish_s, race.longest_s, drafted.tokens_per_pass], [8, 8, 2]);
  assert.equal(drafted.verdict, "1.50× plain decoding, median of 3 repeats (1.00 to 2.00)");
  assert.equal(S.tabRace([model], laps.slice(1, 2)), null, "without plain decoding there is no race");
});

test("a text that is not plain decoding's is told from the token on that differs", () => {
  const race = S.tabRace([model], [lap(null, 0, trace(8)), lap(model, 0, trace(4, { ids: [1, 2, 4] }))]);
  assert.equal(race.runners[1].differs_at, 2);
  assert.match(
    race.equality,
    /^0 of 1 drafters gave plain decoding's output. a small model, γ 2 differs .* from token 3 on: at temperature 0/,
  );
});
