/* A chain through places that are known beforehand, by one call; called by `chains`.

   Shapes: V vocabulary, R rank of a table of which token follows which. */

#include "between.h"

typedef struct { /* before[a] · after[b] is added to the logit of b behind a */
  Matrix after;
  const float *before; /* [V, R] */
} Bigram;

/* A chain through places whose logits [steps, V] are known but for what the token before adds: logits, with pairs
   raised by that, chosen [steps] */
int follow(const Bigram *pairs, int64_t parts, float *logits, int64_t vocab, int64_t root, int64_t steps, Choose choose,
           const void *how, int64_t *chosen) {
  char *all = pairs ? malloc((size_t)columns_of(pairs->after.ins, 1) * 4 + 64) : 0;
  if (pairs && !all) return 1;
  for (int64_t step = 0; step < steps; step++, logits += vocab) {
    if (pairs) {
      const int64_t token = step ? chosen[step - 1] : root;
      TileShapes before;
      begin_tiles(&before);
      product(&pairs->after, (int)parts, pairs->before + token * pairs->after.ins, 1, logits, 1,
              (uint32_t *)(all + (64 - (uintptr_t)all % 64) % 64));
      end_tiles(&before);
    }
    chosen[step] = choose(logits, vocab, step, how);
  }
  free(all);
  return 0;
}
