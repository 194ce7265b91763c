/* A pass of a Llama over a few rows, at the speed at which memory gives its weights (`products.h`), and a
   drafter's block, which reads other inputs than the residual stream.

   The rows are those of one text or of several, one text's after the other's: weights are read once for all of them, and
   each attends to the keys of its own text.

   Compiled where a compiler is at hand (`compiled`), called by `few_rows`; the plain forward does the same without it.

   Shapes: n new rows, T rows visible at most, H query heads, G key/value heads, D head size. */

#include "../between.h"

typedef struct {
  Matrix qkv, output, gate_up, down;
  const float *attention_norm, *ffn_norm; /* [hidden]; NULL: the matrix behind it has taken the norm's factor in */
  const float *head_norms; /* [H + G, D], for queries and keys that are normed head by head; or NULL */
} Layer;

typedef struct {
  const Layer *layers;
  Matrix head;
  const float *norm;
  const float *turns; /* [context, D / 2, 2]: cosines and sines of every position */
  const char *table; /* embeddings [vocab, hidden], float32 or bfloat16 (`half_table`) */
  int64_t half_table;
  int64_t count, hidden, heads, groups, size, ffn;
  int64_t half_rows; /* whether the cache is bfloat16: then numbers need be no finer where tiles multiply them */
  float eps;
  int64_t threads; /* that share a pass */
} Model;

typedef struct { /* what one text asks of a pass */
  char *rows; /* its cache [layers, 2 * G, room, D], keys before values */
  int64_t layer, head, room; /* numbers from one layer, and from one head, to the next */
  int64_t start, n; /* rows in it before the pass, and new ones */
  int64_t wanted; /* its last so many rows are read out */
  const int64_t *tokens; /* [n] */
  const int64_t *positions; /* [n], of rows that are no chain */
  const uint8_t *visible; /* [n, start + n], or NULL for a chain */
} Share;

typedef struct {
  const Share *shares;
  int64_t count, n, longest; /* rows of all shares; of the longest text behind the pass */
} Pass;

typedef struct { /* how a drafter reads its target's states: fuse [hidden, states of a token], norm, keys_values
                    [layers · 2 · G · D, hidden] */
  Matrix fuse, keys_values;
  const float *norm;
} Context;

typedef struct { /* how a drafter that goes on from states makes rows of tokens and the states before them: words [vocab,
                    hidden], plus the state's product; where that matrix has no outputs both, normed, side by side */
  Matrix head, state;
  Matrix picks, up; /* or a word by the first is a gate [wide] and what it adds [hidden], and `state` is of what the gate
                       lets through of the state by the second [wide]; else they have no outputs */
  Matrix beside; /* what the head reads of the outputs behind the first `hidden`, on top of those; or no outputs */
  const char *words; /* float32 or bfloat16 (`half_words`) */
  const float *word_norm, *state_norm, *norm; /* the last is of what the head reads; with a matrix NULL */
  const int64_t *known; /* [outputs of the head], the tokens that they are of; NULL: all, in their order */
  int64_t half_words, vocab;
} Join;

typedef struct {
  const int64_t *depths;
  int64_t count;
  float *states; /* [n, count, hidden]: the residual stream after so many layers */
  const float *norm; /* of what is behind the last one */
} Watch;

/* --- what stands between the products ---------------------------------------------------------------------------- */

/* Heads [n, heads, D], `stride` numbers from one row to the next, each normed and multiplied by factors [heads, D] */
static void norm_heads(float *x, const float *factors, float eps, int n, int64_t heads, int64_t stride, int64_t size) {
  for (int i = 0; factors && i < n; i++)
    for (int64_t head = 0; head < heads; head++) {
      float *at = x + i * stride + head * size;
      normed(at, factors + head * size, eps, 1, size, at);
    }
}

