/* From logits to a distribution, to what a rejection leaves of it, and to a token of it: a sweep over each row.

   Compiled where a compiler is at hand (`compiled`), called by `draws`; torch and numpy say the same without it.

   Shapes: V numbers in a row. Sums are added up in double precision. */

#include "vectors.h"

enum { BLOCK = 64 }; /* numbers that are added up at once */

typedef double Doubles __attribute__((vector_size(8 * LANES)));

static double sum_of(const float *row, int64_t count) { /* of at most BLOCK numbers */
  Doubles sums = {0};
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) sums += __builtin_convertvector(load(row + i), Doubles);
  double sum = 0.0;
  UNROLL for (int lane = 0; lane < LANES; lane++) sum += sums[lane];
  for (; i < count; i++) sum += row[i];
  return sum;
}

static int64_t block_at(int64_t start, int64_t vocab) { return vocab - start < BLOCK ? vocab - start : BLOCK; }

static double mass_of(const float *row, int64_t vocab) {
  double mass = 0.0;
  for (int64_t t = 0; t < vocab; t += BLOCK) mass += sum_of(row + t, block_at(t, vocab));
  return mass;
}

static float largest(const float *row, int64_t vocab) {
  Vec most = every(-INFINITY);
  int64_t i = 0;
  for (; i + LANES <= vocab; i += LANES) most = larger(most, load(row + i));
  float top = most[0];
  for (int lane = 1; lane < LANES; lane++) top = most[lane] > top ? most[lane] : top;
  for (; i < vocab; i++) top = row[i] > top ? row[i] : top;
  return top;
}

static int64_t last_with_mass(const float *row, int64_t vocab) {
  int64_t last = vocab - 1;
  while (last > 0 && !(row[last] > 0.0f)) last--;
  return last;
}

static void divided(float *row, int64_t vocab, float by) {
  int64_t i = 0;
  for (; i + LANES <= vocab; i += LANES) store(row + i, load(row + i) / by);
  for (; i < vocab; i++) row[i] /= by;
}

INLINE Vec weight_of(Vec x, float temperature, float top) { /* e^((x - top) / temperature), 0 where that is tiny */
  Vec below = (x - top) / temperature;
  return (Vec)((Ints)exponential(below) & (below >= every(-87.0f)));
}

/* logits [n, V] → probabilities [n, V] at this temperature */
void warp(const float *logits, int64_t n, int64_t vocab, float temperature, float *probs) {
  for (; n > 0; n--, logits += vocab, probs += vocab) {
    const float top = largest(logits, vocab);
    int64_t i = 0;
    for (; i + LANES <= vocab; i += LANES) store(probs + i, weight_of(load(logits + i), temperature, top));
    if (i < vocab) {
      Vec rest = weight_of(partly((const char *)(logits + i), 0, vocab - i), temperature, top);
      memcpy(probs + i, &rest, (size_t)(vocab - i) * 4);
    }
    divided(probs, vocab, (float)mass_of(probs, vocab));
  }
}

/* The first token whose cumulative probability exceeds u; where rounding leaves none, the last one with mass [V] */
int64_t pick(const float *probs, int64_t vocab, double u) {
  const int64_t blocks = (vocab + BLOCK - 1) / BLOCK;
  double up_to[blocks], sum = 0.0;
  for (int64_t b = 0; b < blocks; b++) up_to[b] = sum += sum_of(probs + b * BLOCK, block_at(b * BLOCK, vocab));
  const double wanted = u * sum;
  int64_t block = 0;
  while (block < blocks && !(up_to[block] > wanted)) block++;
  if (block == blocks) return last_with_mass(probs, vocab);
  const float *inside = probs + block * BLOCK;
  const int64_t count = block_at(block * BLOCK, vocab);
  sum = block ? up_to[block - 1] : 0.0;
  for (int64_t i = 0; i < count; i++)
    if ((sum += inside[i]) > wanted) return block * BLOCK + i;
  return block * BLOCK + last_with_mass(inside, count);
}

/* What a rejection leaves of p, max(0, p - q) made whole [V]; its mass before that, 0 where nothing was left */
double rest(const float *p, const float *q, int64_t vocab, float *left) {
  int64_t i = 0;
  for (; i + LANES <= vocab; i += LANES) store(left + i, larger(load(p + i) - load(q + i), every(0.0f)));
  for (; i < vocab; i++) left[i] = p[i] > q[i] ? p[i] - q[i] : 0.0f;
  const double mass = mass_of(left, vocab);
  if (mass > 0.0) divided(left, vocab, (float)mass);
  return mass;
}

/* How the next token of a chain is taken from logits: at temperature 0 the most probable, else drawn with u */
typedef struct {
  double temperature;
  const double *u;     /* [steps] */
  float *probs, *prob; /* [steps, V], what each token was drawn from, and [steps], its probability there */
} Choice;

int64_t choose(const float *logits, int64_t vocab, int64_t step, const Choice *how) {
  if (how->temperature == 0.0) {
    const float top = largest(logits, vocab);
    int64_t first = 0;
    while (first < vocab - 1 && logits[first] != top) first++;
    return first;
  }
  float *probs = how->probs + step * vocab;
  warp(logits, 1, vocab, (float)how->temperature, probs);
  const int64_t token = pick(probs, vocab, how->u[step]);
  how->prob[step] = probs[token];
  return token;
}
