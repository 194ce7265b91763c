// The target's pass as rows, the cache over a run, and the columns from logits to p: against every recorded run.
const test = require("node:test");
const assert = require("node:assert");
const { S, sample, recorded: read } = require("./load.js");

const recorded = read();

test("the pass has as many rows as the engine says it computed, in every round of every recorded run", () => {
  for (const [name, trace] of recorded)
    for (const round of trace.rounds) {
      const at = `${name}, round ${round.index + 1}`;
      assert.equal(S.passRows(round).length, round.scored.target_pass.rows, at);
    }
});

test("each row of the mask sees its ancestors and itself, at its depth behind the text", () => {
  const round = sample().rounds[1];
  S.passRows(round).forEach(({ nodes: [id], position, sees }, row) => {
    assert.equal(sees.at(-1), row);
    assert.equal(sees.length, round.nodes[id].depth + 1);
    assert.equal(position, round.committed.cache_before + round.nodes[id].depth);
  });
});

test("nodes of the same text share one row, and see the same", () => {
  const node = (id, parent, depth, token) => ({ id, parent, depth, token });
  const nodes = [node(0, -1, 0, 7), node(1, 0, 1, 8), node(2, 0, 1, 8), node(3, 1, 2, 9), node(4, 2, 2, 9)];
  assert.deepStrictEqual(S.passRows({ nodes, base_length: 5 }), [
    { nodes: [0], position: 4, sees: [0] },
    { nodes: [1, 2], position: 5, sees: [0, 1] },
    { nodes: [3, 4], position: 6, sees: [0, 1, 2] },
  ]);
});

test("a row that a pass computed stays or is dropped, and the cache goes on from there, in every recorded run", () => {
  for (const [name, trace] of recorded) {
    const { each } = S.rowLedger(trace.rounds);
    each.forEach((one, index) => {
      const at = `${name}, round ${index + 1}`;
      assert.equal(one.kept + one.dropped, one.rows, at);
      assert.ok(one.shared >= 0, at);
      if (index) assert.equal(one.before, each[index - 1].before + each[index - 1].kept, at);
    });
  }
});

test("what sharing prefixes saves is counted against one sequence per path, the root in each", () => {
  const node = (id, parent, depth) => ({ id, parent, depth });
  const committed = { tokens: [1, 1], cache_before: 10, cache_kept: 12, cache_dropped: 3 };
  const round = { nodes: [node(0, -1, 0), node(1, 0, 1), node(2, 0, 1), node(3, 1, 2), node(4, 1, 2)] };
  const ledger = S.rowLedger([{ ...round, committed, scored: { target_pass: { rows: 5 } } }]);
  // paths 0-1-3, 0-1-4 and 0-2: 3 + 3 + 2 rows for the same candidates
  assert.deepStrictEqual(ledger.each, [{ before: 10, rows: 5, kept: 2, dropped: 3, shared: 3 }]);
  assert.deepStrictEqual(ledger.all, { rows: 5, kept: 2, dropped: 3, shared: 3, tokens: 2, passes: 1 });
});

const card = (temperature, top_k, top_p, raw, target) => {
  const node = { id: 0, parent: -1, depth: 0, target, target_raw: raw, draft: null, draft_raw: null };
  const sampling = { temperature, top_k, top_p };
  const trace = { started: { sampling, target: { vocab_size: 4 }, drafter: { model: null } } };
  return S.columnsAt(trace, { nodes: [node] }, node, "target");
};
const RAW = { tokens: [3, 1, 2], probs: [0.5, 0.25, 0.125], rest: 0.125 };

test("the columns are ln p, ÷ T, what is cut, and the stored p", () => {
  const stored = { tokens: [3, 1], probs: [0.8, 0.2], rest: 0 };
  const data = card(0.5, 2, 1, RAW, stored); // squares 1/4 and 1/16 of the two that top-k keeps
  assert.deepStrictEqual(
    data.rows.map((row) => [row.token, row.logit.toFixed(2), row.warm.toFixed(2), row.state, row.p[1]]),
    [
      [3, "-0.69", "-1.39", "kept", 0.8],
      [1, "-1.39", "-2.77", "kept", 0.2],
      [2, "-2.08", "-4.16", "top-k", 0],
    ],
  );
  assert.deepStrictEqual([data.rest.own, data.rest.p, data.size - data.listed], [0.125, 0, 1]);
});

