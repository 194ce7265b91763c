/* Small answers of which only the last one matters. Gradio holds a call of an event back while one is under way, but of
   controls that change at once, as those that a link fills in, it sends a call each: with values of before and after,
   and answers that come in any order. Here only the last of such calls goes out. */
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

  return { lastCall };
})();
Object.assign(SpecViz, latest);
