// Guess mode: what is asked, what may be seen meanwhile, and how answers are counted. All of it read off the trace.
const test = require("node:test");
const assert = require("node:assert");
const { S, sample, greedy } = require("./load.js");

const plain = (text) => text.replace(/[\u2068\u2069]/g, "");
const beatOf = (round, trial) => S.beats(round).findIndex((beat) => beat.trial === trial);
const player = (trace, round, trial) => ({
  trace,
  guess: true,
  cursor: { round, beat: beatOf(trace.rounds[round], trial) },
});
const nothing = { draw() {}, run() {} };

test("while a verdict is asked the player stands one beat earlier, and at its own beat afterwards", () => {
  const own = player(sample(), 0, 2);
  const asked = S.guessCursor(own);
  assert.equal(asked.beat, own.cursor.beat - 1);
  const states = S.nodeStates(own.trace.rounds[0], S.view(own.trace.rounds[0], asked.beat));
  assert.equal(states[own.trace.rounds[0].judged.trials[2].node], "drafted");
  S.guessRun(own, "guessNo", nothing);
  assert.deepEqual(S.guessCursor(own), own.cursor);
});

test("without guess mode, and between verdicts, nothing is asked", () => {
  const trace = sample();
  assert.equal(S.guessAsked({ ...player(trace, 0, 0), guess: false }), null);
  for (const phase of ["draft", "target", "commit"]) {
    const beat = S.beats(trace.rounds[0]).findIndex((one) => one.phase === phase);
    assert.equal(S.guessAsked({ trace, guess: true, cursor: { round: 0, beat } }), null);
  }
});

test("the question has the formula with its values and no u", () => {
  const trace = sample();
  const round = trace.rounds[0];
  for (const trial of round.judged.trials) {
    const text = plain(S.guessQuestion(S.trialFacts(trace, round, S.nodeLabels(trace, 0), trial)));
    assert.match(text, /p\/q = \S+ \/ \S+ = \S+\. Kept\? yes \/ no$/);
    for (const told of [S.prob(trial.u), "rejected", "accepted"]) assert.ok(!text.includes(told), text);
  }
});

test("at temperature 0 it asks for the target's most likely token", () => {
  const trace = greedy();
  const index = trace.rounds.findIndex((round) => round.judged.trials.length);
  const round = trace.rounds[index];
  const text = plain(S.guessQuestion(S.trialFacts(trace, round, S.nodeLabels(trace, index), round.judged.trials[0])));
  assert.match(text, /is this the target's most likely token\? yes \/ no$/);
});

test("one person: an answer closes the question and is counted against the trace", () => {
  const trace = sample();
  const own = player(trace, 0, 0);
  let right = 0;
  trace.rounds[0].judged.trials.forEach((trial, place) => {
    own.cursor.beat = beatOf(trace.rounds[0], place);
    S.guessRun(own, "guessYes", nothing);
    S.guessRun(own, "guessNo", nothing); // too late: it is answered
    right += Number(trial.accepted);
  });
  const total = trace.rounds[0].judged.trials.length;
  assert.ok(right > 0 && right < total);
  assert.deepEqual(S.guessScore(own), { verdicts: total, votes: total, right, waiting: false });
});

test("a class: hands are counted until they are shown, and Space shows them only if there are any", () => {
  const own = player(sample(), 0, 2); // rejected
  own.sheet = { run: own.trace.started.run_id, given: new Map(), hands: true };
  S.guessRun(own, "guessOn", nothing);
  assert.ok(S.guessScore(own).waiting);
  for (const name of ["guessYes", "guessYes", "guessNo", "guessNo", "guessNo"]) S.guessRun(own, name, nothing);
  assert.deepEqual(S.guessScore(own), { verdicts: 0, votes: 0, right: 0, waiting: true });
  S.guessRun(own, "play", nothing);
  assert.deepEqual(S.guessScore(own), { verdicts: 1, votes: 5, right: 3, waiting: false });
});

test("another run begins with an empty sheet", () => {
  const own = player(sample(), 0, 0);
  S.guessRun(own, "guessYes", nothing);
  own.trace = { ...own.trace, started: { ...own.trace.started, run_id: "another" } };
  assert.equal(S.guessScore(own).verdicts, 0);
});

test("keys: Y, N and Space, in guess mode alone and never with Ctrl", () => {
  const key = (name, more = {}) => ({ key: name, ...more });
  const guessing = { guess: true };
  assert.deepEqual(
    ["y", "N", " ", "x"].map((name) => S.guessKey(guessing, key(name))),
    ["guessYes", "guessNo", "guessOn", null],
  );
  assert.equal(S.guessKey({ guess: false }, key("n")), null);
  assert.equal(S.guessKey(guessing, key("y", { ctrlKey: true })), null);
});

test("where the target's choice itself is asked, nothing of its answer is told", () => {
  const trace = greedy();
  const index = trace.rounds.findIndex((round) => round.judged.trials.length);
  const own = player(trace, index, 0);
  const at = S.guessView(own, S.view(trace.rounds[index], S.guessCursor(own).beat));
  assert.ok(at.scored && !S.told(at));
  const { parent } = trace.rounds[index].nodes[trace.rounds[index].judged.trials[0].node];
  assert.equal(S.barData(trace, trace.rounds[index], parent, at, parent).topRows.target, null);
  S.guessRun(own, "guessYes", nothing);
  assert.ok(S.told(S.guessView(own, S.view(trace.rounds[index], S.guessCursor(own).beat))));
  const sampled = player(sample(), 0, 0); // there p and q are the question
  assert.ok(S.told(S.guessView(sampled, S.view(sampled.trace.rounds[0], S.guessCursor(sampled).beat))));
});
