/* A pass of a Llama over a few rows on one thread, at the speed at which memory gives its weights.

   Each weight is read once, where it lies, whatever the number of rows; numbers between products are float32, also
   around bfloat16 weights, which are read as the float32 numbers that they are. The sum behind a number is added up in the same order however many rows stand beside it.
   Compiled where a compiler is at hand (`compiled`), called by `few_rows`; the plain forward does the same without it.

   Shapes: n new rows, T rows visible at most, H query heads, G key/value heads, D head size. */

#include "../vectors.h"

typedef struct {
  const char *weight; /* [outs, ins], float32 or bfloat16 */
  const float *bias;  /* [outs], or NULL */
  int64_t outs, ins;
} Matrix;

typedef struct {
  Matrix qkv, output, gate_up, down;
  const float *attention_norm, *ffn_norm; /* [hidden]; NULL: the matrix behind it has taken the norm's factor in */
} Layer;

typedef struct {
  const Layer *layers;
  Matrix head;
  const float *norm;
  const float *turns; /* [context, D / 2, 2]: cosines and sines of every position */
  int64_t count, hidden, heads, groups, size, ffn;
  int64_t half; /* whether weights are bfloat16 */
  int64_t half_rows; /* whether the cache is: then numbers need be no finer either where tiles multiply them */
  float eps;
} Model;

typedef struct {
  char *rows; /* [layers, 2 * G, room, D], keys before values */
  int64_t layer, head; /* numbers from one layer, and from one head, to the next */
  int64_t start; /* rows in it before the pass */
} Cache;

/* --- products: y[i, j] (+)= x[i] · weight[j] + bias[j] ---------------------------------------------------------- */

INLINE void tile(const char *w, int half, int64_t ins, const float *x, int n, int outs, float *y, int64_t stride,
                 const float *bias, int add) {
  const int64_t width = half ? 2 : 4;
  Vec sums[16];
  UNROLL for (int i = 0; i < n * outs; i++) sums[i] = every(0.0f);
  int64_t k = 0;
  for (; k + LANES <= ins; k += LANES) {
    Vec weights[4];
    UNROLL for (int j = 0; j < outs; j++) {
      weights[j] = widened(w + (j * ins + k) * width, half);
      __builtin_prefetch(w + (outs * ins + k * outs + j * LANES) * width, 0, 2); /* the next tile, in order of memory */
    }
    UNROLL for (int i = 0; i < n; i++) {
      Vec row = load(x + i * ins + k);
      UNROLL for (int j = 0; j < outs; j++) sums[i * outs + j] += weights[j] * row;
    }
  }
  if (k < ins)
    UNROLL for (int i = 0; i < n; i++) {
      Vec row = partly((const char *)(x + i * ins + k), 0, ins - k);
      UNROLL for (int j = 0; j < outs; j++)
        sums[i * outs + j] += partly(w + (j * ins + k) * width, half, ins - k) * row;
    }
  UNROLL for (int i = 0; i < n; i++) {
    float results[4], *to = y + i * stride;
    if (outs == 4) *(AnyFour *)results = totals(sums + i * 4);
    else results[0] = total(sums[i]);
    UNROLL for (int j = 0; j < outs; j++) to[j] = results[j] + (bias ? bias[j] : 0.0f) + (add ? to[j] : 0.0f);
  }
}

INLINE void product_of(const char *w, int half, const float *bias, int64_t outs, int64_t ins, const float *x, int n,
                       float *y, int64_t stride, int add) {
  const int64_t step = ins * (half ? 2 : 4), last = outs / 4 * 4;
  for (int64_t j = 0; j < last; j += 4)
    for (int i = 0; i < n; i += 4) { /* from the second time on, the weights are in the processor's cache */
      const float *rows = x + i * ins, *some = bias ? bias + j : 0;
      float *to = y + i * stride + j;
      switch (n - i) {
        case 1: tile(w + j * step, half, ins, rows, 1, 4, to, stride, some, add); break;
        case 2: tile(w + j * step, half, ins, rows, 2, 4, to, stride, some, add); break;
        case 3: tile(w + j * step, half, ins, rows, 3, 4, to, stride, some, add); break;
        default: tile(w + j * step, half, ins, rows, 4, 4, to, stride, some, add);
      }
    }
  for (int64_t j = last; j < outs; j++)
    for (int i = 0; i < n; i++)
      tile(w + j * step, half, ins, x + i * ins, 1, 1, y + i * stride + j, stride, bias ? bias + j : 0, add);
}

