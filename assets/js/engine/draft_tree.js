/* A draft tree and what the target says at its nodes; the names of specviz/core/tree.py and engine/scoring.py. Pure. */
// needs: declared, sampling
/** @typedef {trace.Node["kind"]} Kind */

const draftTree = (function (S) {
  "use strict";

  class DraftTree {
    /** Node 0 is the root: the last committed token, not yet in the target's cache. */
    constructor(root) {
      this.tokens = [root];
      this.parents = [-1];
      this.depths = [0];
      /** @type {Kind[]} */
      this.kinds = ["root"];
      /** @type {(Float32Array | null)[]} what a node was drawn from, before earlier siblings were removed */
      this.proposals = [null];
      this.sources = ["root"];
    }

    get length() {
      return this.tokens.length;
    }

    /** Append a candidate and give its id; a point mass has no proposal.
        @param {number} parent @param {number} token @param {Kind} kind @param {Float32Array | null} proposal */
    add(parent, token, kind, proposal, source) {
      this.tokens.push(token);
      this.parents.push(parent);
      this.depths.push(this.depths[parent] + 1);
      this.kinds.push(kind);
      this.proposals.push(proposal);
      this.sources.push(source);
      return this.length - 1;
    }

    /** Keep these nodes in this order and renumber them: the root first, parents before children.
        @param {number[]} nodes */
    arrange(nodes) {
      const place = new Map(nodes.map((node, at) => [node, at]));
      const kept = (values) => nodes.map((node) => values[node]);
      this.parents = kept(this.parents).map((parent) => place.get(parent) ?? -1);
      this.tokens = kept(this.tokens);
      this.depths = kept(this.depths);
      this.kinds = kept(this.kinds);
      this.proposals = kept(this.proposals);
      this.sources = kept(this.sources);
    }

    /** @returns {number[]} */
    children(node) {
      return [...this.parents.keys()].filter((child) => this.parents[child] === node);
    }

    /** Nodes from depth 1 down to `node`. */
    path(node) {
      const path = [];
      for (let at = node; at > 0; at = this.parents[at]) path.unshift(at);
      return path;
    }

    /** Per node its row in a pass: nodes of the same text share one. */
    rows() {
      const nodes = this.tokens.map((token, node) => ({ token, parent: this.parents[node] }));
      return S.rowsOf(/** @type {trace.Round} */ (/** @type {unknown} */ ({ nodes })));
    }

    /** q(token) in what the node was drawn from; 1 for a point mass. */
    proposalProb(node) {
      return this.proposals[node] === null ? 1 : this.proposals[node][this.tokens[node]];
    }
  }

  /** The target's distributions at the nodes of a tree, each worked out when it is asked for. */
  class ScoredTree {
    /** @param {InstanceType<typeof DraftTree>} tree @param {Float32Array[]} logits per node
        @param {Sampling} sampling */
    constructor(tree, logits, sampling) {
      this.tree = tree;
      this.logits = logits;
      this.sampling = sampling;
      /** @type {Float32Array[]} */
      this.known = [];
    }

    get greedy() {
      return this.sampling.temperature === 0;
    }

    argmax(node) {
      return S.sampling.argmax(this.logits[node]);
    }

    /** p(· | path to node). */
    probs(node) {
      return (this.known[node] ??= S.sampling.transform(this.logits[node], this.sampling));
    }

    /** p(token of `node` | path to its parent). */
    candidateProb(node) {
      const parent = this.tree.parents[node];
      return this.greedy
        ? Number(this.argmax(parent) === this.tree.tokens[node])
        : this.probs(parent)[this.tree.tokens[node]];
    }

    /** p(token of `node`) / max p at its parent by the model's own softmax. */
    shareOfBest(node) {
      const row = this.logits[this.tree.parents[node]];
      return Math.fround(Math.exp(row[this.tree.tokens[node]] - row[S.sampling.argmax(row)]));
    }
  }

  return { DraftTree, ScoredTree };
})(SpecViz);
Object.assign(SpecViz, draftTree);
