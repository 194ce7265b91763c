/* The draft under way, between the three that make it; the twin of specviz/drafters/drafting/growing.py.

   tree policy ─ expand(nodes) ─► [ stop: below these? ] ─► a pass of the model ─► [ stop: draw here? ] ─► policy */
// needs: sampling, stop_policies, tree_policies
/** @typedef {InstanceType<Names["GrowingDraft"]>} GrownDraft
    @typedef {{ tree: InstanceType<Names["TreePolicy"]> | null, stop: InstanceType<Names["StopPolicy"]> }} DraftPolicies
      `tree`: null where drafts grow as the drafter's own options say
    @typedef {{ source: string, answer: (nodes: number[], depth: number) => Float32Array[],
      hiddenOf?: (node: number) => Float32Array | null }} Growing `source`: the drafter's name; `answer`: logits after
      nodes, from one pass, from them and the depth of what follows; `hiddenOf`: its state at a node that it has read */

const growing = (function (S) {
  "use strict";

  const { sampling } = S;

  class GrowingDraft {
    /** No candidate is deeper than `deepest`.
        @param {DraftContext} context @param {Proposal} proposal @param {DraftPolicies["stop"]} stop
        @param {number} deepest @param {Growing} growing */
    constructor(context, proposal, stop, deepest, { source, answer, hiddenOf = () => null }) {
      this.context = context;
      this.proposal = proposal;
      this.stop = stop;
      this.deepest = deepest;
      this.source = source;
      this.answer = answer;
      this.hiddenOf = hiddenOf;
      this.draws = 0;
    }

    get tree() {
      return this.proposal.tree;
    }

    get drafted() {
      return this.tree.length - 1;
    }

    get sampling() {
      return this.context.sampling;
    }

    get note() {
      return this.proposal.note;
    }

    get targetProposal() {
      return this.context.targetProposal ?? null;
    }

    /** How long the stop policy lets a chain become; null: as long as its own options say. */
    get chainLevels() {
      return this.stop.levels();
    }

    /** What follows these nodes, from one pass over all of them; a node is left out where drafting ends there, which is
        known before anything is drawn below it.
        @param {number[]} nodes @returns {{ nodes: number[], logits: Float32Array[] }} */
    expand(nodes) {
      const { depths } = this.tree;
      let asked = nodes.filter((node) => depths[node] < this.deepest);
      if (asked.length && asked.join() !== "0") asked = this.stop.goingOn(this, asked);
      if (!asked.length) return { nodes: [], logits: [] };
      const logits = this.answer(asked, 1 + Math.max(...asked.map((node) => depths[node])));
      asked.forEach((node, at) => this.proposal.logits.set(node, logits[at]));
      const drawn = [...asked.keys()].filter((at) => this.stop.drawsAt(this, asked[at]));
      return { nodes: drawn.map((at) => asked[at]), logits: drawn.map((at) => logits[at]) };
    }

    /** Append a candidate, proposed by the drafter unless `source` names somebody else; its id.
        @param {Kind} kind @param {Float32Array | null} proposal */
    add(parent, token, kind, proposal, source = this.source) {
      return this.tree.add(parent, token, kind, proposal, source);
    }

    /** An outcome of a distribution, with noise that is used only once. */
    draw(probs) {
      const { randomness, round } = this.context;
      return randomness.draw(probs, ["draft", round, this.draws++]).token;
    }

    /** Keep these nodes in this order and renumber them: the root first, parents before children, siblings in theirs;
        only point masses may be dropped.
        @param {number[]} nodes */
    arrange(nodes) {
      const { logits } = this.proposal;
      const kept = nodes.map((node, at) => /** @type {const} */ ([at, logits.get(node)]));
      this.tree.arrange(nodes);
      this.proposal.logits = new Map(kept.filter(([, row]) => row));
    }

    parent(node) {
      return this.tree.parents[node];
    }

    depth(node) {
      return this.tree.depths[node];
    }

    /** What the drafter says follows a node; at temperature 0 by its own softmax. */
    distribution(node) {
      const logits = this.proposal.logits.get(node);
      return this.sampling.temperature === 0 ? sampling.softmax(logits) : sampling.transform(logits, this.sampling);
    }

    /** The `count` largest probabilities of what follows the node, decreasing.
        @returns {number[]} */
    head(node, count) {
      const probs = this.distribution(node);
      return sampling.largest(probs, count).map((token) => probs[token]);
    }

    /** Probability that the drafter gave to this candidate. */
    prob(node) {
      const { proposals, tokens, parents } = this.tree;
      return (proposals[node] ?? this.distribution(parents[node]))[tokens[node]];
    }

    /** In nats, of what follows the node. */
    entropy(node) {
      return this.distribution(node).reduce((sum, p) => (p > 0 ? sum - p * Math.log(p) : sum), 0);
    }

    /** The drafter's last state [H] at a node; null where it gives none. */
    hidden(node) {
      return this.hiddenOf(node);
    }

    /** The whole text so far and the drafted path to the node, itself included.
        @returns {number[]} */
    text(node) {
      return [...this.context.tokens, ...this.tree.path(node).map((at) => this.tree.tokens[at])];
    }
  }

  /** Tells the stop policy how the previous round went: what was committed beyond one token was accepted. */
  class LastDraft {
    constructor() {
      /** @type {number | null} */
      this.levels = null;
      this.length = 0;
    }

    /** Nothing before the first draft.
        @param {DraftPolicies["stop"]} stop @param {DraftContext} context */
    report(stop, { tokens, targetProposal }) {
      if (this.levels === null) return;
      const committed = tokens.length - this.length;
      const accepted = Math.max(0, targetProposal ? committed : committed - 1);
      stop.learn(this.levels, Math.min(this.levels, accepted));
    }

    remember(tree, tokens) {
      this.levels = Math.max(...tree.depths);
      this.length = tokens.length;
    }
  }

  /** A drafter whose drafts grow by a policy: that of the run, or else what its own options describe. */
  class GrowingDrafter {
    /** @param {any} options @param {DraftPolicies} [policies] */
    constructor(options, policies = { tree: null, stop: new S.StopPolicy({ longest: 0 }) }) {
      this.options = options;
      this.policies = policies;
      this.last = new LastDraft();
      this.ownTree = /** @type {typeof GrowingDrafter} */ (this.constructor).treeOf(options);
    }

    /** The tree policy that a drafter's own options describe: a chain of gamma, or children per level.
        @returns {InstanceType<Names["TreePolicy"]>} */
    static treeOf({ gamma, branching = [], draw }) {
      return new S.LevelsPolicy({ budget: 0, branching: branching.length ? branching : Array(gamma).fill(1), draw });
    }

    /** Grow the tree of a proposal, at most `most` deep; whether there was room for any.
        @param {DraftContext} context @param {Proposal} proposal @param {Growing} growing */
    draft(context, proposal, most, growing) {
      const { tree, stop } = this.policies;
      this.last.report(stop, context);
      const deepest = Math.min(most, context.maxDepth, stop.levels() ?? most);
      if (deepest >= 1) {
        (tree ?? this.ownTree).grow(new GrowingDraft(context, proposal, stop, deepest, growing));
        Object.assign(proposal.note, stop.state());
      }
      this.last.remember(proposal.tree, context.tokens);
      return deepest >= 1;
    }
  }

  return { GrowingDraft, GrowingDrafter };
})(SpecViz);
Object.assign(SpecViz, growing);