static __attribute__((noinline)) void vector_product(const char *w, int half, const float *bias, int64_t outs,
                                                     int64_t ins, const float *x, int n, float *y, int64_t stride,
                                                     int add) {
  if (half) product_of(w, 1, bias, outs, ins, x, n, y, stride, add);
  else product_of(w, 0, bias, outs, ins, x, n, y, stride, add);
}

/* --- bfloat16 products by Intel's tiles (AMX) ------------------------------------------------------------------- */

#if defined(__AMX_BF16__) && defined(__AVX512F__) && defined(__linux__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIFTEEN_TO_0 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
enum { SIDE = 16, DEEP = 32, PARTS = 3, ASK_FOR_TILES = 0x1023, TILE_DATA = 18 };
typedef struct {
  uint8_t palette, start, reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
} __attribute__((aligned(64))) TileShapes;

static int have_tiles(void) {
  static int answer = -1;
  if (answer < 0) answer = syscall(SYS_arch_prctl, ASK_FOR_TILES, TILE_DATA) == 0;
  return answer;
}

static void begin_tiles(TileShapes *before) { /* oneDNN has shapes of its own */
  static TileShapes ours = {.palette = 1};
  for (int i = 0; i < 2 * PARTS + 1; i++) ours.bytes[i] = 64, ours.rows[i] = SIDE;
  _tile_storeconfig(before);
  __asm__ volatile("" : : "r"(&ours), "r"(before) : "memory");
  _tile_loadconfig(&ours);
}

static void end_tiles(TileShapes *before) {
  __asm__ volatile("" : : "r"(before) : "memory");
  if (before->palette) _tile_loadconfig(before);
  else _tile_release();
}

/* x as two bfloat16 numbers that add up to it but for 2^-17 of it, or as three that are it: columns [ins / 32, parts,
   16 pairs, 16 rows of x, 2]; what stands in those of rows beyond n is nobody's */
INLINE void split(const float *x, int n, int64_t ins, int parts, uint32_t *columns) {
  for (int i = 0; i < n; i++)
    for (int64_t k = 0; k < ins; k += LANES) {
      Vec rest = load(x + i * ins + k);
      UNROLL for (int part = 0; part < parts; part++) {
        Bits bits = (Bits)rest;
        bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
        rest -= (Vec)bits;
        Halves halves = __builtin_convertvector(bits >> 16, Halves);
        uint32_t pairs[LANES / 2], *to = columns + (k / DEEP * parts + part) * 256 + k % DEEP / 2 * SIDE + i;
        memcpy(pairs, &halves, sizeof pairs);
        UNROLL for (int j = 0; j < LANES / 2; j++) to[j * SIDE] = pairs[j];
      }
    }
}

