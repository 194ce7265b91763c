/* Moving through a run: buttons, the beats of a round, the rounds of a run. */
// needs: dom, numbers, state, wording
const transport = (function (S) {
  "use strict";

  const { h } = S;
  const SPEEDS = [0.5, 1, 2, 4];
  const ICONS = {
    previousRound: "M4 3v14M16 4L7 10l9 6z",
    previous: "M14 4L5 10l9 6z",
    next: "M6 4l9 6-9 6z",
    nextRound: "M16 3v14M4 4l9 6-9 6z",
    play: "M6 4l9 6-9 6z",
    pause: "M6 4h2.5v12H6zM11.5 4H14v12h-2.5z",
    present: "M2 4h16v10H2zM7 17h6",
    leave: "M5 5L15 15M15 5L5 15",
  };
  const icon = (name) =>
    S.svg("svg", { class: "svp-icon", viewBox: "0 0 20 20", "aria-hidden": "true" }, S.svg("path", { d: ICONS[name] }));
  const NAMES = { draft: "draft", target: "target pass", verdicts: "verdicts", commit: "commit" };
  /** The beats of the round, by phase; the name of a phase leads to its first beat.
      @param {Act} act @param {Moment} now */
  function drawRail(rail, act, now) {
    const list = S.beats(now.round);
    rail.replaceChildren(
      ...S.PHASES.map((phase) => {
        const cells = list.flatMap((beat, index) => (beat.phase === phase ? [h("i", { "data-beat": index })] : []));
        const part = h(
          "span",
          { "data-phase": phase },
          h("button", {
            type: "button",
            class: "svp-link",
            "data-beat-start": phase,
            ...S.worded(NAMES[phase]),
            onclick: () =>
              act.go({ round: act.now().cursor.round, beat: list.findIndex((beat) => beat.phase === phase) }),
          }),
          h("span", { class: "svp-beats" }, cells),
        );
        part.style.flexGrow = String(Math.min(8, cells.length));
        return part;
      }),
    );
  }

  /** What of the round is over, and what is now.
      @param {Moment} now */
  function markRail(rail, now) {
    for (const cell of rail.querySelectorAll("[data-beat]")) {
      const beat = Number(cell.dataset.beat);
      S.set(
        cell,
        "class",
        `svp-beat${beat < now.cursor.beat ? " is-past" : beat === now.cursor.beat ? " is-now" : ""}`,
      );
    }
    for (const part of rail.children)
      S.set(part, "class", `svp-phase is-${part.dataset.phase}${part.dataset.phase === now.at.phase ? " is-now" : ""}`);
  }

  /** A column per round, as high as it has tokens.
      @param {Moment} now */
  function drawRounds(rounds, now) {
    const most = Math.max(...now.trace.rounds.map((round) => round.committed.tokens.length));
    rounds.replaceChildren(
      ...now.trace.rounds.map((round, index) => {
        const bars = round.committed.tokens.map((made) => h("i", { class: `is-${made.origin}` }));
        const column = h(
          "span",
          { title: `round ${index + 1}: ${S.count(round.committed.tokens.length, "token")}` },
          bars,
        );
        column.style.setProperty("--most", String(most));
        return column;
      }),
    );
  }

  /** @param {Moment} now */
  function markRounds(rounds, now) {
    [...rounds.children].forEach((column, index) =>
      S.set(
        column,
        "class",
        `svp-column${index === now.cursor.round ? " is-now" : index < now.cursor.round ? " is-past" : ""}`,
      ),
    );
    S.set(rounds, "aria-valuemin", 1);
    S.set(rounds, "aria-valuemax", now.trace.rounds.length);
    S.set(rounds, "aria-valuenow", now.cursor.round + 1);
    S.set(
      rounds,
      "aria-valuetext",
      `round ${now.cursor.round + 1} of ${now.trace.rounds.length}, ` +
        `${S.count(now.round.committed.tokens.length, "token")}`,
    );
  }

  /** Rounds are gone through by dragging and by arrow keys.
      @param {Act} act */
  function scrubbed(rounds, act) {
    const scrub = (event) => {
      const area = rounds.getBoundingClientRect();
      const share = Math.min(0.9999, Math.max(0, (event.clientX - area.left) / area.width));
      const round = Math.floor(share * act.now().trace.rounds.length);
      if (round !== act.now().cursor.round) act.go({ round, beat: Infinity }, false);
    };
    S.onDrag(rounds, scrub);
    rounds.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (by) {
        event.preventDefault();
        act.run(by > 0 ? "nextRound" : "previousRound");
      }
    });
  }

  /** @param {Act} act */
  function transportPanel(box, act) {
    const button = (name, title) =>
      h(
        "button",
        { type: "button", class: `svp-btn is-${name}`, title, "aria-label": title, onclick: () => act.run(name) },
        icon(name),
      );
    const play = button("play", "play or pause (Space)");
    const rail = h("div", { class: "svp-rail", role: "group", "aria-label": "beats of this round" });
    const rounds = h("div", { class: "svp-rounds", role: "slider", tabindex: "0", "aria-label": "round" });
    const speed = h("button", {
      type: "button",
      class: "svp-btn is-speed",
      title: "speed of playing",
      onclick: () => act.speed(),
    });
    const present = button("present", "present: fill the window (p)");
    box.append(
      h(
        "div",
        { class: "svp-buttons" },
        button("previousRound", "a round back (Shift ←)"),
        button("previous", "a beat back (←)"),
        play,
        button("next", "a beat forward (→)"),
        button("nextRound", "a round forward (Shift →)"),
        speed,
        present,
      ),
      rail,
      rounds,
    );

    rail.addEventListener("click", (event) => {
      const beat = S.pressed(event, "[data-beat]");
      if (beat) act.go({ round: act.now().cursor.round, beat: Number(beat.dataset.beat) });
    });
    scrubbed(rounds, act);

    let drawn = null;
    let railed = null;
    return function draw(now) {
      const what = now.playing ? "pause" : "play";
      if (play.textContent !== what) play.replaceChildren(icon(what), what);
      S.setText(speed, `${now.speed}×`);
      S.set(speed, "aria-label", `speed of playing: ${now.speed}×`);
      const presenting = now.view === "present";
      if (present.getAttribute("aria-pressed") !== String(presenting))
        present.replaceChildren(icon(presenting ? "leave" : "present"));
      S.set(present, "aria-pressed", presenting);
      S.set(present, "title", presenting ? "leave the presentation (Esc)" : "present: fill the window (p)");
      if (railed !== now.round) {
        railed = now.round;
        drawRail(rail, act, now);
      }
      markRail(rail, now);
      if (drawn !== now.trace) {
        drawn = now.trace;
        drawRounds(rounds, now);
      }
      markRounds(rounds, now);
    };
  }

  return { transportPanel, SPEEDS };
})(SpecViz);
Object.assign(SpecViz, transport);
