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
        round.nodes.map((node) => (S.behindTheEnd(round).has(node.id) ? "behind" : node.fate)),
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

test("where the text ends inside a draft, what was judged behind it is that, in tree and text alike", () => {
  const trace = sample(); // a stop string ends it with the second of the last round's three candidates
  const round = trace.rounds[7];
  const trial = (node) =>
    S.beats(round).findIndex((beat) => beat.trial !== undefined && round.judged.trials[beat.trial].node === node);
  const states = (beat) => S.nodeStates(round, S.view(round, beat));
  assert.deepEqual(states(trial(1)), ["root", "accepted", "drafted", "drafted"]);
  assert.deepEqual(states(trial(2)), ["root", "accepted", "accepted", "behind"], "the text is over");
  assert.deepEqual(states(S.lastBeat(round)), ["root", "accepted", "accepted", "behind"]);
  const marks = S.tokens(trace, { round: 7, beat: S.lastBeat(round) }).filter((token) => token.round === 7);
  assert.deepEqual(
    marks.map((token) => token.mark),
    ["accepted", "accepted", "behind", "behind"],
  );
  assert.match(
    S.caption(trace, round, S.nodeLabels(trace, 7), S.view(round, S.lastBeat(round) - 1)),
    /^The text is over with/,
  );
});

