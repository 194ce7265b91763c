/* The lesson "make the target cheap and speculation stops paying", measured in the visitor's own tab: the target's
   weights in eight bits beside those in float32, plain decoding and a draft on both, in turns.

   weights ─ absmax per row ─► eight bits ─► plain, drafted ─► tokens a second of both
   weights as stored ───────────────────────► plain, drafted ─► (docs/browser_engine.md) */
// needs: duel, llama_rows, numbers, step_times
/** @typedef {{ dtype: "float32" | "int8", gamma: number, plain: number, drafted: number, rows: number, step: number,
      perPass: number, text: string }} Cost of a target in a number format: `plain`, `drafted`: tokens a second; `rows`,
      `step`: how long a pass over a root and a draft, and one of the drafter, take in passes over one row; `perPass`:
      tokens of a drafted round; `text`: what was written */

const cheapTarget = (function (S) {
  "use strict";

  const LARGEST = 127;
  const LONG = { turns: 3, tokens: 48 };
  const GAMMA = 4;
  const DRAFTER = "drafter";
  const PROMPT = "Once upon a time there was a boy who";
  const WARM_UP = 8; // tokens before anything counts

  /** The target's products: by pointer, [inputs, outputs].
      @param {InstanceType<Names["Llama"]>} model @returns {Map<number, [number, number]>} */
  function products(model) {
    const { hidden, heads, kvHeads, size, ffn } = model.shape;
    /** @type {Map<number, [number, number]>} */
    const sizes = new Map([[model.embedding, [hidden, model.vocab]]]);
    for (const layer of model.layers) {
      sizes.set(layer.qkv, [hidden, (heads + 2 * kvHeads) * size]);
      sizes.set(layer.output, [heads * size, hidden]);
      sizes.set(layer.gateUp, [hidden, 2 * ffn]);
      sizes.set(layer.down, [ffn, hidden]);
    }
    return sizes;
  }

  /** How many numbers of four bytes the copies of a model of this shape take in an arena.
      @param {LlamaShape} shape */
  function eightNumbers({ layers, hidden, heads, kvHeads, size, ffn, vocab }) {
    const outputs = vocab + layers * ((heads + 2 * kvHeads) * size + 2 * ffn + 2 * hidden);
    const weights = hidden * vocab + layers * hidden * (2 * (heads + kvHeads) * size + 3 * ffn);
    return weights / 4 + outputs + S.MOST_ROWS * (Math.max(hidden, ffn, heads * size) / 2 + 1) + 4096;
  }

  /** A model's weights in eight bits, each row with its scale; the norms stay as they are.
      @param {InstanceType<Names["Llama"]>} model @returns {EightBits} */
  function eightBits(model) {
    const { arena } = model;
    const whole = new Int8Array(arena.buffer);
    const weights = new Map();
    for (const [pointer, [inputs, outputs]] of products(model)) {
      const copy = { weight: arena.take((inputs * outputs) / 4), scales: arena.take(outputs) };
      for (let o = 0; o < outputs; o++) {
        const row = arena.view(pointer + 4 * o * inputs, inputs);
        const scale = Math.fround(row.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / LARGEST) || 1;
        arena.floats[copy.scales / 4 + o] = scale;
        for (let k = 0; k < inputs; k++) whole[copy.weight + o * inputs + k] = Math.round(row[k] / scale);
      }
      weights.set(pointer, copy);
    }
    const widest = Math.max(...[...products(model).values()].map(([inputs]) => inputs));
    return { weights, rows: arena.take((S.MOST_ROWS * widest) / 2), scales: arena.take(S.MOST_ROWS) };
  }

  /** Both number formats, plain and drafted, in turns so that a busy moment hits all. `tell` hears how many of the
      turns are over.
      @param {InstanceType<Names["BrowserEngine"]>} engine @param {(over: number, of: number) => Promise<void>} tell
      @returns {Promise<Cost[]>} */
  async function costs(engine, tell, { turns, tokens } = LONG) {
    const { target } = engine;
    const drafter = engine.models.get(DRAFTER);
    const draft = { drafter: "model", drafter_model: DRAFTER, drafter_options: { gamma: GAMMA } };
    const formats = /** @type {const} */ (["float32", "int8"]);
    const taken = formats.map(() => ({ plain: [], drafted: [], narrow: [], wide: [], step: [] }));
    const last = [];
    for (let turn = 0; turn <= turns; turn++) {
      for (const [at, dtype] of formats.entries()) {
        const most = { dtype, prompt: PROMPT, max_new_tokens: turn ? tokens : WARM_UP };
        const plain = await S.timed(engine, { ...most, drafter: "none" });
        const drafted = await S.timed(engine, { ...most, ...draft });
        if (!turn) continue;
        taken[at].plain.push(plain.tokens / plain.seconds);
        taken[at].drafted.push(drafted.tokens / drafted.seconds);
        const [narrow, wide] = S.stepTimes(target, [1, 1 + GAMMA]);
        taken[at].narrow.push(narrow.median_s);
        taken[at].wide.push(wide.median_s);
        taken[at].step.push(S.draftStep(drafter, target));
        last[at] = drafted;
      }
      await tell(turn, turns);
    }
    return formats.map((dtype, at) => {
      const { plain, drafted, narrow, wide, step } = taken[at];
      const pass = S.median(narrow);
      const { tokens: all, passes, text } = last[at];
      const times = { plain: S.median(plain), drafted: S.median(drafted), rows: S.median(wide) / pass };
      return { dtype, gamma: GAMMA, ...times, step: S.median(step) / pass, perPass: all / passes, text };
    });
  }

  return { eightBits, eightNumbers, costsOfTargets: costs };
})(SpecViz);
Object.assign(SpecViz, cheapTarget);
