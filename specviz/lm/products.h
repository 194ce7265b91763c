/* Products of a few rows with a weight, on as many threads as the call has (`team.h`), for the C files of this package
   that multiply.

   Each weight is read once, where it lies, whatever the number of rows; results are float32, also around bfloat16
   weights, which are read as the float32 numbers that they are. Rows are float32 too, but for those of bfloat16 models
   where bfloat16 is what the processor multiplies. The sum behind a number is added up in the same order however many
   rows stand beside it. */

#ifndef SPECVIZ_PRODUCTS
#define SPECVIZ_PRODUCTS

#include "../core/vectors.h"
#include "team.h"

typedef struct {
  const char *weight; /* [outs, ins], float32 or bfloat16 (`half`) */
  const float *bias, *scales; /* [outs], or NULL; a row of weights is multiplied by its scale */
  int64_t outs, ins, half;
  int64_t far; /* whether it is one of weights of which the processor's cache keeps a part until the next pass */
} Matrix;

/* --- products: y[i, j] (+)= x[i] · weight[j] + bias[j] ---------------------------------------------------------- */

/* What is multiplied, two vectors of numbers at a time. A vector full of bfloat16 numbers holds every other one in the
   upper halves of its 32 bits and the ones before in the lower: a mask and a shift widen it, and x is put into that
   order once. DOTS: x is rounded to bfloat16 too, and the processor multiplies pairs (vdpbf16ps). */
enum { WHOLES, HALVES, DOTS };
enum { TWO = 2 * LANES, OUTS = 4 };

/* Rows whose sums leave room for weights: of DOTS they stand beside two rows of weights at a time, else four */
enum { MOST_DOTS = 8, MOST_AT_ONCE = LANES == 16 ? 6 : 4 };

/* How weights come near. Prefetchers follow who reads in order of memory, and lose the way among several places. So for
   one or two rows of x the next rows of weights are really READ in that order while these are multiplied; where they are
   LONG one row of x, and where the products are few (DOTS) one or two, take them one by one and are FOLLOWED: in one loop
   for all rows of weights, as a stream is also known by the instruction that reads it, and A_TURN numbers at a time. More
   rows ASK for what lies well ahead. What is asked for faster than memory brings it is forgotten, so three and four rows
   of DOTS, whose products are few, take one row of weights at a time too, where each product waits for the sum before.
   Five wait with no use for it (`wait_for`): else they take longer than six, which multiply for as long as that. Rows of
   weights up to SHORT bytes lie near enough. Where weights are far, so that a part of them comes from the cache, one row
   of x asks and waits as well for HALVES and two for DOTS, and four of DOTS wait as five do. Measured on AMD's Zen 4; what
   AMX processors do was measured there. */
enum { FOLLOWED, ASKED, READ };
enum { A_TURN = 6 * TWO };
#ifdef __AMX_BF16__
enum { ONE_BY_ONE = 0, MOST_READ = 0, AHEAD = 0, SHORT = 0, LONG = 0 };
#else
enum { ONE_BY_ONE = LANES == 16, MOST_READ = 2, AHEAD = 12288, SHORT = 512, LONG = 1536 };
#endif

#ifdef __AVX512BF16__
#include <immintrin.h>
#define HAVE_DOTS 1
INLINE Vec dots(Vec sum, Vec a, Vec b) { return (Vec)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b); }
INLINE void wait_for(Vec *sum) { __asm__ volatile("vdpbf16ps %0, %0, %0" : "+v"(*sum)); } /* six cycles */
#else
#define HAVE_DOTS 0
INLINE Vec dots(Vec sum, Vec a, Vec b) { (void)a, (void)b; return sum; }
INLINE void wait_for(Vec *sum) { (void)sum; }
#endif

/* Asks for what lies there; where tiles multiply, nobody has measured it */
INLINE void ask(const char *at, int64_t bytes) {
  for (int64_t line = 0; AHEAD && line < bytes; line += 64) __builtin_prefetch(at + line, 0, 2);
}

INLINE int64_t arranged_ins(int64_t ins) { return (ins + TWO - 1) / TWO * TWO; }
INLINE int64_t apart(int64_t ins, int mode) { return mode == DOTS ? arranged_ins(ins) / 2 : arranged_ins(ins); }

typedef uint64_t Pairs __attribute__((vector_size(4 * LANES)));
typedef uint32_t AnyHalf __attribute__((vector_size(2 * LANES), aligned(4), may_alias));