/* Rotary positions (2104.09864, §3.4.2) of a share's [n, heads, D / 2, 2] */
static void rotate(float *x, const float *turns, const Share *share, int64_t heads, int64_t stride, int64_t size) {
  for (int64_t i = 0; i < share->n; i++)
    for (int64_t head = 0; head < heads; head++) {
      float *at = x + i * stride + head * size;
      const float *turn = turns + (share->visible ? share->positions[i] : share->start + i) * size;
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

/* Keys and values of a share's rows, 2 · G heads each, `stride` numbers from one to the next, into a layer of its cache */
static void keep_heads(const Model *model, const Share *share, int64_t layer, const float *x, int64_t stride) {
  const int64_t size = model->size, width = model->half_rows ? 2 : 4;
  for (int64_t head = 0; head < 2 * model->groups; head++)
    for (int64_t i = 0; i < share->n; i++)
      keep(share->rows + (layer * share->layer + head * share->head + (share->start + i) * size) * width,
           (int)model->half_rows, x + i * stride + head * size, size);
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

/* out[r, d] = Σ scores[r, t] · values[t, d] for `blocks` vectors of components and up to four rows r; meanwhile `next`
   [count, size], or NULL, is asked for */
INLINE void mixed(const float *scores, int64_t apart, int rows, const char *values, int half, int64_t count, int64_t size,
                  int blocks, float *const *out, int64_t d, const char *next) {
  const int64_t width = half ? 2 : 4;
  Vec sums[16];
  UNROLL for (int i = 0; i < rows * blocks; i++) sums[i] = every(0.0f);
  for (int64_t t = 0; t < count; t++) {
    Vec value[4];
    if (next) ask(next + t * size * width, size * width);
    UNROLL for (int b = 0; b < blocks; b++) value[b] = widened(values + (t * size + d + b * LANES) * width, half);
    UNROLL for (int r = 0; r < rows; r++)
      UNROLL for (int b = 0; b < blocks; b++) sums[r * blocks + b] += value[b] * scores[r * apart + t];
  }
  UNROLL for (int r = 0; r < rows; r++)
    UNROLL for (int b = 0; b < blocks; b++) store(out[r] + d + b * LANES, sums[r * blocks + b]);
}

INLINE void mix_rows(const float *scores, int64_t apart, int rows, const char *values, int half, int64_t count,
                     int64_t size, float *const *out, const char *next) {
  enum { WIDE = LANES / 4 }; /* with four rows as many sums as there are registers */
  int64_t d = 0;
  for (; d + WIDE * LANES <= size; d += WIDE * LANES, next = 0)
    mixed(scores, apart, rows, values, half, count, size, WIDE, out, d, next);
  for (; d + LANES <= size; d += LANES) mixed(scores, apart, rows, values, half, count, size, 1, out, d, 0);
  for (int r = 0; d < size && r < rows; r++) {
    Vec sum = every(0.0f);
    for (int64_t t = 0; t < count; t++)
      sum += partly(values + (t * size + d) * (half ? 2 : 4), half, size - d) * scores[r * apart + t];
    memcpy(out[r] + d, &sum, (size_t)(size - d) * 4);
  }
}

INLINE void mix_of(const float *scores, int64_t apart, int rows, const char *values, int half, int64_t count, int64_t size,
                   float *const *out, const char *next) {
  switch (rows) {
    case 1: mix_rows(scores, apart, 1, values, half, count, size, out, next); break;
    case 2: mix_rows(scores, apart, 2, values, half, count, size, out, next); break;
    case 3: mix_rows(scores, apart, 3, values, half, count, size, out, next); break;
    default: mix_rows(scores, apart, 4, values, half, count, size, out, next);
  }
}

#ifdef TILES
/* The same of up to 16 rows by tiles, whose weights are two bfloat16 numbers each, from bfloat16 values */
static void tile_mix(const float *scores, int64_t apart, int rows, const char *values, int64_t count, int64_t size,
                     float *const *out) {
  __m512i parts[2][SIDE] = {0}, pairs[SIDE];
  float sums[SIDE][SIDE];
  for (int64_t d = 0; d < size; d += 4 * SIDE) {
    const int blocks = size - d < 4 * SIDE ? (int)(size - d) / SIDE : 4;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t t = 0; t < count; t += DEEP) {
      for (int i = 0; i < rows; i++) { /* up to the next whole vector there are zeros */
        const float *at = scores + i * apart + t;
        Vec rest[2] = {load(at), t + LANES < count ? load(at + LANES) : every(0.0f)};
        UNROLL for (int part = 0; part < 2; part++) parts[part][i] = to_bfloat16(rest);
      }
      __asm__ volatile("" : : "r"(parts) : "memory");
      _tile_loadd(4, parts[0], 64);
      _tile_loadd(5, parts[1], 64);
      for (int b = 0; b < blocks; b++) {
        const char *at = values + (t * size + d + b * SIDE) * 2;
        for (int64_t pair = 0, row = t; pair < SIDE; pair++, row += 2, at += 4 * size) {
          __m512i first = row < count ? _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)at)) : _mm512_setzero_si512();
          __m512i second = row + 1 < count ? _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(at + 2 * size)))
                                           : _mm512_setzero_si512();
          pairs[pair] = _mm512_or_si512(first, _mm512_slli_epi32(second, 16));
        }
        __asm__ volatile("" : : "r"(pairs) : "memory");
        _tile_loadd(6, pairs, 64);
        switch (b) {
          case 0: _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(0, 5, 6); break;
          case 1: _tile_dpbf16ps(1, 4, 6); _tile_dpbf16ps(1, 5, 6); break;
          case 2: _tile_dpbf16ps(2, 4, 6); _tile_dpbf16ps(2, 5, 6); break;
          default: _tile_dpbf16ps(3, 4, 6); _tile_dpbf16ps(3, 5, 6);
        }
      }
    }
    for (int b = 0; b < blocks; b++) {
      switch (b) {
        case 0: _tile_stored(0, sums, 64); break;
        case 1: _tile_stored(1, sums, 64); break;
        case 2: _tile_stored(2, sums, 64); break;
        default: _tile_stored(3, sums, 64);
      }
      __asm__ volatile("" : : "r"(sums) : "memory");
      for (int i = 0; i < rows; i++) memcpy(out[i] + d + b * SIDE, sums[i], sizeof sums[i]);
    }
  }
}
#else
static void tile_mix(const float *scores, int64_t apart, int rows, const char *values, int64_t count, int64_t size,
                     float *const *out) {
  (void)scores, (void)apart, (void)rows, (void)values, (void)count, (void)size, (void)out;
}
#endif

