/* What a trace keeps of whole distributions, in one sweep over each row: its head, its entropy, how far it agrees with
   the row it is compared with, and the rank of tokens.

   Compiled where a compiler is at hand (`lm.compiled`), called by `measured`, whose torch path says the same.

   Shapes: n rows of V numbers. Sums are added up in double precision, chunk by chunk. */

#include "../lm/vectors.h"

enum { CHUNK = 64 * LANES, REST = 0, BITS, DIVERGENCE, OVERLAP, NUMBERS };
static const double DIGITS = 1e6, DECIMALS = 1e4, LN2 = 0.693147180559945309;

INLINE Vec chosen(Ints which, Vec a, Vec b) { return (Vec)(((Ints)a & which) | ((Ints)b & ~which)); }

INLINE Vec from(const float *x, int64_t left, float beyond) { /* `left` numbers at least one, then what lies beyond */
  if (left >= LANES) return load(x);
  float lanes[LANES];
  for (int64_t i = 0; i < LANES; i++) lanes[i] = i < left ? x[i] : beyond;
  return load(lanes);
}

INLINE Vec logarithm(Vec x) { /* of numbers from 0 on; Cephes' logf, of a subnormal number by way of 2^24 times it */
  Ints zero = x == every(0.0f), small = x < every(1.17549435e-38f);
  x = chosen(small, x * 16777216.0f, x);
  Ints whole = (((Ints)x >> 23) & 255) - 126;
  x = (Vec)(((Ints)x & 0x807fffff) | 0x3f000000); /* in [½, 1) */
  Ints low = x < every(0.707106781186547524f);
  whole += low; /* a truth is -1 */
  x = chosen(low, x + x, x) - 1.0f;
  Vec power = __builtin_convertvector(whole, Vec) - chosen(small, every(24.0f), every(0.0f)), square = x * x;
  Vec sum = every(7.0376836292e-2f);
  sum = sum * x - 1.1514610310e-1f;
  sum = sum * x + 1.1676998740e-1f;
  sum = sum * x - 1.2420140846e-1f;
  sum = sum * x + 1.4249322787e-1f;
  sum = sum * x - 1.6668057665e-1f;
  sum = sum * x + 2.0000714765e-1f;
  sum = sum * x - 2.4999993993e-1f;
  sum = sum * x + 3.3333331174e-1f;
  sum = sum * x * square + power * -2.12194440e-4f - square * 0.5f;
  return chosen(zero, every(-INFINITY), x + sum + power * 0.693359375f);
}

static double rounded(double x, double units) { return nearbyint(x * units) / units; }

/* A row of logits, or of probabilities, as probabilities p and their logarithms [V, and zeros up to a whole vector] */
static __attribute__((noinline)) void distribution(const float *row, int64_t vocab, int logits, float *p, float *log_p) {
  Vec most = every(-INFINITY);
  for (int64_t t = 0; logits && t < vocab; t += LANES) most = larger(most, from(row + t, vocab - t, -INFINITY));
  float top = most[0];
  for (int i = 1; i < LANES; i++) top = most[i] > top ? most[i] : top;
  double sum = 0.0;
  for (int64_t t = 0; logits && t < vocab; t += CHUNK) {
    Vec some = every(0.0f);
    for (int64_t s = t; s < vocab && s < t + CHUNK; s += LANES) {
      Vec x = from(row + s, vocab - s, -INFINITY);
      Vec power = (Vec)((Ints)exponential(x - top) & (x > every(-INFINITY)));
      some += power;
      store(p + s, power);
    }
    sum += total(some);
  }
  const float whole = (float)sum, log_whole = (float)log(sum);
  for (int64_t t = 0; t < vocab; t += LANES) {
    if (logits) {
      store(p + t, load(p + t) / whole);
      store(log_p + t, from(row + t, vocab - t, -INFINITY) - top - log_whole);
    } else {
      Vec x = from(row + t, vocab - t, 0.0f);
      store(p + t, x);
      store(log_p + t, logarithm(x));
    }
  }
}

INLINE int any(Ints which) {
  uint64_t parts[LANES / 2], all = 0;
  memcpy(parts, &which, sizeof which);
  UNROLL for (int i = 0; i < LANES / 2; i++) all |= parts[i];
  return all != 0;
}

/* The `top` largest probabilities, of equal ones the lowest ids; how many of them are above 0 when rounded, their sum
   left out of 1 in `rest` */
