/* Drafters of the browser's engine that keep what they know in the text: none, a smaller model, copies of n-grams; the
   twins of specviz/drafters/none.py, model.py and ngram.py. */
// needs: draft_tree, growing
/** @typedef {{ token: number, logits: Float32Array }} TargetProposal the last token of the round before, which left it
      open, and what the target said there
    @typedef {{ tokens: number[], round: number, maxDepth: number, sampling: Sampling, randomness: RandomSource,
      targetProposal?: TargetProposal | null }} DraftContext `tokens`: the committed text, whose last one is the tree's
      root
    @typedef {{ rows: number, cached_rows: number, seconds: number, depth: number, read: number }} DraftPass
    @typedef {{ tree: InstanceType<Names["DraftTree"]>, passes: DraftPass[],
      note: Record<string, trace.Drafted["note"][string]>, logits: Map<number, Float32Array>,
      knew: trace.Exhibit[] }} Proposal `logits`: what a model said follows a node
    @typedef {{ tree: InstanceType<Names["DraftTree"]>, logits: Float32Array[], path: number[], tokens: number[],
      states: Float32Array[] }} Outcome `tokens`: the text after the round; `logits` and, where the drafter reads them,
      the target's `states` per node
    @typedef {{ model: InstanceType<Names["Llama"]> | null, target: InstanceType<Names["Llama"]>, network: any,
      policies?: DraftPolicies }} DrafterParts `network`: a trained module's, for those that have one */

