// One rule for which numbers are shown, wherever they are shown.
const test = require("node:test");
const assert = require("node:assert");
const { S, sample, greedy, recorded } = require("./load.js");

const runs = recorded().map(([, trace]) => trace);
const cold = runs.filter((trace) => trace.started.sampling.temperature === 0);

const plain = (text) => text.replace(/[\u2068\u2069]/g, "");
function moment(trace, index, beat) {
  const round = trace.rounds[index];
  const at = S.view(round, beat);
  const states = S.nodeStates(round, at);
  const trials = new Map(round.judged.trials.map((trial) => [trial.node, trial]));
  const said = new Set(round.judged.trials.slice(0, at.trials).map((trial) => trial.node));
  return {
    trace,
    round,
    at,
    labels: S.nodeLabels(trace, index),
    stateOf: (id) => (id === S.END ? round.judged.origin : states[id]),
    trialOf: (id) => trials.get(id),
    judged: (id) => said.has(id),
  };
}

test("at temperature 0 tree, reader, bars and card say the same probabilities, those before it", () => {
  let seen = 0;
  const rounds = [greedy(), ...cold].flatMap((trace) => trace.rounds.map((round, index) => [trace, round, index]));
  rounds.forEach(([trace, round, index]) => {
    const now = moment(trace, index, Infinity);
    for (const node of round.nodes.slice(1)) {
      const parent = round.nodes[node.parent];
      if (!S.cold(trace, parent)) continue;
      seen += 1;
      const [draft, target] = S.odds(trace, round, node, true);
      const data = S.barData(trace, round, node.parent, now.at, node.id, now.judged(node.id));
      const bar = S.known(data.topRows.target, node.token);
      if (bar !== null) assert.equal(target, S.prob(bar));
      assert.ok(S.oddsWords(trace, round, node, true).endsWith(`target ${target}`));
      const { numbers } = S.explain(now, node.id);
      const p = numbers.find(([name]) => name === "p");
      assert.equal(p[1], target);
      if (draft !== "–") assert.equal(numbers.find(([name]) => name === "q")[1], draft);
    }
  });
  assert.ok(seen > 10);
});

test("above temperature 0 nothing speaks of what was before it, also where one token has all of the mass", () => {
  const trace = recorded().find(([name]) => name.startsWith("model-tree-story"))[1];
  assert.equal(trace.started.sampling.temperature, 0.8);
  let sure = 0;
  trace.rounds.forEach((round, index) => {
    const now = moment(trace, index, Infinity);
    for (const node of round.nodes.slice(1)) {
      const parent = round.nodes[node.parent];
      if (parent.target_raw && parent.target.probs[0] === 1) sure += 1;
      assert.equal(S.odds(trace, round, node, true)[1], S.prob(node.target_prob));
      for (const [, , said] of S.explain(now, node.id).numbers) assert.doesNotMatch(said, /before temperature 0/);
    }
    for (const [, , said] of S.explain(now, S.END).numbers) assert.doesNotMatch(said, /before temperature 0/);
    assert.doesNotMatch(S.roundTable(trace, index), /before temperature 0/);
  });
  assert.ok(sure > 10);
});

test("the last token of a greedy round shows the p of its bar, not 1", () => {
  const trace = greedy();
  let seen = 0;
  trace.rounds.forEach((round, index) => {
    const final = round.nodes[round.judged.final_node];
    if (!S.cold(trace, final)) return;
    seen += 1;
    const { numbers } = S.explain(moment(trace, index, Infinity), S.END);
    assert.equal(numbers[0][1], S.prob(S.known(final.target_raw, round.judged.token)));
    assert.notEqual(numbers[0][1], "1");
  });
  assert.ok(seen > 0);
});

test("a rejected token has nothing left in the residual: exactly 0", () => {
  const trace = sample();
  let seen = 0;
  trace.rounds.forEach((round) => {
    if (!round.judged.residual) return;
    const final = round.judged.final_node;
    const data = S.barData(trace, round, final, S.view(round, Infinity), S.END);
    const { rows } = S.bars(data.topRows, data.exact, data.keep);
    for (const trial of round.judged.trials.filter((one) => round.nodes[one.node].parent === final)) {
      seen += 1;
      assert.equal(rows.find((row) => row.token === round.nodes[trial.node].token).residual, 0);
    }
  });
  assert.ok(seen > 3);
});

