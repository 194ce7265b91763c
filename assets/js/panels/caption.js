/* The caption: one sentence for the beat on the screen, in a box as tall as the longest sentence of the run, and the
   same sentence said once to those who listen. */
// needs: bytes, dom, state, wording
const caption = (function (S) {
  "use strict";

  const { h } = S;
  S.bringsTerms({ sentences: [".svp-caption > span:not(.svp-where)"] });

  /** Pure: every sentence of a round.
      @param {trace.Trace} trace */
  function sentences(trace, index) {
    const round = trace.rounds[index];
    const labels = S.nodeLabels(trace, index);
    return S.beats(round).map((_, beat) => S.sayMoment(trace, round, labels, S.view(round, beat)));
  }

  function captionPanel(box) {
    const speech = h("p", { class: "svp-aloud", role: "status", "aria-atomic": "true" });
    box.after(speech);
    let shown = "";
    let reserved = { run: "", width: 0, rounds: 0, height: 0 };

    /** Said aloud, once: the only place of the player that screen readers watch. */
    function announce(text) {
      S.setText(speech, S.spoken(text).replaceAll("\u2068", "\u201c").replaceAll("\u2069", "\u201d"));
    }

    const lines = (head, source, text) => [
      h("span", { class: "svp-where", "data-source": source }, head),
      h("span", {}, S.sentence(text)),
    ];

    /** Rounds that came since the last look are measured, all at once. */
    function reserve(trace, head, width) {
      if (!width) return;
      const run = `${S.isPlain()} ${trace.started.run_id}`;
      if (reserved.run !== run || reserved.width !== width) reserved = { run, width, rounds: 0, height: 0 };
      if (reserved.rounds >= trace.rounds.length) return;
      const all = trace.rounds.slice(reserved.rounds).flatMap((_, at) => sentences(trace, reserved.rounds + at));
      const ruler = h(
        "div",
        { class: "svp-ruler", "aria-hidden": "true" },
        [...new Set(all)].map((text) => h("div", {}, lines(head, "", text))),
      );
      box.append(ruler);
      reserved.height = Math.max(
        reserved.height,
        ...Array.from(ruler.querySelectorAll("div"), (one) => one.offsetHeight),
      );
      ruler.remove();
      reserved.rounds = trace.rounds.length;
      box.style.height = `${reserved.height}px`;
    }

    /** `width`: of the box, in pixels, read before this step wrote anything; `quiet`: nothing is said aloud. */
    function draw(trace, head, text, width, quiet = false) {
      reserve(trace, head, width);
      if (shown === head + text) return;
      shown = head + text;
      box.replaceChildren(...lines(head, trace.started.source, text));
      if (!quiet) announce(`${head}. ${text}`);
    }

    return { draw, announce };
  }

  return { captionPanel, sentences };
})(SpecViz);
Object.assign(SpecViz, caption);