test("a p that is not stored is worked out from the model's own head", () => {
  const { rows } = card(0.5, 0, 1, RAW, { tokens: [3], probs: [0.727273], rest: 0.272727 });
  const [low, high] = rows[1].p; // (1/4)² ÷ (1/2² + 1/4² + 1/8² + 1/8²) = 2/11
  assert.ok(low <= 2 / 11 && 2 / 11 <= high && high - low < 0.01, `${low} to ${high}`);
});

test("what top-p cut is told from what top-k cut", () => {
  const states = card(1, 0, 0.6, RAW, { tokens: [3, 1], probs: [0.666667, 0.333333], rest: 0 }).rows;
  assert.deepStrictEqual(
    states.map((row) => row.state),
    ["kept", "kept", "top-p"],
  );
});

test("at temperature 0 the largest logit has everything", () => {
  const data = card(0, 0, 1, RAW, { tokens: [3], probs: [1], rest: 0 });
  assert.ok(data.cold);
  assert.deepStrictEqual(
    data.rows.map((row) => row.p[0]),
    [1, 0, 0],
  );
});

test("the stored p is what the columns come to, in every recorded run that has both rows", () => {
  let told = 0;
  for (const [name, trace] of recorded) {
    const { sampling, target } = trace.started;
    if (sampling.temperature === 0) continue;
    for (const round of trace.rounds)
      for (const node of round.nodes) {
        if (!node.target_raw) continue;
        const { temperature, top_k: topK, top_p: topP } = sampling;
        const spread = S.reshaped(node.target_raw, new Map(), target.vocab_size, 1 / temperature, topK, topP);
        for (const row of S.columnsAt(trace, round, node, "target").rows) {
          const [low, high] = S.probAt(spread, row.token);
          assert.ok(row.p[0] >= low - 3e-5 && row.p[1] <= high + 3e-5, `${name}, round ${round.index + 1}`);
          told += 1;
        }
      }
  }
  assert.ok(told > 1000, `${told} rows`);
});

test("a row without the model's own head has no columns, and the panel can say so", () => {
  assert.equal(card(0.5, 0, 1, null, RAW), null);
  assert.ok(card(1, 0, 1, null, RAW), "at temperature 1 without cuts the stored row is the model's own");
});

test("the shape of a draft is told level by level as paths of places among siblings", () => {
  const node = (id, parent, depth) => ({ id, parent, depth });
  const nodes = [node(0, -1, 0), node(1, 0, 1), node(2, 1, 2), node(3, 0, 1), node(4, 1, 2), node(5, 2, 3)];
  assert.equal(S.shapeOf({ nodes, drafted: { riding: [] } }), "0; 1; 0,0; 0,1; 0,0,0");
  assert.equal(S.shapeOf({ nodes, drafted: { riding: [3] } }), "0; 0,0; 0,1; 0,0,0");
});

const star = (children, each) => {
  const nodes = [{ id: 0, parent: -1, depth: 0 }];
  for (let child = 0; child < children; child++) nodes.push({ id: nodes.length, parent: 0, depth: 1 });
  for (let child = 1; child <= children; child++)
    for (let leaf = 0; leaf < each; leaf++) nodes.push({ id: nodes.length, parent: child, depth: 2 });
  return { nodes, judged: { trials: [], path: [], final_node: 0 }, drafted: { riding: [] } };
};

test("of many children a folded tree shows the first twelve and counts the others with all below them", () => {
  const round = star(32, 8);
  const { shown, folded } = S.unfolded(round, { level: Infinity, trials: 0 });
  assert.deepStrictEqual(shown, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  assert.equal(folded.get(0), 20 * 9);
  const all = S.unfolded(round, { level: Infinity, trials: 0 }, { opened: new Map([[0, true]]) });
  assert.equal(all.shown.length, 33);
  assert.equal(all.folded.get(0), undefined);
});

test("a selected, tried or opened child of many is shown although it is not among the first", () => {
  const round = { ...star(32, 8), judged: { trials: [{ node: 30, accepted: true }], path: [30], final_node: 30 } };
  const { shown } = S.unfolded(round, { level: Infinity, trials: 1 }, { selected: 25 });
  assert.ok(shown.includes(25) && shown.includes(30));
  assert.equal(shown.filter((id) => round.nodes[id].depth === 1).length, 12);
});

test("the map holds every node once, inside its strip, a parent over its children", () => {
  const round = star(4, 64);
  const spots = S.mapSpots(round, 800, 64);
  assert.deepStrictEqual(
    spots.map((spot) => spot.id),
    round.nodes.map((node) => node.id),
  );
  for (const { x, y, parent } of spots) {
    assert.ok(x >= 0 && x <= 800 && y >= 0 && y <= 64);
    if (parent >= 0) assert.ok(y > spots[parent].y);
  }
});