INLINE void tile_product_of(const char *w, const float *bias, int64_t outs, int64_t ins, const float *x, int n, float *y,
                            int64_t stride, int add, int parts, uint32_t *columns) {
  float sums[PARTS][SIDE][SIDE]; /* 16 outputs of up to 16 rows */
  split(x, n, ins, parts, columns);
  for (int64_t j = 0; j < outs; j += SIDE) {
    const char *at = w + j * ins * 2, *next = at + SIDE * ins * 2;
    __asm__ volatile("" : : "r"(columns) : "memory");
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    for (int64_t k = 0; k < ins / DEEP; k++) {
      const uint32_t *column = columns + k * parts * 256;
      UNROLL for (int line = 0; line < SIDE; line++) __builtin_prefetch(next + (k * SIDE + line) * 64, 0, 2);
      _tile_loadd(3, at + k * 64, ins * 2);
      _tile_loadd(4, column, 64);
      _tile_loadd(5, column + 256, 64);
      _tile_dpbf16ps(0, 3, 4);
      _tile_dpbf16ps(1, 3, 5);
      if (parts == 3) {
        _tile_loadd(6, column + 512, 64);
        _tile_dpbf16ps(2, 3, 6);
      }
    }
    _tile_stored(0, sums[0], 64);
    _tile_stored(1, sums[1], 64);
    if (parts == 3) _tile_stored(2, sums[2], 64);
    __asm__ volatile("" : : "r"(sums) : "memory");
    for (int out = 0; out < SIDE; out++) {
      Vec fine = load(sums[1][out]);
      store(sums[0][out], (parts == 3 ? load(sums[2][out]) + fine : fine) + load(sums[0][out]));
    }
    for (int i = 0; i < n; i++) {
      const __m512i outs_of_row = _mm512_mullo_epi32(_mm512_set1_epi32(SIDE), _mm512_set_epi32(FIFTEEN_TO_0));
      float *to = y + i * stride + j;
      Vec results = (Vec)_mm512_i32gather_ps(outs_of_row, sums[0][0] + i, 4);
      store(to, results + (bias ? load(bias + j) : every(0.0f)) + (add ? load(to) : every(0.0f)));
    }
  }
}

static __attribute__((noinline)) void tile_product(const char *w, const float *bias, int64_t outs, int64_t ins,
                                                   const float *x, int n, float *y, int64_t stride, int add, int parts,
                                                   uint32_t *columns) {
  if (parts == 3) tile_product_of(w, bias, outs, ins, x, n, y, stride, add, 3, columns);
  else tile_product_of(w, bias, outs, ins, x, n, y, stride, add, 2, columns);
}
#else
enum { SIDE = 16, DEEP = 32, PARTS = 0 };
typedef int TileShapes;
static int have_tiles(void) { return 0; }
static void begin_tiles(TileShapes *before) { *before = 0; }
static void end_tiles(TileShapes *before) { *before = 0; }
static void tile_product(const char *w, const float *bias, int64_t outs, int64_t ins, const float *x, int n, float *y,
                         int64_t stride, int add, int parts, uint32_t *scratch) {
  (void)w, (void)bias, (void)outs, (void)ins, (void)x, (void)n, (void)y, (void)stride, (void)add, (void)parts;
  (void)scratch;
}
#endif

/* x [n, ins] → y [n, outs]; with `add`, on top of what is there */
static void product(const Model *model, const Matrix *by, const float *x, int n, float *y, int add, uint32_t *scratch) {
  const int half = (int)model->half, parts = model->half_rows ? 2 : 3;
  int64_t done = 0;
  if (half && by->ins % DEEP == 0 && have_tiles()) {
    done = by->outs / SIDE * SIDE;
    tile_product(by->weight, by->bias, done, by->ins, x, n, y, by->outs, add, parts, scratch);
  }
  if (done < by->outs)
    vector_product(by->weight + done * by->ins * (half ? 2 : 4), half, by->bias ? by->bias + done : 0, by->outs - done,
                   by->ins, x, n, y + done, by->outs, add);
}

/* --- what stands between the products ---------------------------------------------------------------------------- */

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

/* Rotary positions (2104.09864, §3.4.2) of [n, heads, D / 2, 2]; positions [n], or NULL for a chain from `start` on */
static void rotate(float *x, const float *turns, const int64_t *positions, int64_t start, int n, int64_t heads,
                   int64_t stride, int64_t size) {
  for (int i = 0; i < n; i++)
    for (int64_t head = 0; head < heads; head++) {
      float *at = x + i * stride + head * size;
      const float *turn = turns + (positions ? positions[i] : start + i) * size;
      for (int64_t k = 0; k < size; k += 2) {
        float a = at[k], b = at[k + 1];
        at[k] = a * turn[k] - b * turn[k + 1];
        at[k + 1] = b * turn[k] + a * turn[k + 1];
      }
    }
}