static int64_t head(const float *p, int64_t vocab, int64_t top, int64_t *ids, double *probs, double *rest) {
  float best[top];
  int64_t held = 0;
  for (int64_t t = 0; t < vocab; t += LANES) {
    float floor = held < top ? -1.0f : best[top - 1];
    if (!any(load(p + t) > every(floor))) continue;
    for (int64_t id = t; id < vocab && id < t + LANES; id++) {
      if (held == top && p[id] <= best[top - 1]) continue;
      int64_t to = held < top ? held++ : top - 1;
      for (; to > 0 && best[to - 1] < p[id]; to--) best[to] = best[to - 1], ids[to] = ids[to - 1];
      best[to] = p[id], ids[to] = id;
    }
  }
  double left = 1.0;
  int64_t shown = 0;
  for (int64_t i = 0; i < held; i++) {
    probs[i] = rounded(best[i], DIGITS);
    shown += probs[i] > 0.0;
  }
  double sum = 0.0;
  for (int64_t i = 0; i < shown; i++) sum += probs[i];
  left -= sum;
  *rest = rounded(left > 0.0 ? left : 0.0, DIGITS);
  return shown;
}

static double entropy(const float *p, const float *log_p, int64_t vocab) { /* in nats */
  double sum = 0.0;
  for (int64_t t = 0; t < vocab; t += CHUNK) {
    Vec some = every(0.0f);
    for (int64_t s = t; s < vocab && s < t + CHUNK; s += LANES) {
      Vec x = load(p + s);
      some += chosen(x > every(0.0f), x * load(log_p + s), every(0.0f));
    }
    sum -= total(some);
  }
  return sum;
}

/* KL(p‖q) in nats, infinite where q gives nothing to a token of p; and the overlap, Σ min(p, q) */
static void agreement(const float *p, const float *log_p, const float *q, const float *log_q, int64_t vocab,
                      double *divergence, double *overlap) {
  double sum = 0.0, common = 0.0;
  for (int64_t t = 0; t < vocab; t += CHUNK) {
    Vec some = every(0.0f), least = every(0.0f);
    for (int64_t s = t; s < vocab && s < t + CHUNK; s += LANES) {
      Vec x = load(p + s), y = load(q + s);
      some += chosen(x > every(0.0f), x * (load(log_p + s) - load(log_q + s)), every(0.0f));
      least -= larger(-x, -y);
    }
    sum += total(some);
    common += total(least);
  }
  *divergence = sum, *overlap = common;
}

/* rows [n] of V logits, or probabilities; drafts [n]: the row q that row p is compared with, or -1; room [n, 2, V and a
   vector's width] → ids and probs [n, top], shown [n]: how many of them are not 0, numbers [n, 4]: what is left of 1,
   entropy in bits, KL in bits, overlap; all rounded as a trace holds them */
void sweep(const float *const *rows, int64_t n, int64_t vocab, int64_t logits, const int64_t *drafts, int64_t top,
           float *room, int64_t *ids, double *probs, int64_t *shown, double *numbers) {
  const int64_t width = (vocab + LANES - 1) / LANES * LANES;
  for (int64_t i = 0; i < n; i++) {
    float *p = room + i * 2 * width, *log_p = p + width;
    distribution(rows[i], vocab, (int)logits, p, log_p);
    shown[i] = head(p, vocab, top, ids + i * top, probs + i * top, numbers + i * NUMBERS + REST);
    double bits = entropy(p, log_p, width) / LN2;
    numbers[i * NUMBERS + BITS] = rounded(bits > 0.0 ? bits : 0.0, DECIMALS);
  }
  for (int64_t i = 0; i < n; i++) {
    double divergence = 0.0, overlap = 0.0, *to = numbers + i * NUMBERS;
    const float *p = room + i * 2 * width, *q = room + drafts[i] * 2 * width;
    if (drafts[i] >= 0) agreement(p, p + width, q, q + width, width, &divergence, &overlap);
    to[DIVERGENCE] = rounded(divergence > 0.0 ? divergence / LN2 : 0.0, DECIMALS);
    to[OVERLAP] = rounded(overlap > 1.0 ? 1.0 : overlap, DECIMALS);
  }
}

/* For each of `count` tokens, how many of the numbers [V] of its row it comes behind; of equal ones the lowest id is
   first */
void ranked(const float *const *rows, int64_t vocab, const int64_t *row_of, const int64_t *tokens, int64_t count,
            int64_t *before) {
  for (int64_t i = 0; i < count; i++) {
    const float *row = rows[row_of[i]], value = row[tokens[i]];
    Ints above = {0}, alike = {0};
    int64_t t = 0, behind = 0;
    for (; t + LANES <= vocab; t += LANES) above -= load(row + t) > every(value);
    for (; t < vocab; t++) behind += row[t] > value;
    for (t = 0; t + LANES <= tokens[i]; t += LANES) alike -= load(row + t) == every(value);
    for (; t < tokens[i]; t++) behind += row[t] == value;
    for (int lane = 0; lane < LANES; lane++) behind += above[lane] + alike[lane];
    before[i] = behind;
  }
}
