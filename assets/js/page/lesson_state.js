/* A lesson as a sequence of beats: where a beat stands in a trace, what a key does, what is remembered. Pure.
   Lessons come resolved, as specviz/lessons/resolve.py writes them. */
// needs: numbers, state
const lessonState = (function (S) {
  "use strict";

  /** The cursor {round, beat} of a beat's place in this trace.
      @param {trace.Trace} trace */
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

  const COUNTING = ".svp-guess-row"; // fields for a class's hands: a presenter's remote goes on from there
  const PRESSING = "button:not([role=tab][aria-selected=true]), a, summary, [role=button]";

  /** What a key does to an open lesson, if anything: next, back, or choose what is typed. `gives`: it also shows the
      answer to a question that nobody has answered. */
  function lessonCommand(event, focus) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return null;
    const turns = { PageDown: { does: "next", gives: true }, PageUp: { does: "back" } }[event.key];
    if (focus && focus.closest(FIELDS)) return turns && focus.closest(COUNTING) ? turns : null;
    if (turns) return turns;
    if (/^[a-i0-9.]$/i.test(event.key)) return { does: "choose", typed: event.key.toUpperCase() };
    if (event.key !== " ") return null;
    // who walks with Tab presses buttons with Space; who clicked one and goes on does not mean it
    const walked = focus && focus.matches(":focus-visible") && focus.closest(PRESSING);
    const choosing = focus && focus.matches("input") && !focus.checked;
    return walked || choosing ? null : { does: "next", gives: false };
  }

  const LETTERS = "ABCDEFGHI";
  const NUMBER = /^[\u2068]?(\d+(?:\.\d+)?)/;

  /** What a text that was typed chooses among answers: {place, typed}; `place` null while it chooses none, `typed` what
      the next key goes on from. A letter is the answer's place, from A. Digits are the number that an answer begins
      with; where no answer begins with one, they are places, from 1. */
  function chosenBy(choices, typed, key) {
    const letter = LETTERS.indexOf(key);
    if (letter >= 0) return { place: letter < choices.length ? letter : null, typed: "" };
    const numbers = choices.map((choice) => NUMBER.exec(choice.text)?.[1] ?? null);
    if (numbers.every((number) => number === null)) {
      const place = Number(key) - 1;
      return { place: place >= 0 && place < choices.length ? place : null, typed: "" };
    }
    const begins = (text) =>
      numbers.flatMap((number, place) => (number !== null && number.startsWith(text) ? place : []));
    const now = begins(typed + key).length ? typed + key : begins(key).length ? key : "";
    const [whole, open] = [numbers.indexOf(now), now ? begins(now) : []];
    return { place: whole >= 0 ? whole : open.length === 1 ? open[0] : null, typed: now };
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

  return {
    lessonCursor,
    revealed,
    lessonCommand,
    chosenBy,
    LETTERS_OF_ANSWERS: LETTERS,
    readProgress,
    exercises,
    progressText,
  };
})(SpecViz);
Object.assign(SpecViz, lessonState);