static void keep(char *to, int half, const float *x, int64_t count) {
  if (!half) memcpy(to, x, (size_t)count * 4);
  else for (int64_t k = 0; k < count; k++) ((uint16_t *)to)[k] = narrowed(x[k]);
}

/* Scores [T] of a row of the text to weights that add up to 1, 0 where it must not look; [room for LANES more] */
static void softmax(float *scores, float scale, int64_t rows, int64_t seen, const uint8_t *visible) {
  if (visible) for (int64_t t = 0; t < rows; t++) scores[t] = visible[t] ? scores[t] * scale : -INFINITY;
  else {
    for (int64_t t = 0; t < seen; t++) scores[t] *= scale;
    for (int64_t t = seen; t < rows; t++) scores[t] = -INFINITY;
  }
  for (int64_t t = rows; t % LANES; t++) scores[t] = -INFINITY;
  Vec most = every(-INFINITY), sums = every(0.0f);
  for (int64_t t = 0; t < rows; t += LANES) most = larger(most, load(scores + t));
  float top = most[0];
  for (int i = 1; i < LANES; i++) top = most[i] > top ? most[i] : top;
  for (int64_t t = 0; t < rows; t += LANES) {
    Vec x = load(scores + t), looked = (Vec)((Ints)exponential(x - top) & (x > every(-INFINITY)));
    sums += looked;
    store(scores + t, looked);
  }
  float share = 1.0f / total(sums);
  for (int64_t t = 0; t < rows; t++) scores[t] *= share;
}

/* out[r, d] = Σ scores[r, t] · values[t, d] for `blocks` vectors of components and up to four rows r */
INLINE void mixed(const float *scores, int64_t apart, int rows, const char *values, int half, int64_t count, int64_t size,
                  int blocks, float *const *out, int64_t d) {
  const int64_t width = half ? 2 : 4;
  Vec sums[16];
  UNROLL for (int i = 0; i < rows * blocks; i++) sums[i] = every(0.0f);
  for (int64_t t = 0; t < count; t++) {
    Vec value[4];
    UNROLL for (int b = 0; b < blocks; b++) value[b] = widened(values + (t * size + d + b * LANES) * width, half);
    UNROLL for (int r = 0; r < rows; r++)
      UNROLL for (int b = 0; b < blocks; b++) sums[r * blocks + b] += value[b] * scores[r * apart + t];
  }
  UNROLL for (int r = 0; r < rows; r++)
    UNROLL for (int b = 0; b < blocks; b++) store(out[r] + d + b * LANES, sums[r * blocks + b]);
}

INLINE void mix_rows(const float *scores, int64_t apart, int rows, const char *values, int half, int64_t count,
                     int64_t size, float *const *out) {
  enum { WIDE = LANES / 4 }; /* with four rows as many sums as there are registers */
  int64_t d = 0;
  for (; d + WIDE * LANES <= size; d += WIDE * LANES) mixed(scores, apart, rows, values, half, count, size, WIDE, out, d);
  for (; d + LANES <= size; d += LANES) mixed(scores, apart, rows, values, half, count, size, 1, out, d);
  for (int r = 0; d < size && r < rows; r++) {
    Vec sum = every(0.0f);
    for (int64_t t = 0; t < count; t++)
      sum += partly(values + (t * size + d) * (half ? 2 : 4), half, size - d) * scores[r * apart + t];
    memcpy(out[r] + d, &sum, (size_t)(size - d) * 4);
  }
}

INLINE void mix_of(const float *scores, int64_t apart, int rows, const char *values, int half, int64_t count, int64_t size,
                   float *const *out) {
  switch (rows) {
    case 1: mix_rows(scores, apart, 1, values, half, count, size, out); break;
    case 2: mix_rows(scores, apart, 2, values, half, count, size, out); break;
    case 3: mix_rows(scores, apart, 3, values, half, count, size, out); break;
    default: mix_rows(scores, apart, 4, values, half, count, size, out);
  }
}

typedef struct {
  float *x, *normed, *qkv, *queries, *scores, *attended, *gate_up;
  uint32_t *columns;
} Room;

