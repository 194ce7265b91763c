/* SHA-256 (FIPS 180-4): what the browser computes, and by hand where it computes none: over plain http, as a class is
   served from a teacher's laptop, a page has no `crypto.subtle`. */
// needs: nothing
const sha256 = (function () {
  "use strict";

  const HEX = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const [BLOCK, TAIL, ROUNDS] = [64, 9, 64]; // bytes; those that end a text at least; steps over a block

  /** The first so many primes. */
  function primes(count) {
    const found = [];
    for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime)) found.push(n);
    return found;
  }

  /** The first 32 bits behind the point. */
  const fraction = (value) => Math.floor((value - Math.floor(value)) * 2 ** 32);
  const FIRST = primes(8).map((prime) => fraction(Math.sqrt(prime)));
  const STEPS = Int32Array.from(primes(ROUNDS), (prime) => fraction(Math.cbrt(prime)));

  /** The state after one more block.
      @param {Int32Array} state @param {DataView} view @param {number} at @param {Int32Array} w room for the steps */
  function compress(state, view, at, w) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
    for (let i = 16; i < ROUNDS; i++) {
      const [x, y] = [w[i - 15], w[i - 2]];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    let [a, b, c, d, e4, f, g6, h] = state;
    for (let i = 0; i < ROUNDS; i++) {
      const s1 = ((e4 >>> 6) | (e4 << 26)) ^ ((e4 >>> 11) | (e4 << 21)) ^ ((e4 >>> 25) | (e4 << 7));
      const first = (h + s1 + ((e4 & f) ^ (~e4 & g6)) + STEPS[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g6, f, e4, d, c, b, a] = [g6, f, e4, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    for (const [place, value] of [a, b, c, d, e4, f, g6, h].entries()) state[place] += value;
  }

  /** The hash, in hexadecimal. Pure.
      @param {Uint8Array} bytes */
  function sha256ByHand(bytes) {
    const whole = bytes.length - (bytes.length % BLOCK);
    const end = new Uint8Array(Math.ceil((bytes.length - whole + TAIL) / BLOCK) * BLOCK);
    end.set(bytes.subarray(whole));
    end[bytes.length - whole] = 0x80;
    const last = new DataView(end.buffer);
    last.setBigUint64(end.length - 8, BigInt(bytes.length) * 8n);
    const [state, w] = [Int32Array.from(FIRST), new Int32Array(ROUNDS)];
    const view = new DataView(bytes.buffer, bytes.byteOffset, whole);
    for (let at = 0; at < whole; at += BLOCK) compress(state, view, at, w);
    for (let at = 0; at < end.length; at += BLOCK) compress(state, last, at, w);
    const hash = new DataView(new ArrayBuffer(4 * state.length));
    state.forEach((value, place) => hash.setInt32(4 * place, value));
    return HEX(new Uint8Array(hash.buffer));
  }

  /** SHA-256 of bytes, in hexadecimal.
      @param {Uint8Array<ArrayBuffer>} bytes */
  async function sha256(bytes) {
    if (!globalThis.crypto?.subtle) return sha256ByHand(bytes);
    return HEX(new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes)));
  }

  return { sha256, sha256ByHand };
})();
Object.assign(SpecViz, sha256);
