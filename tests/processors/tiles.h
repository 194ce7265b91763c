/* Intel's tiles (AMX) in plain C, for a processor that has none: put before a C file by the compiler's `-include`, so
   that its tile path runs here.

   Tiles are each thread's own, as the processor's are. Where a thread has not loaded their shapes the processor would end
   the process; here what is stored is no number. Products as the manual of the instruction TDPBF16PS has them (Intel 64 and
   IA-32 Architectures Software Developer's Manual, volume 2), but that tiny numbers are not taken for zero. */

#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define __AMX_BF16__ 1

typedef struct {
  uint8_t palette, start, reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
} StandInShapes;

static __thread StandInShapes stand_in_shapes;
static __thread union {
  char bytes[64];
  float numbers[16];
  uint16_t pairs[16][2];
} stand_in_tiles[8][16];

static inline void stand_in_zero(int tile) {
  memset(stand_in_tiles[tile], 0, sizeof stand_in_tiles[tile]);
}

static inline void stand_in_load(int tile, const void *from, int64_t stride) {
  stand_in_zero(tile);
  for (int row = 0; row < stand_in_shapes.rows[tile]; row++)
    memcpy(stand_in_tiles[tile] + row, (const char *)from + row * stride, stand_in_shapes.bytes[tile]);
}

static inline void stand_in_store(int tile, void *to, int64_t stride) {
  for (int row = 0; !stand_in_shapes.palette && row < 16; row++) memset((char *)to + row * stride, 0xff, 64);
  for (int row = 0; row < stand_in_shapes.rows[tile]; row++)
    memcpy((char *)to + row * stride, stand_in_tiles[tile] + row, stand_in_shapes.bytes[tile]);
}

static inline float stand_in_single(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float x;
  return memcpy(&x, &bits, 4), x;
}

static inline void stand_in_multiply(int sums, int left, int right) {
  for (int m = 0; m < stand_in_shapes.rows[sums]; m++) {
    float even[16] = {0}, odd[16] = {0};
    for (int k = 0; k < stand_in_shapes.bytes[left] / 4; k++) {
      const uint16_t *a = stand_in_tiles[left][m].pairs[k];
      for (int n = 0; n < stand_in_shapes.bytes[sums] / 4; n++) {
        even[n] += stand_in_single(a[0]) * stand_in_single(stand_in_tiles[right][k].pairs[n][0]);
        odd[n] += stand_in_single(a[1]) * stand_in_single(stand_in_tiles[right][k].pairs[n][1]);
      }
    }
    for (int n = 0; n < stand_in_shapes.bytes[sums] / 4; n++) stand_in_tiles[sums][m].numbers[n] += even[n] + odd[n];
  }
}

/* The system's answer to who asks for tiles (arch_prctl): 0 where it lends them */
#ifdef NO_TILES_ARE_LENT
enum { STAND_IN_ANSWER = -1 };
#else
enum { STAND_IN_ANSWER = 0 };
#endif

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_loadconfig
#undef _tile_storeconfig
#undef _tile_release
#define _tile_zero(tile) stand_in_zero(tile)
#define _tile_loadd(tile, from, stride) stand_in_load(tile, from, stride)
#define _tile_stored(tile, to, stride) stand_in_store(tile, to, stride)
#define _tile_dpbf16ps(sums, left, right) stand_in_multiply(sums, left, right)
#define _tile_loadconfig(from) memcpy(&stand_in_shapes, from, sizeof stand_in_shapes)
#define _tile_storeconfig(to) memcpy(to, &stand_in_shapes, sizeof stand_in_shapes)
#define _tile_release() memset(&stand_in_shapes, 0, sizeof stand_in_shapes)
#define syscall(...) STAND_IN_ANSWER
