const test = require("node:test");
const assert = require("node:assert");
const { S, sample, greedy } = require("./load.js");

const key = (name, more = {}) => ({ key: name, ctrlKey: false, altKey: false, shiftKey: false, ...more });
/** An element as far as a key asks: which selectors it matches. */
const focus = (matches, more = {}) => ({
  matches: (selector) => matches.includes(selector),
  closest: (selector) => matches.some((one) => selector.split(", ").includes(one)),
  ...more,
});

test("a presenter's keys go on and back from anywhere", () => {
  assert.deepEqual(S.lessonCommand(key("PageDown"), null), { does: "next", gives: true });
  assert.deepEqual(S.lessonCommand(key("PageUp"), focus(["button"])), { does: "back" });
  assert.deepEqual(S.lessonCommand(key(" "), null), { does: "next", gives: false });
  assert.deepEqual(S.lessonCommand(key("3"), null), { does: "choose", typed: "3" });
  assert.deepEqual(S.lessonCommand(key("b"), null), { does: "choose", typed: "B" });
  assert.equal(S.lessonCommand(key("ArrowRight"), null), null);
  assert.equal(S.lessonCommand(key(" ", { ctrlKey: true }), null), null);
});

test("keys in a field or on a slider stay there", () => {
  for (const where of ["textarea", "[role=slider]", "[contenteditable]", "select"])
    for (const name of [" ", "PageDown", "2"]) assert.equal(S.lessonCommand(key(name), focus([where])), null);
});

test("from a field for a class's hands a remote goes on, and nothing else does", () => {
  const field = "input:not([type=radio]):not([type=checkbox]):not([type=button])";
  const hands = focus([field, ".svp-guess-row"]);
  assert.deepEqual(S.lessonCommand(key("PageDown"), hands), { does: "next", gives: true });
  for (const name of [" ", "2", "a"]) assert.equal(S.lessonCommand(key(name), hands), null);
});

/** Which answers keys choose, one after the other. */
function chosen(texts, keys) {
  let typed = "";
  return Array.from(keys, (one) => {
    const now = S.chosenBy(
      texts.map((text) => ({ text })),
      typed,
      one,
    );
    typed = now.typed;
    return now.place;
  });
}

test("a numeric answer is chosen by its own digits, and any answer by its letter", () => {
  assert.deepEqual(chosen(["3", "2", "1"], "123"), [2, 1, 0]);
  assert.deepEqual(chosen(["3", "2", "1"], "ABCD"), [0, 1, 2, null]);
  assert.deepEqual(chosen(["4 tokens", "none", "2 tokens"], "24"), [2, 0]);
  assert.deepEqual(chosen(["5", "14", "15"], "14"), [null, 1]);
  assert.deepEqual(chosen(["5", "14", "15"], "155"), [null, 2, 0]);
  assert.deepEqual(chosen(["0.62", "0.29"], "0.29"), [null, null, 1, 1]);
  assert.deepEqual(chosen(["3", "2", "1"], "49"), [null, null]);
});

test("digits are places where no answer begins with a number", () => {
  assert.deepEqual(chosen(["the target", "the drafter"], "213A"), [1, 0, null, 0]);
});

test("Space presses a button reached with Tab, and goes on after one that was clicked", () => {
  const button = "button:not([role=tab][aria-selected=true])";
  const goesOn = { does: "next", gives: false };
  assert.equal(S.lessonCommand(key(" "), focus([button, ":focus-visible"])), null);
  assert.deepEqual(S.lessonCommand(key(" "), focus([button])), goesOn);
  assert.deepEqual(S.lessonCommand(key(" "), focus(["button", ":focus-visible"])), goesOn); // the open tab
  assert.equal(S.lessonCommand(key(" "), focus(["input"], { checked: false })), null);
  assert.deepEqual(S.lessonCommand(key(" "), focus(["input"], { checked: true })), goesOn);
});

test("progress is read from anything", () => {
  assert.deepEqual(S.readProgress("no JSON"), {});
  assert.deepEqual(S.readProgress("[]"), {});
  assert.deepEqual(S.readProgress('{"a": {"beat": -3, "right": [1, "x"]}, "b": null}'), {
    a: { beat: 0, done: false, right: [1] },
    b: { beat: 0, done: false, right: [] },
  });
});

test("progress in words counts exercises alone", () => {
  const lesson = { minutes: 4, beats: [{ exercise: false }, { exercise: true }, { exercise: true }] };
  assert.equal(S.progressText(lesson, undefined), "4 minutes, 2 exercises");
  assert.equal(S.progressText(lesson, { beat: 1, done: false, right: [] }), "at 2 of 3");
  assert.equal(S.progressText(lesson, { beat: 0, done: true, right: [0, 2] }), "finished, 1 of 2 exercises right");
});

