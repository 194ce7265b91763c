/* Verifiers of the browser's engine: the walks of specviz/verifiers, with the acceptance probabilities that the rules
   declare (assets/rules.json), evaluated as the player evaluates them. Pure. */
// needs: declared, randomness, sampling
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

const verifiers = (function (S) {
  "use strict";

  const { sampling } = S;

  /** What the round's last token is called where the walk ends above these children, all rejected. */
  const ending = (tree, children) => (children.length ? "correction" : tree.length > 1 ? "bonus" : "target");

  /** The declared acceptance probability, from numbers by name. */
  function thresholdOf(rule, values) {
    const ranges = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value, value]]));
    return S.thresholdOf(rule, ranges)[0];
  }

  /** A trial decided by a uniform number.
      @param {Case} asked @returns {trace.Trial} */
  function tried(asked, node, p, q, terms) {
    const threshold = thresholdOf(asked.rule, { ...asked.options, ...terms, p, q });
    const { u, accepted } = asked.randomness.accept(threshold, ["accept", asked.position, node]);
    return { node, target_prob: p, draft_prob: q, threshold, u, accepted, terms };
  }

  /** A trial for which no number is drawn.
      @returns {trace.Trial} */
  const undrawn = (tree, node, p, threshold, accepted) => ({
    node,
    target_prob: p,
    draft_prob: tree.proposalProb(node),
    threshold,
    u: null,
    accepted,
    terms: {},
  });

  /** From the root down, one candidate after the other; `judge` gives a node's trial, and `end` the verdict at the node
      where all children were rejected.
      @param {Case} asked */
  function walk(asked, level) {
    const { tree } = asked;
    const path = [];
    const trials = [];
    for (let node = 0; ;) {
      const children = tree.children(node);
      const { judge, end } = level(node, path.length);
      let accepted = null;
      for (const child of children) {
        trials.push(judge(child));
        if (trials.at(-1).accepted) {
          accepted = child;
          break;
        }
      }
      if (accepted === null) {
        const shared = { path, trials, residual: null, mass: null, u: null, order: "top_down" };
        return { ...shared, origin: ending(tree, children), ...end() };
      }
      node = accepted;
      path.push(node);
    }
  }

  /** Exact match with the largest logit; temperature 0 alone. */
  const greedy = (asked) =>
    walk(asked, (node) => {
      const best = asked.target.argmax(node);
      const judge = (child) => {
        const hit = asked.tree.tokens[child] === best;
        const p = Number(hit);
        const threshold = thresholdOf(asked.rule, { p });
        return undrawn(asked.tree, child, p, threshold, hit);
      };
      return { judge, end: () => ({ token: best }) };
    });

  /** Draw the target's own token, then look whether a child has it. */
  const naive = (asked) =>
    walk(asked, (node, depth) => {
      const { token, u } = asked.randomness.draw(asked.target.probs(node), ["target", asked.position + depth, 0]);
      const judge = (child) => {
        const p = asked.target.candidateProb(child);
        const threshold = thresholdOf(asked.rule, { p });
        const accepted = asked.tree.tokens[child] === token;
        return undrawn(asked.tree, child, p, threshold, accepted);
      };
      return { judge, end: () => ({ token, u }) };
    });

  /** Siblings one after the other, each against what the earlier ones have left of the target. */
  const sequential = (asked) =>
    walk(asked, (node, depth) => {
      const { tree, target } = asked;
      const rejected = [];
      let [left, mass] = [null, null];
      const whole = () => (left ??= target.probs(node));
      /** Q: without the rejected siblings of the same draw without replacement. */
      const proposalOf = (child) => {
        const gone = rejected.filter(
          (other) => tree.kinds[other] === "without_replacement" && tree.sources[other] === tree.sources[child],
        );
        if (tree.kinds[child] !== "without_replacement" || !gone.length) return tree.proposals[child];
        return sampling.without(
          tree.proposals[child],
          gone.map((other) => tree.tokens[other]),
        )[0];
      };
      const judge = (child) => {
        const token = tree.tokens[child];
        const proposal = proposalOf(child);
        const p = rejected.length ? whole()[token] : target.candidateProb(child);
        const coldly = asked.rule === "lenience" && target.greedy;
        const terms = coldly ? { share: target.shareOfBest(child) } : {};
        const trial = tried(asked, child, p, proposal === null ? 1 : proposal[token], terms);
        if (!trial.accepted) {
          rejected.push(child);
          const taken = proposal === null ? sampling.without(whole(), [token]) : sampling.residual(whole(), proposal);
          [left, mass] = taken[1] > 0 ? taken : [whole(), 0];
        }
        return trial;
      };
      const end = () => {
        const { token, u } = asked.randomness.draw(whole(), ["target", asked.position + depth, 0]);
        return { token, u, mass, residual: mass === null ? null : left };
      };
      return { judge, end };
    });

  /** Every candidate by itself where its parent passed, and the longest path of passes kept. */
  function longest(asked) {
    const { tree, target } = asked;
    const passed = new Set([0]);
    const trials = [];
    for (let node = 1; node < tree.length; node++) {
      if (!passed.has(tree.parents[node])) continue;
      trials.push(tried(asked, node, target.candidateProb(node), tree.proposalProb(node), {}));
      if (trials.at(-1).accepted) passed.add(node);
    }
    let last = 0;
    for (const node of passed) if (tree.depths[node] > tree.depths[last]) last = node;
    const path = tree.path(last);
    const { token, u } = asked.randomness.draw(target.probs(last), ["target", asked.position + path.length, 0]);
    const origin = ending(tree, tree.children(last));
    return { path, trials, token, u, origin, residual: null, mass: null, order: "longest" };
  }

  const WALKS = { greedy, naive, sequential, specinfer: sequential, lenience: sequential, longest_path: longest };

  /** @param {Case} asked @returns {Verdict} */
  const judgeTree = (asked) => WALKS[asked.rule](asked);
  const judgedHere = (rule) => Object.hasOwn(WALKS, rule);

  return { judgeTree, judgedHere };
})(SpecViz);
Object.assign(SpecViz, verifiers);