/* qkv [n, (H + 2 · G) · D], turned; visible [n, T], or NULL for a chain → attended [n, H · D] */
static __attribute__((noinline)) void attention(const Model *model, const Cache *cache, int64_t layer, int n, const uint8_t *visible, Room *room) {
  const int64_t size = model->size, heads = model->heads, groups = model->groups, shared = heads / groups;
  const int64_t stride = (heads + 2 * groups) * size, count = cache->start + n, apart = (count + LANES) / LANES * LANES;
  const int half = (int)model->half_rows, width = half ? 2 : 4;
  char *rows = cache->rows + layer * cache->layer * width;
  for (int64_t head = 0; head < 2 * groups; head++)
    for (int i = 0; i < n; i++)
      keep(rows + (head * cache->head + (cache->start + i) * size) * width, half,
           room->qkv + i * stride + (heads + head) * size, size);
  for (int64_t group = 0; group < groups; group++) {
    for (int64_t r = 0; r < shared * n; r++) /* row r: head r / n of the group, row r % n of the pass */
      memcpy(room->queries + r * size, room->qkv + r % n * stride + (group * shared + r / n) * size, (size_t)size * 4);
    vector_product(rows + group * cache->head * width, half, 0, count, size, room->queries, (int)(shared * n),
                   room->scores, apart, 0);
    for (int64_t r = 0; r < shared * n; r++)
      softmax(room->scores + r * apart, 1.0f / sqrtf((float)size), count, cache->start + r % n + 1,
              visible ? visible + r % n * count : 0);
    const char *values = rows + (groups + group) * cache->head * width;
    for (int64_t r = 0; r < shared * n; r += 4) {
      float *out[4];
      int some = (int)(shared * n - r < 4 ? shared * n - r : 4);
      for (int i = 0; i < some; i++)
        out[i] = room->attended + (r + i) % n * heads * size + (group * shared + (r + i) / n) * size;
      if (half) mix_of(room->scores + r * apart, apart, some, values, 1, count, size, out);
      else mix_of(room->scores + r * apart, apart, some, values, 0, count, size, out);
    }
  }
}

/* silu(gate) · up of [n, 2 · ffn] → [n, ffn], written over the beginning */
static void gated(float *x, int n, int64_t ffn) {
  for (int i = 0; i < n; i++) {
    const float *gate = x + i * 2 * ffn, *up = gate + ffn;
    float *to = x + i * ffn;
    int64_t k = 0;
    for (; k + LANES <= ffn; k += LANES) {
      Vec g = load(gate + k), falling = exponential((Vec)((Ints)g | (Ints)every(-0.0f))); /* e^-|g| */
      Vec upper = (Vec)((Ints)every(1.0f) & ~(g < every(0.0f))), lower = (Vec)((Ints)falling & (g < every(0.0f)));
      store(to + k, g * (upper + lower) / (1.0f + falling) * load(up + k));
    }
    for (; k < ffn; k++) to[k] = gate[k] / (1.0f + expf(-gate[k])) * up[k];
  }
}

static int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static void *make_room(const Model *model, int64_t n, int64_t count, Room *room) {
  const int64_t queries = model->heads * model->size, qkv = queries + 2 * model->groups * model->size;
  const int64_t deepest = model->hidden > model->ffn ? model->hidden : model->ffn;
  const int64_t sizes[] = {n * model->hidden, n * model->hidden, n * qkv, n * queries, n * model->heads / model->groups * (count + LANES),
                           n * queries, n * 2 * model->ffn, PARTS * 256 / DEEP * (deepest > queries ? deepest : queries)};
  void **parts[] = {(void **)&room->x, (void **)&room->normed, (void **)&room->qkv, (void **)&room->queries, (void **)&room->scores,
                    (void **)&room->attended, (void **)&room->gate_up, (void **)&room->columns};
  int64_t bytes = 64;
  for (int i = 0; i < 8; i++) bytes += padded(sizes[i] * 4);
  char *all = malloc((size_t)bytes), *at = all + (64 - (uintptr_t)all % 64) % 64;
  for (int i = 0; all && i < 8; i++) *parts[i] = at, at += padded(sizes[i] * 4);
  return all;
}