/* The next TWO numbers as `mode` multiplies them */
INLINE void arrange_two(const float *x, int mode, float *to) {
  for (int side = 0; side < 2; side++) {
    const Vec some = load(x + side * LANES);
    const Bits bits = (Bits)some, rounded = bits + 0x7fff + ((bits >> 16) & 1);
    AnyHalf *first = (AnyHalf *)(to + side * LANES / 2), *second = (AnyHalf *)(to + LANES + side * LANES / 2);
    if (mode == DOTS) *(AnyHalves *)(to + side * LANES / 2) = __builtin_convertvector(rounded >> 16, Halves);
    if (mode == WHOLES) store(to + side * LANES, some);
    if (mode != HALVES) continue;
    *first = __builtin_convertvector((Pairs)some, AnyHalf);
    *second = __builtin_convertvector((Pairs)some >> 32, AnyHalf);
  }
}

/* x [n, ins] as `mode` multiplies it, and behind each row zeros up to a whole number of vectors */
INLINE void arrange_of(const float *x, int n, int64_t ins, int mode, float *to) {
  for (int i = 0; i < n; i++, x += ins, to += apart(ins, mode))
    for (int64_t k = 0; k < ins; k += TWO) {
      float rest[TWO] = {0};
      const float *some = x + k;
      if (ins - k < TWO) some = memcpy(rest, some, (size_t)(ins - k) * 4);
      arrange_two(some, mode, mode == DOTS ? to + k / 2 : to + k);
    }
}

static __attribute__((noinline)) void arrange(const float *x, int n, int64_t ins, int mode, float *to) {
  if (mode == DOTS) arrange_of(x, n, ins, DOTS, to);
  else if (mode == HALVES) arrange_of(x, n, ins, HALVES, to);
  else arrange_of(x, n, ins, WHOLES, to);
}

/* sums [n, outs] of the next TWO numbers of rows of x with rows of weights */
INLINE void step(Vec *sums, const char *const *w, const float *x, int64_t to_next, int mode, int n, int outs) {
  Vec first[OUTS], second[OUTS];
  UNROLL for (int j = 0; j < outs; j++) {
    first[j] = in_register(load((const float *)w[j]));
    if (mode == WHOLES) second[j] = in_register(load((const float *)w[j] + LANES));
    if (mode == HALVES) second[j] = (Vec)((Bits)first[j] & 0xffff0000u), first[j] = (Vec)((Bits)first[j] << 16);
  }
  UNROLL for (int i = 0; i < n; i++) {
    const Vec row = in_register(load(x + i * to_next));
    UNROLL for (int j = 0; j < outs; j++) {
      if (mode == DOTS) sums[i * outs + j] = dots(sums[i * outs + j], first[j], row);
      else sums[i * outs + j] += first[j] * row;
    }
    if (mode == DOTS) continue;
    const Vec after = in_register(load(x + i * to_next + LANES));
    UNROLL for (int j = 0; j < outs; j++) sums[i * outs + j] += second[j] * after;
  }
}

/* sums [n, outs] of whole rows of x with rows of weights */
INLINE void add_up(Vec *sums, const char *w, int mode, int coming, int64_t ins, const float *x, int n, int outs) {
  const int64_t width = mode == WHOLES ? 4 : 2, to_next = apart(ins, mode);
  const int waits = mode == DOTS ? n == 5 || (n == 4 && outs == 2) : n == 1 && outs == 1;
  const int waiting = ONE_BY_ONE && coming == ASKED && waits;
  const char *at[OUTS];
  Vec idle = every(0.0f);
  int64_t k = 0;
  UNROLL for (int i = 0; i < n * outs; i++) sums[i] = every(0.0f);
  for (; outs == 1 && coming == FOLLOWED && k + A_TURN <= ins; k += A_TURN)
    UNROLL for (int64_t more = k; more < k + A_TURN; more += TWO) {
      at[0] = w + more * width;
      step(sums, at, mode == DOTS ? x + more / 2 : x + more, to_next, mode, n, 1);
    }
  for (; k + TWO <= ins; k += TWO) {
    const char *next = w + outs * (ins + k) * width;
    if (coming != FOLLOWED) UNROLL for (int64_t line = 0; line < outs * TWO * width; line += 64) {
      if (coming == READ) (void)*(const volatile char *)(next + line);
      else __builtin_prefetch(next + AHEAD + line, 0, 2);
    }
    UNROLL for (int j = 0; j < outs; j++) at[j] = w + (j * ins + k) * width;
    step(sums, at, mode == DOTS ? x + k / 2 : x + k, to_next, mode, n, outs);
    if (waiting) UNROLL for (int j = 0; j < outs; j++) wait_for(&idle);
  }
  if (k < ins) {
    float rest[OUTS][TWO] = {0};
    UNROLL for (int j = 0; j < outs; j++) {
      memcpy(rest[j], w + (j * ins + k) * width, (size_t)((ins - k) * width));
      at[j] = (const char *)rest[j];
    }
    step(sums, at, mode == DOTS ? x + k / 2 : x + k, to_next, mode, n, outs);
  }
}

