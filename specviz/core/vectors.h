/* Vectors of numbers as wide as this processor has them, for the C files of this package (`compiled`). */

#ifndef SPECVIZ_VECTORS
#define SPECVIZ_VECTORS

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __AVX512F__
#include <immintrin.h>
#define LANES 16
#else
#define LANES 8
#endif
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 32")
#define ONE_LOOP _Pragma("GCC unroll 1")

typedef float Vec __attribute__((vector_size(4 * LANES)));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));
typedef float AnyVec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint16_t AnyHalves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

INLINE Vec load(const float *at) { return *(const AnyVec *)at; }
INLINE void store(float *at, Vec x) { *(AnyVec *)at = x; }
INLINE Vec every(float x) { return x - (Vec){0}; }
INLINE Vec larger(Vec a, Vec b) { /* b where they are equal or one is no number */
#ifdef __AVX512F__
  return (Vec)_mm512_max_ps((__m512)a, (__m512)b); /* GCC makes two instructions of the other */
#else
  Ints of_a = a > b;
  return (Vec)(((Ints)a & of_a) | ((Ints)b & ~of_a));
#endif
}

/* Kept in a register from here on: read anew for each of its products, it would take longer to read than to multiply */
INLINE Vec in_register(Vec x) {
#ifdef __AVX512F__
  __asm__("" : "+v"(x));
#endif
  return x;
}

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
#if LANES == 16 /* fewer moves: all four in one vector, a quarter each */
#define BOTH(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
  const Vec ab = BOTH(of[0], of[1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
                 BOTH(of[0], of[1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  const Vec cd = BOTH(of[2], of[3], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
                 BOTH(of[2], of[3], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  Vec all = BOTH(ab, cd, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
            BOTH(ab, cd, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  all += BOTH(all, all, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  all += BOTH(all, all, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#undef BOTH
  return __builtin_shufflevector(all, all, 0, 4, 8, 12);
#else
  Four a = folded(of[0]), b = folded(of[1]), c = folded(of[2]), d = folded(of[3]);
  Four ab = __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
  Four cd = __builtin_shufflevector(c, d, 0, 1, 4, 5) + __builtin_shufflevector(c, d, 2, 3, 6, 7);
  return __builtin_shufflevector(ab, cd, 0, 2, 4, 6) + __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
#endif
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

#endif
