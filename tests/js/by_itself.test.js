const test = require("node:test");
const assert = require("node:assert");
const { S, sample } = require("./load.js");

/** Rounds that commit so many tokens after 0.1 s each, of a run beside which plain decoding took 0.08 s a token. */
function run(...counts) {
  const parts = { drafted: 0.06, scored: 0.03, judged: 0.008, committed: 0.002 };
  const rounds = counts.map((count) => {
    const round = { nodes: [{ id: 0, depth: 0 }] };
    for (const [part, seconds] of Object.entries(parts)) round[part] = { seconds };
    round.drafted.riding = [];
    round.judged.path = [];
    round.committed.tokens = Array.from({ length: count }, () => ({ token: 1, origin: "draft" }));
    return round;
  });
  const tokens = counts.reduce((sum, count) => sum + count, 0);
  const plain = { output_tokens: tokens, decode_s: 0.08 * tokens, runs: 3, same_text: true };
  const finished = { output_ids: Array(tokens).fill(1), decode_s: 0.1 * counts.length, plain };
  return { started: { source: "recorded", step_times: [] }, rounds, finished };
}

const about = (found, wanted) => assert.ok(Math.abs(found - wanted) < 1e-9, `${found} is not ${wanted}`);

test("the round that is shown first is the first of those that add the most tokens", () => {
  assert.equal(S.winningRound(run(2, 5, 1, 5)), 1);
  assert.equal(S.winningRound(run(1, 1, 1)), null);
});

test("a page moves by itself only as it was opened, for who wants motion, and never embedded", () => {
  const opened = { first: true, embedded: false, reduced: false, search: "", hash: "" };
  assert.equal(S.mayBegin(opened), true);
  assert.equal(S.mayBegin({ ...opened, search: "?__theme=dark" }), true);
  for (const otherwise of [
    { first: false },
    { embedded: true },
    { reduced: true },
    { hash: "#round=2&beat=3" },
    { hash: "#tab=race" },
    { hash: "#lesson=trees" },
    { search: "?view=present" },
    { search: "?run=opening" },
  ])
    assert.equal(S.mayBegin({ ...opened, ...otherwise }), false, JSON.stringify(otherwise));
});

test("a run is slowed by a round factor so that the longer of both lasts from 4 to 10 seconds", () => {
  assert.equal(S.slowdown(0.069), 100);
  assert.equal(S.slowdown(0.04), 100);
  assert.equal(S.slowdown(0.039), 200);
  assert.equal(S.slowdown(4), 1);
  assert.equal(S.slowdown(45), 0.1);
});

test("both stand where the times of the trace put them, plain decoding's tokens evenly", () => {
  const speed = S.ownSpeed(run(2, 5, 1));
  assert.deepEqual(
    speed.commits.map((one) => one.tokens),
    [2, 7, 8],
  );
  about(speed.commits[1].seconds, 0.2);
  about(speed.seconds, 0.3);
  about(speed.plain.seconds, 0.64);
  assert.equal(speed.slow, 10);
  assert.deepEqual(S.farAt(speed, 0), { round: -1, tokens: 0, plain: 0, over: false });
  assert.deepEqual(S.farAt(speed, 0.21), { round: 1, tokens: 7, plain: 2, over: false });
  assert.deepEqual(S.farAt(speed, 0.31), { round: 2, tokens: 8, plain: 3, over: false });
  assert.deepEqual(S.farAt(speed, 0.65), { round: 2, tokens: 8, plain: 8, over: true });
});

test("the sentence says how much slower it is shown and what it is made of", () => {
  assert.equal(
    S.ownWords(S.ownSpeed(run(2, 5, 1))),
    "The whole run at its own speed beside plain decoding, 10 times slower: an animation of the recorded times.",
  );
});

test("a run without plain decoding beside it, and a simulated one, have nothing to be shown beside", () => {
  const bare = run(2, 5);
  bare.finished.plain = null;
  assert.equal(S.ownSpeed(bare), null);
  const simulated = run(2, 5);
  simulated.started.source = "simulated";
  assert.equal(S.ownSpeed(simulated), null);
  assert.equal(S.ownSpeed({ ...run(2, 5), finished: null }), null);
});

test("a round of play takes ten seconds at most, and a short one the time that its words take", () => {
  const long = Array(12).fill(Array(20).fill("word").join(" "));
  const whole = long.reduce((sum, one) => sum + S.dwell(one, 1) * S.hurry(long), 0);
  assert.ok(Math.abs(whole - 10_000) < 1e-6);
  assert.equal(S.hurry(["One two three.", "Four five."]), 1);
  for (const round of sample().rounds.keys()) {
    const captions = S.sentences(sample(), round);
    const takes = captions.reduce((sum, one) => sum + S.dwell(one, 1) * S.hurry(captions), 0);
    assert.ok(takes <= 10_000.001, `round ${round + 1} takes ${takes} ms`);
  }
});