/* one output, or OUTS of them, `wide` at a time */
INLINE void tile(const char *w, int mode, int wide, int coming, int64_t ins, const float *x, int n, int outs, float *y,
                 int64_t stride, const float *bias, const float *scales, int add) {
  Vec sums[MOST_DOTS * OUTS], some[MOST_DOTS * OUTS];
  const int64_t size = ins * (mode == WHOLES ? 4 : 2);
  UNROLL for (int j = 0; wide > 1 && j < outs; j += wide) {
    add_up(some, w + j * size, mode, coming, ins, x, n, wide);
    UNROLL for (int i = 0; i < n; i++) UNROLL for (int k = 0; k < wide; k++) sums[i * outs + j + k] = some[i * wide + k];
  }
  ONE_LOOP for (int j = 0; wide == 1 && j < outs; j++) {
    add_up(some, w + j * size, mode, coming, ins, x, n, 1);
    UNROLL for (int i = 0; i < n; i++) sums[i * outs + j] = some[i];
  }
  for (int i = 0; outs == 1 && i < n; i++)
    y[i * stride] = total(sums[i]) * (scales ? *scales : 1.0f) + (bias ? *bias : 0.0f) + (add ? y[i * stride] : 0.0f);
  UNROLL for (int i = 0; i < n; i++) {
    if (outs != OUTS) continue;
    AnyFour *to = (AnyFour *)(y + i * stride);
    Four results = totals(sums + i * OUTS);
    if (scales) results *= *(const AnyFour *)scales;
    if (bias) results += *(const AnyFour *)bias;
    *to = add ? results + *to : results;
  }
}

/* of the matrix the outputs from `first` on; y and `stride` are those of all */
INLINE void product_of(const Matrix *by, int mode, int64_t first, const float *x, int n, float *y, int64_t stride,
                       int add) {
  const int64_t ins = by->ins, size = ins * (mode == WHOLES ? 4 : 2), last = first + (by->outs - first) / OUTS * OUTS;
  const int near = size <= SHORT, read = mode != DOTS && n <= MOST_READ && size <= LONG;
  const int at_once = mode == DOTS ? MOST_DOTS : MOST_AT_ONCE, wide = mode == DOTS ? 2 : OUTS;
  const int parts = (n + at_once - 1) / at_once; /* of rows; for the later ones weights are in the cache */
  for (int64_t j = first; j < by->outs; j += j < last ? OUTS : 1)
    for (int part = 0, i = 0, some; part < (j < last ? parts : n); part++, i += some) {
      some = j < last ? ((part + 1) * n + parts - 1) / parts - i : 1;
      const float *rows = x + i * apart(ins, mode), *bias = by->bias ? by->bias + j : 0;
      const float *scales = by->scales ? by->scales + j : 0;
      const char *w = by->weight + j * size;
      float *to = y + i * stride + j;
      const int coming = near || part ? FOLLOWED : read && j + 2 * OUTS <= last ? READ : ASKED;
      const int followed = ONE_BY_ONE && !near && !read ? n : 0;
      const int paced = ONE_BY_ONE && mode == DOTS && coming == ASKED && parts == 1 ? n : 0;
      if (j >= last) tile(w, mode, 1, FOLLOWED, ins, rows, 1, 1, to, stride, bias, scales, add);
      else if (followed == 1) tile(w, mode, 1, FOLLOWED, ins, rows, 1, OUTS, to, stride, bias, scales, add);
      else if (paced == 2 && by->far) tile(w, mode, 1, ASKED, ins, rows, 2, OUTS, to, stride, bias, scales, add);
      else if (followed == 2 && mode == DOTS) tile(w, mode, 1, FOLLOWED, ins, rows, 2, OUTS, to, stride, bias, scales, add);
      else if (paced == 3) tile(w, mode, 1, ASKED, ins, rows, 3, OUTS, to, stride, bias, scales, add);
      else if (paced == 4 && !by->far) tile(w, mode, 1, ASKED, ins, rows, 4, OUTS, to, stride, bias, scales, add);
#define CASE(count) case count: tile(w, mode, wide, coming, ins, rows, count, OUTS, to, stride, bias, scales, add); break
      else switch (some) {
        CASE(1);
        CASE(2);
        CASE(3);
        CASE(4);
#if LANES == 16
        CASE(5);
        CASE(6);
#endif
#if HAVE_DOTS
        CASE(7);
        CASE(8);
#endif
      }
#undef CASE
    }
}

