/* The pass of a block of masked slots on one thread, by one call (`products.h`); called by `block_network`.

   Shapes: n tokens, W states of context at most, Q = 1 + S rows (the root's and the slots'), H hidden size, A attention
   heads of D = H / A, V vocabulary. */

#include "../../lm/between.h"

typedef struct {
  Matrix qkv, states, output, gate_up, down;
  const float *attention_norm, *ffn_norm; /* [H] */
  const float *places; /* [A, Q, W + Q], added to scores */
} Layer;

typedef struct {
  const Layer *layers;
  Matrix word, output, skip, head;
  const float *masked, *position, *states_norm, *norm, *ones; /* [H], [Q, H], then [H] each */
  const char *table; /* embeddings [V, H], each normed */
  int64_t half_table, count, hidden, heads, rows, window, parts;
  float eps;
} Block;

typedef struct { /* keys beside values of the text's last tokens: [layers, room, 2 · H], `length` rows of it in use */
  float *rows;
  int64_t room, length;
} Context;

enum { MOST_SEEN = 256 }; /* rows of context and block: of the largest shape there are 128 + 17 */

typedef struct {
  float *x, *inputs, *qkv, *gate_up;
  uint32_t *columns;
} Room;

static void *make_room(const Block *block, int64_t n, Room *room) {
  const int64_t hidden = block->hidden, inner = block->count ? block->layers->down.ins : 0;
  const int64_t sizes[] = {n * hidden, n * hidden, n * 3 * hidden, n * 2 * inner, columns_of(most(hidden, inner), n)};
  void **parts[] = {(void **)&room->x, (void **)&room->inputs, (void **)&room->qkv, (void **)&room->gate_up,
                    (void **)&room->columns};
  return room_for(parts, sizes, 5);
}

INLINE Vec some_of(const float *x, int64_t k, int64_t size) {
  return size - k < LANES ? partly((const char *)(x + k), 0, size - k) : load(x + k);
}

/* One row's query [D] over keys and values [rows, 2 · H apart] of the context, then over those of the block [Q, 3 · H
   apart]; places: what is added to the scores of both, `seen` and Q of them → to [D], over the query */
static void look(const float *places, const float *context, int64_t seen, const float *block, int64_t rows,
                 int64_t hidden, int64_t size, float *query) {
  float scores[MOST_SEEN], most_of = -INFINITY, sum = 0.0f;
  const int64_t count = seen + rows;
  for (int64_t t = 0; t < count; t++) {
    const float *key = t < seen ? context + t * 2 * hidden : block + (t - seen) * 3 * hidden;
    Vec sums = every(0.0f);
    for (int64_t k = 0; k < size; k += LANES) sums += some_of(query, k, size) * some_of(key, k, size);
    scores[t] = total(sums) / sqrtf((float)size) + places[t];
    most_of = scores[t] > most_of ? scores[t] : most_of;
  }
  for (int64_t t = 0; t < count; t++) sum += scores[t] = expf(scores[t] - most_of);
  for (int64_t k = 0; k < size; k += LANES) {
    Vec mixed = every(0.0f);
    for (int64_t t = 0; t < count; t++) {
      const float *value = t < seen ? context + t * 2 * hidden + hidden : block + (t - seen) * 3 * hidden + hidden;
      mixed += some_of(value, k, size) * (scores[t] / sum);
    }
    if (size - k < LANES) memcpy(query + k, &mixed, (size_t)(size - k) * 4);
    else store(query + k, mixed);
  }
}

/* qkv [Q, 3 · H] → what every row saw, over its queries */
static void attend(const Block *block, const Layer *layer, const float *context, int64_t seen, float *qkv) {
  const int64_t hidden = block->hidden, size = hidden / block->heads, wide = block->window + block->rows;
  for (int64_t head = 0; head < block->heads; head++)
    for (int64_t i = 0; i < block->rows; i++)
      look(layer->places + (head * block->rows + i) * wide + block->window - seen, context + head * size, seen,
           qkv + hidden + head * size, block->rows, hidden, size, qkv + i * 3 * hidden + head * size);
}

