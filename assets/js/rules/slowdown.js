/* What holds a run back against plain decoding timed beside it: its drafts, the width of its passes, or how little is
   accepted; the same as `specviz/theory/slowdown.py` in Python. Pure. */
// needs: gain, numbers
const slowdown = (function (S) {
  "use strict";

  const FACTORS = ["drafting", "width", "acceptance"];
  const mean = (rounds, of) => rounds.reduce((sum, round) => sum + of(round), 0) / rounds.length;

  /** The deepest candidate and the last token, where that stayed.
      @param {trace.Round} round */
  function mostTokens(round) {
    const deepest = Math.max(0, ...S.counted(round).map((node) => node.depth));
    return Math.max(round.committed.tokens.length, deepest + (round.committed.trimmed === null ? 1 : 0));
  }

  /** The mean round, times in seconds of a plain token; null where the run has no gain.
      @param {trace.Trace} trace */
  function roundCost(trace) {
    if (S.gain(trace) === null) return null;
    const { rounds, finished } = trace;
    const token = finished.plain.decode_s / finished.plain.output_tokens;
    return {
      tokens: mean(rounds, (round) => round.committed.tokens.length),
      mostTokens: mean(rounds, mostTokens),
      rows: mean(rounds, (round) => round.scored.target_pass.rows),
      target: mean(rounds, (round) => round.scored.seconds) / token,
      drafting: mean(rounds, (round) => round.drafted.seconds) / token,
      rest: mean(rounds, (round) => round.judged.seconds + round.committed.seconds) / token,
    };
  }

  const speedupOf = ({ tokens, target, drafting, rest }) => tokens / (target + drafting + rest);

  /** The same round with free drafts, a wide pass as cheap as plain decoding's, or everything accepted. */
  function without(cost, factor) {
    if (factor === "drafting") return { ...cost, drafting: 0 };
    if (factor === "width") return { ...cost, target: Math.min(cost.target, 1) };
    return { ...cost, tokens: cost.mostTokens };
  }

  /** Slower than plain decoding for sure.
      @param {trace.Trace} trace */
  function isSlower(trace) {
    const ratio = S.gain(trace);
    return ratio !== null && !S.isNoisy(trace) && ratio < 1 - S.LEAST_GAIN;
  }

  /** A sentence with the factor without which the run would be fastest, and its number; null where it is not slower.
      @param {trace.Trace} trace */
  function whySlower(trace) {
    if (!isSlower(trace)) return null;
    const cost = roundCost(trace);
    const { drafting, rows, target, tokens, mostTokens: most } = cost;
    const bySpeed = FACTORS.map((factor) => ({ factor, speedup: speedupOf(without(cost, factor)) }));
    const { factor, speedup } = bySpeed.reduce((best, other) => (other.speedup > best.speedup ? other : best));
    const would = `the run would be ${speedup.toFixed(2)}×`;
    if (factor === "drafting")
      return (
        `Drafting costs most: it takes ${drafting.toFixed(2)} times as long as a plain token, and were it free ` +
        `${would}.`
      );
    if (factor === "width")
      return (
        `Width costs most: a pass over ${rows.toFixed(1)} rows takes ${target.toFixed(2)} times as long as a plain ` +
        `token, and at the price of one row ${would}.`
      );
    return (
      `Acceptance costs most: a pass gives ${tokens.toFixed(2)} of at most ${most.toFixed(2)} tokens, and with all ` +
      `of them ${would}.`
    );
  }

  return { isSlower, whySlower };
})(SpecViz);
Object.assign(SpecViz, slowdown);