/* with `rounded`, x may be rounded to bfloat16 where the processor multiplies that */
INLINE int mode_of(const Matrix *by, int rounded) { return !by->half ? WHOLES : HAVE_DOTS && rounded ? DOTS : HALVES; }

/* One row of HALVES, up to the last whole OUTS outputs → how many. Apart from the others: beside it GCC makes five and
   sixteen rows take a tenth longer. */
static __attribute__((noinline)) int64_t ask_alone(const Matrix *by, const float *x, float *y, int add) {
  int64_t j = 0;
  for (; j + OUTS <= by->outs; j += OUTS)
    tile(by->weight + j * by->ins * 2, HALVES, 1, ASKED, by->ins, x, 1, OUTS, y + j, 0, by->bias ? by->bias + j : 0,
         by->scales ? by->scales + j : 0, add);
  return j;
}

/* x: as `arrange` has left it */
static __attribute__((noinline)) void arranged_product(const Matrix *by, int mode, int64_t first, const float *x, int n,
                                                       float *y, int64_t stride, int add) {
  if (ONE_BY_ONE && HAVE_DOTS && mode == HALVES && n == 1 && by->far && !first) first = ask_alone(by, x, y, add);
  if (HAVE_DOTS && mode == DOTS) product_of(by, DOTS, first, x, n, y, stride, add);
  else if (mode == HALVES) product_of(by, HALVES, first, x, n, y, stride, add);
  else product_of(by, WHOLES, first, x, n, y, stride, add);
}

/* --- bfloat16 products by Intel's tiles (AMX) ------------------------------------------------------------------- */

#if defined(__AMX_BF16__) && defined(__AVX512F__) && defined(__linux__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TILES
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
  if (!have_tiles()) return;
  for (int i = 0; i < 2 * PARTS + 1; i++) ours.bytes[i] = 64, ours.rows[i] = SIDE;
  _tile_storeconfig(before);
  __asm__ volatile("" : : "r"(&ours), "r"(before) : "memory");
  _tile_loadconfig(&ours);
}

static void end_tiles(TileShapes *before) {
  if (!have_tiles()) return;
  __asm__ volatile("" : : "r"(before) : "memory");
  if (before->palette) _tile_loadconfig(before);
  else _tile_release();
}

