/* Token Recycling in the browser's engine (Luo et al., 2408.08696): what the target's passes say about other
   continuations is kept in a matrix and drafted next time; the twin of specviz/drafters/token_recycling.py. */
// needs: drafters, sampling
const tokenRecycling = (function (S) {
  "use strict";

  const LEVELS = [8, 21, 25, 15, 8, 3]; // candidates at depth 1, 2, … of the published 80-node template
  const WIDEST = 8;
  const CPU_NODES = 16; // what `nodes: 0` means where a wide pass costs many narrow ones
  const HITS = [0.671, 0.06, 0.026, 0.016, 0.01, 0.009, 0.007, 0.006]; // how often a rank is the target's choice
  const MOST_SHOWN = 1024; // rows of the matrix that a trace holds from before the first round

  const product = (path, of) => path.reduce((worth, rank) => worth * of(rank), 1);
  /** Lists of numbers in the order of a dictionary. */
  function ordered(one, other) {
    for (let at = 0; at < Math.min(one.length, other.length); at++)
      if (one[at] !== other[at]) return one[at] - other[at];
    return one.length - other.length;
  }
  const breadthFirst = (one, other) => one.length - other.length || ordered(one, other);

  /** The published template's paths of ranks, as the Python drafter reads the paper. */
  function wholeTemplate() {
    const template = [];
    let level = [[]];
    for (const count of LEVELS) {
      const children = level.flatMap((path) => Array.from({ length: WIDEST }, (_, rank) => [...path, rank]));
      const worth = (path) => product(path, (rank) => rank + 1);
      level = children.sort((a, b) => worth(a) - worth(b) || ordered(a, b)).slice(0, count);
      template.push(...level.toSorted(ordered));
    }
    return template;
  }

  /** The best `nodes` paths, breadth first. */
  function templateOf({ nodes, followers }) {
    const worth = (path) => product(path, (rank) => HITS[rank]);
    const possible = wholeTemplate().filter((path) => Math.max(...path) < followers);
    possible.sort((a, b) => worth(b) - worth(a) || breadthFirst(a, b));
    return possible.slice(0, nodes).sort(breadthFirst);
  }

  const after = (nodes) => `after ${nodes.map((node) => (node === 0 ? "the root" : `node ${node}`)).join(", ")}`;
  /** @returns {trace.ExhibitRow} */
  const row = (label, tokens, marks, nodes) => ({ label, tokens, marks, nodes, position: null, scores: [] });

  class TokenRecyclingDrafter {
    /** @param {any} options @param {DrafterParts} parts */
    constructor(options, { target }) {
      this.options = { ...options, nodes: options.nodes || CPU_NODES };
      this.vocab = target.card.vocab_size;
      /** @type {Map<number, number[]>} token → its followers, the most probable first */
      this.matrix = new Map();
      this.template = templateOf(this.options);
      /** @type {trace.Exhibit[]} the whole matrix, until it was shown with the first draft */
      this.atStart = [];
    }

    get readsPrompt() {
      return this.options.fill;
    }

    /** Learn from the target's logits after each of these tokens. */
    readPrompt(tokens, logits) {
      tokens.forEach((token, at) => this.matrix.set(token, this.top(logits[at])));
    }

    top(logits) {
      return S.sampling.largest(logits, this.options.followers);
    }

    begin() {
      const known = [...this.matrix.keys()].sort((one, other) => one - other).slice(0, MOST_SHOWN);
      const rows = known.map((token) => row("from the prompt", [token, ...this.matrix.get(token)], [0], []));
      const title = "the matrix before the first round";
      this.atStart = rows.length ? [{ title, rows, marked: "the row's own token" }] : [];
    }

    /** @param {DraftContext} context @returns {Proposal} */
    propose({ tokens, maxDepth }) {
      const proposal = S.bareProposal(tokens.at(-1));
      const { tree } = proposal;
      const nodeAt = new Map([["", 0]]);
      for (const path of this.template) {
        const parent = nodeAt.get(path.slice(0, -1).join());
        if (parent === undefined || path.length > maxDepth) continue;
        const follower = this.matrix.get(tree.tokens[parent])?.[path.at(-1)];
        if (follower !== undefined)
          nodeAt.set(path.join(), tree.add(parent, follower, "point_mass", null, "token_recycling"));
      }
      proposal.note = {
        template_nodes: this.template.length,
        rows_known: this.matrix.size,
        matrix_bytes: 4 * this.vocab * this.options.followers,
      };
      proposal.knew = [...this.rowsBehind(tree), ...this.atStart];
      this.atStart = [];
      return proposal;
    }

    /** Each matrix row that a candidate came from, once, however many nodes had its token.
        @returns {trace.Exhibit[]} */
    rowsBehind(tree) {
      const found = new Map();
      for (let node = 1; node < tree.length; node++) {
        const token = tree.tokens[tree.parents[node]];
        if (!found.has(token)) found.set(token, { parents: new Set(), nodes: [] });
        found.get(token).parents.add(tree.parents[node]);
        found.get(token).nodes.push(node);
      }
      const rows = [...found].map(([token, { parents, nodes }]) => {
        const followers = this.matrix.get(token);
        const drafted = new Set(nodes.map((node) => tree.tokens[node]));
        const marks = [...followers.keys()].filter((rank) => drafted.has(followers[rank]));
        return row(after([...parents]), followers, marks, nodes);
      });
      return rows.length ? [{ title: "matrix rows behind the tree", rows, marked: "drafted" }] : [];
    }

    /** Every node's row is rewritten. Where a token stands at several nodes, what follows it in the committed text
        counts, the deepest such node first; else the last of them in the tree.
        @param {Outcome} outcome @returns {trace.Exhibit[]} */
    observe({ tree, logits, path }) {
      const candidates = [...Array(tree.length).keys()].slice(1);
      const writers = new Map();
      for (const node of [...candidates.filter((one) => !path.includes(one)), 0, ...path])
        writers.set(tree.tokens[node], node);
      const changed = [];
      for (const [token, node] of [...writers].sort((one, other) => one[1] - other[1])) {
        const before = this.matrix.get(token) ?? [];
        const now = this.top(logits[node]);
        this.matrix.set(token, now);
        if (now.join() !== before.join())
          changed.push(
            row(
              after([node]),
              now,
              [...now.keys()].filter((rank) => !before.includes(now[rank])),
              [node],
            ),
          );
      }
      return changed.length ? [{ title: "matrix rows rewritten by this round", rows: changed, marked: "new" }] : [];
    }
  }

  return { TokenRecyclingDrafter };
})(SpecViz);
Object.assign(SpecViz, tokenRecycling);
