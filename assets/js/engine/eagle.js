/* EAGLE in the browser's engine (Li et al., 2401.15077): one block drafts from the target's own last states and the
   tokens drafted so far; the twin of specviz/drafters/learned/eagle_drafting.py and eagle_network.py.

   embedding of the next token, state before it ─► join ─► block ─► state of the next token ─ head ─► logits

   A row of its cache belongs to a token and the state before it. Rows of the text are made from the target's states;
   those of a draft from its own, and dropped after the verdict. */
// needs: drafters, growing, llama_rows
/** @typedef {{ card: any, tensors: Map<string, StoredTensor> }} LearnedModule what `specviz train module` left */

const eagle = (function (S) {
  "use strict";

  const NUMBER_BYTES = 4;

  /** The block's shape over a target's: sizes that are 0 follow from the target's.
      @param {any} options @param {BlockShape} target @returns {BlockShape} */
  function eagleShape(options, target) {
    const { hidden, context } = target;
    const { wiring, depths, draft_tokens: ownHead, bias } = options;
    if (wiring !== "eagle1" || depths.length || ownHead || bias)
      throw new Error("these weights of EAGLE are of a wiring that the browser's engine does not have.");
    const heads = options.heads || Math.max(1, Math.floor(hidden / 64));
    return {
      layers: 1,
      hidden,
      heads,
      kvHeads: options.kv_heads || heads,
      size: options.head_size || 2 * Math.floor((Math.floor(hidden / heads) + 1) / 2),
      ffn: options.ffn || Math.floor((hidden * 8) / 3),
      context,
      eps: options.eps,
      theta: options.theta,
    };
  }

  /** Numbers that it takes in an arena. */
  function eagleNumbers(module, target) {
    const shape = eagleShape(module.card.options, target);
    return S.rowsNumbers(shape) + 2 * shape.hidden * (shape.hidden + S.MOST_ROWS);
  }

  /** By what embeddings are brought to the states' scale: one over their standard deviation. */
  function embeddingScale(target) {
    const numbers = target.arena.view(target.embedding, target.vocab * target.shape.hidden);
    const mean = numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
    const squares = numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    return 1 / Math.sqrt(squares / (numbers.length - 1));
  }

  class EagleNetwork extends S.LlamaRows {
    /** @param {InstanceType<Names["Llama"]>} target @param {LearnedModule} module */
    constructor(target, { card, tensors }) {
      super(target.arena, eagleShape(card.options, target.shape), tensors, () => "block", "EAGLE", false);
      const { hidden } = this.shape;
      this.target = target;
      this.join = S.storeTensors(target.arena, tensors, ["fc"], "EAGLE");
      this.inputs = target.arena.take(S.MOST_ROWS * 2 * hidden);
      this.scale = card.options.scale_embedding ? embeddingScale(target) : 1;
      const looked = hidden * hidden; // the share of tokens in the joining matrix, whose products the server looks up
      this.reads = NUMBER_BYTES * (card.parameters - looked + target.vocab * hidden);
    }

    /** Append rows, each of a token and the state before it; the states that the block makes of them [n][H].
        @param {number[]} tokens @param {Float32Array[]} states @param {InstanceType<Names["TreeCache"]>} cache
        @param {number[] | null} [parents] */
    run(tokens, states, cache, parents = null) {
      const { arena, target } = this;
      const { hidden } = this.shape;
      const made = [];
      for (let first = 0; first < tokens.length; first += S.MOST_ROWS) {
        const part = tokens.slice(first, first + S.MOST_ROWS);
        const n = part.length;
        const start = this.place(part, cache, parents && parents.slice(first, first + n));
        part.forEach((token, row) => {
          const inputs = arena.view(this.inputs + 8 * row * hidden, 2 * hidden);
          inputs.set(target.embedded(token).map((value) => value * this.scale));
          inputs.set(states[first + row], hidden);
        });
        arena.kernels.multiply(this.inputs, n, 2 * hidden, this.join, hidden, this.x, false);
        arena.floats.copyWithin(this.normed / 4, this.x / 4, this.x / 4 + n * hidden); // read as it is
        this.attend(this.layers[0], this.normed, n, start);
        this.mlp(this.layers[0], n);
        for (let row = 0; row < n; row++) made.push(arena.view(this.x + 4 * row * hidden, hidden).slice());
      }
      return made;
    }

    /** What the target's head says of states [n][H]: logits [n][V]. */
    logits(states) {
      const { hidden } = this.shape;
      states.forEach((state, row) => this.arena.floats.set(state, this.normed / 4 + row * hidden));
      return this.target.answer(this.normed, states.length);
    }
  }

  class EagleDrafter extends S.GrowingDrafter {
    static passReads = "its layer and the head, the first pass of a round also what fuses the target's states";
    static readsStates = true;

    /** @param {any} options @param {DrafterParts} parts */
    constructor(options, { target, network, policies }) {
      super(options, policies);
      this.network = network;
      this.cache = network.newCache();
      this.depth = target.shape.layers;
      /** @type {Float32Array[]} states of the text's next tokens, whose rows wait for the tokens after them */
      this.waiting = [];
      /** @type {Map<number, { row: number, state: Float32Array }>} by node */
      this.outputs = new Map();
    }

    begin() {}

    /** The target's states [n][H] of the next n tokens of the text. */
    readStates(tokens, states) {
      const following = this.waiting.length ? tokens : tokens.slice(1);
      this.waiting.push(...states);
      if (following.length) this.catchUp(following);
    }

    /** Make rows of the text of the first states that wait and the tokens after them; the state after the last. */
    catchUp(following) {
      const made = this.network.run(following, this.waiting.slice(0, following.length), this.cache);
      const { base, length } = this.cache;
      this.network.keep(
        this.cache,
        Array.from({ length: length - base }, (_, at) => base + at),
      );
      this.waiting.splice(0, following.length);
      return made.at(-1);
    }

    get known() {
      return this.cache.base + this.waiting.length;
    }

    /** The true states of what was accepted take the place of those that were guessed.
        @param {Outcome} outcome @returns {trace.Exhibit[]} */
    observe({ path, tokens, states }) {
      const accepted = [0, ...path].slice(0, tokens.length - 1 - this.known);
      this.waiting.push(...accepted.map((node) => states[node]));
      return [];
    }

    /** @param {DraftContext} context @returns {Proposal} */
    propose(context) {
      const proposal = S.bareProposal(context.tokens.at(-1));
      this.network.keep(this.cache, []);
      this.outputs.clear();
      const answer = (nodes, depth) => this.ask(context.tokens, proposal, nodes, depth);
      this.draft(context, proposal, this.known ? context.maxDepth : 0, { source: "eagle", answer });
      return proposal;
    }

    /** Logits after the nodes of a level; the root's pass also reads what the last round left. */
    ask(tokens, proposal, nodes, depth) {
      const began = performance.now();
      const cached = this.cache.length;
      if (depth === 1) {
        proposal.note = { states_read: this.waiting.length, depths: String(this.depth) };
        const state = this.catchUp(tokens.slice(this.cache.base + 1));
        this.outputs.set(0, { row: this.cache.length - 1, state });
      } else this.extend(proposal.tree, nodes);
      const logits = this.network.logits(nodes.map((node) => this.outputs.get(node).state));
      const seconds = (performance.now() - began) / 1000;
      const rows = this.cache.length - cached;
      proposal.passes.push({ rows, cached_rows: cached, seconds, depth, read: this.network.reads });
      return logits;
    }

    /** Rows of drafted nodes, each from its token and the state at its parent. */
    extend(tree, nodes) {
      const before = nodes.map((node) => this.outputs.get(tree.parents[node]));
      const start = this.cache.length;
      const made = this.network.run(
        nodes.map((node) => tree.tokens[node]),
        before.map(({ state }) => state),
        this.cache,
        before.map(({ row }) => row),
      );
      nodes.forEach((node, at) => this.outputs.set(node, { row: start + at, state: made[at] }));
    }
  }

  return { EagleNetwork, EagleDrafter, eagleNumbers };
})(SpecViz);
Object.assign(SpecViz, eagle);
