/* A pass of a Llama over a few rows on one thread, at the speed at which memory gives its weights.

   Each weight is read once, where it lies, whatever the number of rows; numbers between products are float32, also
   around bfloat16 weights. The sum behind a number is added up in the same order however many rows stand beside it.
   Compiled where a compiler is at hand (`compiled`), called by `few_rows`; the plain forward does the same without it.

   Shapes: n new rows, T rows visible at most, H query heads, G key/value heads, D head size. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __AVX512F__
#define LANES 16
#else
#define LANES 8
#endif
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

typedef float Vec __attribute__((vector_size(4 * LANES)));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));
typedef float AnyVec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint16_t AnyHalves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

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
  int64_t count, hidden, heads, groups, size, ffn;
  int64_t half; /* whether weights and cache are bfloat16 */
  float eps;
} Model;

typedef struct {
  char *rows; /* [layers, 2 * G, room, D], keys before values */
  int64_t layer, head; /* numbers from one layer, and from one head, to the next */
  int64_t start; /* rows in it before the pass */
} Cache;

/* --- numbers ------------------------------------------------------------------------------------------------- */

INLINE Vec load(const float *at) { return *(const AnyVec *)at; }
INLINE void store(float *at, Vec x) { *(AnyVec *)at = x; }
INLINE Vec every(float x) { return x - (Vec){0}; }
INLINE Vec larger(Vec a, Vec b) { Ints of_a = a > b; return (Vec)(((Ints)a & of_a) | ((Ints)b & ~of_a)); }

INLINE float single(const char *at, int half) {
  if (!half) return *(const float *)at;
  uint32_t bits = (uint32_t)*(const uint16_t *)at << 16;
  float x;
  memcpy(&x, &bits, 4);
  return x;
}

INLINE Vec widened(const char *at, int half) {
  if (!half) return load((const float *)at);
  return (Vec)(__builtin_convertvector(*(const AnyHalves *)at, Bits) << 16);
}

INLINE Vec partly(const char *at, int half, int64_t count) { /* the first `count` numbers, then zeros */
  float lanes[LANES] = {0};
  for (int64_t i = 0; i < count; i++) lanes[i] = single(at + i * (half ? 2 : 4), half);
  return load(lanes);
}

INLINE uint16_t narrowed(float x) { /* to bfloat16, to nearest and to even */
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

typedef float Four __attribute__((vector_size(16)));
typedef float AnyFour __attribute__((vector_size(16), aligned(4), may_alias));
typedef float Eight __attribute__((vector_size(32)));
INLINE Four folded(Vec x) {
#if LANES == 16
  Eight eight = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
#else
  Eight eight = x;
#endif
  return __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
}
INLINE float total(Vec x) {
  Four four = folded(x);
  return (four[0] + four[2]) + (four[1] + four[3]);
}
INLINE Four totals(const Vec *of) { /* of four vectors, each added up as by `total` */
  Four a = folded(of[0]), b = folded(of[1]), c = folded(of[2]), d = folded(of[3]);
  Four ab = __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
  Four cd = __builtin_shufflevector(c, d, 0, 1, 4, 5) + __builtin_shufflevector(c, d, 2, 3, 6, 7);
  return __builtin_shufflevector(ab, cd, 0, 2, 4, 6) + __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
}

INLINE Vec exponential(Vec x) { /* of numbers up to 0; Cephes' expf */
  x = larger(x, every(-87.0f));
  Ints whole = __builtin_convertvector(x * 1.44269504f - 0.5f, Ints);
  Vec power = __builtin_convertvector(whole, Vec), rest = x - power * 0.693359375f + power * 2.12194440e-4f;
  Vec sum = every(1.9875691500e-4f);
  sum = sum * rest + 1.3981999507e-3f;
  sum = sum * rest + 8.3334519073e-3f;
  sum = sum * rest + 4.1665795894e-2f;
  sum = sum * rest + 1.6666665459e-1f;
  sum = sum * rest + 5.0000001201e-1f;
  return (sum * rest * rest + rest + 1.0f) * (Vec)((whole + 127) << 23);
}

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

enum { SIDE = 16, DEEP = 32, PARTS = 2, ASK_FOR_TILES = 0x1023, TILE_DATA = 18 };
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
  for (int i = 0; i < 5; i++) ours.bytes[i] = 64, ours.rows[i] = SIDE;
  _tile_storeconfig(before);
  __asm__ volatile("" : : "r"(&ours), "r"(before) : "memory");
  _tile_loadconfig(&ours);
}

static void end_tiles(TileShapes *before) {
  __asm__ volatile("" : : "r"(before) : "memory");
  if (before->palette) _tile_loadconfig(before);
  else _tile_release();
}

/* x as two bfloat16 numbers that add up to it but for 2^-17 of it: columns [ins / 32, parts, 16 pairs, 16 rows of x, 2];
   what stands in those of rows beyond n is nobody's */
