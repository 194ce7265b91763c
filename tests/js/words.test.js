const test = require("node:test");
const assert = require("node:assert");
const { S, sample, greedy } = require("./load.js");

const plain = (text) => text.replace(/[\u2068\u2069]/g, "");
const captions = (trace, index) => {
  const round = trace.rounds[index];
  const labels = S.nodeLabels(trace, index);
  return S.beats(round).map((_, beat) => plain(S.caption(trace, round, labels, S.view(round, beat))));
};

test("a chain under the sequential rule, told beat by beat", () => {
  assert.deepEqual(captions(sample(), 0), [
    "The drafter proposes ␣␣␣␣.",
    "It goes on with return.",
    "It goes on with ␣c.",
    "It goes on with ␣+.",
    "One target pass scores the root and all 4 candidates at once: 5 new rows on top of 7 in the cache.",
    "The target likes ␣␣␣␣ at least as much as the draft did: accepted without a doubt.",
    "The target likes return only 0.83 times as much as the draft did. Its acceptance probability is 0.83; " +
      "the uniform draw u is " +
      "0.58: accepted.",
    "The target likes ␣c only 0.20 times as much as the draft did. Its acceptance probability is 0.20; the " +
      "uniform draw u is " +
      "0.90: rejected.",
    "The candidate here was rejected. The correction ␣a is drawn from what is left of the target (0.49 of its mass).",
    "3 tokens from one target pass: 2 accepted and one more of the target's own. 2 rows of rejected or unreached " +
      "candidates leave the cache.",
  ]);
});

test("the second sibling is judged by what the first one left", () => {
  const trace = sample();
  const round = trace.rounds[1];
  const labels = S.nodeLabels(trace, 1);
  const facts = S.trialFacts(trace, round, labels, round.judged.trials[1]);
  assert.deepEqual([facts.earlier, facts.place, facts.siblings], [1, 2, 3]);
  assert.match(plain(S.rules.sequential.words(facts)), /^What the rejected sibling left of the target likes -/);
  assert.equal(S.rules.sequential.numbers(facts)[1][2], "draft, without the rejected siblings (0.15 before)");
});

