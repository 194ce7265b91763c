/* The lean Llama forward in the browser: the names of specviz/lm/llama (rows, parents, cache, keep), float32.

   n new rows ─► embedding ─► layers × (norm, qkv, rotation, tree attention, SwiGLU) ─► norm ─► head ─► logits [n, V]

   A model decodes one text at a time: `newCache` ends the one before. */
// needs: llama_rows

const llama = (function (S) {
  "use strict";

  /** How many numbers a model of this shape takes in an arena.
      @param {LlamaShape} shape */
  const arenaNumbers = (shape) => S.rowsNumbers(shape) + shape.vocab * (shape.hidden + S.MOST_ROWS) + shape.hidden;

  class Llama extends S.LlamaRows {
    /** @param {InstanceType<Names["Arena"]>} arena @param {LlamaShape} shape @param {Map<string, StoredTensor>} tensors
        @param {trace.ModelCard} card */
    constructor(arena, shape, tensors, card) {
      super(arena, shape, tensors, (i) => `model.layers.${i}`, card.name);
      this.card = card;
      this.vocab = shape.vocab;
      this.embedding = S.storeTensors(arena, tensors, ["model.embed_tokens"], card.name);
      this.norm = S.storeTensors(arena, tensors, ["model.norm"], card.name);
      this.logits = arena.take(S.MOST_ROWS * shape.vocab);
      this.watched = false; // whether a drafter reads the states of its passes
      /** @type {Float32Array[]} states of the last pass's rows behind the final norm, where they are watched */
      this.seen = [];
    }

    /** Logits of new rows [n][V], or of the last alone; the rows are then in the cache.
        @param {number[]} tokens @param {InstanceType<Names["TreeCache"]>} cache @param {number[] | null} [parents]
        @returns {Float32Array[]} */
    forward(tokens, cache, parents = null, lastOnly = false) {
      const logits = [];
      this.seen = [];
      for (let start = 0; start < tokens.length; start += S.MOST_ROWS) {
        const part = tokens.slice(start, start + S.MOST_ROWS);
        const below = parents === null ? null : parents.slice(start, start + S.MOST_ROWS);
        this.hidden(part, cache, below);
        if (this.watched) this.seen.push(...this.states(part.length));
        const isLast = start + S.MOST_ROWS >= tokens.length;
        if (!lastOnly) logits.push(...this.readOut(0, part.length));
        else if (isLast) logits.push(...this.readOut(part.length - 1, 1));
      }
      return logits;
    }

    /** Run all blocks on these rows: the residual stream is left in `x`. */
    hidden(tokens, cache, parents) {
      const { arena, shape } = this;
      const { hidden, eps } = shape;
      const n = tokens.length;
      const start = this.place(tokens, cache, parents);
      tokens.forEach((token, row) => arena.floats.set(this.embedded(token), this.x / 4 + row * hidden));
      for (const layer of this.layers) {
        arena.kernels.norm(this.x, n, hidden, layer.attentionNorm, eps, this.normed);
        this.attend(layer, this.normed, n, start);
        this.mlp(layer, n);
      }
    }

    /** A token's row of the embedding [H]. */
    embedded(token) {
      const { hidden } = this.shape;
      return this.arena.view(this.embedding + 4 * token * hidden, hidden);
    }

    /** The first `n` rows of `x` behind the final norm, copied out of the arena. */
    states(n) {
      const { hidden, eps } = this.shape;
      this.arena.kernels.norm(this.x, n, hidden, this.norm, eps, this.normed);
      return Array.from({ length: n }, (_, row) => this.arena.view(this.normed + 4 * row * hidden, hidden).slice());
    }

    /** Logits of `n` rows of `x` from row `first` on. */
    readOut(first, n) {
      const { hidden, eps } = this.shape;
      this.arena.kernels.norm(this.x + 4 * first * hidden, n, hidden, this.norm, eps, this.normed);
      return this.answer(this.normed, n);
    }

    /** What the head says of `n` states at a pointer, copied out of the arena; [n][V]. */
    answer(states, n) {
      const { arena, vocab } = this;
      this.multiply(states, n, this.shape.hidden, this.embedding, vocab, this.logits, false);
      return Array.from({ length: n }, (_, row) => arena.view(this.logits + 4 * row * vocab, vocab).slice());
    }
  }

  return { Llama, arenaNumbers };
})(SpecViz);
Object.assign(SpecViz, llama);
