/* Heads on a target's state on one thread, a whole draft by one call, at the speed at which memory gives their weights
   (`products.h`); called by `head_passes`.

   Shapes: n rows, H hidden size, V vocabulary, V' tokens that are read out. */

#include "../../lm/between.h"

typedef struct {
  const Matrix *blocks; /* [heads, layers] of x + SiLU(A x + b); with 2 · H outputs S x + SiLU(A x + b), S before A */
  const Matrix *last; /* [heads], behind the blocks, or NULL */
  const Matrix *read_out; /* to V', or NULL where `last` does that */
  const char *table; /* embeddings [V, H] for heads that read tokens, each normed */
  const float *ones; /* [H] */
  int64_t half_table, heads, layers, hidden, parts;
  float eps;
} Heads;

typedef struct {
  float *inputs, *sums, *states, *said;
  uint32_t *columns;
} Room;

/* For n rows, and rows of up to `ins` numbers */
static void *make_room(const Heads *heads, int64_t n, int64_t ins, Room *room) {
  const int64_t hidden = heads->hidden, sizes[] = {n * ins, n * 2 * hidden, n * hidden, n * hidden, columns_of(ins, n)};
  void **parts[] = {(void **)&room->inputs, (void **)&room->sums, (void **)&room->states, (void **)&room->said,
                    (void **)&room->columns};
  return room_for(parts, sizes, 5);
}

/* to [n, H] = x [n, H], `apart` numbers from one row to the next, + SiLU(y [n, H], as far apart) */
static void add_silu(const float *x, const float *y, int64_t apart, int n, int64_t hidden, float *to) {
  for (int i = 0; i < n; i++, x += apart, y += apart, to += hidden) {
    int64_t k = 0;
    for (; k + LANES <= hidden; k += LANES) store(to + k, load(x + k) + silu(load(y + k)));
    for (; k < hidden; k++) to[k] = x[k] + y[k] / (1.0f + expf(-y[k]));
  }
}

/* inputs [n, those of its first block] through the blocks of a head → [n, H] */
static void go_through(const Heads *heads, int64_t head, const float *inputs, int n, float *states, Room *room) {
  const int64_t hidden = heads->hidden;
  for (int64_t i = 0; i < heads->layers; i++, inputs = states) {
    const Matrix *block = heads->blocks + head * heads->layers + i;
    product(block, (int)heads->parts, inputs, n, room->sums, 0, room->columns);
    if (block->outs > hidden) add_silu(room->sums, room->sums + hidden, 2 * hidden, n, hidden, states);
    else add_silu(inputs, room->sums, hidden, n, hidden, states);
  }
}

static void look_up_normed(const Heads *heads, const int64_t *tokens, int64_t n, float *x) {
  look_up(tokens, heads->table, (int)heads->half_table, n, heads->hidden, x);
  normed(x, heads->ones, heads->eps, (int)n, heads->hidden, x);
}

/* --- what Python calls: 0, or 1 where there was no memory ------------------------------------------------------- */

/* Heads that do not know of each other: state [H] → logits [heads, V'] */
int say_all(const Heads *heads, const float *state, float *logits) {
  Room room;
  void *all = make_room(heads, heads->heads, heads->hidden, &room);
  if (!all) return 1;
  const int parts = (int)heads->parts;
  TileShapes before;
  begin_tiles(&before);
  for (int64_t k = 0; k < heads->heads; k++) {
    go_through(heads, k, state, 1, room.states, &room);
    float *to = heads->read_out ? room.said + k * heads->hidden : logits + k * heads->last->outs;
    product(heads->last + k, parts, room.states, 1, to, 0, room.columns);
  }
  if (heads->read_out) product(heads->read_out, parts, room.said, (int)heads->heads, logits, 0, room.columns);
  end_tiles(&before);
  free(all);
  return 0;
}

/* A head that reads the state [H] and tokens [n, head + 1] → logits [n, V'] */
int say_behind(const Heads *heads, int64_t head, const float *state, const int64_t *tokens, int64_t n, float *logits) {
  const int64_t hidden = heads->hidden, wide = (head + 2) * hidden;
  Room room;
  void *all = make_room(heads, n, wide, &room);
  if (!all) return 1;
  TileShapes before;
  begin_tiles(&before);
  for (int64_t i = 0; i < n; i++) {
    memcpy(room.inputs + i * wide, state, (size_t)hidden * 4);
    look_up_normed(heads, tokens + i * (head + 1), head + 1, room.inputs + i * wide + hidden);
  }
  go_through(heads, head, room.inputs, (int)n, room.states, &room);
  product(heads->read_out, (int)heads->parts, room.states, (int)n, logits, 0, room.columns);
  end_tiles(&before);
  free(all);
  return 0;
}

/* The same along a chain: the root, then what `choose` takes of each head's row → logits [steps, V'], chosen [steps],
   seconds [steps] of the passes alone */
int say_chain(const Heads *heads, const float *state, int64_t root, int64_t steps, Choose choose, const void *how,
              float *logits, int64_t *chosen, double *seconds) {
  const int64_t hidden = heads->hidden, vocab = heads->read_out->outs;
  Room room;
  void *all = make_room(heads, 1, (steps + 1) * hidden, &room);
  if (!all) return 1;
  memcpy(room.inputs, state, (size_t)hidden * 4);
  for (int64_t step = 0; step < steps; step++, logits += vocab) {
    const double began = now();
    TileShapes before;
    begin_tiles(&before);
    look_up_normed(heads, step ? chosen + step - 1 : &root, 1, room.inputs + (step + 1) * hidden);
    go_through(heads, step, room.inputs, 1, room.states, &room);
    product(heads->read_out, (int)heads->parts, room.states, 1, logits, 0, room.columns);
    end_tiles(&before);
    seconds[step] = now() - began;
    chosen[step] = choose(logits, vocab, step, how);
  }
  free(all);
  return 0;
}
