const test = require("node:test");
const assert = require("node:assert");
const { S, sample, greedy } = require("./load.js");

const moments = (trace) => {
  const list = [{ round: 0, beat: 0 }];
  for (let next = S.step(trace, list[0], 1); next !== list.at(-1); next = S.step(trace, next, 1)) list.push(next);
  return list;
};

test("a round is drafted level by level, scored once, judged trial by trial, ended and committed", () => {
  const { rounds } = sample();
  assert.deepEqual(
    S.beats(rounds[0]).map((beat) => beat.level || (beat.trial ?? beat.drawn ?? beat.phase)),
    [1, 2, 3, 4, "target", 0, 1, 2, true, "commit"],
  );
});

test("a proposal without passes arrives in one beat", () => {
  const round = sample().rounds.find((one) => one.nodes.length > 1 && one.drafted.passes.length === 0);
  assert.equal(S.beats(round).filter((beat) => beat.phase === "draft").length, 1);
});

test("stepping back is the way there, reversed", () => {
  for (const trace of [sample(), greedy()]) {
    const there = moments(trace);
    const back = [there.at(-1)];
    for (let next = S.step(trace, back[0], -1); next !== back.at(-1); next = S.step(trace, next, -1)) back.push(next);
    assert.deepEqual(back.reverse(), there);
    assert.equal(
      there.length,
      trace.rounds.reduce((sum, round) => sum + S.beats(round).length, 0),
    );
  }
});

test("after the last verdict every node's state is the fate in the trace", () => {
  for (const trace of [sample(), greedy()]) {
    for (const round of trace.rounds) {
      assert.deepEqual(
        S.nodeStates(round, S.view(round, S.lastBeat(round))),
        round.nodes.map((node) => node.fate),
      );
    }
  }
});

test("no verdict shows before it was spoken, and none changes afterwards", () => {
  for (const round of sample().rounds) {
    let before = null;
    for (let beat = 0; beat <= S.lastBeat(round); beat++) {
      const at = S.view(round, beat);
      const states = S.nodeStates(round, at);
      if (at.phase === "draft" || at.phase === "target")
        assert.ok(states.every((state) => ["root", "hidden", "drafted"].includes(state)));
      if (before)
        states.forEach((state, node) => {
          if (["accepted", "rejected", "unreached"].includes(before[node])) assert.equal(state, before[node]);
        });
      before = states;
    }
  }
});

test("a node below a rejected one is unreached at that moment, not at the end", () => {
  const round = sample().rounds[0];
  const beat = S.beats(round).findIndex((one) => one.trial === 2);
  assert.deepEqual(S.nodeStates(round, S.view(round, beat - 1)).slice(3), ["drafted", "drafted"]);
  assert.deepEqual(S.nodeStates(round, S.view(round, beat)).slice(3), ["rejected", "unreached"]);
});

test("the text keeps rejected tokens in their place", () => {
  const trace = sample();
  const list = S.tokens(trace, { round: 0, beat: S.lastBeat(trace.rounds[0]) });
  assert.deepEqual(
    list.map((token) => [token.text, token.mark]),
    [
      ["    ", "accepted"],
      ["return", "accepted"],
      [" c", "rejected"],
      [" a", "correction"],
    ],
  );
  assert.deepEqual(S.tokens(trace, { round: 0, beat: 0 }), []);
});

test("the tokens of a whole run, rejected and cut ones left out, are its output", () => {
  for (const trace of [sample(), greedy()]) {
    const last = trace.rounds.length - 1;
    const list = S.tokens(trace, { round: last, beat: S.lastBeat(trace.rounds[last]) }).filter(
      (token) => token.mark !== "rejected" && !token.cut,
    );
    assert.deepEqual(
      list.map((token) => token.token),
      trace.finished.output_ids,
    );
  }
});

test("jumps find rejections and bonuses, and say when there is none", () => {
  const trace = sample();
  const start = { round: 0, beat: 0 };
  assert.deepEqual(S.seek(trace, start, 1, S.isRejection), { round: 0, beat: 7 });
  assert.equal(S.seek(trace, start, -1, S.isRejection), null);
  const bonus = S.seek(trace, start, 1, S.isBonus);
  assert.equal(trace.rounds[bonus.round].judged.origin, "bonus");
});

test("the player opens where something was accepted, something rejected and something unreached", () => {
  for (const trace of [sample(), greedy()]) {
    const start = S.instructive(trace);
    const fates = new Set(trace.rounds[start.round].nodes.map((node) => node.fate));
    for (const fate of ["accepted", "rejected", "unreached"]) assert.ok(fates.has(fate));
    assert.equal(trace.rounds[start.round].nodes[start.node].fate, "rejected");
  }
});

test("a run without drafting opens too", () => {
  const trace = sample();
  trace.rounds = trace.rounds.filter((round) => round.nodes.length === 1);
  assert.deepEqual(S.instructive(trace).node, S.END);
});

