/* The lean Llama forward in the browser: the names of specviz/lm/llama (rows, parents, cache, keep), float32.

   n new rows ─► embedding ─► layers × (norm, qkv, rotation, tree attention, SwiGLU) ─► norm ─► head ─► logits [n, V]

   Weights and numbers stand in an arena. A model decodes one text at a time: `newCache` ends the one before. */
// needs: checkpoint, tree_cache
/** @typedef {object} Layer pointers to one block's weights
    @property {number} attentionNorm
    @property {number} qkv
    @property {number} output
    @property {number} ffnNorm
    @property {number} gateUp
    @property {number} down
    @property {number} keys cached [context, kvHeads · size]
    @property {number} values */

const llama = (function (S) {
  "use strict";

  const MOST_ROWS = 64; // of one call of the kernels; a longer prompt is read in pieces

  /** How many numbers a model of this shape takes in an arena: weights, cache, what a pass leaves in between.
      @param {LlamaShape} shape */
  function arenaNumbers(shape) {
    const { hidden, heads, kvHeads, size, ffn, layers, vocab, context } = shape;
    const qkv = (heads + 2 * kvHeads) * size;
    const block = hidden * (qkv + heads * size + 3 * ffn + 2) + 2 * context * kvHeads * size;
    const passing = MOST_ROWS * (2 * hidden + qkv + heads * size + 3 * ffn + vocab + 2 + context) + context;
    return vocab * hidden + hidden + layers * block + context * size + passing + 4096; // and the gaps of alignment
  }

  class Llama {
    /** @param {InstanceType<Names["Arena"]>} arena @param {LlamaShape} shape @param {Map<string, StoredTensor>} tensors
        @param {trace.ModelCard} card */
    constructor(arena, shape, tensors, card) {
      this.arena = arena;
      this.shape = shape;
      this.card = card;
      const { hidden, heads, kvHeads, size, ffn, vocab, context } = shape;
      const stored = (...names) => {
        const parts = names.map((name) => {
          const tensor = tensors.get(`model.${name}.weight`);
          if (!tensor) throw new Error(`the weights of ${card.name} lack model.${name}.weight; download them again.`);
          return tensor;
        });
        const counts = parts.map((part) => part.shape.reduce((product, side) => product * side, 1));
        let at = arena.take(counts.reduce((sum, count) => sum + count, 0));
        const pointer = at;
        parts.forEach((part, i) => {
          S.widen(part, arena.view(at, counts[i]));
          at += 4 * counts[i];
        });
        return pointer;
      };
      this.embedding = stored("embed_tokens");
      this.norm = stored("norm");
      /** @type {Layer[]} */
      this.layers = Array.from({ length: shape.layers }, (_, i) => {
        const block = (name) => `layers.${i}.${name}`;
        return {
          attentionNorm: stored(block("input_layernorm")),
          qkv: stored(...["q_proj", "k_proj", "v_proj"].map((name) => block(`self_attn.${name}`))),
          output: stored(block("self_attn.o_proj")),
          ffnNorm: stored(block("post_attention_layernorm")),
          gateUp: stored(block("mlp.gate_proj"), block("mlp.up_proj")),
          down: stored(block("mlp.down_proj")),
          keys: arena.take(context * kvHeads * size),
          values: arena.take(context * kvHeads * size),
        };
      });
      const rows = (width) => arena.take(MOST_ROWS * width);
      this.x = rows(hidden);
      this.normed = rows(hidden);
      this.qkv = rows((heads + 2 * kvHeads) * size);
      this.attended = rows(heads * size);
      this.gateUp = rows(2 * ffn);
      this.gated = rows(ffn);
      this.logits = rows(vocab);
      this.positions = rows(1);
      this.counts = rows(1);
      this.seen = rows(context);
      this.scores = arena.take(context);
      this.turn();
    }

    /** Cosines and sines of all positions [context, size / 2], rounded to float32 at the same steps as in Python. */
    turn() {
      const { context, size, theta } = this.shape;
      const half = size / 2;
      const round = Math.fround;
      this.cos = this.arena.take(context * half);
      this.sin = this.arena.take(context * half);
      const [cos, sin] = [this.cos, this.sin].map((pointer) => this.arena.view(pointer, context * half));
      for (let k = 0; k < half; k++) {
        const pace = round(1 / round(theta ** round((2 * k) / size)));
        for (let position = 0; position < context; position++) {
          const angle = round(position * pace);
          cos[position * half + k] = Math.cos(angle);
          sin[position * half + k] = Math.sin(angle);
        }
      }
    }

    /** An empty text; the cache given out before must not be used any more. */
    newCache() {
      return new S.TreeCache();
    }

    /** Logits of new rows [n][V], or of the last alone; the rows are then in the cache.
        @param {number[]} tokens @param {InstanceType<Names["TreeCache"]>} cache @param {number[] | null} [parents]
        @returns {Float32Array[]} */
    forward(tokens, cache, parents = null, lastOnly = false) {
      const logits = [];
      for (let start = 0; start < tokens.length; start += MOST_ROWS) {
        const part = tokens.slice(start, start + MOST_ROWS);
        const below = parents === null ? null : parents.slice(start, start + MOST_ROWS);
        this.hidden(part, cache, below);
        const isLast = start + MOST_ROWS >= tokens.length;
        if (!lastOnly) logits.push(...this.readOut(0, part.length));
        else if (isLast) logits.push(...this.readOut(part.length - 1, 1));
      }
      return logits;
    }

    /** Run all blocks on these rows: the residual stream is left in `x`. */
    hidden(tokens, cache, parents) {
      const { arena, shape } = this;
      const { kernels } = arena;
      const { hidden, ffn, eps } = shape;
      const n = tokens.length;
      const start = cache.length;
      const seen = cache.add(tokens, parents, shape.context);
      arena.ints.set(cache.positions.slice(start), this.positions / 4);
      arena.ints.set(seen.map((rows) => rows.length), this.counts / 4); // prettier-ignore
      arena.ints.set(seen.flat(), this.seen / 4);
      tokens.forEach((token, row) =>
        arena.floats.copyWithin((this.x / 4) + row * hidden, this.embedding / 4 + token * hidden,
          this.embedding / 4 + (token + 1) * hidden)); // prettier-ignore
      for (const layer of this.layers) {
        this.attention(layer, n, start);
        kernels.norm(this.x, n, hidden, layer.ffnNorm, eps, this.normed);
        kernels.multiply(this.normed, n, hidden, layer.gateUp, 2 * ffn, this.gateUp, false);
        kernels.gate(this.gateUp, n, ffn, this.gated);
        kernels.multiply(this.gated, n, ffn, layer.down, hidden, this.x, true);
      }
    }

    /** One block's attention, added to `x`; the new rows' keys and values go into the cache from row `start` on. */
    attention(layer, n, start) {
      const { arena, shape } = this;
      const { kernels, floats } = arena;
      const { hidden, heads, kvHeads, size, eps } = shape;
      const [width, cached] = [(heads + 2 * kvHeads) * size, kvHeads * size];
      kernels.norm(this.x, n, hidden, layer.attentionNorm, eps, this.normed);
      kernels.multiply(this.normed, n, hidden, layer.qkv, width, this.qkv, false);
      kernels.rotate(this.qkv, n, width, heads + kvHeads, size / 2, this.cos, this.sin, this.positions);
      for (let row = 0; row < n; row++) {
        const from = this.qkv / 4 + row * width + heads * size;
        const to = (start + row) * cached;
        floats.copyWithin(layer.keys / 4 + to, from, from + cached);
        floats.copyWithin(layer.values / 4 + to, from + cached, from + 2 * cached);
      }
      kernels.attend(
        this.qkv, n, width, heads, kvHeads, size, layer.keys, layer.values, this.counts, this.seen, this.scores,
        this.attended,
      ); // prettier-ignore
      kernels.multiply(this.attended, n, heads * size, layer.output, hidden, this.x, true);
    }

    /** Logits of `n` rows of `x` from row `first` on, copied out of the arena. */
    readOut(first, n) {
      const { arena, shape } = this;
      const { hidden, vocab, eps } = shape;
      arena.kernels.norm(this.x + 4 * first * hidden, n, hidden, this.norm, eps, this.normed);
      arena.kernels.multiply(this.normed, n, hidden, this.embedding, vocab, this.logits, false);
      return Array.from({ length: n }, (_, row) => arena.view(this.logits + 4 * row * vocab, vocab).slice());
    }

    /** See `TreeCache.keep`; moves the rows' keys and values with them.
        @param {InstanceType<Names["TreeCache"]>} cache @param {number[]} rows */
    keep(cache, rows) {
      const cached = this.shape.kvHeads * this.shape.size;
      cache.keep(rows, (from, to) => {
        for (const layer of this.layers)
          for (const pointer of [layer.keys, layer.values])
            this.arena.floats.copyWithin(
              pointer / 4 + to * cached, pointer / 4 + from * cached, pointer / 4 + (from + 1) * cached,
            ); // prettier-ignore
      });
    }
  }

  return { Llama, arenaNumbers };
})(SpecViz);
Object.assign(SpecViz, llama);
