/* What a trace keeps of whole distributions, of all rows of several rounds in one call: of each its head, its entropy,
   how far it agrees with the row it is compared with, and the rank of tokens.

   Compiled where a compiler is at hand (`core.compiled`), called by `measured`, whose torch path says the same.

   Shapes: n rows of V numbers. Sums are added up in double precision, chunk by chunk. */

#include "../core/vectors.h"

enum { COLUMNS = 4, BLOCK = COLUMNS * LANES, GROUPS = BLOCK / 2, CHUNK = 64 * LANES, SIDE = 4, REST = 0, BITS, DRAFT_BITS, DIVERGENCE, OVERLAP, NUMBERS };
enum { NOTHING, HEAD, PROBABILITIES, LOGITS, BELIEFS }; /* beliefs: logits whose head nobody sees */
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

INLINE Vec only(Ints which, Vec x) { return (Vec)((Ints)x & which); } /* 0 elsewhere */

/* e^x of `count` vectors of numbers up to 0, from -87 on, side by side, for each is a long chain of operations; Cephes'
   exp2f where one instruction multiplies by a power of two */
INLINE void weights(const Vec *x, int count, Vec *of_x) {
#ifdef __AVX512F__
  static const float TERMS[] = {1.339887440e-3f, 9.618437357e-3f, 5.550332471e-2f,
                                2.402264791e-1f, 6.931472028e-1f, 1.0f};
  Vec whole[SIDE], rest[SIDE];
  UNROLL for (int i = 0; i < count; i++) {
    whole[i] = (Vec)_mm512_roundscale_ps((__m512)(x[i] * 1.44269504f), _MM_FROUND_TO_NEAREST_INT);
    rest[i] = x[i] * 1.44269504f - whole[i];
    of_x[i] = every(1.535336188e-4f);
  }
  UNROLL for (int term = 0; term < 6; term++)
    UNROLL for (int i = 0; i < count; i++) of_x[i] = of_x[i] * rest[i] + TERMS[term];
  UNROLL for (int i = 0; i < count; i++) of_x[i] = (Vec)_mm512_scalef_ps((__m512)of_x[i], (__m512)whole[i]);
#else
  for (int i = 0; i < count; i++) of_x[i] = exponential(x[i]);
#endif
}

static double rounded(double x, double units) { return nearbyint(x * units) / units; }

INLINE uint32_t lanes(Ints which) { /* a bit for each lane that is true */
#ifdef __AVX512F__
  return _mm512_movepi32_mask((__m512i)which);
#else
  int32_t each[LANES];
  uint32_t bits = 0;
  memcpy(each, &which, sizeof which);
  UNROLL for (int i = 0; i < LANES; i++) bits |= (uint32_t)(each[i] & 1) << i;
  return bits;
#endif
}

/* Puts x among the `held` largest numbers so far, with its id, behind equal ones; how many they are now, at most `top` */
INLINE int64_t held_with(float x, int64_t id, int64_t held, int64_t top, int64_t *ids, float *best) {
  int64_t to = held < top ? held++ : top - 1;
  for (; to > 0 && best[to - 1] < x; to--) best[to] = best[to - 1], ids[to] = ids[to - 1];
  best[to] = x, ids[to] = id;
  return held;
}

/* The largest number that at least `top` of so many do not fall below, minus infinity where there are fewer */
INLINE float reached_by(int64_t top, const Vec *of, const float *each) {
  for (int i = 0; i < GROUPS; i++) {
    int64_t above = 0, below = 0;
    UNROLL for (int g = 0; g < GROUPS / LANES; g++) {
      above += __builtin_popcount(lanes(of[g] > every(each[i])));
      below += __builtin_popcount(lanes(of[g] < every(each[i])));
    }
    if (above < top && top <= GROUPS - below) return each[i];
  }
  return -INFINITY;
}

/* The `top` largest numbers of a row, of equal ones the lowest ids; how many there are above minus infinity. At least
   `top` numbers reach what as many groups of them reach, so that few others are looked at. `room` [V / COLUMNS] keeps
   the largest of each block's columns. */