/* Blocks on x [n, hidden]; chosen [layers], or NULL for all: 1 attention, 2 MLP, 3 both, 0 neither */
static void blocks(const Model *model, const Cache *cache, const uint8_t *chosen, float *x, int n,
                   const int64_t *positions, const uint8_t *visible, Room *room) {
  const int64_t turning = model->heads + model->groups, stride = (turning + model->groups) * model->size;
  for (int64_t i = 0; i < model->count; i++) {
    const Layer *layer = model->layers + i;
    const int parts = chosen ? chosen[i] : 3;
    if (parts & 1) {
      normed(x, layer->attention_norm, model->eps, n, model->hidden, room->normed);
      product(model, &layer->qkv, room->normed, n, room->qkv, 0, room->columns);
      rotate(room->qkv, model->turns, positions, cache->start, n, turning, stride, model->size);
      attention(model, cache, i, n, visible, room);
      product(model, &layer->output, room->attended, n, x, 1, room->columns);
    }
    if (parts & 2) {
      normed(x, layer->ffn_norm, model->eps, n, model->hidden, room->normed);
      product(model, &layer->gate_up, room->normed, n, room->gate_up, 0, room->columns);
      gated(room->gate_up, n, model->ffn);
      product(model, &layer->down, room->gate_up, n, x, 1, room->columns);
    }
  }
}

static void look_up(const Model *model, const int64_t *tokens, const char *table, int half, int64_t n, float *x) {
  const int64_t hidden = model->hidden, step = hidden * (half ? 2 : 4);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < hidden; k++) x[i * hidden + k] = single(table + tokens[i] * step + k * (half ? 2 : 4), half);
}

/* --- what Python calls: 0, or 1 where there was no memory ------------------------------------------------------- */

/* A whole pass: tokens [n] through their rows of `table` [vocab, hidden] and all blocks → logits [n - first, outs] */
int forward(const Model *model, const Cache *cache, const int64_t *tokens, const char *table, int64_t half_table,
            int64_t n, const int64_t *positions, const uint8_t *visible, int64_t first, float *logits) {
  Room room;
  void *all = make_room(model, n, cache->start + n, &room);
  if (!all) return 1;
  const int tiles = model->half && have_tiles(), wanted = (int)(n - first);
  TileShapes before;
  if (tiles) begin_tiles(&before);
  if (half_table) look_up(model, tokens, table, 1, n, room.x);
  else look_up(model, tokens, table, 0, n, room.x);
  blocks(model, cache, 0, room.x, (int)n, positions, visible, &room);
  normed(room.x + first * model->hidden, model->norm, model->eps, wanted, model->hidden, room.normed);
  product(model, &model->head, room.normed, wanted, logits, 0, room.columns);
  if (tiles) end_tiles(&before);
  free(all);
  return 0;
}

/* Blocks on x [n, hidden], as `blocks` */
int run_blocks(const Model *model, const Cache *cache, const uint8_t *chosen, float *x, int64_t n,
               const int64_t *positions, const uint8_t *visible) {
  Room room;
  void *all = make_room(model, n, cache->start + n, &room);
  if (!all) return 1;
  const int tiles = model->half && have_tiles();
  TileShapes before;
  if (tiles) begin_tiles(&before);
  blocks(model, cache, chosen, x, (int)n, positions, visible, &room);
  if (tiles) end_tiles(&before);
  free(all);
  return 0;
}

/* Final norm and head: x [n, hidden] → logits [n, outs] */
int read_out(const Model *model, const float *x, int64_t n, float *logits) {
  Room room;
  void *all = make_room(model, n, 0, &room);
  if (!all) return 1;
  const int tiles = model->half && have_tiles();
  TileShapes before;
  if (tiles) begin_tiles(&before);
  normed(x, model->norm, model->eps, (int)n, model->hidden, room.normed);
  product(model, &model->head, room.normed, (int)n, logits, 0, room.columns);
  if (tiles) end_tiles(&before);
  free(all);
  return 0;
}
