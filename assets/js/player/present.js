/* The stage alone: the player fills the window, large enough for the last row of a room, and everything else on the
   page is hidden. Sizes follow the window by `zoom`, so that every length in present.css grows alike. */
// needs: dom
const present = (function (S) {
  "use strict";

  const WIDE = { width: 960, height: 540 }; // the window that the type is set for; 15 px there are 20 px at 1280 × 720
  const NARROW = 640;

  /** Pure: how much larger than set everything is drawn in a window. */
  const scaleOf = (width, height) =>
    width < NARROW ? 1 : Math.max(1, Math.min(width / WIDE.width, height / WIDE.height));

  /** Whether the address asks for the presentation. */
  const asksToPresent = (search) => new URLSearchParams(search).get("view") === "present";

  /** Switches a player between page and presentation; `leave` is called where the player is hidden meanwhile, as by a
      link to another tab: a window that shows nothing would have no way out. */
  function presenter(root, redraw, leave) {
    let on = false;
    let before = 0;
    /** @type {any} */
    let from = null; // had the focus before, and lost it where it is hidden meanwhile

    function size() {
      const scale = scaleOf(innerWidth, innerHeight);
      root.style.zoom = on ? String(scale) : "";
      root.style.setProperty("--half", `${innerHeight / 2 / scale}px`); // of the window, as lengths are counted inside
    }

    function giveBack() {
      if (!on && document.activeElement === document.body) from.focus({ preventScroll: true });
    }

    function set(wanted) {
      if (wanted === on) return;
      on = wanted;
      if (on) [before, from] = [scrollY, document.activeElement];
      root.dataset.view = on ? "present" : "";
      // a projector's dark room, unless the visitor has chosen light
      root.style.colorScheme = on ? (S.memory.get("light", "") === "light" ? "light" : "dark") : "";
      document.documentElement.classList.toggle("sv-presenting", on);
      size();
      redraw();
      if (on) return;
      scrollTo(0, before);
      // a button that fades in, as Gradio's do, is hidden in the first frame yet
      requestAnimationFrame(() => requestAnimationFrame(giveBack));
    }

    addEventListener("resize", () => {
      if (!on) return;
      size();
      redraw();
    });
    if (globalThis.ResizeObserver)
      new ResizeObserver(() => on && root.isConnected && !root.getClientRects().length && leave()).observe(root);
    return { set, on: () => on };
  }

  return { presenter, asksToPresent, scaleOf };
})(SpecViz);
Object.assign(SpecViz, present);
