/* The kernels of assets/engine/kernels.ts in plain JavaScript, for browsers without SIMD WebAssembly: the same names,
   pointers (byte offsets into one memory) and results up to rounding. Pure but for that memory. */
// needs: nothing
const plainKernels = (function () {
  "use strict";

  class PlainKernels {
    /** @param {ArrayBuffer} buffer the memory that pointers point into */
    constructor(buffer) {
      this.floats = new Float32Array(buffer);
      this.ints = new Int32Array(buffer);
      this.shorts = new Int16Array(buffer);
      this.bytes = new Int8Array(buffer);
    }

    multiply(x, n, inputs, weight, outputs, out, adds) {
      const f = this.floats;
      for (let o = 0; o < outputs; o++) {
        const w = weight / 4 + o * inputs;
        for (let row = 0; row < n; row++) {
          const from = x / 4 + row * inputs;
          let [a, b, c, d] = [0, 0, 0, 0];
          for (let k = 0; k < inputs; k += 4) {
            a += f[from + k] * f[w + k];
            b += f[from + k + 1] * f[w + k + 1];
            c += f[from + k + 2] * f[w + k + 2];
            d += f[from + k + 3] * f[w + k + 3];
          }
          const to = out / 4 + row * outputs + o;
          f[to] = a + b + c + d + (adds ? f[to] : 0);
        }
      }
    }

    quantise(x, n, size, out, scales) {
      const f = this.floats;
      for (let row = 0; row < n; row++) {
        const from = x / 4 + row * size;
        const most = f.subarray(from, from + size).reduce((sum, value) => Math.max(sum, Math.abs(value)), 0);
        const scale = (f[scales / 4 + row] = most > 0 ? most / 127 : 1);
        for (let k = 0; k < size; k++) this.shorts[out / 2 + row * size + k] = Math.round(f[from + k] / scale);
      }
    }

    multiplyEight(x, scales, n, inputs, weight, weightScales, outputs, out, adds) {
      const f = this.floats;
      for (let o = 0; o < outputs; o++)
        for (let row = 0; row < n; row++) {
          let sum = 0;
          for (let k = 0; k < inputs; k++)
            sum += this.shorts[x / 2 + row * inputs + k] * this.bytes[weight + o * inputs + k];
          const to = out / 4 + row * outputs + o;
          f[to] = sum * f[weightScales / 4 + o] * f[scales / 4 + row] + (adds ? f[to] : 0);
        }
    }

    norm(x, n, size, weight, eps, out) {
      const f = this.floats;
      for (let row = 0; row < n; row++) {
        const [from, to] = [x / 4 + row * size, out / 4 + row * size];
        let squares = 0;
        for (let k = 0; k < size; k++) squares += f[from + k] * f[from + k];
        const scale = 1 / Math.sqrt(squares / size + eps);
        for (let k = 0; k < size; k++) f[to + k] = f[from + k] * scale * f[weight / 4 + k];
      }
    }

    rotate(x, n, width, heads, half, cos, sin, positions) {
      const f = this.floats;
      for (let row = 0; row < n; row++) {
        const angle = this.ints[positions / 4 + row] * half;
        for (let head = 0; head < heads; head++) {
          const first = x / 4 + row * width + head * 2 * half;
          for (let k = 0; k < half; k++) {
            const [a, b] = [f[first + k], f[first + half + k]];
            const [c, s] = [f[cos / 4 + angle + k], f[sin / 4 + angle + k]];
            f[first + k] = a * c - b * s;
            f[first + half + k] = b * c + a * s;
          }
        }
      }
    }

    attend(x, n, width, heads, kvHeads, size, keys, values, counts, seen, scores, out) {
      const f = this.floats;
      const at = scores / 4;
      let list = seen / 4;
      for (let row = 0; row < n; row++) {
        const count = this.ints[counts / 4 + row];
        for (let head = 0; head < heads; head++) {
          const query = x / 4 + row * width + head * size;
          const shift = Math.floor(head / (heads / kvHeads)) * size;
          const to = out / 4 + (row * heads + head) * size;
          let most = -Infinity;
          for (let i = 0; i < count; i++) {
            const key = keys / 4 + this.ints[list + i] * kvHeads * size + shift;
            let score = 0;
            for (let k = 0; k < size; k++) score += f[query + k] * f[key + k];
            f[at + i] = score / Math.sqrt(size);
            most = Math.max(most, f[at + i]);
          }
          let sum = 0;
          for (let i = 0; i < count; i++) sum += f[at + i] = Math.exp(f[at + i] - most);
          f.fill(0, to, to + size);
          for (let i = 0; i < count; i++) {
            const value = values / 4 + this.ints[list + i] * kvHeads * size + shift;
            const share = f[at + i] / sum;
            for (let k = 0; k < size; k++) f[to + k] += share * f[value + k];
          }
        }
        list += count;
      }
    }

    gate(x, n, size, out) {
      const f = this.floats;
      for (let row = 0; row < n; row++)
        for (let k = 0; k < size; k++) {
          const value = f[x / 4 + row * 2 * size + k];
          f[out / 4 + row * size + k] = (value / (1 + Math.exp(-value))) * f[x / 4 + row * 2 * size + size + k];
        }
    }
  }

  return { PlainKernels };
})();
Object.assign(SpecViz, plainKernels);