test("a beat stands where its name says, and a guess uncovers its verdict", () => {
  const trace = sample();
  const round = trace.rounds.findIndex((one) => one.judged.trials.some((trial) => !trial.accepted));
  const trial = trace.rounds[round].judged.trials.findIndex((one) => !one.accepted);
  const at = { round, phase: "verdicts", trial, node: trace.rounds[round].judged.trials[trial].node, back: 1 };
  const [before, after] = [S.lessonCursor(trace, at), S.lessonCursor(trace, S.revealed(at))];
  assert.equal(after.beat - before.beat, 1);
  assert.ok(S.isRejection(trace.rounds[round], S.beats(trace.rounds[round])[after.beat]));
  assert.deepEqual(S.revealed({ ...at, back: 0 }), { ...at, back: 0 }, "a verdict that was asked is shown itself");
  const draft = { round, phase: "draft", trial: null, node: 1, back: 0 };
  assert.equal(S.lessonCursor(trace, S.revealed(draft)).beat, S.beats(trace.rounds[round]).length - 1);
});

test("live checks see what a run shows", () => {
  const runs = [sample(), greedy()];
  for (const trace of runs) {
    const seen = Object.fromEntries(Object.keys(S.LIVE_CHECKS).map((name) => [name, S.LIVE_CHECKS[name](trace)]));
    const tokens = trace.finished.output_ids.length;
    assert.equal(seen.fewer_passes.done, trace.rounds.length < tokens);
    assert.match(seen.fewer_passes.said, new RegExp(`${tokens} tokens in ${trace.rounds.length} passes`));
    assert.equal(seen.residual_drawn.done, JSON.stringify(trace.rounds).includes('"residual":{'));
    const origins = trace.rounds.map((round) => round.judged.origin);
    assert.equal(seen.bonus_and_correction.done, origins.includes("bonus") && origins.includes("correction"));
    if (trace.started.source === "simulated") assert.equal(seen.slower_than_plain.done, false);
  }
});

test("a run is slower than plain by its own clock", () => {
  const trace = sample();
  trace.started.source = "live";
  trace.started.step_times = [{ rows: 1, cached_rows: 0, median_s: 1, low_s: 1, high_s: 1 }];
  const tokens = trace.finished.output_ids.length;
  for (const round of trace.rounds)
    for (const part of ["drafted", "scored", "judged", "committed"]) round[part].seconds = 0;
  trace.rounds[0].scored.seconds = tokens * 2;
  assert.equal(S.measuredGain(trace), 0.5);
  assert.equal(S.LIVE_CHECKS.slower_than_plain(trace).done, true);
  trace.rounds[0].scored.seconds = tokens / 2;
  assert.equal(S.LIVE_CHECKS.slower_than_plain(trace).done, false);
  trace.finished.plain = { output_tokens: 10, decode_s: 2.5, runs: 3, same_text: true }; // 0.25 s a token, not 1 s
  assert.equal(S.measuredGain(trace), 0.5, "plain decoding beside the run speaks before a pass timed earlier");
  assert.equal(S.LIVE_CHECKS.slower_than_plain(trace).done, true);
});

test("a candidate is saved by a sibling only where one was rejected beside it", () => {
  const trial = (node, accepted) => ({ node, accepted });
  const nodes = [{ parent: -1 }, { parent: 0 }, { parent: 0 }, { parent: 2 }];
  const run = (...trials) => ({ rounds: [{ nodes, judged: { trials } }] });
  assert.equal(S.LIVE_CHECKS.saved_by_sibling(run(trial(1, false), trial(2, true), trial(3, true))).done, true);
  assert.equal(S.LIVE_CHECKS.saved_by_sibling(run(trial(1, true))).done, false);
  assert.equal(S.LIVE_CHECKS.saved_by_sibling(run(trial(2, true), trial(3, false))).done, false);
});

test("a run asked for as before solves nothing, whatever its seed, and each run is judged once", () => {
  const before = sample().started;
  const own = S.ownRuns();
  own.fill(before);
  assert.equal(own.changed({ ...before, run_id: "1", seed: 99 }), false);
  const warmer = { ...before, run_id: "2", sampling: { ...before.sampling, temperature: 1.5 } };
  assert.equal(own.changed(warmer), true);
  assert.equal(own.changed(warmer), true, "drawn again, it is the same run");
  assert.equal(own.changed({ ...warmer, run_id: "3" }), false, "and the next one is held against it");
  assert.equal(own.changed({ ...warmer, run_id: "4", prompt_text: "A cat" }), true);
  const wider = { ...before.drafter, options: { ...before.drafter.options, gamma: 20 } };
  assert.equal(own.changed({ ...warmer, run_id: "5", prompt_text: "A cat", drafter: wider }), true);
});