typedef struct {
  float *x, *inputs, *qkv, *queries, *scores, *attended, *gate_up, *picked;
  uint32_t *columns;
  int64_t queries_of, scores_of, columns_of; /* numbers that attention has there for one thread */
} Room;

/* Scores [n, T] of queries x [n, D], which may be `rounded`, with keys [T, D]; meanwhile the values [T, D] are asked
   for, a few at a time: a processor that is asked for more than it can bring forgets the rest */
static void scored(const Matrix *keys, int rounded, const float *x, int n, float *scores, int64_t apart,
                   uint32_t *columns, const char *values) {
  const int mode = mode_of(keys, rounded && rounds());
  const int64_t at_once = AHEAD ? 16 : keys->outs;
  const int64_t bytes = keys->ins * (keys->half ? 2 : 4);
  arrange(x, n, keys->ins, mode, (float *)columns);
  for (int64_t t = 0; t < keys->outs; t += at_once) {
    const int64_t count = keys->outs - t < at_once ? keys->outs - t : at_once;
    const Matrix some = {keys->weight + t * bytes, 0, 0, count, keys->ins, keys->half};
    ask(values + t * bytes, count * bytes);
    arranged_product(&some, mode, 0, (float *)columns, n, scores + t, apart, 0);
  }
}

/* Heads of the groups from `group` to `end`: a share's qkv [n, (H + 2 · G) · D], turned and kept → attended [n, H · D] */
static __attribute__((noinline)) void attention(const Model *model, const Share *share, int64_t layer, int64_t group,
                                                int64_t end, const float *qkv, float *attended, const Room *room) {
  const int64_t size = model->size, heads = model->heads, groups = model->groups, shared = heads / groups, n = share->n;
  const int64_t stride = (heads + 2 * groups) * size, count = share->start + n, apart = (count + LANES) / LANES * LANES;
  const int64_t padded_rows = (count + SIDE - 1) / SIDE * SIDE;
  const int half = (int)model->half_rows, width = half ? 2 : 4;
  char *rows = share->rows + layer * share->layer * width;
  for (; group < end; group++) {
    for (int64_t r = 0; r < shared * n; r++) /* row r: head r / n of the group, row r % n of the pass */
      memcpy(room->queries + r * size, qkv + r % n * stride + (group * shared + r / n) * size, (size_t)size * 4);
    Matrix keys = {rows + group * share->head * width, 0, 0, count, size, half};
    const char *values = rows + (groups + group) * share->head * width;
    const char *next = group + 1 < end ? keys.weight + share->head * width : 0;
    const int by_tiles = for_tiles(&keys) && padded_rows <= share->room, at_once = by_tiles ? SIDE : 4;
    if (by_tiles) {
      keys.outs = padded_rows; /* what stands behind the text is nobody's */
      split_rows(room->queries, (int)(shared * n), size, 2, room->columns);
      tile_product(&keys, (int)(shared * n), room->scores, apart, 0, 2, room->columns);
    } else scored(&keys, model->half_rows, room->queries, (int)(shared * n), room->scores, apart, room->columns, values);
    for (int64_t r = 0; r < shared * n; r++)
      softmax(room->scores + r * apart, 1.0f / sqrtf((float)size), count, share->start + r % n + 1,
              share->visible ? share->visible + r % n * count : 0);
    for (int64_t r = 0; r < shared * n; r += at_once) {
      float *out[SIDE];
      int some = (int)(shared * n - r < at_once ? shared * n - r : at_once);
      for (int i = 0; i < some; i++)
        out[i] = attended + (r + i) % n * heads * size + (group * shared + (r + i) / n) * size;
      if (by_tiles) tile_mix(room->scores + r * apart, apart, some, values, count, size, out);
      else if (half) mix_of(room->scores + r * apart, apart, some, values, 1, count, size, out, r ? 0 : next);
      else mix_of(room->scores + r * apart, apart, some, values, 0, count, size, out, r ? 0 : next);
    }
  }
}

