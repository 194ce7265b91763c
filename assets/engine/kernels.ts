/* The arithmetic of the browser's engine: products over a few rows, norm, rotation by position, tree attention, SwiGLU.
   AssemblyScript, compiled to SIMD WebAssembly by `npm run kernels`; assets/js/engine/plain_kernels.js does the same
   in JavaScript. All pointers are byte offsets into the one memory, which the caller fills and gives out; all numbers
   are float32, all lists of rows int32. Inputs and outputs of a product are multiples of 4. */

// @ts-ignore: a decorator of AssemblyScript
@inline
function total(v: v128): f32 {
  return f32x4.extract_lane(v, 0) + f32x4.extract_lane(v, 1) + (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3));
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function put(out: usize, value: f32, adds: bool): void {
  store<f32>(out, adds ? load<f32>(out) + value : value);
}

/** One row against four weights: reads each number of the weights once, as one row must. */
function oneRow(x: usize, weight: usize, line: usize, out: usize, adds: bool): void {
  let a = f32x4.splat(0);
  let b = a, c = a, d = a;
  for (let k: usize = 0; k < line; k += 16) {
    const v = v128.load(x + k);
    const w = weight + k;
    a = f32x4.add(a, f32x4.mul(v, v128.load(w)));
    b = f32x4.add(b, f32x4.mul(v, v128.load(w + line)));
    c = f32x4.add(c, f32x4.mul(v, v128.load(w + 2 * line)));
    d = f32x4.add(d, f32x4.mul(v, v128.load(w + 3 * line)));
  }
  put(out, total(a), adds);
  put(out + 4, total(b), adds);
  put(out + 8, total(c), adds);
  put(out + 12, total(d), adds);
}

/** Four rows against two weights, which are read once for the four. */
function fourRows(x: usize, weight: usize, line: usize, out: usize, below: usize, adds: bool): void {
  let a0 = f32x4.splat(0);
  let a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0;
  for (let k: usize = 0; k < line; k += 16) {
    const v = v128.load(weight + k);
    const w = v128.load(weight + line + k);
    const row = x + k;
    let r = v128.load(row);
    a0 = f32x4.add(a0, f32x4.mul(r, v));
    a1 = f32x4.add(a1, f32x4.mul(r, w));
    r = v128.load(row + line);
    b0 = f32x4.add(b0, f32x4.mul(r, v));
    b1 = f32x4.add(b1, f32x4.mul(r, w));
    r = v128.load(row + 2 * line);
    c0 = f32x4.add(c0, f32x4.mul(r, v));
    c1 = f32x4.add(c1, f32x4.mul(r, w));
    r = v128.load(row + 3 * line);
    d0 = f32x4.add(d0, f32x4.mul(r, v));
    d1 = f32x4.add(d1, f32x4.mul(r, w));
  }
  put(out, total(a0), adds);
  put(out + 4, total(a1), adds);
  out += below;
  put(out, total(b0), adds);
  put(out + 4, total(b1), adds);
  out += below;
  put(out, total(c0), adds);
  put(out + 4, total(c1), adds);
  out += below;
  put(out, total(d0), adds);
  put(out + 4, total(d1), adds);
}

/** x [n, inputs] · weight [outputs, inputs]ᵀ → out [n, outputs], or added to it. Four lines of the weight at a time
    stay in the processor's cache for all rows. */
export function multiply(x: usize, n: i32, inputs: i32, weight: usize, outputs: i32, out: usize, adds: bool): void {
  const line = <usize>inputs << 2;
  const below = <usize>outputs << 2;
  for (let o = 0; o < outputs; o += 4) {
    const w = weight + <usize>o * line;
    const to = out + (<usize>o << 2);
    let row = 0;
    for (; row + 4 <= n; row += 4) {
      const from = x + <usize>row * line;
      const at = to + <usize>row * below;
      fourRows(from, w, line, at, below, adds);
      fourRows(from, w + 2 * line, line, at + 8, below, adds);
    }
    for (; row < n; row++) oneRow(x + <usize>row * line, w, line, to + <usize>row * below, adds);
  }
}