static __attribute__((noinline)) int64_t head(const float *row, int64_t vocab, int64_t top, int64_t *ids, float *best,
                                              float *room) {
  const int64_t blocks = vocab / BLOCK;
  Vec columns[COLUMNS], groups[GROUPS / LANES];
  UNROLL for (int c = 0; c < COLUMNS; c++) columns[c] = every(-INFINITY);
  for (int64_t b = 0; b < blocks; b++) {
    Vec most = every(-INFINITY);
    UNROLL for (int c = 0; c < COLUMNS; c++) {
      const Vec x = load(row + b * BLOCK + c * LANES);
      columns[c] = larger(x, columns[c]), most = larger(x, most);
    }
    store(room + b * LANES, most);
  }
  float each[GROUPS];
  UNROLL for (int g = 0; g < GROUPS / LANES; g++) {
    groups[g] = larger(columns[2 * g], columns[2 * g + 1]);
    store(each + g * LANES, groups[g]);
  }
  float floor = nextafterf(reached_by(top, groups, each), -INFINITY);
  int64_t held = 0;
  for (int64_t b = 0; b <= blocks; b++) {
    if (b < blocks && !lanes(load(room + b * LANES) > every(floor))) continue;
    uint64_t left = 0;
    UNROLL for (int c = 0; c < COLUMNS; c++) {
      const int64_t at = b * BLOCK + c * LANES;
      if (at < vocab) left |= (uint64_t)lanes(from(row + at, vocab - at, -INFINITY) > every(floor)) << (c * LANES);
    }
    for (; left; left &= left - 1) {
      const int64_t id = b * BLOCK + __builtin_ctzll(left);
      if (row[id] > floor) held = held_with(row[id], id, held, top, ids, best);
      if (held == top) floor = best[top - 1];
    }
  }
  return held;
}

/* A distribution p = weights / sum, with log p = (logs - origin) · scale + level */
typedef struct {
  const float *weights, *logs; /* [V] */
  double sum, level, mean; /* of logs - origin, times the sum; no number where it is not known yet */
  float origin, scale;
} Row;

/* Weights of `count` vectors of logits from `row` on, of which `left` numbers lie there */
INLINE void weigh(const float *row, int64_t left, float top, int count, float *room, Vec *sum, Vec *mean) {
  Vec below[SIDE], of_x[SIDE];
  UNROLL for (int i = 0; i < count; i++)
    below[i] = larger(from(row + i * LANES, left - i * LANES, -INFINITY) - top, every(-87.0f));
  weights(below, count, of_x);
  UNROLL for (int i = 0; i < count; i++) {
    const Vec x = from(row + i * LANES, left - i * LANES, -INFINITY);
    of_x[i] = only(x > every(-INFINITY), of_x[i]);
    *sum += of_x[i], *mean += of_x[i] * below[i];
    store(room + i * LANES, of_x[i]);
  }
}

/* One of logits whose largest is `top`, the weights of which go to `room`. Here and below `after` is a row that comes
   from memory meanwhile. */
static __attribute__((noinline)) Row of_logits(const float *row, int64_t vocab, float top, const float *after,
                                               float *room) {
  double sum = 0.0, mean = 0.0;
  for (int64_t t = 0; t < vocab; t += CHUNK) {
    const int64_t end = vocab < t + CHUNK ? vocab : t + CHUNK;
    int64_t s = t;
    Vec some = every(0.0f), moments = every(0.0f);
    for (; s + SIDE * LANES <= end; s += SIDE * LANES) {
      UNROLL for (int i = 0; i < SIDE; i++) __builtin_prefetch(after + s + i * LANES, 0, 2);
      weigh(row + s, SIDE * LANES, top, SIDE, room + s, &some, &moments);
    }
    for (; s < end; s += LANES) weigh(row + s, end - s, top, 1, room + s, &some, &moments);
    sum += total(some), mean += total(moments);
  }
  return (Row){room, row, sum, -log(sum), mean, top, 1.0f};
}

