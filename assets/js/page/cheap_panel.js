/* "Make the target cheap and speculation stops paying", measured in the visitor's own tab: plain and drafted decoding
   with the target in float32 and in int8, as two ratios and what explains them. Nothing here is recorded. */
// needs: dom, numbers, tab_engine
/** @typedef {{ dtype: string, gamma: number, plain: number, drafted: number, rows: number, step: number,
      perPass: number, text: string }} TargetCost see assets/js/engine/cheap_target.js */
const cheapPanel = (function (S) {
  "use strict";

  const { h } = S;
  const EVEN = 1; // as fast as plain decoding
  const WIDEST = 3; // ratios up to here fill the bars

  /** Pure: what a draft gained on a target, and how many plain tokens a round takes the time of.
      @param {TargetCost} cost */
  function roundOf({ plain, drafted, perPass }) {
    return { gain: drafted / plain, cost: (perPass * plain) / drafted };
  }

  /** Pure: a target's two speeds and its ratio's reason, in a sentence.
      @param {TargetCost} cost */
  function costWords(cost) {
    const { gain, cost: whole } = roundOf(cost);
    return (
      `${cost.dtype}: ${Math.round(cost.plain)} tokens a second plain, ${Math.round(cost.drafted)} with a draft of ` +
      `${cost.gamma}. A round brings ${cost.perPass.toFixed(2)} tokens and takes as long as ${whole.toFixed(2)} ` +
      `plain ones: ${S.ratio(gain)}×. A pass over ${cost.gamma + 1} rows takes ${cost.rows.toFixed(2)} times one ` +
      `row, one of the drafter ${cost.step.toFixed(2)}.`
    );
  }

  /** Pure: what came out, whatever it is, and whether both targets wrote the same.
      @param {TargetCost[]} costs of float32 and of int8 */
  function cheapWords([whole, cheap]) {
    const [before, after] = [whole, cheap].map(roundOf);
    const same = whole.text === cheap.text ? "Both wrote the same text here." : "The two wrote different texts here.";
    if (after.gain >= before.gain) return `Here the cheaper target gains no less from a draft. ${same}`;
    const pays = after.gain < EVEN ? "speculation stops paying" : "speculation pays less";
    return (
      `Make the target cheap, and ${pays}: a round takes as long as ${after.cost.toFixed(2)} plain tokens instead of ` +
      `${before.cost.toFixed(2)}. ${same}`
    );
  }

  /** A ratio as a bar; the line in it is plain decoding. `explained`: what stands below it. */
  function ratioBar(name, gain, ...explained) {
    const fill = h("i", { class: gain < EVEN ? "svk-fill is-slower" : "svk-fill" });
    fill.style.width = `${(100 * Math.min(gain, WIDEST)) / WIDEST}%`;
    const even = h("i", { class: "svk-even" });
    even.style.left = `${(100 * EVEN) / WIDEST}%`;
    return h(
      "div",
      { class: "svk-row" },
      h("b", {}, name),
      h("div", { class: "svk-track", "aria-hidden": "true" }, fill, even),
      h("span", {}, `${S.ratio(gain)}×`),
      explained.map((words) => h("p", {}, words)),
    );
  }

  /** @param {TargetCost} cost */
  const bar = (cost) => ratioBar(cost.dtype, roundOf(cost).gain, costWords(cost));

  /** The panel; nothing is fetched or timed before its button is pressed. */
  function cheapPanel() {
    const size = S.tabMegabytes() ? ` (${S.tabMegabytes()} MB)` : "";
    const bars = h("div", { class: "svk-bars" });
    const said = h("p", { class: "svt-words", role: "status" });
    const button = h("button", { type: "button", class: "svl-btn" }, "Measure it in this tab");
    const box = h(
      "section",
      { class: "svt svk", "aria-label": "the target in float32 and in int8" },
      h(
        "p",
        { class: "svt-tag" },
        `Measured in your own tab, in turns; the line is plain decoding. The models are fetched once${size}, and ` +
          "your browser keeps them.",
      ),
      button,
      bars,
      said,
    );
    let stop = null;
    function hear(data) {
      if (data.say === "costs") bars.replaceChildren(...data.costs.map(bar));
      if (S.tabIsOver(data)) {
        stop = null;
        S.setText(button, "Measure it again");
      }
      S.setText(said, data.say === "costs" ? cheapWords(data.costs) : S.tabWords(data));
    }
    button.addEventListener("click", () => {
      if (stop) return stop();
      bars.replaceChildren();
      S.setText(button, "Stop");
      stop = S.askTab({ ask: "cheap" }, hear);
    });
    return { box };
  }

  return { cheapPanel, ratioBar, costWords, cheapWords };
})(SpecViz);
Object.assign(SpecViz, cheapPanel);