static void split(const float *x, int n, int64_t ins, uint32_t *columns) {
  for (int i = 0; i < n; i++)
    for (int64_t k = 0; k < ins; k += LANES) {
      Vec rest = load(x + i * ins + k);
      UNROLL for (int part = 0; part < PARTS; part++) {
        Bits bits = (Bits)rest;
        bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
        rest -= (Vec)bits;
        Halves halves = __builtin_convertvector(bits >> 16, Halves);
        uint32_t pairs[LANES / 2], *to = columns + (k / DEEP * PARTS + part) * 256 + k % DEEP / 2 * SIDE + i;
        memcpy(pairs, &halves, sizeof pairs);
        UNROLL for (int j = 0; j < LANES / 2; j++) to[j * SIDE] = pairs[j];
      }
    }
}

static __attribute__((noinline)) void tile_product(const char *w, const float *bias, int64_t outs, int64_t ins,
                                                   const float *x, int n, float *y, int64_t stride, int add,
                                                   uint32_t *columns) {
  float sums[PARTS][SIDE][SIDE]; /* 16 outputs of up to 16 rows */
  split(x, n, ins, columns);
  for (int64_t j = 0; j < outs; j += SIDE) {
    const char *at = w + j * ins * 2, *next = at + SIDE * ins * 2;
    __asm__ volatile("" : : "r"(columns) : "memory");
    _tile_zero(0);
    _tile_zero(1);
    for (int64_t k = 0; k < ins / DEEP; k++) {
      const uint32_t *column = columns + k * PARTS * 256;
      UNROLL for (int line = 0; line < SIDE; line++) __builtin_prefetch(next + (k * SIDE + line) * 64, 0, 2);
      _tile_loadd(2, at + k * 64, ins * 2);
      _tile_loadd(3, column, 64);
      _tile_loadd(4, column + 256, 64);
      _tile_dpbf16ps(0, 2, 3);
      _tile_dpbf16ps(1, 2, 4);
    }
    _tile_stored(0, sums[0], 64);
    _tile_stored(1, sums[1], 64);
    __asm__ volatile("" : : "r"(sums) : "memory");
    for (int out = 0; out < SIDE; out++) store(sums[0][out], load(sums[1][out]) + load(sums[0][out]));
    for (int i = 0; i < n; i++) {
      float *to = y + i * stride + j, results[SIDE];
      UNROLL for (int out = 0; out < SIDE; out++) results[out] = sums[0][out][i];
      for (int out = 0; out < SIDE; out++) to[out] = results[out] + (bias ? bias[j + out] : 0.0f) + (add ? to[out] : 0.0f);
    }
  }
}
#else
enum { SIDE = 16, DEEP = 32 };
typedef int TileShapes;
static int have_tiles(void) { return 0; }
static void begin_tiles(TileShapes *before) { *before = 0; }
static void end_tiles(TileShapes *before) { *before = 0; }
static void tile_product(const char *w, const float *bias, int64_t outs, int64_t ins, const float *x, int n, float *y,
                         int64_t stride, int add, uint32_t *scratch) {
  (void)w, (void)bias, (void)outs, (void)ins, (void)x, (void)n, (void)y, (void)stride, (void)add, (void)scratch;
}
#endif

