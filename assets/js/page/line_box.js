/* A line to hand in, with a button that copies it. */
// needs: dom
const lineBox = (function (S) {
  "use strict";

  const { h } = S;

  /** The box, hidden until it has a line; `said` is where it tells of the copying. */
  function lineBox(said) {
    const line = h("textarea", { class: "svx-line", readonly: true, rows: 2, "aria-label": "the line to hand in" });
    const copy = h("button", { type: "button", class: "svl-btn", onclick: copied }, "Copy the line");
    const box = h("div", { class: "svx-handed", hidden: true }, line, copy);

    async function copied() {
      line.select();
      const done = await S.copyText(line.value);
      S.setText(
        said,
        done ? "The line is on the clipboard." : "The line is marked: copy it with the keys of your system.",
      );
    }

    /** Show a line; an empty one hides the box. */
    function show(text) {
      line.value = text;
      box.hidden = !text;
    }
    return { box, show, focus: () => copy.focus() };
  }

  return { lineBox };
})(SpecViz);
Object.assign(SpecViz, lineBox);
