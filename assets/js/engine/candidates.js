/* What rules of the browser's engine are made of: a trial and its threshold, what a candidate was really drawn from
   once earlier siblings were rejected, and what rejecting it leaves of a target; the twin of
   specviz/verifiers/candidates.py. Pure. */
// needs: declared, sampling
/** @typedef {object} Verdict
    @property {number[]} path accepted nodes from depth 1 on
    @property {number} token
    @property {trace.Judged["origin"]} origin
    @property {trace.Trial[]} trials
    @property {Float32Array | null} residual what the correction was drawn from, where it is not the target's own
    @property {number | null} mass
    @property {number | null} u
    @property {trace.Judged["order"]} order */
/** @typedef {{ tree: InstanceType<Names["DraftTree"]>, target: InstanceType<Names["ScoredTree"]>,
      randomness: RandomSource, position: number, options: Record<string, number>, rule: string }} Case */

const candidates = (function (S) {
  "use strict";

  const { sampling } = S;

  /** What the round's last token is called where the walk ends above these children, all rejected. */
  const ending = (tree, children) => (children.length ? "correction" : tree.length > 1 ? "bonus" : "target");

  /** The declared acceptance probability, from numbers by name. */
  function declaredThreshold(rule, values) {
    const ranges = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value, value]]));
    return S.thresholdOf(rule, ranges)[0];
  }

  /** A trial decided by a uniform number.
      @param {Case} asked @returns {trace.Trial} */
  function tried(asked, node, p, q, terms) {
    const threshold = declaredThreshold(asked.rule, { ...asked.options, ...terms, p, q });
    const { u, accepted } = asked.randomness.accept(threshold, ["accept", asked.position, node]);
    return { node, target_prob: p, draft_prob: q, threshold, u, accepted, terms };
  }

  /** A trial for which no number is drawn.
      @param {trace.Trial["terms"]} terms @returns {trace.Trial} */
  const undrawn = (tree, node, p, threshold, accepted, terms = {}) => ({
    node,
    target_prob: p,
    draft_prob: tree.proposalProb(node),
    threshold,
    u: null,
    accepted,
    terms,
  });

  /** Q of a candidate after `rejected` siblings [V]: without those of the same draw without replacement; null for a
      point mass.
      @param {InstanceType<Names["DraftTree"]>} tree @param {number[]} rejected */
  function drawnFrom(tree, child, rejected) {
    const proposal = tree.proposals[child];
    if (tree.kinds[child] !== "without_replacement") return proposal;
    const gone = rejected.filter(
      (other) => tree.kinds[other] === "without_replacement" && tree.sources[other] === tree.sources[child],
    );
    return gone.length
      ? sampling.without(
          proposal,
          gone.map((other) => tree.tokens[other]),
        )[0]
      : proposal;
  }

  /** min(1, A p/q): A of a child from A of its parent. */
  const pathReach = (reach, p, q) => (q > 0 ? Math.min(1, (reach * p) / q) : Number(reach * p > 0));

  /** norm(max(0, A p − Q)) [V] and its mass s; the target with mass 0 where nothing is left.
      @param {Float32Array} target @param {Float32Array | null} proposal @returns {[Float32Array, number]} */
  function scaledRejection(target, reach, token, proposal) {
    const left = Float64Array.from(target, (p) => p * reach);
    if (proposal === null) left[token] = 0;
    else for (let id = 0; id < left.length; id++) left[id] = Math.max(0, left[id] - proposal[id]);
    const mass = left.reduce((sum, value) => sum + value, 0);
    return mass > 0 ? [Float32Array.from(left, (value) => value / mass), mass] : [target, 0];
  }

  /** Trials in the order of the nodes, of all candidates whose parent is the root or passed.
      @param {(node: number) => trace.Trial} judge */
  function tryAll(tree, judge) {
    const passed = new Set([0]);
    const trials = [];
    for (let node = 1; node < tree.length; node++) {
      if (!passed.has(tree.parents[node])) continue;
      trials.push(judge(node));
      if (trials.at(-1).accepted) passed.add(node);
    }
    return trials;
  }

  /** The end of the deepest path of passes; of several the one of the largest `worth`, then the earliest; 0 for none.
      @param {trace.Trial[]} trials @param {(node: number) => number} worth */
  function deepestPass(tree, trials, worth) {
    const isBetter = (node, than) =>
      tree.depths[node] - tree.depths[than] || (than === 0 ? 1 : worth(node) - worth(than));
    const ends = trials.filter((trial) => trial.accepted).map((trial) => trial.node);
    return ends.reduce((best, node) => (isBetter(node, best) > 0 ? node : best), 0);
  }

  const parts = { ending, declaredThreshold, tried, undrawn, drawnFrom, pathReach, scaledRejection };
  const judging = { ...parts, tryAll, deepestPass };
  return { judging };
})(SpecViz);
Object.assign(SpecViz, candidates);