test("a later sibling's bars are p and Q of its own trial: they hold its numbers and add up to at most one", () => {
  let seen = 0;
  const rounds = [sample(), ...runs].flatMap((trace) => trace.rounds.map((round) => [trace, round]));
  rounds.forEach(([trace, round]) => {
    for (const trial of round.judged.trials) {
      const node = round.nodes[trial.node];
      const data = S.barData(trace, round, node.parent, S.view(round, Infinity), node.id, true);
      if (!data.left) continue;
      seen += 1;
      const worked = S.known(data.topRows.target, node.token);
      assert.ok(Math.abs(worked - trial.target_prob) < 1e-4, `${worked} ${trial.target_prob}`);
      if (!data.topRows.draft) continue;
      const q = S.known(data.topRows.draft, node.token);
      assert.ok(Math.abs(q - trial.draft_prob) < 1e-4, `${q} ${trial.draft_prob}`);
      for (const name of ["draft", "target"])
        if (data.topRows[name]) assert.ok(data.topRows[name].probs.reduce((sum, one) => sum + one, 0) < 1 + 1e-3);
      const before = round.judged.trials.filter((one) => round.nodes[one.node].parent === node.parent);
      for (const gone of before.slice(0, before.indexOf(trial)))
        assert.equal(S.known(data.topRows.target, round.nodes[gone.node].token), 0);
    }
  });
  assert.ok(seen > 10, `${seen}`);
});

test("where two drafters proposed, the draft bars are the first one's, whatever the other thinks of its tokens", () => {
  const child = (id, token, source, draft_prob, target_prob) => ({
    id,
    token,
    source,
    draft_prob,
    target_prob,
    parent: 0,
    depth: 1,
    kind: "without_replacement",
  });
  const root = {
    id: 0,
    parent: null,
    depth: 0,
    kind: "root",
    draft: { tokens: [5, 6], probs: [0.75, 0.2], rest: 0.05 },
    target: { tokens: [5, 6], probs: [0.3, 0.6], rest: 0.1 },
  };
  const trials = [
    { node: 1, draft_prob: 0.75, target_prob: 0.3, accepted: false },
    { node: 2, draft_prob: 0.8, target_prob: 0.8, accepted: true },
  ];
  const first = [child(1, 5, "model", 0.75, 0.3), child(2, 6, "model", 0.2, 0.6)];
  const nodes = [root, ...first, child(3, 5, "model_2", 0.1, 0.3)];
  const round = { nodes, judged: { rule: "sequential", trials, path: [2] } };
  const at = { scored: true, level: 1, drawn: false };
  assert.equal(S.barData(sample(), round, 0, at, 1).exact.get(5).draft, 0.75);
  const { draft } = S.barData(sample(), round, 0, at, 2, true).topRows;
  assert.ok(Math.abs(S.known(draft, 6) - 0.8) < 1e-9); // 0.2 / (1 - 0.75), not 0.2 / (1 - 0.1)
});

test("below a sibling that was passed over it is that one's brother that is named", () => {
  const trace = structuredClone(sample());
  const index = trace.rounds.findIndex((round) =>
    round.nodes.some((node) => node.fate === "unreached" && round.nodes[node.parent].fate === "unreached"),
  );
  const round = trace.rounds[index];
  const labels = S.nodeLabels(trace, index);
  const kept = (id) => round.judged.trials.some((trial) => trial.node === id && trial.accepted);
  const node = round.nodes.find((one) => {
    const parent = round.nodes[one.parent];
    const above = parent?.parent;
    return parent?.fate === "unreached" && round.nodes.some((other) => other.parent === above && kept(other.id));
  });
  const said = plain(S.unreached(trace, round, labels, node.id));
  assert.ok(said.endsWith(`was accepted first, the sibling of ${labels[node.parent]}.`), said);
});