/* One of probabilities, the logarithms of which go to `room` */
static __attribute__((noinline)) Row of_probabilities(const float *row, int64_t vocab, const float *after, float *room) {
  for (int64_t t = 0; t < vocab; t += LANES) {
    __builtin_prefetch(after + t, 0, 2);
    store(room + t, logarithm(from(row + t, vocab - t, 0.0f)));
  }
  return (Row){row, room, 1.0, 0.0, NAN, 0.0f, 1.0f};
}

static __attribute__((noinline)) double mean_of(const Row *p, int64_t vocab) {
  double mean = 0.0;
  for (int64_t t = 0; t < vocab; t += CHUNK) {
    Vec some = every(0.0f);
    for (int64_t s = t; s < vocab && s < t + CHUNK; s += LANES) {
      Vec x = from(p->weights + s, vocab - s, 0.0f), below = from(p->logs + s, vocab - s, 0.0f) - p->origin;
      some += only(x > every(0.0f), x * below);
    }
    mean += total(some);
  }
  return mean;
}

/* KL(p‖q) in nats, infinite where q gives nothing to a token of p; the overlap, Σ min(p, q); and `mean_of` both.
   Meanwhile two rows come from memory. */
static __attribute__((noinline)) double divergence(const Row *p, const Row *q, int64_t vocab, const float *const *after,
                                                   double *overlap, double *means) {
  const float share_of_p = (float)(-1.0 / p->sum), share_of_q = (float)(-1.0 / q->sum);
  double sum = 0.0, common = 0.0, of_p = 0.0, of_q = 0.0;
  for (int64_t t = 0; t < vocab; t += CHUNK) {
    Vec some = every(0.0f), least = every(0.0f), mean_p = every(0.0f), mean_q = every(0.0f);
    for (int64_t s = t; s < vocab && s < t + CHUNK; s += LANES) {
      const int64_t left = vocab - s;
      Vec x = from(p->weights + s, left, 0.0f), y = from(q->weights + s, left, 0.0f);
      Vec below_p = from(p->logs + s, left, 0.0f) - p->origin, below_q = from(q->logs + s, left, 0.0f) - q->origin;
      Vec apart = below_p * p->scale - below_q * q->scale;
      for (int i = 0; i < 2; i++) __builtin_prefetch(after[i] + s, 0, 2);
      some += only(x > every(0.0f), x * apart);
      least -= larger(x * share_of_p, y * share_of_q);
      mean_p += only(x > every(0.0f), x * below_p);
      mean_q += only(y > every(0.0f), y * below_q);
    }
    sum += total(some), common += total(least), of_p += total(mean_p), of_q += total(mean_q);
  }
  *overlap = common, means[0] = of_p, means[1] = of_q;
  return sum / p->sum + p->level - q->level;
}

/* One row: what lies in it, the row q that row p is compared with, the row of logits that it was made of by a
   temperature, and the row that was made of it, or -1 */
typedef struct {
  const float *at;
  int64_t kind, draft, logits, judged;
  double scale; /* 1 / that temperature */
} Line;

/* Rows of one tensor: where the first lies and how many numbers on the next one does; the first of the target's rows
   that they are compared with, and the first row of the logits they were made of, or -1 */
typedef struct {
  const float *at;
  int64_t apart, n, kind, targets, logits;
} Block;

/* What is asked of n rows of V numbers, and where the answers go; all rounded as a trace holds them */
typedef struct {
  int64_t n, vocab, top, count, block_count;
  const Block *blocks;
  const int64_t *nodes;           /* of all blocks that are compared, one after another: each row's place there */
  const double *scales;           /* [block_count]: 1 / temperature */
  const int64_t *row_of, *tokens; /* [count]: tokens whose ranks are asked for, and in which row */
  Line *lines;                    /* [n]: room */
  int64_t *drafts, *order;        /* [n]: as in `lines`; [n]: rows as they are looked at */
  int64_t *ids, *shown, *ranks;   /* [n, top]; [n]: how many of them are not 0; [count]: 1 is the first */
  double *probs, *numbers;        /* [n, top]; [n, NUMBERS] */
  float *room;                    /* [2, V and a vector's width] */
  uint8_t *named;                 /* [V]: tokens that earlier heads name */
  int64_t *fresh, *fresh_until;   /* those that these heads name first; [n]: how many up to each row's end */
} Asked;

