/* The arithmetic of the browser's engine: products over a few rows, norm, rotation by position, tree attention, SwiGLU.
   AssemblyScript, compiled to SIMD WebAssembly by `npm run kernels`; assets/js/engine/plain_kernels.js does the same
   in JavaScript. All pointers are byte offsets into the one memory, which the caller fills and gives out; all numbers
   are float32, all lists of rows int32. Inputs of a product are multiples of 4, outputs of 8; a head's numbers of 16.

   A pass waits for weights to arrive from memory. Processors fetch ahead where they see somebody read on and on, each
   page by itself, so a product reads its weight at two, four or eight places far apart, and each number once for up to
   five rows. An output is summed up in the same order however many rows there are: a row's numbers do not depend on
   who is beside it, and a drafted text is the plain one to the last bit. */

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

/** sum + a · b; with relaxed SIMD in one step where the processor has one. */
// @ts-ignore: a decorator of AssemblyScript
@inline
function plus(sum: v128, a: v128, b: v128): v128 {
  return ASC_FEATURE_RELAXED_SIMD ? v128.relaxed_madd<f32>(a, b, sum) : f32x4.add(sum, f32x4.mul(a, b));
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function putTwo(out: usize, apart: usize, a: v128, b: v128, adds: bool): void {
  put(out, total(a), adds);
  put(out + apart, total(b), adds);
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function putFour(out: usize, apart: usize, a: v128, b: v128, c: v128, d: v128, adds: bool): void {
  putTwo(out, apart, a, b, adds);
  putTwo(out + 2 * apart, apart, c, d, adds);
}

/** One row against eight weights, which lie `far` bytes apart; their outputs lie `apart`. */
function oneRow(x: usize, weight: usize, line: usize, far: usize, out: usize, apart: usize, adds: bool): void {
  let a = f32x4.splat(0);
  let b = a, c = a, d = a, e = a, f = a, g = a, h = a;
  for (let k: usize = 0; k < line; k += 16) {
    const v = v128.load(x + k);
    const low = weight + k;
    a = plus(a, v, v128.load(low));
    b = plus(b, v, v128.load(low + far));
    c = plus(c, v, v128.load(low + 2 * far));
    d = plus(d, v, v128.load(low + 3 * far));
    const high = low + 4 * far;
    e = plus(e, v, v128.load(high));
    f = plus(f, v, v128.load(high + far));
    g = plus(g, v, v128.load(high + 2 * far));
    h = plus(h, v, v128.load(high + 3 * far));
  }
  putFour(out, apart, a, b, c, d, adds);
  putFour(out + 4 * apart, apart, e, f, g, h, adds);
}

/** Two rows against four weights, which are read once for both. */
function twoRows(x: usize, weight: usize, line: usize, far: usize, out: usize, below: usize, adds: bool): void {
  let a0 = f32x4.splat(0);
  let a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  for (let k: usize = 0; k < line; k += 16) {
    const a = v128.load(x + k);
    const b = v128.load(x + line + k);
    const at = weight + k;
    let w = v128.load(at);
    a0 = plus(a0, a, w);
    b0 = plus(b0, b, w);
    w = v128.load(at + far);
    a1 = plus(a1, a, w);
    b1 = plus(b1, b, w);
    w = v128.load(at + 2 * far);
    a2 = plus(a2, a, w);
    b2 = plus(b2, b, w);
    w = v128.load(at + 3 * far);
    a3 = plus(a3, a, w);
    b3 = plus(b3, b, w);
  }
  const apart = below >> 2;
  putFour(out, apart, a0, a1, a2, a3, adds);
  putFour(out + below, apart, b0, b1, b2, b3, adds);
}

/** Three rows, four or five against two weights: what a processor's registers just hold. `fourth` and `fifth` are known
    when this is compiled. */
// @ts-ignore: a decorator of AssemblyScript
@inline
function rows(
  fourth: bool, fifth: bool, x: usize, weight: usize, line: usize, far: usize, out: usize, below: usize, adds: bool,
): void {
  let a0 = f32x4.splat(0);
  let a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0, e0 = a0, e1 = a0;
  for (let k: usize = 0; k < line; k += 16) {
    const v = v128.load(weight + k);
    const w = v128.load(weight + far + k);
    let row = x + k;
    let r = v128.load(row);
    a0 = plus(a0, r, v);
    a1 = plus(a1, r, w);
    r = v128.load((row += line));
    b0 = plus(b0, r, v);
    b1 = plus(b1, r, w);
    r = v128.load((row += line));
    c0 = plus(c0, r, v);
    c1 = plus(c1, r, w);
    if (fourth) {
      r = v128.load((row += line));
      d0 = plus(d0, r, v);
      d1 = plus(d1, r, w);
    }
    if (fifth) {
      r = v128.load(row + line);
      e0 = plus(e0, r, v);
      e1 = plus(e1, r, w);
    }
  }
  const apart = below >> 1;
  putTwo(out, apart, a0, a1, adds);
  putTwo((out += below), apart, b0, b1, adds);
  putTwo((out += below), apart, c0, c1, adds);
  if (fourth) putTwo((out += below), apart, d0, d1, adds);
  if (fifth) putTwo(out + below, apart, e0, e1, adds);
}

function threeRows(x: usize, weight: usize, line: usize, far: usize, out: usize, below: usize, adds: bool): void {
  rows(false, false, x, weight, line, far, out, below, adds);
}

function fourRows(x: usize, weight: usize, line: usize, far: usize, out: usize, below: usize, adds: bool): void {
  rows(true, false, x, weight, line, far, out, below, adds);
}

function fiveRows(x: usize, weight: usize, line: usize, far: usize, out: usize, below: usize, adds: bool): void {
  rows(true, true, x, weight, line, far, out, below, adds);
}

/** x [n, inputs] · weight [outputs, inputs]ᵀ → out [n, outputs], or added to it. What was read of the weight for the
    first rows is still in the processor's cache for the others. */
export function multiply(x: usize, n: i32, inputs: i32, weight: usize, outputs: i32, out: usize, adds: bool): void {
  const line = <usize>inputs << 2;
  const below = <usize>outputs << 2;
  const steps = n == 1 ? outputs >> 3 : n == 2 ? outputs >> 2 : outputs >> 1;
  const far = <usize>steps * line;
  for (let step = 0; step < steps; step++, weight += line, out += 4) {
    if (n == 1) oneRow(x, weight, line, far, out, below >> 3, adds);
    else if (n == 2) twoRows(x, weight, line, far, out, below, adds);
    else
      for (let row = 0; row < n; ) {
        const from = x + <usize>row * line;
        const to = out + <usize>row * below;
        const left = n - row;
        if (left == 5 || left > 8) {
          fiveRows(from, weight, line, far, to, below, adds);
          row += 5;
        } else if (left == 3 || left == 6) {
          threeRows(from, weight, line, far, to, below, adds);
          row += 3;
        } else {
          fourRows(from, weight, line, far, to, below, adds);
          row += 4;
        }
      }
  }
}

/** RMSNorm: x [n, size] / √(mean x² + eps) · weight [size] → out [n, size]. */
export function norm(x: usize, n: i32, size: i32, weight: usize, eps: f32, out: usize): void {
  const line = <usize>size << 2;
  for (let row = 0; row < n; row++, x += line, out += line) {
    let squares = f32x4.splat(0);
    for (let k: usize = 0; k < line; k += 16) {
      const v = v128.load(x + k);
      squares = plus(squares, v, v);
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

/** e^x, to some 10⁻⁷ of it: 2ⁿ · e^r with r within half of log 2, and e^r by its series. Beyond ±87 as at ±87. */
function exponential(x: v128): v128 {
  x = f32x4.min(f32x4.max(x, f32x4.splat(-87)), f32x4.splat(87));
  const n = f32x4.nearest(f32x4.mul(x, f32x4.splat(<f32>1.44269504088896341)));
  let r = f32x4.sub(x, f32x4.mul(n, f32x4.splat(<f32>0.693359375))); // log 2 in two parts: n times the first is exact
  r = f32x4.sub(r, f32x4.mul(n, f32x4.splat(<f32>-2.12194440054690583e-4)));
  let sum = f32x4.splat(<f32>(1.0 / 5040));
  sum = plus(f32x4.splat(<f32>(1.0 / 720)), sum, r);
  sum = plus(f32x4.splat(<f32>(1.0 / 120)), sum, r);
  sum = plus(f32x4.splat(<f32>(1.0 / 24)), sum, r);
  sum = plus(f32x4.splat(<f32>(1.0 / 6)), sum, r);
  sum = plus(f32x4.splat(<f32>0.5), sum, r);
  sum = plus(f32x4.splat(1), sum, r);
  sum = plus(f32x4.splat(1), sum, r);
  const power = i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(n), i32x4.splat(127)), 23);
  return f32x4.mul(sum, power);
}

/** Of `bytes` numbers, 64 bytes at a time in four sums. */
// @ts-ignore: a decorator of AssemblyScript
@inline
function dot(a: usize, b: usize, bytes: usize): f32 {
  let s0 = f32x4.splat(0);
  let s1 = s0, s2 = s0, s3 = s0;
  for (let k: usize = 0; k < bytes; k += 64) {
    s0 = plus(s0, v128.load(a + k), v128.load(b + k));
    s1 = plus(s1, v128.load(a + k, 16), v128.load(b + k, 16));
    s2 = plus(s2, v128.load(a + k, 32), v128.load(b + k, 32));
    s3 = plus(s3, v128.load(a + k, 48), v128.load(b + k, 48));
  }
  return total(f32x4.add(f32x4.add(s0, s1), f32x4.add(s2, s3)));
}

/** `count` scores, which become e^(score - most); their sum. The list has room up to a multiple of 4. */
function weights(scores: usize, count: i32, most: f32): f32 {
  const end = scores + (<usize>count << 2);
  for (let at = end; at & 15; at += 4) store<f32>(at, -Infinity); // as good as nothing
  let sum = f32x4.splat(0);
  for (let at = scores; at < end; at += 16) {
    const some = exponential(f32x4.sub(v128.load(at), f32x4.splat(most)));
    v128.store(at, some);
    sum = f32x4.add(sum, some);
  }
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
        const score = dot(query, keys + <usize>load<i32>(seen + (<usize>i << 2)) * stride + shift, bytes) * scale;
        store<f32>(scores + (<usize>i << 2), score);
        most = max<f32>(most, score);
      }
      const whole = f32x4.splat(<f32>1 / weights(scores, count, most));
      const to = out + <usize>(row * heads + head) * bytes;
      for (let k: usize = 0; k < bytes; k += 64) {
        let m0 = f32x4.splat(0);
        let m1 = m0, m2 = m0, m3 = m0;
        for (let i = 0; i < count; i++) {
          const value = values + <usize>load<i32>(seen + (<usize>i << 2)) * stride + shift + k;
          const weight = v128.load32_splat(scores + (<usize>i << 2));
          m0 = plus(m0, weight, v128.load(value));
          m1 = plus(m1, weight, v128.load(value, 16));
          m2 = plus(m2, weight, v128.load(value, 32));
          m3 = plus(m3, weight, v128.load(value, 48));
        }
        v128.store(to + k, f32x4.mul(m0, whole));
        v128.store(to + k, f32x4.mul(m1, whole), 16);
        v128.store(to + k, f32x4.mul(m2, whole), 32);
        v128.store(to + k, f32x4.mul(m3, whole), 48);
      }
    }
    seen += <usize>count << 2;
  }
}

/** silu(gate) · up of x [n, 2 · size], gate first → out [n, size]. */
export function gate(x: usize, n: i32, size: i32, out: usize): void {
  const line = <usize>size << 2;
  for (let row = 0; row < n; row++, x += 2 * line, out += line)
    for (let k: usize = 0; k < line; k += 16) {
      const value = v128.load(x + k);
      const share = f32x4.add(f32x4.splat(1), exponential(f32x4.neg(value)));
      v128.store(out + k, f32x4.mul(f32x4.div(value, share), v128.load(x + line + k)));
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
