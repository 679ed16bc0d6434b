/* attention_block.inc.h: one block of queries over its keys. Included once a precision, with ELEMENT (what the views hold),
 * REAL (what is computed in), KERNEL(x) and NAME(x) defined; every step is a function with one job, called in the order of
 * attention.h's stages. */

#include <math.h>
#include <string.h>

#define MINUS_INFINITY (-(REAL)INFINITY)

#include "core/attention/pack.inc.h"
#include "core/attention/softmax.inc.h"

#include "core/attention/values.inc.h"

#include "core/attention/scores.inc.h"

/* The tile of keys [first, end), cut at the next tile's edge, for rows [row, ...) that one product takes. */
static struct NAME(tile) NAME(tile_at)(const struct NAME(state) *state, size_t first, size_t end, size_t row)
{
    size_t edge = (first / KEY_TILE + 1) * KEY_TILE;
    return (struct NAME(tile)){.first = first,
                               .count = size_min(end, edge) - first,
                               .row = row,
                               .rows = size_min(state->plan->rows_at_once, state->block->rows - row)};
}

/* Leaves out keys that none of the tile's rows may see, whole panels before and single keys behind. Where a result has a number
 * for each key, all of the block's are needed. */
static void NAME(tile_clip)(const struct NAME(state) *state, struct NAME(tile) *tile)
{
    if (state->plan->stages_wanted)
        return;
    size_t end = size_min(tile->first + tile->count, state->end[tile->row + tile->rows - 1]);
    size_t begin = state->begin[tile->row] / state->plan->key_panel * state->plan->key_panel;
    tile->first = size_max(tile->first, begin);
    tile->count = end > tile->first ? end - tile->first : 0;
}

/* The keys that no row of the block may see: masked, and of interest only to whoever asked for the stages before the bans. */
static void NAME(keys_out_of_sight)(struct NAME(state) *state, size_t first, size_t end)
{
    const struct attention_plan *plan = state->plan;
    const struct tensor *masked = &plan->results->masked_scores;
    if (first >= end)
        return;
    for (size_t r = 0; r < state->block->rows; r++) {
        ELEMENT *to = masked->data == NULL ? NULL : NAME(result_row)(state, masked, r);
        for (size_t j = first; j < end && to != NULL; j++)
            to[(ptrdiff_t)j * masked->stride[3]] = -(ELEMENT)INFINITY;
        size_t weight_bytes = dtype_bytes(plan->weights_dtype);
        if (plan->weights_wanted)
            memset((char *)NAME(weights_row)(state, r) + first * weight_bytes, 0, (end - first) * weight_bytes);
    }
    if (plan->results->scores.data == NULL && plan->results->capped_scores.data == NULL)
        return;
    first = first / plan->key_panel * plan->key_panel; /* panels are whole; a few scores are written twice */
    while (first < end && !attention_should_stop(state->plan)) {
        struct NAME(tile) tile = NAME(tile_at)(state, first, end, 0);
        for (; tile.row < state->block->rows; tile = NAME(tile_at)(state, first, end, tile.row + tile.rows))
            NAME(stages_before_bans)(state, &tile, NULL);
        first += tile.count;
    }
}

#include "core/attention/finish.inc.h"

static void NAME(pack_queries)(struct NAME(state) *state)
{
    const struct attention_plan *plan = state->plan;
    const struct tensor *query = &plan->params->query;
    for (size_t r = 0; r < state->block->rows; r++) {
        const ELEMENT *row = NAME(result_row)(state, query, r);
        for (size_t first = 0; first < plan->D; first += KERNEL_DEPTH_MAX) {
            REAL *to = state->queries + (first / KERNEL_DEPTH_MAX * QUERY_TILE + r) * KERNEL_ROW_STRIDE;
            size_t count = size_min(KERNEL_DEPTH_MAX, plan->D - first);
            if (sizeof(ELEMENT) == sizeof(REAL) && query->stride[3] == 1) /* a copy: GCC's own waits for each row's memory */
                plan->kernels->KERNEL(scale_row)(to, (const REAL *)row + first, count, 1);
            else
                for (size_t d = 0; d < count; d++)
                    to[d] = (REAL)row[(ptrdiff_t)(first + d) * query->stride[3]];
        }
    }
}