/* x [Q, H] of the slots: words of the tokens [Q] that are known, the mask for others, and the row's own part */
static void begin(const Block *block, const int64_t *tokens, const uint8_t *known, Room *room) {
  const int64_t hidden = block->hidden;
  int n = 0;
  for (int64_t i = 0; i < block->rows; i++)
    if (known[i]) look_up(tokens + i, block->table, (int)block->half_table, 1, hidden, room->inputs + n++ * hidden);
  normed(room->inputs, block->ones, block->eps, n, hidden, room->inputs);
  product(&block->word, (int)block->parts, room->inputs, n, room->qkv, 0, room->columns);
  const float *word = room->qkv;
  for (int64_t i = 0; i < block->rows; i++) {
    const float *row = known[i] ? word : block->masked;
    for (int64_t k = 0; k < hidden; k++) room->x[i * hidden + k] = row[k] + block->position[i * hidden + k];
    if (known[i]) word += hidden;
  }
}

/* --- what Python calls: 0, or 1 where there was no memory ------------------------------------------------------- */

/* Keys and values of the states [n, H] of the text's next tokens, behind those in the context */
int read_states(const Block *block, const Context *context, const float *states, int64_t n) {
  Room room;
  void *all = make_room(block, n, &room);
  if (!all) return 1;
  TileShapes before;
  begin_tiles(&before);
  normed(states, block->states_norm, block->eps, (int)n, block->hidden, room.inputs);
  for (int64_t i = 0; i < block->count; i++)
    product(&block->layers[i].states, (int)block->parts, room.inputs, (int)n,
            context->rows + (i * context->room + context->length) * 2 * block->hidden, 0, room.columns);
  end_tiles(&before);
  free(all);
  return 0;
}

/* Tokens [Q], of which some are known, behind the text whose last state is `last` [H] → logits [used, V] of the first
   slots */
int fill(const Block *block, const Context *context, const float *last, const int64_t *tokens, const uint8_t *known,
         int64_t used, float *logits) {
  const int64_t hidden = block->hidden, rows = block->rows;
  const int64_t seen = context->length < block->window ? context->length : block->window;
  const int n = (int)rows, parts = (int)block->parts;
  Room room;
  void *all = make_room(block, rows, &room);
  if (!all) return 1;
  TileShapes before;
  begin_tiles(&before);
  begin(block, tokens, known, &room);
  for (const Layer *layer = block->layers; layer < block->layers + block->count; layer++) {
    const float *text = context->rows + ((layer - block->layers) * context->room + context->length - seen) * 2 * hidden;
    normed(room.x, layer->attention_norm, block->eps, n, hidden, room.inputs);
    product(&layer->qkv, parts, room.inputs, n, room.qkv, 0, room.columns);
    attend(block, layer, text, seen, room.qkv);
    for (int64_t i = 0; i < rows; i++) memcpy(room.inputs + i * hidden, room.qkv + i * 3 * hidden, (size_t)hidden * 4);
    product(&layer->output, parts, room.inputs, n, room.x, 1, room.columns);
    normed(room.x, layer->ffn_norm, block->eps, n, hidden, room.inputs);
    product(&layer->gate_up, parts, room.inputs, n, room.gate_up, 0, room.columns);
    gated(room.gate_up, n, layer->down.ins);
    product(&layer->down, parts, room.gate_up, n, room.x, 1, room.columns);
  }
  normed(room.x + hidden, block->norm, block->eps, (int)used, hidden, room.inputs);
  product(&block->skip, parts, last, 1, room.x, 0, room.columns);
  for (int64_t i = 1; i < used; i++) memcpy(room.x + i * hidden, room.x, (size_t)hidden * 4);
  product(&block->output, parts, room.inputs, (int)used, room.x, 1, room.columns);
  product(&block->head, parts, room.x, (int)used, logits, 0, room.columns);
  end_tiles(&before);
  free(all);
  return 0;
}