static Pass pass_of(const Share *shares, int64_t count) {
  Pass pass = {shares, count, 0, 0};
  for (int64_t k = 0; k < count; k++) {
    pass.n += shares[k].n;
    pass.longest = most(pass.longest, shares[k].start + shares[k].n);
  }
  return pass;
}

/* For n rows of this model, of texts of up to `count`; join: what makes them, if they are not a text's own */
static void *make_room(const Model *model, const Join *join, int64_t n, int64_t count, Room *room) {
  const int64_t queries = model->heads * model->size, qkv = queries + 2 * model->groups * model->size;
  const int64_t shared = model->heads / model->groups, threads = most(1, model->threads);
  const int64_t inputs = model->count ? most(model->hidden, model->layers->qkv.ins) : model->hidden;
  const int64_t wide = join && join->picks.outs ? join->up.outs : 0;
  room->queries_of = padded(n * shared * model->size), room->scores_of = padded(n * shared * (count + LANES));
  room->columns_of = padded(columns_of(model->size, n * shared));
  const int64_t sizes[] = {n * model->hidden, n * inputs, n * qkv, threads * room->queries_of, threads * room->scores_of,
                           n * queries, n * 2 * model->ffn, wide ? n * (2 * wide + model->hidden) : 0,
                           most(columns_of(most(most(inputs, model->ffn), most(queries, wide)), n),
                                threads * room->columns_of)};
  void **parts[] = {(void **)&room->x, (void **)&room->inputs, (void **)&room->qkv, (void **)&room->queries, (void **)&room->scores,
                    (void **)&room->attended, (void **)&room->gate_up, (void **)&room->picked, (void **)&room->columns};
  return room_for(parts, sizes, 9);
}

static int parts_of(const Model *model) { return model->half_rows ? 2 : 3; }

/* Has the processor look up where each page of a layer's keys and values lies, while it multiplies. Weights drive the
   tables of pages out of its cache too, and attention waited for them. Inlined, or GCC takes the call for one that does
   nothing. */
