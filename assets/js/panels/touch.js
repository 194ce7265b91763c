/* The overlap by hand: p and q of a few tokens as bars that can be dragged, by pointer and by keys; what they share
   fills, what sticks out falls off, what is missing is filled again. The residual first without a formula, then with
   it. Its numbers are the visitor's, and it says so. */
// needs: bytes, dom, overlap, wording
/** @typedef {{ names: string[], p: number[], q: number[] }} Bars tokens with their shares in hundredths */

const touch = (function (S) {
  "use strict";

  const { h } = S;
  /** The toy of lesson 3 and of the Proof tab. */
  const TOY = { names: ["a", "b", "c"], p: [50, 30, 20], q: [20, 45, 35] };
  const LABELS = { guess: "guess", overlap: "overlap", overhang: "overhang", refill: "refill", formula: "formula" };
  const YOURS = "Your numbers, not the run's.";

  /** One bar with the range that drags it: the range's thumb stands at the bar's end. */
  function bar(kind, name, drag) {
    const whole = h("i", { class: "svt-whole" });
    const kept = h("i", { class: "svt-kept" });
    const rest = h("i", { class: kind === "q" ? "svt-over" : "svt-gap" });
    const range = h("input", {
      type: "range",
      min: 0,
      max: 100,
      step: 1,
      "aria-label": `${kind} of ${S.spoken(name)}`,
      oninput: (event) => drag(Number(event.target.value)),
    });
    const value = h("output", { class: "svt-value" });
    const box = h(
      "div",
      { class: `svt-bar is-${kind}` },
      h("b", { "aria-hidden": "true" }, kind),
      h("span", { class: "svt-track" }, h("span", { class: "svt-inner" }, whole, kept, rest), range),
      value,
    );
    /** `from`: where what is over or missing begins, in hundredths. */
    const draw = (share, from) => {
      whole.style.width = `${share}%`;
      kept.style.width = `${from}%`;
      rest.style.left = `${from}%`;
      rest.style.width = `${share - from}%`;
      if (Number(range.value) !== share) range.value = String(share);
      S.set(range, "aria-valuetext", S.hundredth(share));
      S.setText(value, S.hundredth(share));
    };
    return { box, draw };
  }

  /** The element, its bars as `first` has them; `fill(bars)` takes others.
      @param {Bars} first */
  function touchPanel(first = TOY) {
    const now = { ...first, step: "guess" };
    const tag = h("p", { class: "svt-tag" }, YOURS);
    const rows = h("div", { class: "svt-rows" });
    const words = h("p", { class: "svt-words", role: "status" });
    const lines = h("div", { class: "svt-lines" });
    const steps = S.OVERLAP_STEPS.map((step) =>
      h("button", { type: "button", class: "svt-step", "data-step": step, onclick: () => show(step) }, LABELS[step]),
    );
    const box = h(
      "section",
      { class: "svt", "aria-label": "the overlap of p and q, your numbers" },
      tag,
      h("div", { class: "svt-steps", role: "group", "aria-label": "what is shown" }, steps),
      rows,
      words,
      lines,
    );
    let bars = [];

    function show(step) {
      now.step = step;
      draw();
    }

    function drag(which, at, value) {
      now[which] = S.dragged(now[which], at, value);
      draw();
    }

    function draw() {
      const { kept } = S.overlapOf(now.p, now.q);
      bars.forEach(({ q, p }, at) => {
        q.draw(now.q[at], kept[at]);
        p.draw(now.p[at], kept[at]);
      });
      box.dataset.step = String(S.OVERLAP_STEPS.indexOf(now.step));
      for (const button of steps) S.set(button, "aria-pressed", button.dataset.step === now.step);
      S.setText(words, S.overlapWords(now.step, now.p, now.q, S.isPlain()));
      const formula = now.step === "formula" ? S.residualLines(now.names, now.p, now.q) : [];
      lines.replaceChildren(...formula.map((text) => h("p", { class: "svp-formula" }, text)));
    }

    /** @param {Bars} given */
    function fill(given) {
      Object.assign(now, given);
      bars = now.names.map((name, at) => ({
        q: bar("q", name, (value) => drag("q", at, value)),
        p: bar("p", name, (value) => drag("p", at, value)),
      }));
      rows.replaceChildren(
        ...bars.map(({ q, p }, at) =>
          h(
            "div",
            { class: "svt-row", role: "group", "aria-label": S.spoken(now.names[at]) },
            h("span", { class: "svt-name", "aria-hidden": "true" }, S.short(now.names[at], 10)),
            h("div", {}, q.box, p.box),
          ),
        ),
      );
      draw();
    }

    fill(first);
    S.followWording(() => box.isConnected && draw());
    return { box, fill, show };
  }

  /** The same folded into the card, begun from the place that is shown when it is opened.
      @param {() => Bars | null} barsHere */
  function touchFolded(barsHere) {
    const panel = touchPanel();
    const from = h("p", { class: "svp-small" });
    const again = h("button", { type: "button", class: "svp-link", onclick: () => take() }, "begin from this place");
    const folded = h(
      "details",
      { class: "svt-folded" },
      h("summary", { class: "svp-link" }, "touch the overlap with numbers of your own"),
      from,
      panel.box,
      again,
    );
    folded.addEventListener("toggle", () => folded.open && take());

    function take() {
      const here = barsHere();
      if (here) panel.fill(here);
      S.setText(
        from,
        here
          ? "Begun from the most probable tokens here, scaled to 1; from now on the numbers are yours."
          : "Here p and q are not both known, so these bars begin from a toy.",
      );
    }
    return folded;
  }

  return { touchPanel, touchFolded };
})(SpecViz);
Object.assign(SpecViz, touch);