static void lay_out(const Asked *asked) { /* blocks as lines */
  const int64_t *node = asked->nodes;
  int64_t i = 0;
  for (int64_t b = 0; b < asked->block_count; b++) {
    const Block *block = asked->blocks + b;
    for (int64_t k = 0; k < block->n; k++, i++) {
      const int64_t logits = block->logits < 0 ? -1 : block->logits + k;
      asked->lines[i] = (Line){block->at + k * block->apart, block->kind, -1, logits, -1, asked->scales[b]};
      if (block->targets >= 0) asked->lines[block->targets + *node++].draft = i;
      else if (logits >= 0) asked->lines[logits].judged = i;
    }
  }
}

/* A target's row, the draft's that it is compared with, then what was made of both while they are in the cache */
static void put_in_order(const Asked *asked) {
  int64_t count = 0;
  for (int64_t i = 0; i < asked->n; i++) asked->shown[i] = -1, asked->drafts[i] = asked->lines[i].draft;
  for (int64_t i = 0; i < asked->n; i++)
    for (int64_t row = i; row >= 0 && asked->shown[row] < 0; row = asked->lines[row].judged) {
      const int64_t draft = asked->drafts[row];
      asked->order[count++] = row, asked->shown[row] = 0;
      if (draft >= 0) asked->order[count++] = draft, asked->shown[draft] = 0;
    }
}

/* The same head in probabilities as in the logits they were made of: of equal logits the lowest ids */
static int64_t same_head(const Asked *asked, int64_t i, int64_t of, int64_t *ids, float *best) {
  const int64_t top = asked->top, *known = asked->ids + of * top;
  int64_t held = 0;
  for (int64_t k = 0; k < top && known[k] >= 0; k++) /* also those that the logits alone give next to nothing */
    held = held_with(asked->lines[i].at[known[k]], known[k], held, top, ids, best);
  return held;
}

static Row of_both(const Asked *asked, int64_t i) { /* of probabilities whose logits are known */
  const Line *line = asked->lines + i;
  const float *logits = asked->lines[line->logits].at;
  const int64_t best = asked->ids[line->logits * asked->top];
  return (Row){line->at, logits, 1.0, log(line->at[best]), NAN, logits[best], line->scale};
}

/* The head of row i, and the row as a distribution, whose logarithms or weights go to `room` */
static Row measured(const Asked *asked, int64_t i, const float *after, float *room) {
  const Line *line = asked->lines + i;
  const float *row = line->at;
  const int64_t vocab = asked->vocab, top = asked->top, of = line->logits;
  const int64_t kind = line->kind == BELIEFS ? LOGITS : line->kind;
  float best[top];
  double left = 1.0, *probs = asked->probs + i * top;
  int64_t shown = 0, *ids = asked->ids + i * top;
  const int64_t held = of < 0 ? head(row, vocab, top, ids, best, room) : same_head(asked, i, of, ids, best);
  Row known = {0};
  for (int64_t k = held; k < top; k++) ids[k] = -1;
  if (kind == LOGITS) known = of_logits(row, vocab, held ? best[0] : 0.0f, after, room);
  else if (of >= 0) known = of_both(asked, i);
  else if (kind == PROBABILITIES) known = of_probabilities(row, vocab, after, room);
  for (int64_t k = 0; k < held; k++) {
    const double prob = kind == LOGITS ? exp((double)best[k] - known.origin + known.level) : best[k];
    probs[k] = rounded(prob, DIGITS);
    shown += probs[k] > 0.0;
  }
  for (int64_t k = 0; k < shown; k++) left -= probs[k];
  asked->numbers[i * NUMBERS + REST] = rounded(left > 0.0 ? left : 0.0, DIGITS);
  asked->shown[i] = shown;
  return known;
}

