/* Exercises on a run of the visitor's own: what has to be seen in it. Pure: a trace goes in, {done, said} comes out.
   `said` is what the run shows, with its own numbers, whether that is enough or not. */
// needs: numbers
const liveChecks = (function (S) {
  "use strict";

  const LEAST_TOKENS_PER_PASS = 1.5;
  /** @param {trace.Trace} trace */
  const tokensOf = (trace) => trace.rounds.reduce((sum, round) => sum + round.committed.tokens.length, 0);
  /** @param {trace.Trace} trace */
  const passesText = (trace) =>
    `${S.count(tokensOf(trace), "token")} in ${S.count(trace.rounds.length, "pass", "passes")} of the target`;

  /** Times as fast as plain decoding: its seconds for each token ÷ the run's seconds. Null without a clock: a simulated
      run, or one beside which nothing was timed.
      @param {trace.Trace} trace */
  function measuredGain(trace) {
    const plain = S.plainToken(trace);
    const seconds = trace.rounds.reduce((sum, round) => sum + S.roundSeconds(round), 0);
    if (trace.started.source === "simulated" || !plain || !seconds) return null;
    return (plain.seconds * tokensOf(trace)) / seconds;
  }

  /** Trials accepted after a sibling of theirs was rejected.
      @param {trace.Trace} trace */
  const saved = (trace) =>
    trace.rounds.reduce((sum, round) => {
      const parent = (trial) => round.nodes[trial.node].parent;
      const after = (trial, at) =>
        round.judged.trials.slice(0, at).some((one) => !one.accepted && parent(one) === parent(trial));
      return sum + round.judged.trials.filter((trial, at) => trial.accepted && after(trial, at)).length;
    }, 0);

  /** @param {trace.Round} round */
  const depthOf = (round) => Math.max(0, ...S.drafts(round).map((node) => node.depth));
  /** @param {trace.Trace} trace */
  const origins = (trace, origin) => trace.rounds.filter((round) => round.judged.origin === origin).length;

  const CHECKS = {
    fewer_passes: (trace) => ({ done: trace.rounds.length < tokensOf(trace), said: `${passesText(trace)}.` }),
    bonus_and_correction: (trace) => {
      const [bonus, correction] = [origins(trace, "bonus"), origins(trace, "correction")];
      return {
        done: bonus > 0 && correction > 0,
        said: `${S.count(bonus, "bonus", "bonuses")} and ${S.count(correction, "correction")}.`,
      };
    },
    residual_drawn: (trace) => {
      const drawn = trace.rounds.filter((round) => round.judged.residual).length;
      return { done: drawn > 0, said: `${S.count(drawn, "correction")} drawn from a residual.` };
    },
    slower_than_plain: (trace) => {
      const gain = measuredGain(trace);
      if (gain === null) return { done: false, said: "This run has no measured times to compare; run it live." };
      const deepest = Math.max(...trace.rounds.map(depthOf));
      const said = `Drafts up to ${deepest} deep: ${S.ratio(gain)}× the speed of plain decoding.`;
      return { done: gain < 1 && deepest > 0, said };
    },
    saved_by_sibling: (trace) => ({
      done: saved(trace) > 0,
      said: `${S.count(saved(trace), "candidate")} accepted after a sibling was rejected.`,
    }),
    copying_pays: (trace) => {
      const own = trace.started.drafter.model;
      const drafted = trace.rounds.some((round) => S.drafts(round).length > 0);
      const each = tokensOf(trace) / trace.rounds.length;
      if (own) return { done: false, said: `This run drafted with a model, ${own.name}.` };
      const said = `${passesText(trace)}: ${S.ratio(each)} per pass.`;
      return { done: drafted && each >= LEAST_TOKENS_PER_PASS, said };
    },
    stopped_early: (trace) => {
      const depths = trace.rounds.map(depthOf).filter((depth) => depth > 0);
      const policy = trace.started.stop_policy;
      if (!policy || policy.name === "fixed") return { done: false, said: "This run had no stop policy." };
      const [least, most] = [Math.min(...depths), Math.max(...depths)];
      return { done: least < most, said: `Drafts between ${least} and ${most} deep.` };
    },
  };

  return { LIVE_CHECKS: CHECKS, measuredGain };
})(SpecViz);
Object.assign(SpecViz, liveChecks);
