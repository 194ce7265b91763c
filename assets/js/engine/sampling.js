/* From logits to the distribution that tokens are drawn from, what is left of it after a rejection, and the uniform
   numbers of a seed; the same as specviz/core/sampling.py, core/randomness.py and trace/uniform_draws.py. Distributions
   are Float32Array [V]. Pure. */
// needs: nothing
/** @typedef {{ temperature: number, top_k: number, top_p: number }} Sampling
    @typedef {[purpose: string, position: number, index: number]} Key which decision a uniform number is for */

const samplingScript = (function () {
  "use strict";

  const total = (values) => values.reduce((sum, value) => sum + value, 0);

  /** The largest, of equal ones the lowest id. */
  function argmax(row) {
    let best = 0;
    for (let i = 1; i < row.length; i++) if (row[i] > row[best]) best = i;
    return best;
  }

  /** The ids of the `count` largest, in falling order, of equal ones the lowest first.
      @param {Float32Array} row @returns {number[]} */
  function largest(row, count) {
    const best = [];
    for (let id = 0; id < row.length; id++) {
      if (best.length === count && row[id] <= row[best[count - 1]]) continue;
      let at = best.length;
      while (at > 0 && row[best[at - 1]] < row[id]) at--;
      best.splice(at, 0, id);
      if (best.length > count) best.pop();
    }
    return best;
  }

  /** Probabilities of logits as they are.
      @param {Float32Array} logits */
  function softmax(logits) {
    const probs = new Float32Array(logits.length);
    const most = logits[argmax(logits)];
    let sum = 0;
    for (let i = 0; i < logits.length; i++) sum += probs[i] = Math.exp(logits[i] - most);
    for (let i = 0; i < logits.length; i++) probs[i] /= sum;
    return probs;
  }

  function point(size, token) {
    const probs = new Float32Array(size);
    probs[token] = 1;
    return probs;
  }

  /** Set everything outside the smallest set of mass `topP` to 0; of equal tokens at its edge the lowest ids stay. */
  function nucleus(probs, topP) {
    const ids = Array.from(probs.keys()).sort((one, other) => probs[other] - probs[one] || one - other);
    const kept = new Float32Array(probs.length);
    let before = 0;
    for (const id of ids) {
      if (before >= topP) break;
      kept[id] = probs[id];
      before += probs[id];
    }
    return kept.map((value) => value / total(kept));
  }

  /** Temperature, top-k and top-p, in this order; temperature 0 is a point mass on the largest logit.
      @param {Float32Array} logits @param {Sampling} sampling */
  function transform(logits, { temperature, top_k: topK, top_p: topP }) {
    if (temperature === 0) return point(logits.length, argmax(logits));
    let row = temperature === 1 ? logits : logits.map((value) => value / temperature);
    if (topK > 0 && topK < row.length) {
      const kept = new Set(largest(row, topK));
      row = row.map((value, id) => (kept.has(id) ? value : -Infinity));
    }
    const probs = softmax(row);
    return topP < 1 ? nucleus(probs, topP) : probs;
  }

  const isPlain = ({ temperature, top_k: topK, top_p: topP }) => temperature === 1 && topK === 0 && topP === 1;

  /** norm(max(0, p − Q)) and its mass; the target itself with mass 0 where nothing is left.
      @returns {[Float32Array, number]} */
  function residual(target, draft) {
    const left = target.map((value, id) => Math.max(0, value - draft[id]));
    const mass = total(left);
    return mass > 0 ? [left.map((value) => value / mass), mass] : [target, 0];
  }

  /** q with `tokens` removed, made whole, and the mass that was left before; zeros with mass 0 where nothing was.
      @returns {[Float32Array, number]} */
  function without(draft, tokens) {
    const left = draft.slice();
    for (const token of tokens) left[token] = 0;
    const mass = total(left);
    return [mass > 0 ? left.map((value) => value / mass) : left, mass];
  }

  /** Inverse-CDF sampling: the first token whose cumulative probability exceeds u, never one of probability 0. */
  function pick(probs, u) {
    const wanted = u * total(probs);
    let [sum, last] = [0, 0];
    for (let id = 0; id < probs.length; id++) {
      if (probs[id] > 0) last = id;
      sum += probs[id];
      if (sum > wanted) return id;
    }
    return last;
  }

  const MASK = (1n << 64n) - 1n;
  /** SplitMix64 finaliser (Steele, Lea, Flood 2014). */
  function mix(x) {
    x = (x + 0x9e3779b97f4a7c15n) & MASK;
    x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return x ^ (x >> 31n);
  }

  /** The 53-bit uniform in [0, 1) that belongs to a seed and a key.
      @param {number} seed @param {Key} key */
  function uniform(seed, [purpose, position, index]) {
    let state = mix(BigInt(seed) & MASK);
    for (const byte of new TextEncoder().encode(purpose)) state = mix(state ^ BigInt(byte));
    state = mix(state ^ (BigInt(position) & MASK));
    state = mix(state ^ (BigInt(index) & MASK));
    return Number(state >> 11n) * 2 ** -53;
  }

  const sampling = { argmax, largest, softmax, transform, isPlain, residual, without, pick, uniform };
  return { sampling };
})();
Object.assign(SpecViz, samplingScript);