/* x [n, ins] → y [n, outs]; with `add`, on top of what is there */
static void product(const Matrix *by, int half, const float *x, int n, float *y, int add, uint32_t *scratch) {
  int64_t done = 0;
  if (half && by->ins % DEEP == 0 && have_tiles()) {
    done = by->outs / SIDE * SIDE;
    tile_product(by->weight, by->bias, done, by->ins, x, n, y, by->outs, add, scratch);
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

/* Rotary positions (2104.09864, §3.4.2) of [n, heads, D / 2, 2]; turns [n, D / 2, 2] are cosines and sines */
static void rotate(float *x, const float *turns, int n, int64_t heads, int64_t stride, int64_t size) {
  for (int i = 0; i < n; i++)
    for (int64_t head = 0; head < heads; head++) {
      float *at = x + i * stride + head * size;
      const float *turn = turns + i * size;
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
  for (int64_t t = 0; t < rows; t++) scores[t] = (visible ? visible[t] : t < seen) ? scores[t] * scale : -INFINITY;
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

/* out[r, d] = Σ scores[r, t] · values[t, d] for up to LANES components and up to four rows r */
INLINE void mixed(const float *scores, int64_t apart, int rows, const char *values, int half, int64_t count, int64_t size,
                  int64_t lanes, float *const *out) {
  Vec sums[4];
  UNROLL for (int r = 0; r < rows; r++) sums[r] = every(0.0f);
  for (int64_t t = 0; t < count; t++) {
    const char *at = values + t * size * (half ? 2 : 4);
    Vec value = lanes == LANES ? widened(at, half) : partly(at, half, lanes);
    UNROLL for (int r = 0; r < rows; r++) sums[r] += value * scores[r * apart + t];
  }
  UNROLL for (int r = 0; r < rows; r++) memcpy(out[r], sums + r, (size_t)lanes * 4);
}

INLINE void mix_of(const float *scores, int64_t apart, int rows, const char *values, int half, int64_t count, int64_t size,
                   float *const *out) {
  for (int64_t d = 0; d < size; d += LANES) {
    const char *at = values + d * (half ? 2 : 4);
    float *to[4];
    for (int r = 0; r < rows; r++) to[r] = out[r] + d;
    if (size - d < LANES)
      for (int r = 0; r < rows; r++) mixed(scores + r * apart, apart, 1, at, half, count, size, size - d, to + r);
    else switch (rows) {
      case 1: mixed(scores, apart, 1, at, half, count, size, LANES, to); break;
      case 2: mixed(scores, apart, 2, at, half, count, size, LANES, to); break;
      case 3: mixed(scores, apart, 3, at, half, count, size, LANES, to); break;
      default: mixed(scores, apart, 4, at, half, count, size, LANES, to);
    }
  }
}

typedef struct {
  float *normed, *qkv, *queries, *scores, *attended, *gate_up;
  uint32_t *columns;
} Room;

/* qkv [n, (H + 2 · G) · D], turned; visible [n, T], or NULL for a chain → attended [n, H · D] */
static __attribute__((noinline)) void attention(const Model *model, const Cache *cache, int64_t layer, int n, const uint8_t *visible, Room *room) {
  const int64_t size = model->size, heads = model->heads, groups = model->groups, shared = heads / groups;
  const int64_t stride = (heads + 2 * groups) * size, count = cache->start + n, apart = (count + LANES) / LANES * LANES;
  const int half = (int)model->half, width = half ? 2 : 4;
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
  const int64_t sizes[] = {n * model->hidden, n * qkv, n * queries, n * model->heads / model->groups * (count + LANES),
                           n * queries, n * 2 * model->ffn, 2 * 256 / DEEP * (deepest > queries ? deepest : queries)};
  void **parts[] = {(void **)&room->normed, (void **)&room->qkv, (void **)&room->queries, (void **)&room->scores,
                    (void **)&room->attended, (void **)&room->gate_up, (void **)&room->columns};
  int64_t bytes = 64;
  for (int i = 0; i < 7; i++) bytes += padded(sizes[i] * 4);
  char *all = malloc((size_t)bytes), *at = all + (64 - (uintptr_t)all % 64) % 64;
  for (int i = 0; all && i < 7; i++) *parts[i] = at, at += padded(sizes[i] * 4);
  return all;
}

/* --- what Python calls: 0, or 1 where there was no memory ------------------------------------------------------- */

/* Run blocks on x [n, hidden]; chosen [layers]: 1 attention, 2 MLP, 3 both, 0 neither. */
int run_blocks(const Model *model, const Cache *cache, const uint8_t *chosen, float *x, int64_t n, const float *turns,
               const uint8_t *visible) {
  Room room;
  void *all = make_room(model, n, cache->start + n, &room);
  if (!all) return 1;
  const int half = (int)model->half, rows = (int)n, tiles = half && have_tiles();
  const int64_t turning = model->heads + model->groups, stride = (turning + model->groups) * model->size;
  TileShapes before;
  if (tiles) begin_tiles(&before);
  for (int64_t i = 0; i < model->count; i++) {
    const Layer *layer = model->layers + i;
    if (chosen[i] & 1) {
      normed(x, layer->attention_norm, model->eps, rows, model->hidden, room.normed);
      product(&layer->qkv, half, room.normed, rows, room.qkv, 0, room.columns);
      rotate(room.qkv, turns, rows, turning, stride, model->size);
      attention(model, cache, i, rows, visible, &room);
      product(&layer->output, half, room.attended, rows, x, 1, room.columns);
    }
    if (chosen[i] & 2) {
      normed(x, layer->ffn_norm, model->eps, rows, model->hidden, room.normed);
      product(&layer->gate_up, half, room.normed, rows, room.gate_up, 0, room.columns);
      gated(room.gate_up, rows, model->ffn);
      product(&layer->down, half, room.gate_up, rows, x, 1, room.columns);
    }
  }
  if (tiles) end_tiles(&before);
  free(all);
  return 0;
}

/* Final norm and head: x [n, hidden] → logits [n, outs] */
int read_out(const Model *model, const float *x, int64_t n, float *logits) {
  Room room;
  void *all = make_room(model, n, 0, &room);
  if (!all) return 1;
  const int half = (int)model->half, tiles = half && have_tiles();
  TileShapes before;
  if (tiles) begin_tiles(&before);
  normed(x, model->norm, model->eps, (int)n, model->hidden, room.normed);
  product(&model->head, half, room.normed, (int)n, logits, 0, room.columns);
  if (tiles) end_tiles(&before);
  free(all);
  return 0;
}
