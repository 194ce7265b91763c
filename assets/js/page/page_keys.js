/* Walking the page by keys: a link past everything before the player, a row of tabs as one stop, and a focus that
   outlives the button that had it. */
// needs: dom, keys
const pageKeys = (function (S) {
  "use strict";

  const TABS = "[role=tab]";
  const HOME = "[role=tablist] > [role=tab]"; // the player is in the first of all tabs

  /** Pure: the place of the tab that a key leads to, of `count`; null where it leads nowhere. */
  function tabAt(key, place, count) {
    const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: count - 1 }[key];
    return to === undefined ? null : (to + count) % count;
  }

  /** Of a row of tabs the chosen one can be reached with Tab; the first, where the chosen one is behind a menu. */
  function oneStop(row) {
    const tabs = [...row.querySelectorAll(TABS)].filter((tab) => tab.closest("[role=tablist]") === row);
    const chosen = tabs.find((tab) => tab.getAttribute("aria-selected") === "true") || tabs[0];
    for (const tab of tabs) S.set(tab, "tabindex", tab === chosen ? 0 : -1);
  }

  /** Gradio calls a place for files something else than it says there, so that who speaks to the page names neither. */
  const asItSays = (button) => button.removeAttribute("aria-label");

  function settle() {
    document.querySelectorAll("[role=tablist]").forEach(oneStop);
    document.querySelectorAll("button[aria-dropeffect][aria-label]").forEach(asItSays);
  }

  /** Arrows walk the row that was reached by Tab; after a click they belong to the player. */
  function walk(event) {
    const at = event.target instanceof Element ? event.target.closest(TABS) : null;
    if (!at || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || S.clicked(at)) return;
    const tabs = [...at.closest("[role=tablist]").querySelectorAll(TABS)].filter((tab) => !tab.disabled);
    const to = tabAt(event.key, tabs.indexOf(at), tabs.length);
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    tabs[to].focus();
  }

  /** Tab leaves a list of options, which Gradio would open again when the focus has gone, and past its options: in
      Chromium a list that scrolls is a stop of its own, gone as soon as it has the focus. */
  function leaveList(event) {
    if (event.key !== "Tab" || event.target.getAttribute?.("role") !== "combobox") return;
    event.stopPropagation();
    document.querySelectorAll("[role=listbox]").forEach((list) => S.set(list, "tabindex", -1));
  }

  /** @type {any} */
  let held = null; // the button that a key pressed last

  function hold(event) {
    if (event.key === "Enter" || event.key === " ") held = event.target.closest("button");
  }

  /** A button that was pressed and then switched off hands the focus to its neighbour: Run to Stop, and Stop, when the
      work is over, to Run. The browser would let it go. */
  function handOn() {
    if (!held || !held.disabled || ![document.body, held].includes(document.activeElement)) return;
    held = held.parentElement.querySelector("button:not(:disabled)");
    if (held) held.focus({ preventScroll: true });
  }

  function toPlayer(event) {
    event.preventDefault(); // the address is the player's
    if (!document.querySelector("#sv-player")?.getClientRects().length) document.querySelector(HOME)?.click();
    requestAnimationFrame(() => document.querySelector("#sv-player .svp-btn.is-play")?.focus());
  }

  function start() {
    if (!document.querySelector("gradio-app, .gradio-container")) return; // elsewhere the player is all there is
    const skip = S.h("a", { class: "sv-skip", href: "#sv-player", onclick: toPlayer }, "skip to the player");
    document.body.prepend(skip);
    document.addEventListener("keydown", walk, true);
    document.addEventListener("keydown", leaveList, true);
    document.addEventListener("keydown", hold, true);
    document.addEventListener("pointerdown", () => (held = null), true);
    new MutationObserver(() => held && requestAnimationFrame(handOn)).observe(document.body, {
      subtree: true,
      attributeFilter: ["disabled"],
    });
    const ofRows = (record) => record.type === "attributes" || [...record.addedNodes].some((one) => one.querySelector);
    new MutationObserver((records) => records.some(ofRows) && settle()).observe(document.body, {
      subtree: true,
      childList: true,
      attributeFilter: ["aria-selected"],
    });
    settle();
  }

  if (globalThis.document) {
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
    else start();
  }

  return { tabAt };
})(SpecViz);
Object.assign(SpecViz, pageKeys);