/* Only what belongs to the block's rows is set: a small block should not pay for a large one's. */
static void NAME(state_init)(struct NAME(state) *state, struct attention_plan *plan, const struct attention_block *block,
                             const struct attention_scratch *scratch, bool with_sink)
{
    state->plan = plan;
    state->block = block;
    state->queries = scratch->queries;
    state->scores = scratch->scores;
    state->sums = scratch->sums;
    state->sums_stride = plan->value_panel_count * plan->value_panel;
    state->apart = state->sums == NULL ? NULL : state->sums + block->rows * state->sums_stride;
    state->weight_rows = scratch->weight_rows;
    state->tile_max = scratch->tile_max;
    state->clean_values = scratch->clean_values;
    for (size_t r = 0; r < block->rows; r++) {
        const double *sinks = with_sink ? plan->params->sinks : NULL;
        attention_visible(plan, block->b, NAME(row_query)(state, r), &state->begin[r], &state->end[r]);
        state->max[r] = sinks == NULL ? MINUS_INFINITY : (REAL)sinks[NAME(row_head)(state, r)];
        state->sum[r] = sinks == NULL ? 0 : 1;
        state->seen[r] = state->nonfinite[r] = state->needs_exact[r] = state->summed[r] = state->has_nonfinite_sums[r] = false;
    }
    NAME(pack_queries)(state);
}

/* All rows over the keys [first, end), which lie within the block's. */
static void NAME(keys_walk)(struct NAME(state) *state, size_t first, size_t end)
{
    for (; first < end; first = (first / KEY_TILE + 1) * KEY_TILE) {
        if (attention_should_stop(state->plan))
            return;
        for (size_t row = 0; row < state->block->rows; row += state->plan->rows_at_once) {
            struct NAME(tile) tile = NAME(tile_at)(state, first, end, row);
            NAME(tile_clip)(state, &tile);
            if (tile.count > 0)
                NAME(tile_compute)(state, &tile);
        }
    }
}

void NAME(attention_block)(struct attention_plan *plan, const struct attention_block *block,
                           const struct attention_scratch *scratch)
{
    struct NAME(state) state;
    NAME(state_init)(&state, plan, block, scratch, true);
    NAME(keys_out_of_sight)(&state, 0, block->key_begin);
    NAME(keys_out_of_sight)(&state, block->key_end, plan->Tk);
    NAME(keys_walk)(&state, block->key_begin, block->key_end);
    if (!attention_should_stop(plan))
        NAME(rows_finish)(&state);
}

/* to += other, for row r; what `to` never held counts as 0. */
static void NAME(row_add)(REAL *to, bool holds, double own, const REAL *from, double other, size_t count)
{
    for (size_t d = 0; d < count; d++)
        to[d] = (REAL)((holds ? own * (double)to[d] : 0) + other * (double)from[d]);
}

/* Brings what a later split of the keys gave to row r into the first split's. */
static void NAME(row_merge)(struct NAME(state) *state, const struct NAME(state) *later, size_t r)
{
    const struct attention_plan *plan = state->plan;
    size_t at = r * state->sums_stride;
    state->nonfinite[r] |= later->nonfinite[r];
    state->needs_exact[r] |= later->needs_exact[r];
    if (!later->seen[r])
        return;
    double max = state->max[r] > later->max[r] ? (double)state->max[r] : (double)later->max[r];
    double own = exp((double)state->max[r] - max), other = exp((double)later->max[r] - max);
    state->needs_exact[r] |= state->has_nonfinite_sums[r] && own < NONFINITE_FACTOR_MIN;
    state->needs_exact[r] |= later->has_nonfinite_sums[r] && other < NONFINITE_FACTOR_MIN;
    if (state->sums != NULL)
        NAME(row_add)(state->sums + at, state->summed[r], own, later->sums + at, other, plan->Dv);
    if (later->has_nonfinite_sums[r])
        NAME(row_add)(state->apart + at, state->has_nonfinite_sums[r], 1, later->apart + at, 1, plan->Dv);
    state->has_nonfinite_sums[r] |= later->has_nonfinite_sums[r];
    state->sum[r] = own * state->sum[r] + other * later->sum[r];
    state->max[r] = (REAL)max;
    state->seen[r] = state->summed[r] = true;
}

size_t NAME(attention_split_bytes)(void)
{
    return sizeof(struct NAME(state));
}

void NAME(attention_split)(struct attention_plan *plan, const struct attention_block *block,
                           const struct attention_scratch *scratch, void *state_memory, size_t first, size_t end)
{
    struct NAME(state) *state = state_memory;
    NAME(state_init)(state, plan, block, scratch, first == 0);
    size_t begin = size_max(first, block->key_begin);
    NAME(keys_out_of_sight)(state, first, size_min(end, block->key_begin));
    NAME(keys_out_of_sight)(state, size_max(first, block->key_end), end);
    NAME(keys_walk)(state, begin, size_min(end, block->key_end));
}

void NAME(attention_merge)(struct attention_plan *plan, void *const *state_memory, size_t count)
{
    struct NAME(state) *state = state_memory[0];
    for (size_t split = 1; split < count; split++)
        for (size_t r = 0; r < state->block->rows; r++)
            NAME(row_merge)(state, state_memory[split], r);
    if (!attention_should_stop(plan))
        NAME(rows_finish)(state);
}
