/* Light or dark: the page is as the system (or Gradio) has it until somebody presses the button, and remembers that
   choice in the browser. Any `button.sv-light` on the page is such a button, whoever made it. Gradio marks a dark
   page with a class on its body; a file that stands alone has an attribute on its root instead. What the button says
   is in player.css. */
// needs: dom
const light = (function (S) {
  "use strict";

  const MODES = ["light", "dark"];
  const alone = () => document.documentElement.classList.contains("sv-standalone");
  const isDark = () =>
    alone() ? matchMedia("(prefers-color-scheme: dark)").matches : document.body.classList.contains("dark");

  /** Pure: the mode a press leads to, from what was chosen before and how the page is without a choice. */
  const otherLight = (chosen, dark) => ((MODES.includes(chosen) ? chosen === "dark" : dark) ? "light" : "dark");

  const lightButton = () =>
    S.h("button", { type: "button", class: "sv-light", "aria-label": "switch between light and dark" });

  /** Make the page what was chosen; without a choice leave it alone. */
  function apply() {
    const chosen = S.memory.get("light", "");
    if (!MODES.includes(chosen)) return;
    if (alone()) S.set(document.documentElement, "data-light", chosen);
    else if (isDark() !== (chosen === "dark")) document.body.classList.toggle("dark");
  }

  /** Keep the choice, whatever else sets the class. */
  function watchLight() {
    document.addEventListener("click", (event) => {
      if (!(event.target instanceof Element) || !event.target.closest(".sv-light")) return;
      S.memory.set("light", otherLight(S.memory.get("light", ""), isDark()));
      apply();
    });
    const start = () => {
      new MutationObserver(apply).observe(document.body, { attributes: true, attributeFilter: ["class"] });
      apply();
    };
    if (document.body) start();
    else addEventListener("DOMContentLoaded", start);
  }

  if (globalThis.document) watchLight();
  return { otherLight, lightButton };
})(SpecViz);
Object.assign(SpecViz, light);