INLINE void look_up_pages(const Model *model, const Share *share, int64_t layer) {
  enum { PAGE = 4096 };
  const int64_t width = model->half_rows ? 2 : 4, bytes = (share->start + share->n) * model->size * width;
  for (int64_t head = 0; head < 2 * model->groups; head++) {
    const char *rows = share->rows + (layer * share->layer + head * share->head) * width;
    for (const char *at = rows - (uintptr_t)rows % PAGE; at < rows + bytes; at += PAGE) ask(at, 1);
  }
}

typedef struct { /* the attention of one layer, text by text */
  const Model *model;
  const Pass *pass;
  int64_t layer, at_once; /* groups of heads */
  const Room *room;
} Looking;

static void some_heads(const void *job, int64_t piece, int64_t hand) {
  const Looking *all = job;
  const Model *model = all->model;
  const int64_t stride = (model->heads + 2 * model->groups) * model->size, pieces = model->groups / all->at_once;
  const int64_t group = piece % pieces * all->at_once;
  const Share *share = all->pass->shares;
  int64_t rows = 0;
  for (; piece >= pieces; piece -= pieces) rows += share++->n;
  Room own = *all->room;
  own.queries += hand * own.queries_of, own.scores += hand * own.scores_of, own.columns += hand * own.columns_of;
  attention(model, share, all->layer, group, group + all->at_once, own.qkv + rows * stride,
            own.attended + rows * model->heads * model->size, &own);
}

/* x [n, hidden] plus what attention of layer i makes of inputs [n, what its projections read] */
static void attend(const Model *model, const Pass *pass, int64_t i, const float *inputs, float *x, Room *room) {
  const Layer *layer = model->layers + i;
  const int64_t turning = model->heads + model->groups, stride = (turning + model->groups) * model->size;
  const int n = (int)pass->n;
  float *qkv = room->qkv;
  for (int64_t k = 0; k < pass->count; k++) look_up_pages(model, pass->shares + k, i);
  product(&layer->qkv, parts_of(model), inputs, n, room->qkv, 0, room->columns);
  norm_heads(room->qkv, layer->head_norms, model->eps, n, turning, stride, model->size);
  for (const Share *share = pass->shares; share < pass->shares + pass->count; share++) {
    rotate(qkv, model->turns, share, turning, stride, model->size);
    keep_heads(model, share, i, qkv + model->heads * model->size, stride);
    qkv += share->n * stride;
  }
  const int64_t at_once = hands == 1 ? model->groups : 1;
  share_out(some_heads, &(Looking){model, pass, i, at_once, room}, pass->count * model->groups / at_once);
  product(&layer->output, parts_of(model), room->attended, n, x, 1, room->columns);
}

/* to [n, outputs of the last matrix] plus what the MLP of a layer makes of x [n, hidden]; both may be the same */
static void widen(const Model *model, const Layer *layer, const float *x, float *to, int n, Room *room) {
  normed(x, layer->ffn_norm, model->eps, n, model->hidden, room->inputs);
  product(&layer->gate_up, parts_of(model), room->inputs, n, room->gate_up, 0, room->columns);
  gated(room->gate_up, n, model->ffn);
  product(&layer->down, parts_of(model), room->gate_up, n, to, 1, room->columns);
}

/* What is watched of x [n, hidden] after `reached` layers */
static void look(const Model *model, const Watch *watch, int64_t reached, const float *x, int n) {
  const int64_t hidden = model->hidden;
  for (int64_t k = 0; k < watch->count; k++)
    for (int i = 0; watch->depths[k] == reached && i < n; i++) {
      float *to = watch->states + (i * watch->count + k) * hidden;
      if (reached < model->count) memcpy(to, x + i * hidden, (size_t)hidden * 4);
      else normed(x + i * hidden, watch->norm, model->eps, 1, hidden, to);
    }
}