test("the tokens of a whole run, without rejected ones and those behind its end, are its output", () => {
  for (const trace of [sample(), greedy()]) {
    const last = trace.rounds.length - 1;
    const list = S.tokens(trace, { round: last, beat: S.lastBeat(trace.rounds[last]) }).filter((token) =>
      S.isText(token.mark),
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
    ["ArrowRight", "ArrowLeft", "PageDown", "PageUp", " ", "n", "N", "b", "Home", "End", "f", "p", "?", "x"].map(
      (name) => key(name),
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
      "present",
      "help",
      null,
    ],
  );
  assert.equal(key("ArrowRight", { shiftKey: true }), "nextRound");
  assert.equal(key("f", { ctrlKey: true }), null);
});

test("while presenting, Space steps and Escape leaves", () => {
  const key = (name) => S.command({ key: name, shiftKey: false }, true);
  assert.deepEqual([key(" "), key("Escape")], ["next", "present"]);
  assert.equal(S.command({ key: "Escape", shiftKey: false }), null);
});

test("every command leads somewhere in the trace or to null", () => {
  const trace = sample();
  const last = trace.rounds.length - 1;
  assert.deepEqual(S.jump(trace, { round: last, beat: 0 }, "nextRound"), { round: last, beat: Infinity });
  assert.deepEqual(S.jump(trace, { round: 2, beat: 0 }, "previousRound"), { round: 1, beat: 0 });
  assert.equal(S.jump(trace, { round: 0, beat: 0 }, "previousRejection"), null);
  assert.throws(() => S.jump(trace, { round: 0, beat: 0 }, "sideways"), /no command sideways/);
});

test("the subject of a beat is what its sentence names: the first of all where all were drafted at once", () => {
  const round = sample().rounds[0];
  const at = S.view(round, 0);
  assert.equal(round.nodes[S.subject(round, at)].depth, 1);
  const once = { ...round, drafted: { ...round.drafted, passes: [] } };
  assert.equal(once.nodes[S.subject(once, S.view(once, 0))].depth, 1);
});

test("no two nodes of a tree stand on one another, the round's last token included", () => {
  for (const trace of [sample(), greedy()]) {
    trace.rounds.forEach((round, index) => {
      for (const room of [0, 700, 360]) {
        const { spots, width, height } = S.layout(round, S.nodeLabels(trace, index), { room });
        assert.equal(new Set(spots.map((spot) => `${spot.x},${spot.y}`)).size, spots.length);
        assert.ok(spots.every((spot) => spot.x >= 0 && spot.x + spot.wide <= width && spot.y >= 0 && spot.y <= height));
        if (room !== 360) assert.equal(spots.length, round.nodes.length + 1);
        if (room) assert.ok(width <= room);
      }
    });
  }
});

test("a tree too wide for the room runs down, a row per node", () => {
  const trace = sample();
  const round = trace.rounds[1];
  const labels = S.nodeLabels(trace, 1);
  assert.equal(S.layout(round, labels, { room: 2000 }).down, false);
  const tree = S.layout(round, labels, { room: 320 });
  assert.equal(tree.down, true);
  assert.equal(new Set(tree.spots.map((spot) => spot.y)).size, tree.spots.length);
});

/** A root with `wide` children, each with a chain of `deep` below it. */
function broad(wide, deep) {
  const nodes = [{ id: 0, parent: -1, depth: 0, fate: "root" }];
  for (let child = 0; child < wide; child++)
    for (let depth = 1; depth <= deep; depth++)
      nodes.push({ id: nodes.length, parent: depth === 1 ? 0 : nodes.length - 1, depth, fate: "unreached" });
  const trials = [
    { node: 1, accepted: false },
    { node: deep + 1, accepted: true },
  ];
  return { nodes, judged: { order: "top_down", trials, path: [deep + 1], final_node: deep + 1 } };
}

test("a large tree shows the walk so far and counts what is folded, knowing nothing of how the round ends", () => {
  const round = broad(10, 4);
  const before = S.unfolded(round, { level: Infinity, trials: 0 });
  assert.deepEqual(before.shown, [0, 1, 5, 9, 13, 17, 21, 25, 29, 33, 37]);
  assert.deepEqual([...before.folded.values()], Array(10).fill(3));
  assert.deepEqual([...S.unfolded(round, { level: 2, trials: 0 }).folded.values()], Array(10).fill(1));
  const walked = S.unfolded(round, { level: Infinity, trials: 2 });
  assert.ok(walked.shown.includes(6) && !walked.shown.includes(2));
  const opened = S.unfolded(round, { level: Infinity, trials: 0 }, { opened: new Map([[1, true]]) });
  assert.deepEqual(opened.shown.slice(0, 6), [0, 1, 2, 3, 4, 5]);
});

test("small trees and chains are whole, and the map of a large one fits its box", () => {
  assert.equal(S.unfolded(broad(3, 4), { level: Infinity, trials: 0 }).folded.size, 0);
  assert.equal(S.unfolded(broad(1, 60), { level: Infinity, trials: 0 }).folded.size, 0);
  const labels = Object.assign(Array(401).fill("token"), { end: "token" });
  const map = S.layout(broad(100, 4), labels, { room: 360, high: 320 });
  assert.equal(map.spots.length, 402);
  assert.ok(map.spots.every((spot) => spot.x <= 360 && spot.y <= 320));
});

test("a chain too long for the room with its odds runs across without them, and down where not even that fits", () => {
  const chain = { nodes: [{ id: 0, parent: -1, depth: 0 }], judged: { final_node: 7 } };
  for (let id = 1; id <= 7; id += 1) chain.nodes.push({ id, parent: id - 1, depth: id });
  const labels = Object.assign(Array(8).fill("word"), { end: "word" });
  const way = (room) => {
    const { down, bare } = S.layout(chain, labels, { room, odds: () => ">0.9999 → 0.9999" });
    return [down, bare];
  };
  assert.deepEqual(way(1600), [false, undefined]);
  assert.deepEqual(way(780), [false, true]);
  assert.deepEqual(way(370), [true, undefined]);
});

test("a beat stands as long as its sentence takes to be read", () => {
  const words = Array(25).fill("word").join(" ");
  assert.ok(S.dwell(words, 1) > 6000 && S.dwell(words, 1) < 8000);
  assert.equal(S.dwell(words, 2), S.dwell(words, 1) / 2);
  assert.ok(S.dwell("One two.", 1) < 1500);
});

test("a presentation grows with the window and never shrinks", () => {
  assert.ok(Math.abs(S.scaleOf(1280, 720) - 4 / 3) < 1e-9);
  assert.equal(S.scaleOf(1920, 1080), 2);
  assert.equal(S.scaleOf(390, 844), 1);
  assert.equal(S.scaleOf(700, 300), 1);
  assert.equal(S.asksToPresent("?view=present"), true);
  assert.equal(S.asksToPresent("?view=other"), false);
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
