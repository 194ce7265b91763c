/* Keys of the player: what each does, whose a key is, and the list of them. */
// needs: dom, wording
const keys = (function (S) {
  "use strict";

  const { h } = S;
  const KEYS = [
    ["Space", "play or pause"],
    ["← →", "a beat back, forward (also PageUp, PageDown)"],
    ["Shift ← →", "a round back, forward"],
    ["n N", "next, previous rejection"],
    ["b", "next bonus"],
    ["Home End", "start, end of the run"],
    ["Tab", "to the tree; there arrows walk from node to node, → opens what is folded"],
    ["o", "the whole run at its own speed beside plain decoding"],
    ["f", "the whole tree, or its readable part"],
    ["c", "comment on this moment"],
    ["w", "plain or technical words"],
    ["p", "present: fill the window; Space then steps, Esc leaves"],
    ["?", "these keys"],
  ];

  /** Pure: what a key does, if anything. While presenting, Space steps as a presenter's remote does. */
  function command(event, presenting = false) {
    if (event.ctrlKey || event.metaKey || event.altKey) return null;
    const shift = event.shiftKey;
    switch (event.key) {
      case " ":
        return shift ? null : presenting ? "next" : "play";
      case "ArrowRight":
        return shift ? "nextRound" : "next";
      case "ArrowLeft":
        return shift ? "previousRound" : "previous";
      case "PageDown":
        return "next";
      case "PageUp":
        return "previous";
      case "n":
        return "nextRejection";
      case "N":
        return "previousRejection";
      case "b":
        return "nextBonus";
      case "Home":
        return "start";
      case "End":
        return "end";
      case "o":
        return "ownSpeed";
      case "f":
        return "fit";
      case "c":
        return "comment";
      case "w":
        return "wording";
      case "p":
        return "present";
      case "Escape":
        return presenting ? "present" : null;
      case "?":
        return "help";
      default:
        return null;
    }
  }

  /** Fields that keep every key: what is typed or set there is theirs. The player's own strip of rounds and its
      timeline let go of what they have no use for. */
  const TYPING =
    "input:not([type=radio], [type=checkbox], [type=button], [type=submit], [type=reset]), textarea, select, " +
    "[contenteditable], [role=slider]:not(.svp-rounds, .svp-clockwork), [role=spinbutton], [role=textbox], " +
    "[role=combobox], [role=listbox], [role=option], [role=menu], dialog";
  const CHOOSING = "input, [role=radio]"; // these use arrows and Space, not the keys of a presenter's remote
  const OPEN_TAB = "[role=tab][aria-selected=true]"; // to press it does nothing, so Space there is the player's
  const PRESSING = `button:not(${OPEN_TAB}), a, summary, label, [role=button], [role=tab]:not(${OPEN_TAB})`;
  const COUNTING = ".svp-guess-row"; // fields for a class's hands, filled with a presenter's remote in the other hand
  const REMOTE = ["PageUp", "PageDown"];

  let pressed = null; // the control that was last clicked: its focus was no choice of keys
  if (globalThis.document) {
    const control = (at) => (at instanceof Element ? at.closest(`${PRESSING}, ${CHOOSING}, [role=tab]`) : null);
    document.addEventListener("pointerdown", (event) => (pressed = control(event.target)), true);
    document.addEventListener("keydown", (event) => event.key === "Tab" && (pressed = null), true);
  }

  const clicked = (at) => pressed !== null && (pressed.contains(at) || at.contains(pressed));

  /** Whether a key belongs to what has the focus and not to the player. A button that was clicked keeps the focus, but
      Space presses it again only where the focus came by keys. */
  function taken(event) {
    const at = event.target instanceof Element ? event.target : null;
    if (!at) return false;
    if (at.closest(TYPING)) return !(REMOTE.includes(event.key) && at.closest(COUNTING));
    if (at.closest(CHOOSING)) return !REMOTE.includes(event.key) && !(event.key === " " && clicked(at));
    return event.key === " " && !!at.closest(PRESSING) && !clicked(at);
  }

  function helpDialog() {
    const dialog = h(
      "dialog",
      { class: "svp-help", "aria-label": "keys" },
      h("h3", {}, "Keys"),
      h(
        "dl",
        {},
        KEYS.map(([key, what]) =>
          h(
            "div",
            {},
            h(
              "dt",
              {},
              key.split(" ").map((one) => h("kbd", {}, one)),
            ),
            h("dd", S.worded(what)),
          ),
        ),
      ),
      h("form", { method: "dialog" }, h("button", { class: "svp-btn" }, "close")),
    );
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    return dialog;
  }

  return { helpDialog, command, taken, clicked };
})(SpecViz);
Object.assign(SpecViz, keys);