/* Blocks on x [n, hidden]; chosen [layers], or NULL for all: 1 attention, 2 MLP, 3 both, 0 neither */
static void blocks(const Model *model, const Pass *pass, const uint8_t *chosen, float *x, const Watch *watch,
                   Room *room) {
  const int n = (int)pass->n;
  for (int64_t i = 0; i < model->count; i++) {
    look(model, watch, i, x, n);
    const Layer *layer = model->layers + i;
    const int chosen_parts = chosen ? chosen[i] : 3;
    if (chosen_parts & 1) {
      normed(x, layer->attention_norm, model->eps, n, model->hidden, room->inputs);
      attend(model, pass, i, room->inputs, x, room);
    }
    if (chosen_parts & 2) widen(model, layer, x, x, n, room);
  }
  look(model, watch, model->count, x, n);
}

/* --- what Python calls: 0, or 1 where there was no memory ------------------------------------------------------- */

/* A whole pass of `count` texts: tokens through their rows of the table and all blocks → logits [rows that are wanted,
   outs], and what is watched on the way */
int forward(const Model *model, const Share *shares, int64_t count, const Watch *watch, float *logits) {
  const Pass pass = pass_of(shares, count);
  const int64_t hidden = model->hidden;
  Room room;
  void *all = make_room(model, 0, pass.n, pass.longest, &room);
  if (!all) return 1;
  TileShapes before;
  begin_work(model->threads, &before);
  float *end = room.x;
  for (int64_t k = 0; k < count; end += shares[k++].n * hidden)
    if (model->half_table) look_up(shares[k].tokens, model->table, 1, shares[k].n, hidden, end);
    else look_up(shares[k].tokens, model->table, 0, shares[k].n, hidden, end);
  blocks(model, &pass, 0, room.x, watch, &room);
  int64_t wanted = 0;
  end = room.x;
  for (int64_t k = 0; k < count; wanted += shares[k++].wanted) {
    end += shares[k].n * hidden;
    normed(end - shares[k].wanted * hidden, model->norm, model->eps, (int)shares[k].wanted, hidden,
           room.inputs + wanted * hidden);
  }
  product(&model->head, parts_of(model), room.inputs, (int)wanted, logits, 0, room.columns);
  end_work(&before);
  free(all);
  return 0;
}

/* Whole passes one after the other: the share's tokens, then what `choose` takes of each pass's last row, the last of
   them left unread → logits [steps, outs], chosen [steps], seconds [steps] of the passes alone */
int write_chain(const Model *model, const Share *share, int64_t steps, Choose choose, const void *how, float *logits,
                int64_t *chosen, double *seconds) {
  Share rows = *share;
  for (int64_t step = 0; step < steps; step++) {
    float *to = logits + step * model->head.outs;
    const double began = now();
    if (forward(model, &rows, 1, &(Watch){0}, to)) return 1;
    seconds[step] = now() - began;
    chosen[step] = choose(to, model->head.outs, step, how);
    rows.start += rows.n;
    rows.tokens = chosen + step, rows.n = 1;
  }
  return 0;
}

/* Blocks on x [n, hidden] of one text, as `blocks` */
int run_blocks(const Model *model, const Share *share, const uint8_t *chosen, float *x) {
  const Pass pass = pass_of(share, 1);
  Room room;
  void *all = make_room(model, 0, pass.n, pass.longest, &room);
  if (!all) return 1;
  TileShapes before;
  begin_work(model->threads, &before);
  blocks(model, &pass, chosen, x, &(Watch){0}, &room);
  end_work(&before);
  free(all);
  return 0;
}

/* The first block alone, reading inputs [n, what its projections read], on what is in the room's x [n, hidden] → outputs
   [n, those of its last matrix], of which the first `hidden` stand on x */
static void first_block(const Model *model, const Pass *pass, const float *inputs, float *outputs, Room *room) {
  const int64_t n = pass->n, hidden = model->hidden, wide = model->layers->down.outs;
  attend(model, pass, 0, inputs, room->x, room);
  memset(outputs, 0, (size_t)(n * wide) * 4);
  for (int64_t i = 0; i < n; i++) memcpy(outputs + i * wide, room->x + i * hidden, (size_t)hidden * 4);
  widen(model, model->layers, room->x, outputs, (int)n, room);
}

