/* What stands between the products of a network (`products.h`): norms and gates of a few rows, room for them, and what
   a chain asks between its steps. */

#ifndef SPECVIZ_BETWEEN
#define SPECVIZ_BETWEEN

#include "products.h"

/* The token that a step of a chain takes from its logits [vocab] */
typedef int64_t (*Choose)(const float *logits, int64_t vocab, int64_t step, const void *how);

/* RMSNorm (1910.07467, eq. 4) as x / √(‖x‖² + H·ε), times √H and its weight where there is one */
static void normed(const float *x, const float *weight, float eps, int n, int64_t hidden, float *y) {
  for (int i = 0; i < n; i++, x += hidden, y += hidden) {
    Vec sums = every(0.0f);
    for (int64_t k = 0; k < hidden; k += LANES) {
      Vec some = hidden - k < LANES ? partly((const char *)(x + k), 0, hidden - k) : load(x + k);
      sums += some * some;
    }
    float factor = (weight ? sqrtf((float)hidden) : 1.0f) / sqrtf(total(sums) + (float)hidden * eps);
    for (int64_t k = 0; k < hidden; k++) y[k] = x[k] * factor * (weight ? weight[k] : 1.0f);
  }
}

typedef struct {
  Vec above, below;
} Fraction;

/* σ(x) */
INLINE Fraction logistic(Vec x) {
  Vec falling = exponential((Vec)((Ints)x | (Ints)every(-0.0f))); /* e^-|x| */
  Vec upper = (Vec)((Ints)every(1.0f) & ~(x < every(0.0f))), lower = (Vec)((Ints)falling & (x < every(0.0f)));
  return (Fraction){upper + lower, 1.0f + falling};
}

/* x · σ(x) */
INLINE Vec silu(Vec x) {
  Fraction share = logistic(x);
  return x * share.above / share.below;
}

/* x · σ(gate), `count` of both → x */
static void opened(float *x, const float *gate, int64_t count) {
  int64_t k = 0;
  for (; k + LANES <= count; k += LANES) {
    Fraction share = logistic(load(gate + k));
    store(x + k, load(x + k) * (share.above / share.below));
  }
  for (; k < count; k++) x[k] /= 1.0f + expf(-gate[k]);
}

/* silu(gate) · up of [n, 2 · ffn] → [n, ffn], written over the beginning */
static void gated(float *x, int n, int64_t ffn) {
  for (int i = 0; i < n; i++) {
    const float *gate = x + i * 2 * ffn, *up = gate + ffn;
    float *to = x + i * ffn;
    int64_t k = 0;
    for (; k + LANES <= ffn; k += LANES) store(to + k, silu(load(gate + k)) * load(up + k));
    for (; k < ffn; k++) to[k] = gate[k] / (1.0f + expf(-gate[k])) * up[k];
  }
}

/* Rows of `table` [vocab, hidden] of n tokens */
static void look_up(const int64_t *tokens, const char *table, int half, int64_t n, int64_t hidden, float *x) {
  const int64_t step = hidden * (half ? 2 : 4);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < hidden; k++) x[i * hidden + k] = single(table + tokens[i] * step + k * (half ? 2 : 4), half);
}

static int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* One piece of memory for so many parts of 4-byte numbers, each on a line of the cache; NULL where there is none */
static void *room_for(void **const *parts, const int64_t *sizes, int count) {
  int64_t bytes = 64;
  for (int i = 0; i < count; i++) bytes += padded(sizes[i] * 4);
  char *all = malloc((size_t)bytes), *at = all + (64 - (uintptr_t)all % 64) % 64;
  for (int i = 0; all && i < count; i++) *parts[i] = at, at += padded(sizes[i] * 4);
  return all;
}

#endif
