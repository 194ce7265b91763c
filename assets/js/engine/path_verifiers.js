/* Verifiers of the browser's engine that judge whole paths: from the leaves up, or all candidates and then the longest
   path; the twins of specviz/verifiers/block.py, traversal.py, longest_path.py and typical.py. Pure. */
// needs: candidates
const pathVerifiers = (function (S) {
  "use strict";

  const { ending, declaredThreshold, tried, undrawn, drawnFrom, pathReach, scaledRejection, tryAll, deepestPass } =
    S.judging;
  /** s / (s + 1 − A): the probability to end at a node reached with A, of whose deeper paths s is left; 0/0 is 1. */
  const reachAfter = (reach, left) => (left + 1 - reach > 0 ? left / (left + 1 - reach) : 1);

  /** The verdict where the walk ends at `node`: its token is drawn from what is left there.
      @param {Case} asked @param {Float32Array | null} left @returns {Verdict} */
  function endingAt(asked, node, trials, left, mass) {
    const { tree, target } = asked;
    const path = tree.path(node);
    const key = /** @type {Key} */ (["target", asked.position + path.length, 0]);
    const { token, u } = asked.randomness.draw(left ?? target.probs(node), key);
    const origin = ending(tree, tree.children(node));
    return { path, trials, token, u, origin, residual: left, mass, order: "bottom_up" };
  }

  /** The longest prefix of a chain whose joint probability the target can bear, from the end of the chain on.
      @param {Case} asked @returns {Verdict} */
  function block(asked) {
    const { tree, target } = asked;
    const reach = [1];
    for (let node = 1; node < tree.length; node++)
      reach[node] = pathReach(reach[node - 1], target.candidateProb(node), tree.proposalProb(node));
    const trials = [];
    let [left, mass] = [null, null];
    let node = tree.length - 1;
    for (; node > 0; node--) {
      const terms = { parent_reach: reach[node - 1], reach: reach[node], ...(mass !== null && { left: mass }) };
      trials.push(tried(asked, node, target.candidateProb(node), tree.proposalProb(node), terms));
      if (trials.at(-1).accepted) break;
      const above = target.probs(node - 1);
      [left, mass] = scaledRejection(above, reach[node - 1], tree.tokens[node], tree.proposals[node]);
    }
    return endingAt(asked, node, trials, left, mass);
  }

  /** A node on the way to the left-most leaf that is left: `reach` is A, `before` A before the last rejected child,
      `left` that child's s, `probs` what rejected children have left of the target.
      @param {Case} asked */
  const visit = ({ tree, target }, node, reach = 1, parentReach = 1, p = 1, q = 1) => ({
    node,
    reach,
    parentReach,
    p,
    q,
    before: reach,
    left: null,
    /** @type {number[]} */
    rejected: [],
    waiting: tree.children(node),
    /** @type {Float32Array | null} */
    known: null,
    get probs() {
      return (this.known ??= target.probs(node));
    },
  });

  /** The next child of a visited node, visited.
      @param {Case} asked */
  function descend(asked, here) {
    const { tree, target } = asked;
    const child = here.waiting[0];
    let [p, q] = [target.candidateProb(child), tree.proposalProb(child)];
    if (here.rejected.length) {
      const proposal = drawnFrom(tree, child, here.rejected);
      [p, q] = [here.probs[tree.tokens[child]], proposal === null ? 1 : proposal[tree.tokens[child]]];
    }
    return visit(asked, child, pathReach(here.reach, p, q), here.reach, p, q);
  }

  /** Take a child away, with all that hung below it.
      @param {Case} asked */
  function reject({ tree }, here, child) {
    const proposal = drawnFrom(tree, child, here.rejected);
    const [probs, left] = scaledRejection(here.probs, here.reach, tree.tokens[child], proposal);
    const { reach } = here;
    Object.assign(here, { known: probs, left, before: reach, reach: reachAfter(reach, left) });
    here.rejected.push(child);
    here.waiting.shift();
  }

  /** The left-most leaf's whole path first; what a rejected leaf leaves goes to the paths beside and above.
      @param {Case} asked @returns {Verdict} */
  function traversal(asked) {
    const stack = [visit(asked, 0)];
    const trials = [];
    for (;;) {
      while (stack.at(-1).waiting.length) stack.push(descend(asked, stack.at(-1)));
      const here = stack.at(-1);
      if (here.node !== 0) {
        const terms = { parent_reach: here.parentReach };
        if (here.left !== null) Object.assign(terms, { reach: here.before, left: here.left });
        trials.push(tried(asked, here.node, here.p, here.q, terms));
      }
      if (here.node === 0 || trials.at(-1).accepted)
        return endingAt(asked, here.node, trials, here.left === null ? null : here.probs, here.left);
      stack.pop();
      reject(asked, stack.at(-1), here.node);
    }
  }

  /** Every candidate by itself where its parent passed, and the longest path of passes kept.
      @param {Case} asked @returns {Verdict} */
  function longest(asked) {
    const { tree, target } = asked;
    const given = (node) => (tree.sources[node] === "target" ? { given: 1 } : {}); // what the target proposed passes
    const judge = (node) => tried(asked, node, target.candidateProb(node), tree.proposalProb(node), given(node));
    const trials = tryAll(tree, judge);
    const last = deepestPass(tree, trials, () => 0);
    return { ...endingAt(asked, last, trials, null, null), order: "longest" };
  }

  const surprise = (p) => (p > 0 ? -p * Math.log(p) : 0);

  /** What the target finds likely enough passes; of the longest paths the more probable one, and nothing is random.
      @param {Case} asked @returns {Verdict} */
  function typical(asked) {
    const { tree, target, options } = asked;
    /** @type {Map<number, number>} in nats, by node */
    const entropies = new Map();
    const judge = (node) => {
      const parent = tree.parents[node];
      if (!entropies.has(parent))
        entropies.set(
          parent,
          target.probs(parent).reduce((sum, p) => sum + surprise(p), 0),
        );
      const entropy = entropies.get(parent);
      const p = target.candidateProb(node);
      const threshold = declaredThreshold(asked.rule, { ...options, entropy, p });
      const bar = Math.min(options.epsilon, options.delta * Math.exp(-entropy));
      return undrawn(tree, node, p, threshold, threshold > 0, { entropy, bar });
    };
    const trials = tryAll(tree, judge);
    const worth = (node) => tree.path(node).reduce((sum, one) => sum + Math.log(target.candidateProb(one)), 0);
    const last = deepestPass(tree, trials, worth);
    const origin = ending(tree, tree.children(last));
    const none = { residual: null, mass: null, u: null };
    return { path: tree.path(last), trials, token: target.argmax(last), origin, ...none, order: "longest" };
  }

  const pathWalks = { block, traversal, longest, typical };
  return { pathWalks };
})(SpecViz);
Object.assign(SpecViz, pathVerifiers);