/* Words x [n, hidden] that pick from a wider state → what they add and what they picked [n, hidden] in their place */
static void pick_states(const Model *model, const Join *join, const float *states, int64_t n, Room *room) {
  const int64_t hidden = model->hidden, wide = join->up.outs;
  float *x = room->x, *picked = room->picked, *said = picked + n * wide;
  product(&join->picks, parts_of(model), x, (int)n, said, 0, room->columns);
  product(&join->up, parts_of(model), states, (int)n, picked, 0, room->columns);
  for (int64_t i = 0; i < n; i++) {
    opened(picked + i * wide, said + i * (wide + hidden), wide);
    memcpy(x + i * hidden, said + i * (wide + hidden) + wide, (size_t)hidden * 4);
  }
  product(&join->state, parts_of(model), picked, (int)n, x, 1, room->columns);
}

/* Rows of a share's tokens and the states before them [n, hidden] into the room's x [n, hidden] → inputs [n, what the
   first block's projections read], which are x where a matrix joins */
static const float *joined(const Model *model, const Join *join, const Share *share, const float *states, Room *room) {
  const int64_t hidden = model->hidden, n = share->n;
  if (join->half_words) look_up(share->tokens, join->words, 1, n, hidden, room->x);
  else look_up(share->tokens, join->words, 0, n, hidden, room->x);
  if (join->picks.outs) pick_states(model, join, states, n, room);
  else if (join->state.outs) product(&join->state, parts_of(model), states, (int)n, room->x, 1, room->columns);
  if (join->picks.outs || join->state.outs) return room->x;
  for (int64_t i = 0; i < n; i++) {
    float *inputs = room->inputs + i * 2 * hidden;
    normed(room->x + i * hidden, join->word_norm, model->eps, 1, hidden, inputs);
    normed(states + i * hidden, join->state_norm, model->eps, 1, hidden, inputs + hidden);
  }
  memcpy(room->x, states, (size_t)(n * hidden) * 4);
  return room->inputs;
}

/* A pass over rows of tokens and the states before them [n, hidden] → outputs of the first block, which begin with the
   states that follow */
int run_states(const Model *model, const Join *join, const Share *share, const float *states, float *outputs) {
  const Pass pass = pass_of(share, 1);
  Room room;
  void *all = make_room(model, join, pass.n, pass.longest, &room);
  if (!all) return 1;
  TileShapes before;
  begin_work(model->threads, &before);
  first_block(model, &pass, joined(model, join, share, states, &room), outputs, &room);
  end_work(&before);
  free(all);
  return 0;
}

/* What follows outputs of the first block [n, hidden + more] → logits [n, vocab], minus infinity for tokens that the head
   does not know */
int read_states(const Model *model, const Join *join, const float *states, int64_t n, float *logits) {
  const int64_t hidden = model->hidden, outs = join->head.outs, more = join->beside.outs ? join->beside.ins : 0;
  float *read, *said, *rest;
  uint32_t *columns;
  const int64_t sizes[] = {n * hidden, join->known ? n * outs : 0, n * more, columns_of(most(hidden, more), n)};
  void **parts[] = {(void **)&read, (void **)&said, (void **)&rest, (void **)&columns};
  void *all = room_for(parts, sizes, 4);
  if (!all) return 1;
  TileShapes before;
  begin_work(model->threads, &before);
  for (int64_t i = 0; more && i < n; i++) {
    memcpy(read + i * hidden, states + i * (hidden + more), (size_t)hidden * 4);
    memcpy(rest + i * more, states + i * (hidden + more) + hidden, (size_t)more * 4);
  }
  if (more) product(&join->beside, parts_of(model), rest, (int)n, read, 1, columns), states = read;
  if (join->norm) normed(states, join->norm, model->eps, (int)n, hidden, read), states = read;
  product(&join->head, parts_of(model), states, (int)n, join->known ? said : logits, 0, columns);
  end_work(&before);
  for (int64_t i = 0; join->known && i < n; i++, said += outs, logits += join->vocab) {
    for (int64_t t = 0; t < join->vocab; t++) logits[t] = -INFINITY;
    for (int64_t k = 0; k < outs; k++) logits[join->known[k]] = said[k];
  }
  free(all);
  return 0;
}