static double bits(double nats) { return rounded(nats > 0.0 ? nats / LN2 : 0.0, DECIMALS); }

static double entropy(const Row *p, double mean) { /* in nats; `mean` where the row's is not known */
  return -(isnan(p->mean) ? mean : p->mean) / p->sum * p->scale - p->level;
}

/* The row at this place of the order, and the one behind it where they are compared; how many that were. Meanwhile the
   two rows behind them come from memory. */
static int64_t compared(const Asked *asked, int64_t place) {
  const int64_t vocab = asked->vocab, width = (vocab + LANES - 1) / LANES * LANES, i = asked->order[place];
  const int64_t draft = asked->drafts[i], rows = draft < 0 ? 1 : 2, next = place + rows;
  if (asked->lines[i].kind == NOTHING) return 1;
  const float *after[2];
  double overlap, means[2] = {0}, *to = asked->numbers + i * NUMBERS;
  for (int64_t k = 0; k < 2; k++) after[k] = asked->lines[asked->order[next + k < asked->n ? next + k : place]].at;
  const Row p = measured(asked, i, after[0], asked->room);
  if (draft >= 0) {
    const Row q = measured(asked, draft, after[1], asked->room + width);
    to[DIVERGENCE] = bits(divergence(&p, &q, vocab, after, &overlap, means));
    to[OVERLAP] = rounded(overlap > 1.0 ? 1.0 : overlap, DECIMALS);
    to[DRAFT_BITS] = asked->numbers[draft * NUMBERS + BITS] = bits(entropy(&q, means[1]));
  } else if (p.weights && isnan(p.mean)) means[0] = mean_of(&p, vocab);
  to[BITS] = p.weights ? bits(entropy(&p, means[0])) : 0.0;
  return rows;
}

/* How many of the numbers [V] of a row a token comes behind; of equal ones the lowest id is first */
static int64_t behind(const float *row, int64_t vocab, int64_t token) {
  const float value = row[token];
  Ints above = {0}, alike = {0};
  int64_t t = 0, count = 0;
  for (; t + LANES <= vocab; t += LANES) above -= load(row + t) > every(value);
  for (; t < vocab; t++) count += row[t] > value;
  for (t = 0; t + LANES <= token; t += LANES) alike -= load(row + t) == every(value);
  for (; t < token; t++) count += row[t] == value;
  for (int lane = 0; lane < LANES; lane++) count += above[lane] + alike[lane];
  return count;
}

/* The rank of a token in a row, whose head is in order of it */
static int64_t rank(const Asked *asked, int64_t i, int64_t token) {
  const int64_t *ids = asked->ids + i * asked->top, heads = asked->lines[i].kind == NOTHING ? 0 : asked->top;
  for (int64_t k = 0; k < heads; k++)
    if (ids[k] == token) return k + 1;
  return 1 + behind(asked->lines[i].at, asked->vocab, token);
}

/* Which tokens the heads that are seen name first, in their order */
static void note_fresh(const Asked *asked) {
  int64_t count = 0;
  for (int64_t i = 0; i < asked->n; i++) {
    const int64_t shown = asked->lines[i].kind == BELIEFS ? 0 : asked->shown[i], *ids = asked->ids + i * asked->top;
    for (int64_t k = 0; k < shown; k++)
      if (!asked->named[ids[k]]) asked->named[ids[k]] = 1, asked->fresh[count++] = ids[k];
    asked->fresh_until[i] = count;
  }
}

/* Row by row, each with the one it is compared with and with the tokens that are ranked in it, while it is in the
   cache. What logits a row was made of stands before it. */
void sweep(const Asked *asked) {
  int64_t ranked = 0;
  lay_out(asked);
  put_in_order(asked);
  for (int64_t place = 0; place < asked->n;) {
    const int64_t i = asked->order[place];
    place += compared(asked, place);
    if (asked->lines[i].logits < 0)
      for (; ranked < asked->count && asked->row_of[ranked] <= i; ranked++)
        asked->ranks[ranked] = rank(asked, asked->row_of[ranked], asked->tokens[ranked]);
  }
  note_fresh(asked);
}
