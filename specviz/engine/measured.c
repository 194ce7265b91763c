/* What a trace keeps of whole distributions, in one sweep over each row: its head, its entropy, how far it agrees with
   the row it is compared with, and the rank of tokens.

   Compiled where a compiler is at hand (`core.compiled`), called by `measured`, whose torch path says the same.

   Shapes: n rows of V numbers. Sums are added up in double precision, chunk by chunk. */

#include "../core/vectors.h"

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

INLINE int any(Ints which) {
  uint64_t parts[LANES / 2], all = 0;
  memcpy(parts, &which, sizeof which);
  UNROLL for (int i = 0; i < LANES / 2; i++) all |= parts[i];
  return all != 0;
}

/* The `top` largest numbers of a row, of equal ones the lowest ids; how many there are above minus infinity */
static __attribute__((noinline)) int64_t head(const float *row, int64_t vocab, int64_t top, int64_t *ids, float *best) {
  int64_t held = 0;
  float floor = -INFINITY;
  for (int64_t t = 0; t < vocab; t += LANES) {
    if (!any(from(row + t, vocab - t, -INFINITY) > every(floor))) continue;
    for (int64_t id = t; id < vocab && id < t + LANES; id++) {
      if (!(row[id] > floor)) continue;
      int64_t to = held < top ? held++ : top - 1;
      for (; to > 0 && best[to - 1] < row[id]; to--) best[to] = best[to - 1], ids[to] = ids[to - 1];
      best[to] = row[id], ids[to] = id;
      if (held == top) floor = best[top - 1];
    }
  }
  return held;
}

/* A distribution p = weights / sum, with log p = logs - shift */
typedef struct {
  const float *weights, *logs; /* [V] */
  double sum, shift;
} Row;

/* One of logits whose largest is `top`, the weights of which go to `room` */
static __attribute__((noinline)) Row of_logits(const float *row, int64_t vocab, float top, float *room, double *nats) {
  double sum = 0.0, mean = 0.0;
  for (int64_t t = 0; t < vocab; t += CHUNK) {
    Vec some = every(0.0f), moments = every(0.0f);
    for (int64_t s = t; s < vocab && s < t + CHUNK; s += LANES) {
      Vec x = from(row + s, vocab - s, -INFINITY), below = x - top;
      Ints possible = x > every(-INFINITY);
      Vec weight = (Vec)((Ints)exponential(below) & possible);
      some += weight;
      moments += weight * (Vec)((Ints)below & possible);
      store(room + s, weight);
    }
    sum += total(some), mean += total(moments);
  }
  *nats = log(sum) - mean / sum;
  return (Row){room, row, sum, top + log(sum)};
}

/* One of probabilities, the logarithms of which go to `room` */
static __attribute__((noinline)) Row of_probabilities(const float *row, int64_t vocab, float *room, double *nats) {
  double mean = 0.0;
  for (int64_t t = 0; t < vocab; t += CHUNK) {
    Vec some = every(0.0f);
    for (int64_t s = t; s < vocab && s < t + CHUNK; s += LANES) {
      Vec x = from(row + s, vocab - s, 0.0f), logs = logarithm(x);
      some += (Vec)((Ints)(x * logs) & (x > every(0.0f)));
      store(room + s, logs);
    }
    mean += total(some);
  }
  *nats = -mean;
  return (Row){row, room, 1.0, 0.0};
}

/* KL(p‖q) in nats, infinite where q gives nothing to a token of p; and the overlap, Σ min(p, q) */
static __attribute__((noinline)) double divergence(const Row *p, const Row *q, int64_t vocab, double *overlap) {
  const float share_of_p = (float)(1.0 / p->sum), share_of_q = (float)(1.0 / q->sum);
  double sum = 0.0, common = 0.0;
  for (int64_t t = 0; t < vocab; t += CHUNK) {
    Vec some = every(0.0f), least = every(0.0f);
    for (int64_t s = t; s < vocab && s < t + CHUNK; s += LANES) {
      const int64_t left = vocab - s;
      Vec x = from(p->weights + s, left, 0.0f), y = from(q->weights + s, left, 0.0f);
      Vec apart = from(p->logs + s, left, 0.0f) - from(q->logs + s, left, 0.0f);
      some += (Vec)((Ints)(x * apart) & (x > every(0.0f)));
      least -= larger(-x * share_of_p, -y * share_of_q);
    }
    sum += total(some), common += total(least);
  }
  *overlap = common;
  return sum / p->sum - p->shift + q->shift;
}

/* rows [n] of V logits, or probabilities; drafts [n]: the row q that row p is compared with, or -1; room [n, V and a
   vector's width] → ids and probs [n, top], shown [n]: how many of them are not 0, numbers [n, 4]: what is left of 1,
   entropy in bits, KL in bits, overlap; all rounded as a trace holds them */
void sweep(const float *const *rows, int64_t n, int64_t vocab, int64_t logits, const int64_t *drafts, int64_t top,
           float *room, int64_t *ids, double *probs, int64_t *shown, double *numbers) {
  const int64_t width = (vocab + LANES - 1) / LANES * LANES;
  Row known[n];
  float best[top];
  for (int64_t i = 0; i < n; i++) {
    double nats, left = 1.0, *to = numbers + i * NUMBERS;
    int64_t held = head(rows[i], vocab, top, ids + i * top, best);
    known[i] = logits ? of_logits(rows[i], vocab, held ? best[0] : 0.0f, room + i * width, &nats)
                      : of_probabilities(rows[i], vocab, room + i * width, &nats);
    shown[i] = 0;
    for (int64_t k = 0; k < held; k++) {
      double prob = logits ? exp((double)best[k] - known[i].shift) : best[k];
      probs[i * top + k] = rounded(prob, DIGITS);
      shown[i] += probs[i * top + k] > 0.0;
    }
    for (int64_t k = 0; k < shown[i]; k++) left -= probs[i * top + k];
    to[REST] = rounded(left > 0.0 ? left : 0.0, DIGITS);
    to[BITS] = rounded(nats > 0.0 ? nats / LN2 : 0.0, DECIMALS);
  }
  for (int64_t i = 0; i < n; i++) {
    double overlap = 0.0, nats = 0.0, *to = numbers + i * NUMBERS;
    if (drafts[i] >= 0) nats = divergence(known + i, known + drafts[i], vocab, &overlap);
    to[DIVERGENCE] = rounded(nats > 0.0 ? nats / LN2 : 0.0, DECIMALS);
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
