/* One product of a few rows with a weight, for drafters' networks; called by `products`. */

#include "products.h"

/* x [n, ins] → y [n, outs] by so many threads; with `add`, on top of what is there */
int multiply(const Matrix *by, int64_t parts, const float *x, int64_t n, float *y, int64_t add, int64_t threads) {
  char *all = malloc((size_t)columns_of(by->ins, n) * 4 + 64);
  if (!all) return 1;
  TileShapes before;
  begin_work(threads, &before);
  product(by, (int)parts, x, (int)n, y, (int)add, (uint32_t *)(all + (64 - (uintptr_t)all % 64) % 64));
  end_work(&before);
  free(all);
  return 0;
}