/* Both one after the other: the share's tokens with the states before them [n, hidden], then what `choose` takes of each
   last row with the state there → as `write_chain` */
int write_states(const Model *model, const Join *join, const Share *share, const float *states, int64_t steps,
                 Choose choose, const void *how, float *logits, int64_t *chosen, double *seconds) {
  const int64_t wide = model->layers->down.outs;
  float *outputs = malloc((size_t)(share->n * wide) * 4);
  int failed = !outputs;
  Share rows = *share;
  for (int64_t step = 0; !failed && step < steps; step++, logits += join->vocab) {
    const double began = now();
    failed = run_states(model, join, &rows, states, outputs);
    states = outputs + (rows.n - 1) * wide;
    failed = failed || read_states(model, join, states, 1, logits);
    seconds[step] = now() - began;
    if (failed) break;
    chosen[step] = choose(logits, join->vocab, step, how);
    rows.start += rows.n, rows.n = 1;
    rows.tokens = chosen + step;
  }
  free(outputs);
  return failed;
}

/* Final norm and head: x [n, hidden] → logits [n, outs] */
int read_out(const Model *model, const float *x, int64_t n, float *logits) {
  Room room;
  void *all = make_room(model, 0, n, 0, &room);
  if (!all) return 1;
  TileShapes before;
  begin_work(model->threads, &before);
  normed(x, model->norm, model->eps, (int)n, model->hidden, room.inputs);
  product(&model->head, parts_of(model), room.inputs, (int)n, logits, 0, room.columns);
  end_work(&before);
  free(all);
  return 0;
}

/* A drafter's pass: blocks on x [n, hidden] and the final norm, of whose rows those from `first` on take the place of
   x's; the first `count` of them through the head → logits [count, outs] */
int fill_block(const Model *model, const Share *share, float *x, int64_t first, int64_t count, float *logits) {
  const Pass pass = pass_of(share, 1);
  Room room;
  void *all = make_room(model, 0, pass.n, pass.longest, &room);
  if (!all) return 1;
  float *states = x + first * model->hidden;
  TileShapes before;
  begin_work(model->threads, &before);
  blocks(model, &pass, 0, x, &(Watch){0}, &room);
  normed(states, model->norm, model->eps, (int)(pass.n - first), model->hidden, states);
  product(&model->head, parts_of(model), states, (int)count, logits, 0, room.columns);
  end_work(&before);
  free(all);
  return 0;
}

/* The target's states of n tokens [n, fuse.ins] → their keys and values, in all layers of the cache */
int read_context(const Model *model, const Context *context, const Share *share, const float *features) {
  const int64_t n = share->n, hidden = model->hidden, size = model->size, all_heads = context->keys_values.outs;
  const int64_t columns = padded(columns_of(most(context->fuse.ins, hidden), n) * 4), rows = padded(n * hidden * 4);
  char *all = malloc((size_t)(64 + columns + rows + n * all_heads * 4)), *at = all + (64 - (uintptr_t)all % 64) % 64;
  if (!all) return 1;
  float *fused = (float *)(at + columns), *heads = (float *)(at + columns + rows);
  TileShapes before;
  begin_work(model->threads, &before);
  product(&context->fuse, parts_of(model), features, (int)n, fused, 0, (uint32_t *)at);
  normed(fused, context->norm, model->eps, (int)n, hidden, fused);
  product(&context->keys_values, parts_of(model), fused, (int)n, heads, 0, (uint32_t *)at);
  end_work(&before);
  for (int64_t i = 0; i < model->count; i++) {
    float *keys = heads + i * 2 * model->groups * size;
    const float *norms = model->layers[i].head_norms;
    norm_heads(keys, norms ? norms + model->heads * size : 0, model->eps, (int)n, model->groups, all_heads, size);
    rotate(keys, model->turns, share, model->groups, all_heads, size);
    keep_heads(model, share, i, keys, all_heads);
  }
  free(all);
  return 0;
}