/* 16 rows of 16 numbers to their columns */
INLINE void turn_over(__m512i *rows) {
  __m512i some[SIDE];
  UNROLL for (int i = 0; i < SIDE; i += 2) {
    some[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    some[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  UNROLL for (int i = 0; i < SIDE; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(some[i], some[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(some[i], some[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(some[i + 1], some[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(some[i + 1], some[i + 3]);
  }
  UNROLL for (int i = 0; i < 4; i++) {
    some[i] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88);
    some[i + 4] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xdd);
    some[i + 8] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0x88);
    some[i + 12] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0xdd);
  }
  UNROLL for (int i = 0; i < 8; i++) {
    rows[i] = _mm512_shuffle_i32x4(some[i], some[i + 8], 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(some[i], some[i + 8], 0xdd);
  }
}

/* 32 numbers to the nearest (and to even) of bfloat16, and what is left of them */
INLINE __m512i to_bfloat16(Vec *rest) {
  __m256i halves[2];
  UNROLL for (int side = 0; side < 2; side++) {
    Bits bits = (Bits)rest[side];
    bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
    rest[side] -= (Vec)bits;
    halves[side] = _mm512_cvtepi32_epi16((__m512i)(bits >> 16));
  }
  return _mm512_inserti64x4(_mm512_castsi256_si512(halves[0]), halves[1], 1);
}

/* x as two bfloat16 numbers that add up to it but for 2^-17 of it, or as three that are it: columns [ins / 32, parts,
   16 pairs, 16 rows of x, 2] of up to 16 rows; what stands in those of rows beyond n is nobody's */
INLINE void split(const float *x, int n, int64_t ins, int parts, uint32_t *columns) {
  __m512i pairs[PARTS][SIDE];
  for (int64_t k = 0; k < ins; k += DEEP) {
    for (int i = 0; i < n; i++) {
      Vec rest[2] = {load(x + i * ins + k), load(x + i * ins + k + LANES)};
      UNROLL for (int part = 0; part < parts; part++) pairs[part][i] = to_bfloat16(rest);
    }
    UNROLL for (int part = 0; part < parts; part++) {
      uint32_t *to = columns + (k / DEEP * parts + part) * 256;
      if (n == 1) { /* half as long as turning all of them */
        UNROLL for (int pair = 0; pair < SIDE; pair++) to[pair * SIDE] = ((uint32_t *)pairs[part])[pair];
        continue;
      }
      turn_over(pairs[part]);
      UNROLL for (int pair = 0; pair < SIDE; pair++) _mm512_storeu_si512(to + pair * SIDE, pairs[part][pair]);
    }
  }
}

/* outputs j to j + 15 of up to 16 rows; with `fresh`, the weights come from memory and so will the next ones */
INLINE void sixteen(const Matrix *by, int64_t j, int n, float *y, int64_t stride, int add, int parts,
                    const uint32_t *columns, int fresh) {
  float sums[PARTS][SIDE][SIDE];
  const char *at = by->weight + j * by->ins * 2, *next = at + SIDE * by->ins * 2;
  __asm__ volatile("" : : "r"(columns) : "memory");
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  for (int64_t k = 0; k < by->ins / DEEP; k++) {
    const uint32_t *column = columns + k * parts * 256;
    if (fresh) UNROLL for (int line = 0; line < SIDE; line++) __builtin_prefetch(next + (k * SIDE + line) * 64, 0, 2);
    _tile_loadd(3, at + k * 64, by->ins * 2);
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
  __m512i turned[SIDE];
  UNROLL for (int out = 0; out < SIDE; out++) {
    Vec fine = load(sums[1][out]);
    turned[out] = (__m512i)((parts == 3 ? load(sums[2][out]) + fine : fine) + load(sums[0][out]));
  }
  turn_over(turned);
  const Vec scales = by->scales ? load(by->scales + j) : every(1.0f), bias = by->bias ? load(by->bias + j) : every(0.0f);
  for (int i = 0; i < n; i++) {
    float *to = y + i * stride + j;
    store(to, (Vec)turned[i] * scales + bias + (add ? load(to) : every(0.0f)));
  }
}

/* Numbers in the columns of 16 rows */
INLINE int64_t block_of(int64_t ins, int parts) { return ins / DEEP * parts * 256; }

static __attribute__((noinline)) void split_rows(const float *x, int n, int64_t ins, int parts, uint32_t *columns) {
  for (int i = 0; i < n; i += SIDE, columns += block_of(ins, parts)) {
    const int some = n - i < SIDE ? n - i : SIDE;
    if (parts == 3) split(x + i * ins, some, ins, 3, columns);
    else split(x + i * ins, some, ins, 2, columns);
  }
}

INLINE void tile_product_of(const Matrix *by, int n, float *y, int64_t stride, int add, int parts,
                            const uint32_t *columns) {
  const int64_t block = block_of(by->ins, parts);
  for (int64_t j = 0; j + SIDE <= by->outs; j += SIDE)
    for (int i = 0; i < n; i += SIDE) /* from the second time on, the weights are in the processor's cache */
      sixteen(by, j, n - i < SIDE ? n - i : SIDE, y + i * stride, stride, add, parts, columns + i / SIDE * block, i == 0);
}

/* columns: as `split_rows` has left them */
static __attribute__((noinline)) void tile_product(const Matrix *by, int n, float *y, int64_t stride, int add, int parts,
                                                   const uint32_t *columns) {
  if (parts == 3) tile_product_of(by, n, y, stride, add, 3, columns);
  else tile_product_of(by, n, y, stride, add, 2, columns);
}
#else
enum { SIDE = 16, DEEP = 32, PARTS = 0 };
typedef int TileShapes;
static int have_tiles(void) { return 0; }
static void begin_tiles(TileShapes *before) { *before = 0; }
static void end_tiles(TileShapes *before) { *before = 0; }
static void split_rows(const float *x, int n, int64_t ins, int parts, uint32_t *columns) {
  (void)x, (void)n, (void)ins, (void)parts, (void)columns;
}
static void tile_product(const Matrix *by, int n, float *y, int64_t stride, int add, int parts, const uint32_t *columns) {
  (void)by, (void)n, (void)y, (void)stride, (void)add, (void)parts, (void)columns;
}
#endif

/* Whether this processor has tiles and the system lends them; called from Python */
int tiles(void) { return have_tiles(); }

/* Whether products of bfloat16 models round their rows to bfloat16, as torch's do: AMD's Zen 4 and later; called from
   Python */
int rounds(void) { return HAVE_DOTS && !have_tiles(); }

static int for_tiles(const Matrix *by) { return by->half && by->ins % DEEP == 0 && have_tiles(); }

/* Each thread of a team keeps the shapes for good */
static void prepare_worker(void) {
  TileShapes before;
  begin_tiles(&before);
}

/* What is called between these two is done by tiles where there are some, and by so many threads */
static void begin_work(int64_t threads, TileShapes *before) {
  begin_tiles(before);
  gather(threads, prepare_worker);
}

static void end_work(TileShapes *before) {
  dismiss();
  end_tiles(before);
}

typedef struct { /* outputs from `first` to `last` of a product, so many at a time */
  const Matrix *by;
  int64_t first, last, at_once;
  int n, mode, add; /* mode: how `arrange` has left x, or less than 0: the parts that `split_rows` has made of it */
  const uint32_t *columns;
  float *y;
} Outputs;

/* Numbers of a weight that one thread multiplies before it takes more: some microseconds, so that one which the system
   takes away keeps the others waiting for little; and pieces that are too many cost more than they even out */
enum { PIECE = 1 << 15, PIECES = 32 };

INLINE Matrix outputs_of(const Matrix *by, int64_t first, int64_t last) {
  const int64_t size = by->ins * (by->half ? 2 : 4);
  return (Matrix){by->weight + first * size, by->bias ? by->bias + first : 0, by->scales ? by->scales + first : 0,
                  last - first, by->ins, by->half, by->far};
}

static void some_outputs(const void *job, int64_t piece, int64_t hand) {
  const Outputs *all = job;
  const int64_t first = all->first + piece * all->at_once, end = first + all->at_once;
  const Matrix some = outputs_of(all->by, first, end < all->last ? end : all->last);
  float *y = all->y + first;
  (void)hand;
  if (all->mode >= 0) arranged_product(&some, all->mode, 0, (const float *)all->columns, all->n, y, all->by->outs, all->add);
  else tile_product(&some, all->n, y, all->by->outs, all->add, -all->mode, all->columns);
}

/* In pieces whose outputs are multiples of `unit`, so that each output is worked out as in one piece */
static void outputs(Outputs all, int64_t unit) {
  const int64_t count = all.last - all.first, most_pieces = hands == 1 ? 1 : PIECES * hands;
  const int64_t pieces = count * all.by->ins / PIECE < most_pieces ? count * all.by->ins / PIECE : most_pieces;
  const int64_t units = (count + unit - 1) / unit;
  all.at_once = pieces < 2 ? count : (units + pieces - 1) / pieces * unit;
  share_out(some_outputs, &all, (count + all.at_once - 1) / all.at_once);
}

/* x [n, ins] → y [n, outs]; with `add`, on top of what is there; parts: as `split` makes them */
static void product(const Matrix *by, int parts, const float *x, int n, float *y, int add, uint32_t *columns) {
  Outputs all = {by, 0, by->outs / SIDE * SIDE, 0, n, -parts, add, columns, y};
  if (for_tiles(by) && all.last) {
    split_rows(x, n, by->ins, parts, columns);
    outputs(all, SIDE);
    all.first = all.last;
  }
  all.last = by->outs, all.mode = mode_of(by, parts == 2 && rounds());
  if (all.first == all.last) return;
  arrange(x, n, by->ins, all.mode, (float *)columns);
  outputs(all, OUTS);
}

/* Numbers of four bytes that `columns` has for n rows of `ins` numbers, by tiles or by vectors */
static int64_t columns_of(int64_t ins, int64_t n) {
  const int64_t tiled = (n + SIDE - 1) / SIDE * PARTS * 256 * (ins / DEEP), arranged = n * arranged_ins(ins);
  return tiled > arranged ? tiled : arranged;
}

#endif
