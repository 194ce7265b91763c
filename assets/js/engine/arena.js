/* One memory in which all weights, caches and intermediate numbers of the browser's engine stand, and the kernels that
   work on it: WebAssembly with relaxed SIMD or with SIMD, as the browser has it, else plain JavaScript. Knows nothing
   about models. */
// needs: plain_kernels
/** @typedef {object} Kernels pointers are byte offsets into the arena; see assets/engine/kernels.ts
    @property {(x: number, n: number, inputs: number, weight: number, outputs: number, out: number, adds: boolean) =>
      void} multiply
    @property {(x: number, n: number, size: number, out: number, scales: number) => void} quantise
    @property {(x: number, scales: number, n: number, inputs: number, weight: number, weightScales: number,
      outputs: number, out: number, adds: boolean) => void} multiplyEight
    @property {(x: number, n: number, size: number, weight: number, eps: number, out: number) => void} norm
    @property {(x: number, n: number, width: number, heads: number, half: number, cos: number, sin: number,
      positions: number) => void} rotate
    @property {(x: number, n: number, width: number, heads: number, kvHeads: number, size: number, keys: number,
      values: number, counts: number, seen: number, scores: number, out: number) => void} attend
    @property {(x: number, n: number, size: number, out: number) => void} gate */

const arena = (function (S) {
  "use strict";

  const PAGE = 65536; // of WebAssembly's memory; the first one is for the kernels' own tables
  const ALIGNED = 16; // a SIMD register's bytes

  /** The first of the compiled kernels that this browser runs; null where it runs none.
      @param {BufferSource[]} binaries @returns {BufferSource | null} */
  const compiledHere = (binaries) =>
    (typeof WebAssembly === "object" && binaries.find((binary) => WebAssembly.validate(binary))) || null;

  class Arena {
    /** Room for `numbers` numbers of four bytes. `binaries`: the compiled kernels, the fastest first; none for plain
        JavaScript.
        @param {BufferSource[]} binaries @param {number} numbers */
    constructor(binaries, numbers) {
      const pages = 1 + Math.ceil((4 * numbers) / PAGE);
      const binary = compiledHere(binaries);
      this.compiled = binary !== null;
      this.next = PAGE;
      if (binary) {
        const memory = new WebAssembly.Memory({ initial: pages });
        const made = new WebAssembly.Instance(new WebAssembly.Module(binary), { env: { memory } });
        this.buffer = memory.buffer;
        this.kernels = /** @type {Kernels} */ (/** @type {unknown} */ (made.exports));
      } else {
        this.buffer = new ArrayBuffer(pages * PAGE);
        this.kernels = new S.PlainKernels(this.buffer);
      }
      this.floats = new Float32Array(this.buffer);
      this.ints = new Int32Array(this.buffer);
    }

    /** The pointer to room for so many numbers, which nobody else is given. */
    take(numbers) {
      const pointer = this.next;
      this.next += Math.ceil((4 * numbers) / ALIGNED) * ALIGNED;
      if (this.next > this.buffer.byteLength)
        throw new Error(`the engine's memory of ${this.buffer.byteLength} bytes is too small for its models.`);
      return pointer;
    }

    /** A view of the numbers at a pointer. */
    view(pointer, numbers) {
      return this.floats.subarray(pointer / 4, pointer / 4 + numbers);
    }
  }

  return { Arena, compiledHere };
})(SpecViz);
Object.assign(SpecViz, arena);
