/* block.inc.h: a block of queries over its keys. Included once a precision, with ELEMENT (what the views hold), REAL (what is
 * computed in), KERNEL(x) and NAME(x) defined, and so are its parts, each of which uses those before it. */

#include <math.h>
#include <string.h>

#include "core/attention/block.h"
#include "core/attention/exact_row.h"
#include "core/attention/mask.h"
#include "core/attention/reduce.h"
#include "core/attention/sequences.h"
#include "core/attention/store.h"
#include "core/attention/top_keys.h"
#include "core/attention/visible.h"
#include "core/size.h"

#define MINUS_INFINITY (-(REAL)INFINITY)

#include "core/attention/convert.inc.h"

#include "core/attention/pack.inc.h"
#include "core/attention/state.inc.h"

#include "core/attention/scores.inc.h"

#include "core/attention/softmax.inc.h"

#include "core/attention/values.inc.h"

#include "core/attention/finish.inc.h"

/* Weights 0 and masked scores -infinity for the keys [first, end). */
static void NAME(keys_masked)(struct NAME(state) *state, size_t first, size_t end)
{
    const struct attention_plan *plan = state->plan;
    const struct tensor *masked = &plan->results->masked_scores;
    if (first >= end || !state->stored || !NAME(keys_selected)(state, &first, &end))
        return;
    size_t place = first - plan->selection.key_first, weight_bytes = dtype_bytes(plan->weights_dtype);
    for (size_t r = 0; r < state->block->rows; r++) {
        bool stage = masked->data != NULL && NAME(row_selected)(state, r);
        ELEMENT *to = stage ? NAME(selected_row)(state, masked, r) : NULL;
        for (size_t j = place; j < place + (end - first) && to != NULL; j++)
            to[(ptrdiff_t)j * masked->stride[3]] = -(ELEMENT)INFINITY;
        if (plan->weights_wanted && NAME(row_kept)(state, r))
            memset((char *)NAME(weights_row)(state, r) + place * weight_bytes, 0, (end - first) * weight_bytes);
    }
}

/* The keys [first, end) of the sequence, which no row of the block may see: the stages before the mask are computed only where they
 * were asked for. */
static void NAME(keys_outside)(struct NAME(state) *state, size_t first, size_t end)
{
    const struct attention_plan *plan = state->plan;
    bool scores = plan->results->scores.data != NULL || plan->results->capped_scores.data != NULL;
    NAME(keys_masked)(state, first, end);
    if (first >= end || !scores || !state->stored || !NAME(keys_selected)(state, &first, &end))
        return;
    first -= (first - state->block->sequence->first_key) % plan->key_panel; /* whole panels; a few scores are written twice */
    while (first < end && !attention_should_stop(state->plan)) {
        struct NAME(tile) tile = NAME(tile_at)(state, first, end, 0);
        for (; tile.row < state->block->rows; tile = NAME(tile_at)(state, first, end, tile.row + tile.rows))
            NAME(stages_before_mask)(state, &tile, NULL);
        first += tile.count;
    }
}

/* The same for keys of other sequences, which are not packed. */
static void NAME(keys_elsewhere)(struct NAME(state) *state, size_t first, size_t end)
{
    const struct attention_plan *plan = state->plan;
    const struct tensor *scores = &plan->results->scores, *capped = &plan->results->capped_scores;
    NAME(keys_masked)(state, first, end);
    if (first >= end || (scores->data == NULL && capped->data == NULL) || !NAME(keys_selected)(state, &first, &end))
        return;
    for (size_t r = 0; r < state->block->rows && !attention_should_stop(state->plan); r++) {
        for (size_t j = first; j < end && NAME(row_selected)(state, r); j++) {
            double score = exact_score(plan, state->block->b, NAME(row_head)(state, r), NAME(row_query)(state, r), j);
            ptrdiff_t place = (ptrdiff_t)(j - plan->selection.key_first);
            if (scores->data != NULL)
                NAME(selected_row)(state, scores, r)[place * scores->stride[3]] = NAME(element)(plan, score);
            if (capped->data != NULL)
                NAME(selected_row)(state, capped, r)[place * capped->stride[3]] =
                    NAME(element)(plan, exact_capped_score(plan, state->block->b, NAME(row_head)(state, r),
                                                           NAME(row_query)(state, r), j, score));
        }
    }
}