test("a moment survives the address bar; nonsense is ignored", () => {
  assert.deepEqual(S.readMoment(S.writeMoment({ round: 4, beat: 2 }, 3)), { round: 4, beat: 2, node: 3 });
  assert.deepEqual(S.readMoment(S.writeMoment({ round: 4, beat: 2 }, S.END)), { round: 4, beat: 2, node: S.END });
  assert.deepEqual(S.readMoment("#round=2&tab=x"), { round: 1, beat: 0, node: null });
  for (const text of ["", "#", "#round=x", "#round=-1", "#round=1e9", "#beat=2", "#%E0%A4%A"])
    assert.equal(S.readMoment(text), null, text);
});

test("any cursor lands inside the trace", () => {
  const trace = sample();
  assert.deepEqual(S.clamp(trace, { round: 99, beat: -3 }), { round: trace.rounds.length - 1, beat: 0 });
  assert.deepEqual(S.clamp(trace, { round: NaN, beat: 1e9 }), { round: 0, beat: S.lastBeat(trace.rounds[0]) });
});

test("keys mean what the help says, and nothing with Ctrl, Alt or Meta", () => {
  const key = (name, more = {}) => S.command({ key: name, shiftKey: false, ...more });
  assert.deepEqual(
    ["ArrowRight", "ArrowLeft", "PageDown", "PageUp", " ", "n", "N", "b", "Home", "End", "f", "?", "x"].map((name) =>
      key(name),
    ),
    [
      "next",
      "previous",
      "next",
      "previous",
      "play",
      "nextRejection",
      "previousRejection",
      "nextBonus",
      "start",
      "end",
      "fit",
      "help",
      null,
    ],
  );
  assert.equal(key("ArrowRight", { shiftKey: true }), "nextRound");
  assert.equal(key("f", { ctrlKey: true }), null);
});

test("no two nodes of a tree stand on one another, the round's last token included", () => {
  for (const trace of [sample(), greedy()]) {
    trace.rounds.forEach((round, index) => {
      const { spots, width, height } = S.layout(round, S.nodeLabels(trace, index), 700);
      assert.equal(new Set(spots.map((spot) => `${spot.x},${spot.y}`)).size, round.nodes.length + 1);
      assert.ok(spots.every((spot) => spot.x >= 0 && spot.x + spot.wide <= width && spot.y >= 0 && spot.y <= height));
    });
  }
});

/** A root with two children, 1 and 2, and a grandchild, 3, below 1; judged as said. */
function small(order, trials, path, fates) {
  const at = [
    [-1, 0],
    [0, 1],
    [0, 1],
    [1, 2],
  ];
  return {
    nodes: at.map(([parent, depth], id) => ({ id, parent, depth, token: id, fate: fates[id] })),
    drafted: { passes: [] },
    judged: {
      order,
      path,
      token: 9,
      origin: "correction",
      trials: trials.map(([node, accepted]) => ({ node, accepted })),
    },
    committed: { tokens: [...path, 9] },
  };
}
const drawn = (round, trials) =>
  S.nodeStates(
    round,
    S.view(
      round,
      S.beats(round).findIndex((beat) => beat.trial === trials - 1),
    ),
  );
const marks = (round) => {
  const trace = { started: { prompt_ids: [] }, vocab: {}, rounds: [round] };
  return S.tokens(trace, { round: 0, beat: 99 }).map((token) => `${token.node} ${token.mark}`);
};

test("bottom up: an accepted path takes its ancestors along, and rejected leaves stay beside it", () => {
  const round = small(
    "bottom_up",
    [
      [3, false],
      [1, true],
    ],
    [1],
    ["root", "accepted", "unreached", "rejected"],
  );
  assert.deepEqual(drawn(round, 1), ["root", "drafted", "drafted", "rejected"]);
  assert.deepEqual(drawn(round, 2), ["root", "accepted", "drafted", "rejected"]);
  assert.deepEqual(marks(round), ["1 accepted", "3 rejected", "end correction"]);
  const whole = small("bottom_up", [[3, true]], [1, 3], ["root", "accepted", "unreached", "accepted"]);
  assert.deepEqual(drawn(whole, 1), ["root", "accepted", "drafted", "accepted"]);
  const none = small(
    "bottom_up",
    [
      [3, false],
      [1, false],
      [2, false],
    ],
    [],
    ["root", "rejected", "rejected", "rejected"],
  );
  assert.deepEqual(marks(none), ["1 rejected", "2 rejected", "end correction"]);
});

test("longest: whoever passed but is not on the path is rejected in the end, not before", () => {
  const round = small(
    "longest",
    [
      [1, true],
      [2, true],
      [3, true],
    ],
    [1, 3],
    ["root", "accepted", "rejected", "accepted"],
  );
  assert.deepEqual(drawn(round, 3), ["root", "accepted", "accepted", "accepted"]);
  assert.deepEqual(S.nodeStates(round, S.view(round, 99)), ["root", "accepted", "rejected", "accepted"]);
  assert.deepEqual(marks(round), ["2 rejected", "1 accepted", "3 accepted", "end correction"]);
});
