/* A run of the visitor's own from within a lesson: the bar's prompt and Run at hand, and whether a run was asked for
   otherwise than what stood in the page's controls before it, so that Run alone solves no exercise. */
// needs: dom
const ownRun = (function (S) {
  "use strict";

  const { h } = S;
  const PROMPT = "#sv-prompt textarea";
  const RUN = "#sv-run";
  const SETTINGS = "#sv-temperature input";
  const SAME = "Your run was asked for as before: change the prompt or a setting, and run again.";

  /** What a run was asked for but for its seed, as text. Pure.
      @param {trace.Started} started */
  function askedFor(started) {
    const card = (one) => one && [one.name, one.options, one.model ? one.model.name : null];
    const methods = [started.drafter, started.tree_policy, started.stop_policy, started.verifier].map((one) =>
      card(one || null),
    );
    return JSON.stringify([started.target.name, started.prompt_text, started.sampling, methods]);
  }

  /** Which runs were asked for otherwise than what the page's controls held: `fill` says what they hold (a header), and
      `changed` whether a new run differs from that; each run is judged once, and then it is what they hold. */
  function ownRuns() {
    const judged = new Map();
    let filled = null;
    return {
      fill(started) {
        filled = askedFor(started);
      },
      changed(started) {
        const asked = askedFor(started);
        if (!judged.has(started.run_id)) judged.set(started.run_id, asked !== filled);
        filled = asked;
        return judged.get(started.run_id);
      },
    };
  }

  /** The bar's prompt and Run as parts of a lesson's exercise; nothing where a page has no bar. */
  function ownRunBox() {
    const prompt = /** @type {HTMLTextAreaElement | null} */ (document.querySelector(PROMPT));
    const run = document.querySelector(RUN);
    if (!prompt || !run) return [];
    const field = h("textarea", { class: "svl-prompt", rows: "2", "aria-label": "prompt of your run" });
    field.value = prompt.value;
    const press = () => {
      prompt.value = field.value;
      prompt.dispatchEvent(new Event("input", { bubbles: true }));
      setTimeout(() => run.click()); // the page takes the text over first
    };
    const settings = () => {
      const first = document.querySelector(SETTINGS) || prompt;
      first.scrollIntoView({ block: "center" });
      first.focus({ preventScroll: true });
    };
    return [
      field,
      h(
        "div",
        { class: "svl-own" },
        h("button", { type: "button", class: "svl-btn", onclick: press }, "Run"),
        h("button", { type: "button", class: "svl-link", onclick: settings }, "drafter, γ, temperature"),
      ),
    ];
  }

  return { askedFor, ownRuns, ownRunBox, SAME_AS_BEFORE: SAME };
})(SpecViz);
Object.assign(SpecViz, ownRun);
