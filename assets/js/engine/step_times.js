/* How long bare passes take in this browser: t(n) of the target and one pass of a drafter, as every header carries
   them; the twin of specviz/lm/step_time.py. */
// needs: numbers
const browserTimes = (function (S) {
  "use strict";

  const ROW_COUNTS = [1, 2, 4, 8, 16, 32, 64];
  const CACHED_ROWS = 128;
  const [REPEATS, FEWEST_REPEATS, BUDGET_S] = [5, 3, 0.8];
  const ROUND_PASSES = [2, 1, 1, 1]; // rows of the drafter's passes in a round of the default γ

  const upTo = (n) => [...Array(n).keys()];

  /** A cache of `CACHED_ROWS` rows; any tokens do, time does not depend on them.
      @param {InstanceType<Names["Llama"]>} model */
  function filled(model) {
    const cache = model.newCache();
    model.forward(upTo(CACHED_ROWS), cache, null, true);
    model.keep(cache, upTo(CACHED_ROWS));
    return cache;
  }

  /** Seconds of one pass over a binary tree of so many rows, which are dropped again. */
  function passSeconds(model, cache, rows) {
    const parents = upTo(rows).map((at) => (at === 0 ? cache.base - 1 : cache.base + ((at - 1) >> 1)));
    const began = performance.now();
    model.forward(upTo(rows), cache, parents);
    const seconds = (performance.now() - began) / 1000;
    model.keep(cache, []);
    return seconds;
  }

  /** t(n): medians, least and largest of a few turns, so that drift hits all row counts.
      @param {InstanceType<Names["Llama"]>} target @returns {trace.StepTime[]} */
  function stepTimes(target, rowCounts = ROW_COUNTS, repeats = REPEATS) {
    const cache = filled(target);
    const until = performance.now() + 1000 * BUDGET_S;
    /** @type {Map<number, number[]>} */
    const seconds = new Map(rowCounts.map((rows) => [rows, []]));
    for (let turn = 0; turn < repeats && (turn < FEWEST_REPEATS || performance.now() < until); turn++)
      for (const rows of rowCounts) seconds.get(rows).push(passSeconds(target, cache, rows));
    return rowCounts.map((rows) => {
      const took = seconds.get(rows);
      const [low, high] = [Math.min(...took), Math.max(...took)];
      return { rows, cached_rows: CACHED_ROWS, median_s: S.median(took), low_s: low, high_s: high };
    });
  }

  /** Seconds of one drafter pass inside a round: the mean of a round's passes behind a target pass, median of a few. */
  function draftStep(drafter, target) {
    const [drafting, judging] = [filled(drafter), filled(target)];
    const means = upTo(FEWEST_REPEATS).map(() => {
      passSeconds(target, judging, ROUND_PASSES.length + 1);
      const seconds = ROUND_PASSES.map((rows) => passSeconds(drafter, drafting, rows));
      return seconds.reduce((sum, took) => sum + took, 0) / seconds.length;
    });
    return S.median(means);
  }

  return { stepTimes, draftStep };
})(SpecViz);
Object.assign(SpecViz, browserTimes);
