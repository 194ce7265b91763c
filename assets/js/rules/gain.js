/* What a run gained over plain decoding timed beside it, and whether that can be told from noise; the same as
   `specviz/theory/speedup.py` in Python. Pure. */
// needs: numbers
const gain = (function (S) {
  "use strict";

  const FEWEST = 3; // turns that a spread is told from; so many stand behind a recording whose spread was not kept
  const LEAST_GAIN = 0.005; // gains closer to 1 than this are neither faster nor slower

  /** Whether a run's own times are a speed: they were measured, and no method asked the target beforehand.
      @param {trace.Started} started */
  const isSpeed = ({ source, stop_policy }) => source !== "simulated" && stop_policy?.deployable !== false;

  /** Whether plain decoding was timed beside a run whose own times say something.
      @param {trace.Trace} trace */
  const isTimed = ({ started, finished }) => !!(finished && finished.plain) && isSpeed(started);

  /** Tokens per second over those of plain decoding, the median of the turns; null where none was timed, where the
      run's own times say nothing, and where nothing was drafted.
      @param {trace.Trace} trace */
  function gain(trace) {
    if (!isTimed(trace) || !trace.rounds.some((round) => S.drafts(round).length)) return null;
    const { plain } = trace.finished;
    if (plain.ratios?.length) return S.median(plain.ratios);
    const theirs = plain.output_tokens * trace.finished.decode_s;
    return theirs > 0 ? (trace.finished.output_ids.length * plain.decode_s) / theirs : null;
  }

  /** [least, largest] ratio of the turns; null where their spread was not kept.
      @param {trace.Trace} trace */
  function gainInterval(trace) {
    const ratios = (gain(trace) !== null && trace.finished.plain.ratios) || [];
    return ratios.length ? [Math.min(...ratios), Math.max(...ratios)] : null;
  }

  /** Whether a gain cannot be told from noise: too few turns, an interval that holds 1, or one wholly above the tokens
      per target pass, which no drafting can gain.
      @param {number} turns @param {number[]} interval @param {number} perPass */
  const isNoise = (turns, [low, high], perPass) =>
    turns < FEWEST || (low <= 1 && high >= 1 && low < high) || low > perPass;

  /** @param {trace.Trace} trace */
  const tokensPerPass = (trace) => trace.finished.output_ids.length / trace.rounds.length;

  /** Whether a gain was timed and cannot be told from noise.
      @param {trace.Trace} trace */
  function isNoisy(trace) {
    const ratio = gain(trace);
    if (ratio === null) return false;
    return isNoise(trace.finished.plain.runs, gainInterval(trace) || [ratio, ratio], tokensPerPass(trace));
  }

  /** The least ratio of the turns where the largest passes the tokens per target pass, so that some turn was disturbed
      and more cannot be said; null where the median can, or nothing.
      @param {trace.Trace} trace */
  function gainAtLeast(trace) {
    const between = gainInterval(trace);
    return between && between[1] > tokensPerPass(trace) && !isNoisy(trace) ? between[0] : null;
  }

  return { LEAST_GAIN, isSpeed, isTimed, gain, gainInterval, gainAtLeast, isNoise, isNoisy };
})(SpecViz);
Object.assign(SpecViz, gain);