/* True where every row sees every key of the tile and its scores are as the product leaves them. */
static bool NAME(tile_is_full)(const struct NAME(state) *state, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = state->plan;
    if (!plan->raw_scores || plan->split_kv || !plan->kernels->product_is_chain || tile->count % plan->key_panel != 0)
        return false;
    for (size_t r = tile->row; r < tile->row + tile->rows; r++)
        if (state->rows[r]->begin > tile->first || state->rows[r]->end < tile->first + tile->count || state->rows[r]->by_key)
            return false;
    return true;
}

static void NAME(tile_compute)(struct NAME(state) *state, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = state->plan;
    bool full = NAME(tile_is_full)(state, tile);
    REAL tile_max[QUERY_TILE];
    NAME(stages_before_mask)(state, tile, full ? tile_max : NULL);
    for (size_t i = 0; i < tile->rows && !full; i++)
        tile_max[i] = NAME(stages_of_row)(state, tile, tile->row + i, NAME(score_row)(state, tile, tile->row + i));
    if (state->stored && plan->results->masked_scores.data != NULL)
        NAME(store_stage)(state, tile, &plan->results->masked_scores);
    for (size_t i = 0; i < tile->rows; i++)
        NAME(stage_softmax)(state, tile, tile->row + i, tile_max[i], full);
    if (state->sums != NULL)
        NAME(stage_values)(state, tile);
}

/* All rows over the keys [first, end), which lie within the block's, tile by tile. */
static void NAME(keys_run)(struct NAME(state) *state, size_t first, size_t end,
                           void compute(struct NAME(state) *, const struct NAME(tile) *))
{
    size_t origin = state->block->sequence->first_key;
    for (; first < end; first = origin + ((first - origin) / KEY_TILE + 1) * KEY_TILE) {
        if (attention_should_stop(state->plan))
            return;
        for (size_t row = 0; row < state->block->rows; row += state->plan->rows_at_once) {
            struct NAME(tile) tile = NAME(tile_at)(state, first, end, row);
            NAME(tile_clip)(state, &tile);
            if (tile.count > 0)
                compute(state, &tile);
        }
    }
}

static void NAME(block_run)(struct attention_plan *plan, const struct attention_block *block,
                            const struct attention_scratch *scratch)
{
    struct NAME(state) state;
    NAME(state_init)(&state, plan, block, scratch, true);
    size_t first = block->sequence->first_key, end = first + block->sequence->keys;
    if (plan->params->sequences != NULL) {
        NAME(keys_elsewhere)(&state, 0, first);
        NAME(keys_elsewhere)(&state, end, plan->Tk);
    }
    NAME(keys_outside)(&state, first, block->key_begin);
    NAME(keys_outside)(&state, block->key_end, end);
    NAME(keys_run)(&state, block->key_begin, block->key_end, NAME(tile_compute));
    if (!attention_should_stop(plan))
        NAME(rows_finish)(&state);
}

static void NAME(block_run_split)(struct attention_plan *plan, const struct attention_block *block,
                                  const struct attention_scratch *scratch, void *state_memory, size_t first, size_t end)
{
    struct NAME(state) *state = state_memory;
    NAME(state_init)(state, plan, block, scratch, first == 0);
    size_t begin = size_max(first, block->key_begin);
    NAME(keys_outside)(state, first, size_min(end, block->key_begin));
    NAME(keys_outside)(state, size_max(first, block->key_end), end);
    NAME(keys_run)(state, begin, size_min(end, block->key_end), NAME(tile_compute));
}

#include "core/attention/reduce.inc.h"

static void NAME(block_merge_splits)(struct attention_plan *plan, void *const *state_memory, size_t count)
{
    struct NAME(state) *state = state_memory[0];
    for (size_t split = 1; split < count; split++)
        for (size_t r = 0; r < state->block->rows; r++)
            NAME(row_merge)(state, state_memory[split], r);
    if (!attention_should_stop(plan))
        NAME(rows_finish)(state);
}

extern const struct attention_block_functions NAME(attention_block);
const struct attention_block_functions NAME(attention_block) = {
    .pack = NAME(pack),
    .run = NAME(block_run),
    .reduce = NAME(block_reduce),
    .run_split = NAME(block_run_split),
    .state_bytes = sizeof(struct NAME(state)),
    .merge_splits = NAME(block_merge_splits),
};
