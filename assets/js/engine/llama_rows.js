/* Blocks of a Llama over the rows of a tree cache, for a model and for a drafter's block of its own; the names of
   specviz/lm/llama/rows.py. Weights, caches and intermediate numbers stand in an arena, float32. */
// needs: checkpoint, tree_cache
/** @typedef {object} Layer pointers to one block's weights
    @property {number} attentionNorm 0 where what is read is made outside
    @property {number} qkv
    @property {number} output
    @property {number} ffnNorm
    @property {number} gateUp
    @property {number} down
    @property {number} keys cached [context, kvHeads · size]
    @property {number} values */
/** @typedef {Omit<LlamaShape, "vocab">} BlockShape
    @typedef {{ weights: Map<number, { weight: number, scales: number }>, rows: number, scales: number }} EightBits
      pointers: by that of a weight its copy in eight bits; room for the rows of a pass */

const llamaRows = (function (S) {
  "use strict";

  const MOST_ROWS = 64; // of one call of the kernels; a longer text is read in pieces
  const BLOCK = {
    attentionNorm: ["input_layernorm"],
    qkv: ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    output: ["self_attn.o_proj"],
    ffnNorm: ["post_attention_layernorm"],
    gateUp: ["mlp.gate_proj", "mlp.up_proj"],
    down: ["mlp.down_proj"],
  };

  /** How many numbers the blocks take in an arena: weights, cache, what a pass leaves in between, and gaps.
      @param {BlockShape} shape */
  function rowsNumbers(shape) {
    const { hidden, heads, kvHeads, size, ffn, layers, context } = shape;
    const qkv = (heads + 2 * kvHeads) * size;
    const block = hidden * (qkv + heads * size + 3 * ffn + 2) + 2 * context * kvHeads * size;
    const passing = MOST_ROWS * (2 * hidden + qkv + heads * size + 3 * ffn + 2 + context) + context;
    return layers * block + context * size + passing + 4096;
  }

  /** The pointer to tensors one after the other. Throws in a sentence where one is missing.
      @param {InstanceType<Names["Arena"]>} arena @param {Map<string, StoredTensor>} tensors @param {string[]} names */
  function store(arena, tensors, names, owner) {
    const parts = names.map((name) => {
      const tensor = tensors.get(`${name}.weight`);
      if (!tensor) throw new Error(`the weights of ${owner} lack ${name}.weight; download them again.`);
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
  }

  class LlamaRows {
    /** `block(i)`: what names of the tensors of block i begin with; `normed`: whether its attention has a norm.
        @param {InstanceType<Names["Arena"]>} arena @param {BlockShape} shape
        @param {Map<string, StoredTensor>} tensors @param {(i: number) => string} block */
    constructor(arena, shape, tensors, block, owner, normed = true) {
      this.arena = arena;
      this.shape = shape;
      const { hidden, heads, kvHeads, size, ffn, context } = shape;
      const kept = () => arena.take(context * kvHeads * size);
      /** @type {Layer[]} */
      this.layers = Array.from({ length: shape.layers }, (_, i) => {
        const named = (part) => BLOCK[part].map((name) => `${block(i)}.${name}`);
        const stored = (part) => store(arena, tensors, named(part), owner);
        return {
          attentionNorm: normed ? stored("attentionNorm") : 0,
          qkv: stored("qkv"),
          output: stored("output"),
          ffnNorm: stored("ffnNorm"),
          gateUp: stored("gateUp"),
          down: stored("down"),
          keys: kept(),
          values: kept(),
        };
      });
      const rows = (width) => arena.take(MOST_ROWS * width);
      this.x = rows(hidden);
      this.normed = rows(hidden);
      this.qkv = rows((heads + 2 * kvHeads) * size);
      this.attended = rows(heads * size);
      this.gateUp = rows(2 * ffn);
      this.gated = rows(ffn);
      this.positions = rows(1);
      this.counts = rows(1);
      this.seenRows = rows(context);
      this.scores = arena.take(context);
      /** @type {EightBits | null} */
      this.eights = null;
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

    /** The product of rows and a weight: as the weights are stored, or in eight bits where `eights` holds them so.
        @type {Kernels["multiply"]} */
    multiply(x, n, inputs, weight, outputs, out, adds) {
      const { kernels } = this.arena;
      const eight = this.eights?.weights.get(weight);
      if (!eight) return kernels.multiply(x, n, inputs, weight, outputs, out, adds);
      const { rows, scales } = this.eights;
      kernels.quantise(x, n, inputs, rows, scales);
      return kernels.multiplyEight(rows, scales, n, inputs, eight.weight, eight.scales, outputs, out, adds);
    }

    /** An empty text; the cache given out before must not be used any more. */
    newCache() {
      return new S.TreeCache();
    }

    /** Take new rows into the cache; the row of the first. What they see is then ready for `attend`.
        @param {number[]} tokens @param {InstanceType<Names["TreeCache"]>} cache @param {number[] | null} parents */
    place(tokens, cache, parents) {
      const { arena, shape } = this;
      const start = cache.length;
      const seen = cache.add(tokens, parents, shape.context);
      arena.ints.set(cache.positions.slice(start), this.positions / 4);
      arena.ints.set(seen.map((rows) => rows.length), this.counts / 4); // prettier-ignore
      arena.ints.set(seen.flat(), this.seenRows / 4);
      return start;
    }

    /** One block's attention, added to `x`, over what stands at `reads`; the new rows' keys and values go into the
        cache from row `start` on. */
    attend(layer, reads, n, start) {
      const { arena, shape } = this;
      const { kernels, floats } = arena;
      const { hidden, heads, kvHeads, size } = shape;
      const [width, cached] = [(heads + 2 * kvHeads) * size, kvHeads * size];
      this.multiply(reads, n, hidden, layer.qkv, width, this.qkv, false);
      kernels.rotate(this.qkv, n, width, heads + kvHeads, size / 2, this.cos, this.sin, this.positions);
      for (let row = 0; row < n; row++) {
        const from = this.qkv / 4 + row * width + heads * size;
        const to = (start + row) * cached;
        floats.copyWithin(layer.keys / 4 + to, from, from + cached);
        floats.copyWithin(layer.values / 4 + to, from + cached, from + 2 * cached);
      }
      kernels.attend(
        this.qkv, n, width, heads, kvHeads, size, layer.keys, layer.values, this.counts, this.seenRows, this.scores,
        this.attended,
      ); // prettier-ignore
      this.multiply(this.attended, n, heads * size, layer.output, hidden, this.x, true);
    }

    /** One block's MLP, added to `x`. */
    mlp(layer, n) {
      const { kernels } = this.arena;
      const { hidden, ffn, eps } = this.shape;
      kernels.norm(this.x, n, hidden, layer.ffnNorm, eps, this.normed);
      this.multiply(this.normed, n, hidden, layer.gateUp, 2 * ffn, this.gateUp, false);
      kernels.gate(this.gateUp, n, ffn, this.gated);
      this.multiply(this.gated, n, ffn, layer.down, hidden, this.x, true);
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

  return { LlamaRows, rowsNumbers, storeTensors: store, MOST_ROWS };
})(SpecViz);
Object.assign(SpecViz, llamaRows);
