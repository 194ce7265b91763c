/* A prompt that was typed outlives a reload of the page, which Gradio asks for by itself as soon as a lost connection
   is back. It is kept for this tab of the browser alone; the server fills it in after what the link fills in. */
// needs: dom
const typed = (function (S) {
  "use strict";

  const FIELD = "#sv-prompt textarea";
  const NAME = "typed";

  /** What was typed before the page was loaded anew; "" where nothing was, or where it was not. */
  function typedBefore() {
    const [how] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
    return how?.type === "reload" ? S.visit.get(NAME, "") : "";
  }

  if (globalThis.document) {
    let last = typedBefore() || null;
    const field = () => /** @type {HTMLTextAreaElement | null} */ (document.querySelector(FIELD));
    document.addEventListener("input", (event) => event.target === field() && (last = field().value), true);
    // what the page itself filled in since then is none
    addEventListener("pagehide", () => S.visit.set(NAME, (field()?.value ?? last) === last ? (last ?? "") : ""));
  }

  return { typedBefore };
})(SpecViz);
Object.assign(SpecViz, typed);