const drafters = (function (S) {
  "use strict";

  const NUMBER_BYTES = 4;

  /** @returns {Proposal} */
  const bare = (token) => ({ tree: new S.DraftTree(token), passes: [], note: {}, logits: new Map(), knew: [] });

  class NoDrafter {
    constructor() {
      this.options = {};
    }

    begin() {}

    propose({ tokens }) {
      return bare(tokens.at(-1));
    }
  }

  class ModelDrafter extends S.GrowingDrafter {
    static passReads = "all weights of its model";
    static givesHidden = true;

    /** @param {any} options @param {DrafterParts} parts */
    constructor(options, { model, policies }) {
      super(options, policies);
      this.model = model;
      model.watched = this.policies.stop.needsHidden;
      this.cache = model.newCache();
      this.reads = NUMBER_BYTES * model.card.read_per_pass;
      /** @type {Map<string, number>} "row of the parent, token" → row, of the rows beyond the settled text */
      this.rowOf = new Map();
      this.rowOfNode = [];
      /** @type {Map<number, Float32Array>} row → its state, where the stop policy looks at them */
      this.states = new Map();
    }

    begin(tokens) {
      this.cache = this.model.newCache();
      if (tokens.length < 2) return;
      this.model.forward(tokens.slice(0, -1), this.cache, null, true);
      this.model.keep(this.cache, [...Array(tokens.length - 1).keys()]);
    }

    /** Keep the rows of the last draft that became text. */
    settle(tokens) {
      const kept = [];
      let row = this.cache.base - 1;
      for (let position = this.cache.base; position < tokens.length - 1; position++) {
        const following = this.rowOf.get(`${row} ${tokens[position]}`);
        if (following === undefined) break;
        kept.push((row = following));
      }
      this.model.keep(this.cache, kept);
      this.rowOf.clear();
      this.rowOfNode = [];
      this.states.clear();
    }

    /** Feed the text's tokens that are not cached, the root last; logits after the root. */
    catchUp(tokens) {
      const start = this.cache.length;
      const missing = tokens.slice(start);
      const logits = this.model.forward(missing, this.cache, null, true);
      missing.forEach((token, offset) => this.rowOf.set(`${start + offset - 1} ${token}`, start + offset));
      this.rowOfNode[0] = this.cache.length - 1;
      return logits;
    }

    /** Feed a level of the tree; logits after each of its nodes, of which those of the same text share a row. */
    extend(tree, nodes) {
      const start = this.cache.length;
      const [tokens, parents] = [[], []];
      const rows = nodes.map((node) => {
        const key = `${this.rowOfNode[tree.parents[node]]} ${tree.tokens[node]}`;
        if (!this.rowOf.has(key)) {
          this.rowOf.set(key, start + tokens.length);
          tokens.push(tree.tokens[node]);
          parents.push(this.rowOfNode[tree.parents[node]]);
        }
        this.rowOfNode[node] = this.rowOf.get(key);
        return this.rowOfNode[node] - start;
      });
      const logits = this.model.forward(tokens, this.cache, parents);
      return rows.map((row) => logits[row]);
    }

    /** @param {DraftContext} context @returns {Proposal} */
    propose(context) {
      const { tokens } = context;
      const proposal = bare(tokens.at(-1));
      const room = this.model.shape.context - tokens.length + 1;
      const answer = (nodes, depth) => this.ask(tokens, proposal, nodes, depth);
      const hiddenOf = (node) => this.states.get(this.rowOfNode[node]) ?? null;
      const isDrawn = this.draft(context, proposal, room, { source: "model", answer, hiddenOf });
      if (!isDrawn) proposal.note.drafter_context_full = room < 1;
      return proposal;
    }

    /** One pass over the nodes of a level, noted in the proposal. */
    ask(tokens, proposal, nodes, depth) {
      const began = performance.now();
      if (depth === 1) this.settle(tokens);
      const cached = this.cache.length;
      const logits = depth === 1 ? this.catchUp(tokens) : this.extend(proposal.tree, nodes);
      const seconds = (performance.now() - began) / 1000;
      const rows = this.cache.length - cached;
      proposal.passes.push({ rows, cached_rows: cached, seconds, depth, read: this.reads });
      this.model.seen.forEach((state, at) => this.states.set(cached + at, state));
      return logits;
    }
  }

  const SEARCHED = 32; // the last occurrences of an n-gram that are looked at for different continuations

  class NgramDrafter {
    constructor(options) {
      this.options = options;
      this.kept = options.continuations > 1 ? SEARCHED : 1;
      /** @type {Map<string, number[]>} n-gram → positions of the tokens that followed it */
      this.after = new Map();
      this.indexed = 0;
    }

    /** Index all n-grams that are followed by a token of a text that only ever grows. */
    begin(tokens) {
      const { min_ngram: shortest, max_ngram: longest } = this.options;
      for (let position = Math.max(this.indexed, 1); position < tokens.length; position++)
        for (let n = shortest; n <= Math.min(longest, position); n++) {
          const key = tokens.slice(position - n, position).join();
          const places = this.after.get(key) ?? [];
          places.push(position);
          if (places.length > this.kept) places.shift();
          this.after.set(key, places);
        }
      this.indexed = tokens.length;
    }

    /** [n, position after the match]: the longest suffix first, its latest occurrence first, each position once.
        @returns {[number, number][]} */
    find(tokens) {
      const seen = new Set();
      const matches = [];
      for (let n = this.options.max_ngram; n >= this.options.min_ngram; n--)
        if (n < tokens.length)
          for (const after of (this.after.get(tokens.slice(-n).join()) ?? []).toReversed())
            if (!seen.has(after)) {
              seen.add(after);
              matches.push([n, after]);
            }
      return matches;
    }

    /** @param {DraftContext} context @returns {Proposal} */
    propose({ tokens, maxDepth }) {
      const proposal = bare(tokens.at(-1));
      const { tree } = proposal;
      this.begin(tokens);
      const child = new Map();
      const copies = [];
      for (const [length, after] of this.find(tokens)) {
        const before = tree.length;
        const nodes = copy(tokens, tree, child, after, Math.min(this.options.gamma, maxDepth));
        if (tree.length > before || !copies.length) copies.push({ length, after, nodes });
        if (copies.length === this.options.continuations) break;
      }
      proposal.note = copies.length
        ? { match_length: copies[0].length, source_position: copies[0].after }
        : { match_length: 0 };
      const rows = copies.flatMap((one) => rowsOfCopy(tokens, tree, one));
      if (rows.length) proposal.knew = [{ title: "copied from the text", rows, marked: "drafted" }];
      return proposal;
    }
  }

  /** Add what the tree does not hold yet; beyond the text's end the copy's own tokens are copied. */
  function copy(tokens, tree, child, after, depth) {
    const nodes = [];
    let node = 0;
    for (let at = after; at < after + depth; at++) {
      const token = at < tokens.length ? tokens[at] : tree.tokens[nodes[at - tokens.length]];
      const key = `${node} ${token}`;
      if (!child.has(key)) child.set(key, tree.add(node, token, "point_mass", null, "ngram"));
      nodes.push((node = child.get(key)));
    }
    return nodes;
  }

  /** Match and copy as they stand in the text; what was copied from the copy has no place.
      @returns {trace.ExhibitRow[]} */
  function rowsOfCopy(tokens, tree, { length, after, nodes }) {
    const inside = nodes.slice(0, tokens.length - after);
    const beyond = nodes.slice(inside.length);
    const start = after - length;
    const rows = [];
    if (inside.length)
      rows.push({
        label: `after a match of ${length}`,
        tokens: tokens.slice(start, after + inside.length),
        marks: inside.map((_, at) => length + at),
        nodes: inside,
        position: start,
        scores: [],
      });
    if (beyond.length)
      rows.push({
        label: "the copy, copied on",
        tokens: beyond.map((node) => tree.tokens[node]),
        marks: [...beyond.keys()],
        nodes: beyond,
        position: null,
        scores: [],
      });
    return rows;
  }

  return { NoDrafter, ModelDrafter, NgramDrafter, bareProposal: bare };
})(SpecViz);
Object.assign(SpecViz, drafters);
