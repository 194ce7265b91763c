/* A lesson as a sequence of beats: where a beat stands in a trace, what a key does, what is remembered. Pure.
   Lessons come resolved, as specviz/lessons/resolve.py writes them. */
globalThis.SpecViz = globalThis.SpecViz || {};
// needs: nothing
(function (S) {
  "use strict";

  /** The cursor {round, beat} of a beat's place in this trace. */
  function lessonCursor(trace, at) {
    const list = S.beats(trace.rounds[at.round]);
    const named =
      at.phase !== "verdicts"
        ? list.findLastIndex((beat) => beat.phase === at.phase)
        : at.trial === null
          ? list.findIndex((beat) => beat.drawn)
          : list.findIndex((beat) => beat.trial === at.trial);
    return { round: at.round, beat: Math.max(0, named - at.back) };
  }

  /** What the answer to a guess uncovers: the verdict itself, or the end of the round. */
  function revealed(at) {
    if (at.back || at.phase === "verdicts") return { ...at, back: 0 };
    return { ...at, phase: "commit", trial: null, node: S.END };
  }

  const FIELDS =
    "textarea, select, [contenteditable], [role=textbox], [role=combobox], [role=spinbutton], [role=slider], " +
    "[role=listbox], [role=option], [role=menu], dialog, " +
    "input:not([type=radio]):not([type=checkbox]):not([type=button])";

  /** What a key does to an open lesson, if anything: next, back, or choose with its place from 0. */
  function lessonCommand(event, focus) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return null;
    if (focus && focus.closest(FIELDS)) return null;
    if (event.key === "PageDown") return { does: "next" };
    if (event.key === "PageUp") return { does: "back" };
    if (/^[1-9]$/.test(event.key)) return { does: "choose", place: Number(event.key) - 1 };
    if (event.key !== " ") return null;
    // who walks with Tab presses buttons with Space; who clicked one and goes on does not mean it
    const walked = focus && focus.matches(":focus-visible") && focus.closest("button, a, summary, [role=button]");
    const choosing = focus && focus.matches("input") && !focus.checked;
    return walked || choosing ? null : { does: "next" };
  }

  /** What was remembered of lessons, from anything: {id: {beat, done, right: [places of beats]}}. */
  function readProgress(text) {
    const whole = (x) => (Number.isInteger(x) && x >= 0 ? x : 0);
    let given;
    try {
      given = JSON.parse(text);
    } catch {
      given = null; // somebody else's text under our name: begin anew
    }
    const entries = given && typeof given === "object" ? Object.entries(given) : [];
    return Object.fromEntries(
      entries.map(([id, one]) => [
        id,
        {
          beat: whole(one && one.beat),
          done: !!(one && one.done),
          right: Array.isArray(one && one.right) ? one.right.filter(Number.isInteger) : [],
        },
      ]),
    );
  }

  /** Exercises of a lesson, as places of its beats. */
  const exercises = (lesson) => lesson.beats.flatMap((beat, place) => (beat.exercise ? [place] : []));

  /** How far somebody is, in words. */
  function progressText(lesson, one) {
    const all = exercises(lesson);
    const right = one ? all.filter((place) => one.right.includes(place)).length : 0;
    if (!one) return `${lesson.minutes} minutes, ${S.count(all.length, "exercise")}`;
    if (one.done) return `finished, ${right} of ${all.length} exercises right`;
    return `at ${one.beat + 1} of ${lesson.beats.length}`;
  }

  Object.assign(S, { lessonCursor, revealed, lessonCommand, readProgress, exercises, progressText });
})(globalThis.SpecViz);