test("greedy names the target's first choice", () => {
  const trace = greedy();
  const index = trace.rounds.findIndex((round) => round.judged.trials.some((trial) => !trial.accepted));
  const told = captions(trace, index).join(" ");
  assert.match(told, /The target's first choice here is .+, not .+: rejected\./);
});

test("a round in which nothing survives says so", () => {
  const trace = sample();
  const index = trace.rounds.findIndex(
    (round) => round.nodes.length > 1 && !round.judged.path.length && !round.committed.trimmed,
  );
  assert.match(captions(trace, index).at(-1), /^Nothing was accepted: 1 token from one target pass/);
});

test("every beat of every round has a sentence without holes", () => {
  for (const trace of [sample(), greedy()]) {
    trace.rounds.forEach((_, index) => {
      for (const text of captions(trace, index))
        assert.ok(text.length > 10 && !/undefined|null|NaN|\[object/.test(text), text);
    });
  }
});

test("every node explains itself at every beat, under a rule nobody knows too", () => {
  for (const rule of ["sequential", "naive", "from the future"]) {
    // the others: rules.test.js
    const trace = sample();
    trace.rounds.forEach((round, index) => {
      round.judged.rule = rule;
      const labels = S.nodeLabels(trace, index);
      const trials = new Map(round.judged.trials.map((trial) => [trial.node, trial]));
      for (let beat = 0; beat <= S.lastBeat(round); beat++) {
        const at = S.view(round, beat);
        const states = S.nodeStates(round, at);
        const said = new Set(round.judged.trials.slice(0, at.trials).map((trial) => trial.node));
        const now = {
          trace,
          round,
          labels,
          at,
          stateOf: (id) => states[id],
          trialOf: (id) => trials.get(id),
          judged: (id) => said.has(id),
        };
        for (const node of [...round.nodes.map((one) => one.id), ...(at.drawn ? [S.END] : [])]) {
          const { words, numbers } = S.explain(now, node);
          assert.ok(
            !/undefined|null|NaN/.test(words + JSON.stringify(numbers)),
            `${rule}: ${words} ${JSON.stringify(numbers)}`,
          );
        }
      }
    });
  }
});

test("a rule without words of its own still tells its acceptance probability and its u", () => {
  const trace = sample();
  trace.rounds[0].judged.rule = "from the future";
  assert.equal(captions(trace, 0)[7], "The acceptance probability of ␣c is 0.20; u is 0.90: rejected.");
});

test("counters carry formula, numerator and denominator; a simulated run has no speed", () => {
  const list = S.counterList(sample());
  assert.deepEqual(
    list.map((one) => one.name),
    ["target passes", "tokens", "alpha (α)", "acceptance rate", "mean acceptance length", "tokens per target pass"],
  );
  assert.match(list[2].note, /^accepted ÷ tested = \d+ ÷ \d+ = 0\.\d+; per tested candidate/);
  assert.match(list[3].note, /^accepted ÷ drafted = \d+ ÷ \d+ = 0\.\d+; .*unreached nodes count as drafted/);
});

test("a run is held against plain decoding beside it, else against a bare pass; an oracle against neither", () => {
  const trace = sample();
  trace.started.source = "live";
  trace.started.step_times = [{ rows: 1, cached_rows: 8, median_s: 1, low_s: 1, high_s: 1 }];
  for (const round of trace.rounds)
    for (const part of ["drafted", "scored", "judged", "committed"]) round[part].seconds = 0;
  trace.rounds[0].scored.seconds = trace.finished.decode_s = 10; // for 20 tokens
  const last = () => S.counterList(trace).at(-1);
  assert.deepEqual([last().name, last().value], ["speedup over one-token passes", "2.00×"]);
  trace.finished.plain = { output_tokens: 10, decode_s: 6, runs: 3, same_text: true };
  assert.deepEqual([last().name, last().value], ["speedup over plain decoding", "1.20×"]);
  assert.equal(S.gain(trace).toFixed(2), "1.20", "what stands above the stage");
  trace.started.stop_policy = { name: "oracle", options: {}, deployable: false };
  assert.equal(last().name, "tokens per target pass", "its own times are no speed");
});

test("the four numbers, worked out by hand on two rounds", () => {
  const trace = sample();
  const [first, second] = trace.rounds;
  const tested = first.judged.trials.length + second.judged.trials.length;
  const accepted = first.judged.path.length + second.judged.path.length;
  const drafted = first.nodes.length + second.nodes.length - 2;
  const tokens = first.committed.tokens.length + second.committed.tokens.length;
  const none = { ...first, nodes: first.nodes.slice(0, 1), judged: { ...first.judged, trials: [], path: [] } };
  none.committed = { ...first.committed, tokens: first.committed.tokens.slice(0, 1) };
  const worked = S.fourNumbers([first, second, none]).map((one) => one.worked);
  assert.deepEqual(worked, [
    `${accepted} ÷ ${tested}`,
    `${accepted} ÷ ${drafted}`,
    `1 + ${accepted} ÷ 2`,
    `${tokens + 1} ÷ 3`,
  ]);
  const values = S.fourNumbers([first, second, none]).map((one) => one.value);
  const by = [accepted / tested, accepted / drafted, 1 + accepted / 2, (tokens + 1) / 3];
  assert.deepEqual(values, by.map(S.ratio));
  assert.match(S.fourNumbers([first, none])[2].counts, /1 round without a draft is left out/);
});

test("unreached says why", () => {
  const trace = sample();
  assert.equal(
    plain(S.unreached(trace, trace.rounds[0], S.nodeLabels(trace, 0), 4)),
    "Unreached: ␣c on the way to it was rejected.",
  );
  const round = trace.rounds.findIndex((one) =>
    one.nodes.some(
      (node) =>
        node.fate === "unreached" &&
        one.nodes[node.parent].fate !== "rejected" &&
        one.nodes[node.parent].fate !== "unreached",
    ),
  );
  const node = trace.rounds[round].nodes.find(
    (one) => one.fate === "unreached" && ["accepted", "root"].includes(trace.rounds[round].nodes[one.parent].fate),
  );
  assert.match(
    plain(S.unreached(trace, trace.rounds[round], S.nodeLabels(trace, round), node.id)),
    /^Unreached: its sibling .+ was accepted first\.$/,
  );
});

test("nodes that only ride along are proposed by nobody, and their verdicts say so", () => {
  const trace = sample();
  const round = trace.rounds[0];
  round.drafted.passes = []; // lookahead's: all at once
  round.drafted.riding = [3, 4];
  const told = captions(trace, 0);
  assert.equal(
    told[0],
    "The drafter proposes ␣␣␣␣ and return. 2 nodes only ride along, for what the target answers there.",
  );
  assert.match(
    told.find((one) => one.includes("␣c only 0.20")),
    /rejected\. It rides along and counts as no draft\.$/,
  );
  round.drafted.riding = [1, 2, 3, 4];
  assert.match(captions(trace, 0)[0], /^The drafter proposes nothing\. 4 nodes only ride along/);
  round.judged.path = [];
  assert.doesNotMatch(captions(trace, 0).at(-1), /in vain/);
});

test("where the drafter drafts meanwhile, no time for drafting is said to be lost", () => {
  const trace = sample();
  const told = () => captions(trace, 3).at(-1);
  assert.match(told(), /as many as without drafting, and the time for drafting was spent in vain\.$/);
  trace.rounds[0].drafted.lanes = [{ lane: "drafter", what: "draft", start_s: 0, end_s: 0.001, tokens: 1 }];
  assert.match(told(), /as many as without drafting, and what the drafter did meanwhile was in vain\.$/);
});
