/* The run's timeline: a lane of the drafter and one of the target on one clock, some rounds of it at a time. A press on
   a bar goes to its round, and so do the arrow keys. What is drawn is worked out in timeline.js. */
// needs: dom, numbers, state, timeline, wording
const timelinePanel = (function (S) {
  "use strict";

  const { h } = S;
  const KINDS = { draft: "draft", "target pass": "target", verdicts: "rest", commit: "rest", "roll back": "thrown" };
  const LEADS_TO = { draft: "draft", "target pass": "target", verdicts: "verdicts", commit: "commit" };
  const ROUND_BY = {
    ArrowRight: "nextRound",
    ArrowUp: "nextRound",
    ArrowLeft: "previousRound",
    ArrowDown: "previousRound",
  };
  const COLUMNS = ["round", "begins at", "drafter", "target pass", "at the same time", "target idle", "thrown away"];

  const thrownAway = (tokens) =>
    `${S.say(S.count(tokens, "drafted token"), S.count(tokens, "guess", "guesses"))} thrown away`;

  /** A span in words. */
  function said(span) {
    const what = {
      draft: () => S.say(`draft of ${S.count(span.tokens, "token")}`, `guessing ${S.count(span.tokens, "token")}`),
      "target pass": () => S.word("target pass") + (span.rejects ? `, ${S.word("with rejected candidates")}` : ""),
      "roll back": () => thrownAway(span.tokens),
    }[span.what];
    const took = span.end > span.start ? `, ${S.seconds(span.end - span.start)}` : "";
    return `round ${span.round + 1}: ${what ? what() : S.word(span.what)}${took}`;
  }

  /** A round in words, for those who do not see the bars. */
  const roundSaid = (one) =>
    `${S.word("drafter")} ${S.seconds(one.drafter)}, ${S.word("target pass")} ${S.seconds(one.target)}, ` +
    `${S.seconds(one.both)} at the same time` +
    (one.discarded ? `, ${thrownAway(one.discarded)}` : "");

  /** The beat of a round that a span is about.
      @param {trace.Round} round */
  function beatOf(round, what) {
    return Math.max(
      0,
      S.beats(round).findIndex((beat) => beat.phase === (LEADS_TO[what] || "draft")),
    );
  }

  /** The bars and crosses of some rounds, each with its lane; those of drafted tokens are never too thin to see. */
  function bars(line, { from, to }) {
    const { start } = line.rounds[from];
    const { end } = line.rounds[to];
    const place = (time) => `${(100 * (time - start)) / (end - start)}%`;
    const within = (span) => Math.min(end, Math.max(start, span));
    const shares = (span) => span.end > start && span.start < end;
    return line.spans
      .filter((span) => (span.what === "roll back" ? span.start >= start && span.start <= end : shares(span)))
      .map((span) => {
        const marks = [span.rejects ? " is-rejecting" : "", span.tokens === 0 ? " is-empty" : ""];
        const kind = `is-${KINDS[span.what]}${marks.join("")}`;
        const bar = h("i", {
          class: `svp-span ${kind}`,
          "data-round": span.round,
          "data-what": span.what,
          title: said(span),
        });
        bar.style.left = place(within(span.start));
        if (span.what !== "roll back")
          bar.style.width = `${(100 * (within(span.end) - within(span.start))) / (end - start)}%`;
        return [span.lane, bar];
      });
  }

  function table(line, { from, to }) {
    const row = (index) => {
      const one = S.roundNumbers(line, index);
      const times = [one.start, one.drafter, one.target, one.both, one.idle.target].map((time) =>
        S.seconds(time < 1e-9 ? 0 : time),
      );
      return S.tableRow(String(index + 1), [...times, String(one.discarded)]);
    };
    const rows = line.rounds.slice(from, to + 1).map((_, place) => row(from + place));
    return h("table", {}, S.columnHeads(COLUMNS.map(S.word)), h("tbody", {}, rows));
  }

  /** The empty lanes with their legend and the fold of the table. */
  function frame() {
    const words = h("p", { class: "svp-small" });
    const lit = h("i", { class: "svp-span-now" });
    const lanes = { drafter: h("div", { class: "svp-spans" }), target: h("div", { class: "svp-spans" }) };
    const field = h("div", { class: "svp-field" }, lit, lanes.drafter, lanes.target);
    const axis = h("p", { class: "svp-clock svp-small", "aria-hidden": "true" });
    const picture = h(
      "div",
      { class: "svp-clockwork", role: "slider", tabindex: "0", "aria-label": "timeline of the run, by round" },
      h("div", { class: "svp-lanenames svp-small" }, h("span", S.worded("drafter")), h("span", S.worded("target"))),
      field,
      axis,
    );
    const key = (kind, text) =>
      h("span", {}, h("i", { class: `svp-swatch svp-span ${kind}` }), h("span", S.worded(text)));
    const legend = h(
      "p",
      { class: "svp-legend" },
      key("is-draft", "draft"),
      key("is-target", "target pass"),
      key("is-target is-rejecting", "with rejected candidates"),
      key("is-rest", "verdicts and commit"),
      key("is-thrown", "drafted tokens thrown away"),
      h("span", {}, "empty: idle"),
    );
    const scroll = h("div", {
      class: "svp-table-box",
      tabindex: "0",
      role: "region",
      "aria-label": "timeline as a table",
    });
    const fold = h("details", { class: "svp-table" }, h("summary", {}, "these rounds in numbers"), scroll);
    const there = h("div", {}, picture, legend, fold);
    return { words, lit, lanes, field, axis, picture, scroll, fold, there };
  }

  /** @param {Act} act */
  function timelinePanel(box, act) {
    const { words, lit, lanes, field, axis, picture, scroll, fold, there } = frame();
    box.append(words, there);
    fold.addEventListener("toggle", () => act.draw());

    let run = null; // {trace, line, numbers}
    let shown = null; // {from, to} of the picture, of `run`
    let tabled = null; // what the table shows, of `shown`

    picture.addEventListener("click", (event) => {
      if (!shown) return;
      const bar = S.pressed(event, "[data-round]");
      const round = bar ? Number(bar.dataset.round) : roundAt(event.clientX);
      act.go({ round, beat: bar ? beatOf(run.trace.rounds[round], bar.dataset.what) : 0 });
    });
    picture.addEventListener("keydown", (event) => {
      if (!ROUND_BY[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act.run(ROUND_BY[event.key]);
    });

    /** The round in whose time a place of the picture lies. */
    function roundAt(left) {
      const area = field.getBoundingClientRect();
      const { rounds } = run.line;
      const [start, end] = [rounds[shown.from].start, rounds[shown.to].end];
      const time = start + ((left - area.left) / Math.max(1, area.width)) * (end - start);
      const found = rounds.findIndex((one, index) => index >= shown.from && time < one.end);
      return found < 0 ? shown.to : Math.min(found, shown.to);
    }

    function read(trace) {
      const line = S.timeline(trace.rounds);
      const numbers = S.timelineNumbers(line);
      run = { trace, line, numbers, plain: S.isPlain() };
      shown = null;
      const clock = trace.started.source === "simulated" ? "modelled" : "measured";
      S.setText(words, S.timelineWords(numbers, clock, !!trace.finished, S.isPlain()));
      there.hidden = !(numbers.seconds > 0);
    }

    function show(range) {
      shown = range;
      tabled = null;
      const { rounds } = run.line;
      const drawn = bars(run.line, range);
      for (const [name, lane] of Object.entries(lanes))
        lane.replaceChildren(...drawn.filter(([own]) => own === name).map(([, bar]) => bar));
      axis.replaceChildren(
        h("span", {}, S.seconds(rounds[range.from].start)),
        h("span", {}, `rounds ${range.from + 1} to ${range.to + 1} of ${rounds.length}`),
        h("span", {}, S.seconds(rounds[range.to].end)),
      );
    }

    return function draw(now) {
      if (!run || run.trace !== now.trace || run.plain !== S.isPlain()) read(now.trace);
      if (there.hidden) return;
      const { rounds } = run.line;
      const current = now.cursor.round;
      const range = S.timelineWindow(rounds.length, current);
      if (!shown || shown.from !== range.from || shown.to !== range.to) show(range);
      const [start, end] = [rounds[range.from].start, rounds[range.to].end];
      lit.style.left = `${(100 * (rounds[current].start - start)) / (end - start)}%`;
      lit.style.width = `${(100 * (rounds[current].end - rounds[current].start)) / (end - start)}%`;
      S.set(picture, "aria-valuemin", 1);
      S.set(picture, "aria-valuemax", rounds.length);
      S.set(picture, "aria-valuenow", current + 1);
      const told = roundSaid(S.roundNumbers(run.line, current));
      S.set(picture, "aria-valuetext", `round ${current + 1} of ${rounds.length}: ${told}`);
      if (fold.open && tabled !== shown) {
        tabled = shown;
        scroll.replaceChildren(table(run.line, shown));
      }
    };
  }

  return { timelinePanel };
})(SpecViz);
Object.assign(SpecViz, timelinePanel);
