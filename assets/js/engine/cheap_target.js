/* The lesson "make the target cheap and speculation stops paying", measured in the visitor's own tab: the target's
   weights in eight bits beside those in float32, plain decoding and a draft on both, in turns.

   weights ─ absmax per row ─► eight bits ─► plain, drafted ─► tokens a second of both
   weights as stored ───────────────────────► plain, drafted ─► (docs/browser_engine.md) */
// needs: llama_rows
/** @typedef {{ eight: boolean, plain: number, drafted: number, rows: number }} Cost `plain` and `drafted`: tokens a
      second; `rows`: how long a pass over a root and a draft takes, in passes over one row */

const cheapTarget = (function (S) {
  "use strict";

  const LARGEST = 127;
  const [TURNS, TOKENS, GAMMA, CACHED] = [3, 48, 4, 64];
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

  const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
  const upTo = (n) => [...Array(n).keys()];

  /** Seconds of a pass over so many rows. */
  function passSeconds(model, rows) {
    const cache = model.newCache();
    model.forward(upTo(CACHED), cache, null, true);
    model.keep(cache, upTo(CACHED));
    const began = performance.now();
    model.forward(upTo(rows), cache);
    return (performance.now() - began) / 1000;
  }

  /** Tokens a second of a run. */
  async function speed(engine, drafter, most) {
    const shape = { temperature: 0, top_k: 0, top_p: 1, seed: 0, max_new_tokens: most };
    const options = drafter === "model" ? { gamma: GAMMA } : {};
    const { session, started } = await engine.begin({ prompt: PROMPT, drafter, drafter_options: options, ...shape });
    session.begin();
    while (session.finished === null) session.round();
    return (session.tokens.length - started.prompt_ids.length) / session.decodeSeconds;
  }

  /** Both targets, plain and drafted, in turns so that a busy moment hits all.
      @param {InstanceType<Names["BrowserEngine"]>} engine @returns {Promise<Cost[]>} */
  async function costs(engine) {
    const { target } = engine;
    const eights = (engine.eights ??= eightBits(target));
    const measured = [false, true].map((eight) => ({ eight, plain: [], drafted: [], narrow: [], wide: [] }));
    try {
      for (let turn = 0; turn <= TURNS; turn++)
        for (const one of measured) {
          target.eights = one.eight ? eights : null;
          const [plain, drafted] = [
            await speed(engine, "none", turn ? TOKENS : WARM_UP),
            await speed(engine, "model", turn ? TOKENS : WARM_UP),
          ];
          if (!turn) continue;
          one.plain.push(plain);
          one.drafted.push(drafted);
          one.narrow.push(passSeconds(target, 1));
          one.wide.push(passSeconds(target, 1 + GAMMA));
        }
    } finally {
      target.eights = null; // runs after it are float32 again
    }
    return measured.map(({ eight, plain, drafted, narrow, wide }) => {
      return { eight, plain: median(plain), drafted: median(drafted), rows: median(wide) / median(narrow) };
    });
  }

  return { eightBits, eightNumbers, costsOfTargets: costs };
})(SpecViz);
Object.assign(SpecViz, cheapTarget);
