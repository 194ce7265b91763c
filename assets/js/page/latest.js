/* Which calls of an event go out, and with what.

   Small answers of which only the last one matters: Gradio holds a call of an event back while one is under way, but of
   controls that change at once, as those that a link fills in, it sends a call each: with values of before and after,
   and answers that come in any order. Here only the last of such calls goes out.

   Answers to a choice: Gradio sends a call too where a list got the focus and was left as it was, by Tab or a press
   elsewhere. Such a call is given nothing here. */
// needs: nothing
const latest = (function () {
  "use strict";

  const calls = new Map(); // event → how many calls it has had

  /** What a call of an event is given, once all that comes with it has come. Rejects where a later call has come
      meanwhile: Gradio then sends none.
      @param {number} event
      @param {unknown[]} values */
  async function lastCall(event, values) {
    const call = (calls.get(event) || 0) + 1;
    calls.set(event, call);
    await new Promise((resolve) => setTimeout(resolve));
    if (calls.get(event) !== call) throw new Error("a later call of this event has the newer values");
    return values;
  }

  let chose = false; // an option was pressed, or Enter, since a list got the focus

  const within = (event, role) => event.target instanceof Element && event.target.closest(`[role=${role}]`);
  const hasChosen = () => chose;

  /** What a call of a choice is given: nulls where nothing was chosen. */
  const onlyChosen = (values) => values.map((value) => (chose ? value : null));

  if (globalThis.document) {
    document.addEventListener("focusin", (event) => within(event, "combobox") && (chose = false), true);
    document.addEventListener("pointerdown", (event) => within(event, "option") && (chose = true), true);
    document.addEventListener(
      "keydown",
      (event) => event.key === "Enter" && within(event, "combobox") && (chose = true),
      true,
    );
  }

  return { lastCall, onlyChosen, hasChosen };
})();
Object.assign(SpecViz, latest);
