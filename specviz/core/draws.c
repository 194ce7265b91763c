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

/* The first token whose cumulative probability exceeds u; where rounding leaves none, the last one with mass [V]. -1
   where nothing has mass, as in a row that was made of what are no numbers. */
int64_t pick(const float *probs, int64_t vocab, double u) {
  const int64_t blocks = (vocab + BLOCK - 1) / BLOCK;
  double up_to[blocks], sum = 0.0;
  for (int64_t b = 0; b < blocks; b++) up_to[b] = sum += sum_of(probs + b * BLOCK, block_at(b * BLOCK, vocab));
  if (!(sum > 0.0)) return -1;
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

/* The same of p with one token taken out */
double without(const float *p, int64_t token, int64_t vocab, float *left) {
  memcpy(left, p, (size_t)vocab * 4);
  left[token] = 0.0f;
  const double mass = mass_of(left, vocab);
  if (mass > 0.0) divided(left, vocab, (float)mass);
  return mass;
}

static uint64_t mixed(uint64_t x) { /* as `trace.uniform_draws` mixes keys */
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

static double uniform(uint64_t stream, int64_t position, int64_t index) {
  return (double)(mixed(mixed(stream ^ (uint64_t)position) ^ (uint64_t)index) >> 11) * 0x1p-53;
}

/* A walk down a chain: each token passes with min(1, p/q), until one does not or all have */
typedef struct {
  int64_t steps, vocab;
  double temperature;
  uint64_t accept, target; /* the streams of both purposes' keys */
  int64_t position;        /* of the first token in the text */
  const float *logits;     /* [steps + 1, V] of the root and the chain's tokens */
  const float *drawn;      /* [steps, V] that the tokens were drawn from; NULL: they were not drawn */
  const int64_t *tokens;   /* [steps + 1], the root first */
  float *probs;            /* [steps + 2, V]: p at the root and at each token; last, what a rejected token left */
  double *numbers;         /* [5 steps + 3]: u of each trial, u of a last token at each depth, p, q, thresholds, how
                              many passed, the mass of what was left */
} Walk;

/* The token drawn at the end, or -1: see `pick` */
int64_t walk(const Walk *down) {
  const int64_t steps = down->steps, vocab = down->vocab;
  const double *u = down->numbers;
  double *p = down->numbers + 2 * steps + 1, *q = p + steps, *threshold = q + steps, *came_to = threshold + steps;
  warp(down->logits, steps + 1, vocab, (float)down->temperature, down->probs);
  for (int64_t i = 0; i < steps; i++) {
    const int64_t at = i * vocab + down->tokens[i + 1];
    p[i] = down->probs[at];
    q[i] = down->drawn ? down->drawn[at] : 1.0;
    threshold[i] = q[i] > 0.0 ? (p[i] / q[i] < 1.0 ? p[i] / q[i] : 1.0) : p[i] > 0.0;
  }
  int64_t passed = 0;
  while (passed < steps && u[passed] < threshold[passed]) passed++;
  const float *end = down->probs + passed * vocab;
  came_to[0] = (double)passed;
  if (passed < steps) {
    float *left = down->probs + (steps + 1) * vocab;
    came_to[1] = down->drawn ? rest(end, down->drawn + passed * vocab, vocab, left)
                             : without(end, down->tokens[passed + 1], vocab, left);
    if (came_to[1] > 0.0) end = left;
  }
  return pick(end, vocab, u[steps + passed]);
}

/* The same with the u of its keys: ("accept", position, node), and ("target", position + depth, 0) */
int64_t keyed_walk(const Walk *down) {
  const int64_t steps = down->steps;
  for (int64_t i = 0; i < steps; i++) down->numbers[i] = uniform(down->accept, down->position, i + 1);
  for (int64_t i = 0; i <= steps; i++) down->numbers[steps + i] = uniform(down->target, down->position + i, 0);
  return walk(down);
}

/* How the next token of a chain is taken from logits: at temperature 0 the most probable, else drawn with the uniform
   number of the key (purpose, position, first + step) */
typedef struct {
  double temperature;
  uint64_t stream; /* of seed and purpose */
  int64_t position, first;
  float *probs, *prob; /* [steps, V], what each token was drawn from, and [steps], its probability there */
} Choice;

static int64_t most_probable(const float *logits, int64_t vocab) { /* the first of equal ones; -1 where none is a number */
  float top = -INFINITY;
  int64_t first = 0;
  for (int64_t t = 0; t < vocab; t += BLOCK) {
    const float most = largest(logits + t, block_at(t, vocab));
    if (most > top) top = most, first = t;
  }
  if (top == -INFINITY) return -1;
  while (first < vocab - 1 && logits[first] != top) first++;
  return first;
}

/* A token in any case, for the next pass reads it: 0 with the probability 0 where there is none */
int64_t choose(const float *logits, int64_t vocab, int64_t step, const Choice *how) {
  if (how->temperature == 0.0) {
    const int64_t token = most_probable(logits, vocab);
    return token < 0 ? 0 : token;
  }
  float *probs = how->probs + step * vocab;
  warp(logits, 1, vocab, (float)how->temperature, probs);
  const int64_t token = pick(probs, vocab, uniform(how->stream, how->position, how->first + step));
  how->prob[step] = token < 0 ? 0.0f : probs[token];
  return token < 0 ? 0 : token;
}

/* Of logits [n, V] each row's most probable token [n] */
void all_most_probable(const float *logits, int64_t n, int64_t vocab, int64_t *tokens) {
  for (int64_t i = 0; i < n; i++) tokens[i] = most_probable(logits + i * vocab, vocab);
}