/** RMSNorm: x [n, size] / √(mean x² + eps) · weight [size] → out [n, size]. */
export function norm(x: usize, n: i32, size: i32, weight: usize, eps: f32, out: usize): void {
  const line = <usize>size << 2;
  for (let row = 0; row < n; row++, x += line, out += line) {
    let squares = f32x4.splat(0);
    for (let k: usize = 0; k < line; k += 16) {
      const v = v128.load(x + k);
      squares = f32x4.add(squares, f32x4.mul(v, v));
    }
    const scale = f32x4.splat(<f32>1 / sqrt<f32>(total(squares) / <f32>size + eps));
    for (let k: usize = 0; k < line; k += 16)
      v128.store(out + k, f32x4.mul(f32x4.mul(v128.load(x + k), scale), v128.load(weight + k)));
  }
}

/** Turn the first `heads` heads of x [n, width], each of 2 · half numbers in halves as checkpoints have them, by the
    angles of their positions [n]; cos and sin are tables [context, half]. */
export function rotate(x: usize, n: i32, width: i32, heads: i32, half: i32, cos: usize, sin: usize, positions: usize): void {
  for (let row = 0; row < n; row++) {
    const angle = <usize>(load<i32>(positions + (<usize>row << 2)) * half) << 2;
    for (let head = 0; head < heads; head++) {
      const first = x + (<usize>(row * width + head * 2 * half) << 2);
      const second = first + (<usize>half << 2);
      for (let k: usize = 0; k < <usize>half << 2; k += 4) {
        const a = load<f32>(first + k), b = load<f32>(second + k);
        const c = load<f32>(cos + angle + k), s = load<f32>(sin + angle + k);
        store<f32>(first + k, a * c - b * s);
        store<f32>(second + k, b * c + a * s);
      }
    }
  }
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function dot(a: usize, b: usize, bytes: usize): f32 {
  let sum = f32x4.splat(0);
  for (let k: usize = 0; k < bytes; k += 16) sum = f32x4.add(sum, f32x4.mul(v128.load(a + k), v128.load(b + k)));
  return total(sum);
}

/** Queries in the first heads · size numbers of x [n, width] read keys and values [rows, kvHeads · size] at the rows
    that each sees: `counts` [n], and `seen`, their lists one after the other. `scores` has room for the longest.
    → out [n, heads · size]. */
export function attend(
  x: usize, n: i32, width: i32, heads: i32, kvHeads: i32, size: i32,
  keys: usize, values: usize, counts: usize, seen: usize, scores: usize, out: usize,
): void {
  const bytes = <usize>size << 2;
  const stride = <usize>kvHeads * bytes;
  const shared = heads / kvHeads;
  const scale: f32 = <f32>1 / sqrt<f32>(<f32>size);
  for (let row = 0; row < n; row++) {
    const count = load<i32>(counts + (<usize>row << 2));
    for (let head = 0; head < heads; head++) {
      const query = x + (<usize>(row * width + head * size) << 2);
      const shift = <usize>(head / shared) * bytes;
      let most: f32 = -Infinity;
      for (let i = 0; i < count; i++) {
        const key = keys + <usize>load<i32>(seen + (<usize>i << 2)) * stride + shift;
        const score = dot(query, key, bytes) * scale;
        store<f32>(scores + (<usize>i << 2), score);
        most = max<f32>(most, score);
      }
      let sum: f32 = 0;
      for (let i = 0; i < count; i++) {
        const weight = Mathf.exp(load<f32>(scores + (<usize>i << 2)) - most);
        store<f32>(scores + (<usize>i << 2), weight);
        sum += weight;
      }
      const to = out + (<usize>(row * heads + head) * bytes);
      for (let k: usize = 0; k < bytes; k += 16) {
        let mixed = f32x4.splat(0);
        for (let i = 0; i < count; i++) {
          const value = values + <usize>load<i32>(seen + (<usize>i << 2)) * stride + shift;
          mixed = f32x4.add(mixed, f32x4.mul(v128.load(value + k), f32x4.splat(load<f32>(scores + (<usize>i << 2)))));
        }
        v128.store(to + k, f32x4.mul(mixed, f32x4.splat(<f32>1 / sum)));
      }
    }
    seen += <usize>count << 2;
  }
}

/** silu(gate) · up of x [n, 2 · size], gate first → out [n, size]. */
export function gate(x: usize, n: i32, size: i32, out: usize): void {
  const line = <usize>size << 2;
  for (let row = 0; row < n; row++, x += 2 * line, out += line)
    for (let k: usize = 0; k < line; k += 4) {
      const value = load<f32>(x + k);
      store<f32>(out + k, (value / (<f32>1 + Mathf.exp(-value))) * load<f32>(x + line + k));
    }
}

/** Each row of x [n, size] as whole numbers from -127 to 127 in 16 bits → out [n, size], and what they are to be
    multiplied by → scales [n]. Sizes are multiples of 16. */
export function quantise(x: usize, n: i32, size: i32, out: usize, scales: usize): void {
  for (let row = 0; row < n; row++) {
    let most: f32 = 0;
    for (let k = 0; k < size; k++) most = max<f32>(most, abs<f32>(load<f32>(x + (<usize>k << 2))));
    const scale: f32 = most > 0 ? most / 127 : 1;
    store<f32>(scales + (<usize>row << 2), scale);
    for (let k = 0; k < size; k++)
      store<i16>(out + (<usize>k << 1), <i16>nearest<f32>(load<f32>(x + (<usize>k << 2)) / scale));
    x += <usize>size << 2;
    out += <usize>size << 1;
  }
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function whole(v: v128): f32 {
  return <f32>(i32x4.extract_lane(v, 0) + i32x4.extract_lane(v, 1) + i32x4.extract_lane(v, 2) + i32x4.extract_lane(v, 3));
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function dotted(sum: v128, x: usize, low: v128, high: v128): v128 {
  return i32x4.add(sum, i32x4.add(i32x4.dot_i16x8_s(v128.load(x), low), i32x4.dot_i16x8_s(v128.load(x + 16), high)));
}

/** As `multiply`, of rows that `quantise` made and a weight of 8 bits [outputs, inputs], whose rows have scales too. */
export function multiplyEight(
  x: usize, scales: usize, n: i32, inputs: i32, weight: usize, weightScales: usize, outputs: i32, out: usize, adds: bool,
): void {
  const line = <usize>inputs << 1;
  const below = <usize>outputs << 2;
  for (let o = 0; o < outputs; o++, weight += <usize>inputs, weightScales += 4, out += 4) {
    const scale = load<f32>(weightScales);
    let row = 0;
    for (; row + 4 <= n; row += 4) {
      const from = x + <usize>row * line;
      let a = i32x4.splat(0);
      let b = a, c = a, d = a;
      for (let k: usize = 0; k < <usize>inputs; k += 16) {
        const w = v128.load(weight + k);
        const low = i16x8.extend_low_i8x16_s(w), high = i16x8.extend_high_i8x16_s(w);
        const at = from + (k << 1);
        a = dotted(a, at, low, high);
        b = dotted(b, at + line, low, high);
        c = dotted(c, at + 2 * line, low, high);
        d = dotted(d, at + 3 * line, low, high);
      }
      const to = out + <usize>row * below;
      const own = scales + (<usize>row << 2);
      put(to, whole(a) * scale * load<f32>(own), adds);
      put(to + below, whole(b) * scale * load<f32>(own + 4), adds);
      put(to + 2 * below, whole(c) * scale * load<f32>(own + 8), adds);
      put(to + 3 * below, whole(d) * scale * load<f32>(own + 12), adds);
    }
    for (; row < n; row++) {
      const from = x + <usize>row * line;
      let sum = i32x4.splat(0);
      for (let k: usize = 0; k < <usize>inputs; k += 16) {
        const w = v128.load(weight + k);
        sum = dotted(sum, from + (k << 1), i16x8.extend_low_i8x16_s(w), i16x8.extend_high_i8x16_s(w));
      }
      put(out + <usize>row * below, whole(sum) * scale * load<f32>(scales + (<usize>row << 2)), adds);
    }
  }
}
