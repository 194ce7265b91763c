/* Several runs one after the other, for a race or a sweep: only text and times are kept of each, every way to draft is
   warmed up before its first, and what cannot be run here is left out with the reason. Plain decoding stands among them
   where the asker put it, so that all are timed in the same minutes. */
// needs: decode, methods
/** @typedef {{ place: number, of: number, trace: trace.Trace }} SeriesRun `place`: that of its request */

const series = (function (S) {
  "use strict";

  const WARM_UP_TOKENS = 8; // it touches every code path and all of the weights
  const MOST_RUNS = 200; // their traces go to the page's server in one message
  const BREATH_MS = 50; // after so long, messages are let in

  const WAY = ["drafter", "drafter_model", "drafter_options", "tree_policy", "tree_policy_options", "stop_policy"];
  /** Which runs are warmed up together: prompt, seed and length do not count. */
  const wayOf = (request) => JSON.stringify(WAY.map((name) => request[name]));

  /** Refusals in a row, one a request, empty for what can be run. Throws the first where nothing can, and where it is
      too much for one sitting.
      @param {BrowserRequest[]} requests @param {BrowserCatalog} catalog @param {string[]} models the target first */
  function refusalsOf(requests, catalog, models) {
    const refusals = requests.map((request) => S.refusalOf(request, catalog, models));
    const drafted = requests.flatMap(({ drafter }, place) => (drafter === "none" ? [] : [refusals[place]]));
    const wrong = refusals.find((refusal, place) => refusal && requests[place].drafter === "none");
    if (wrong || drafted.every((refusal) => refusal)) throw new Error(wrong || drafted[0] || "no drafter is chosen.");
    const possible = refusals.filter((refusal) => !refusal).length;
    if (possible > MOST_RUNS)
      throw new Error(
        `a browser makes at most ${MOST_RUNS} runs at once, and these are ${possible}; choose fewer drafters, ` +
          "lengths or prompts.",
      );
    return refusals;
  }

  /** The trace of a whole run; null where it was stopped on the way. `breath` lets messages in.
      @param {InstanceType<Names["BrowserEngine"]>} engine @param {BrowserRequest} request */
  async function runWhole(engine, request, signal, breath) {
    const steps = [];
    let since = performance.now();
    for await (const step of engine.run({ ...request, record: false }, () => signal.aborted)) {
      steps.push(step);
      if (performance.now() - since < BREATH_MS) continue;
      await breath();
      since = performance.now();
    }
    return signal.aborted ? null : S.traceOf(steps);
  }

  /** Run what can be run, in order; `tell` is given each finished run. The refusals.
      @param {InstanceType<Names["BrowserEngine"]>} engine @param {BrowserRequest[]} requests
      @param {AbortSignal} signal @param {(said: { say: "ran" } & SeriesRun) => void} tell */
  async function runSeries(engine, requests, signal, breath, tell) {
    const refusals = refusalsOf(requests, engine.catalog, [...engine.models.keys()]);
    const warm = new Set();
    for (const [place, request] of requests.entries()) {
      if (refusals[place]) continue;
      if (!warm.has(wayOf(request))) {
        const most = Math.min(WARM_UP_TOKENS, request.max_new_tokens);
        await runWhole(engine, { ...request, max_new_tokens: most }, signal, breath);
        warm.add(wayOf(request));
      }
      const trace = await runWhole(engine, request, signal, breath);
      if (trace === null) break;
      tell({ say: "ran", place, of: requests.length, trace });
      await breath();
    }
    return refusals;
  }

  return { refusalsOf, runSeries };
})(SpecViz);
Object.assign(SpecViz, series);
