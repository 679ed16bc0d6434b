/* attention_block.inc.h: one block of queries over its keys. Included once a precision, with ELEMENT (what the views hold),
 * REAL (what is computed in), KERNEL(x) and NAME(x) defined; every step is a function with one job, called in the order of
 * attention.h's stages. */

#include <math.h>
#include <string.h>

#define MINUS_INFINITY (-(REAL)INFINITY)

#include "core/attention_pack.inc.h"
#include "core/attention_walk.inc.h"

#include "core/attention_values.inc.h"

#include "core/attention_stages.inc.h"

/* The tile of keys [first, end), cut at the next tile's edge, for rows [row, ...) that one product takes. */
static struct NAME(tile) NAME(tile_at)(const struct NAME(walk) *walk, size_t first, size_t end, size_t row)
{
    size_t edge = (first / KEY_TILE + 1) * KEY_TILE;
    return (struct NAME(tile)){.first = first,
                               .count = size_min(end, edge) - first,
                               .row = row,
                               .rows = size_min(walk->plan->rows_at_once, walk->block->rows - row)};
}

/* Leaves out keys that none of the tile's rows may see, whole panels before and single keys behind. Where a result has a number
 * for each key, all of the block's are needed. */
static void NAME(tile_clip)(const struct NAME(walk) *walk, struct NAME(tile) *tile)
{
    if (walk->plan->stages_wanted)
        return;
    size_t end = size_min(tile->first + tile->count, walk->end[tile->row + tile->rows - 1]);
    size_t begin = walk->begin[tile->row] / walk->plan->key_panel * walk->plan->key_panel;
    tile->first = size_max(tile->first, begin);
    tile->count = end > tile->first ? end - tile->first : 0;
}

/* The keys that no row of the block may see: banned, and of interest only to whoever asked for the stages before the bans. */
static void NAME(keys_out_of_sight)(struct NAME(walk) *walk, size_t first, size_t end)
{
    const struct attention_plan *plan = walk->plan;
    const struct tensor *masked = &plan->results->masked_scores;
    if (first >= end)
        return;
    for (size_t r = 0; r < walk->block->rows; r++) {
        ELEMENT *to = masked->data == NULL ? NULL : NAME(result_row)(walk, masked, r);
        for (size_t j = first; j < end && to != NULL; j++)
            to[(ptrdiff_t)j * masked->stride[3]] = -(ELEMENT)INFINITY;
        size_t weight_bytes = dtype_bytes(plan->weights_dtype);
        if (plan->weights_wanted)
            memset((char *)NAME(weights_row)(walk, r) + first * weight_bytes, 0, (end - first) * weight_bytes);
    }
    if (plan->results->scores.data == NULL && plan->results->capped_scores.data == NULL)
        return;
    first = first / plan->key_panel * plan->key_panel; /* panels are whole; a few scores are written twice */
    while (first < end && !attention_should_stop(walk->plan)) {
        struct NAME(tile) tile = NAME(tile_at)(walk, first, end, 0);
        for (; tile.row < walk->block->rows; tile = NAME(tile_at)(walk, first, end, tile.row + tile.rows))
            NAME(stages_before_bans)(walk, &tile, NULL);
        first += tile.count;
    }
}

#include "core/attention_finish.inc.h"

static void NAME(pack_queries)(struct NAME(walk) *walk)
{
    const struct attention_plan *plan = walk->plan;
    const struct tensor *query = &plan->problem->query;
    for (size_t r = 0; r < walk->block->rows; r++) {
        const ELEMENT *row = NAME(result_row)(walk, query, r);
        for (size_t first = 0; first < plan->D; first += KERNEL_DEPTH_MAX) {
            REAL *to = walk->queries + (first / KERNEL_DEPTH_MAX * QUERY_TILE + r) * KERNEL_ROW_STRIDE;
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
static void NAME(walk_init)(struct NAME(walk) *walk, struct attention_plan *plan, const struct attention_block *block,
                            const struct attention_scratch *scratch, bool with_sink)
{
    walk->plan = plan;
    walk->block = block;
    walk->queries = scratch->queries;
    walk->scores = scratch->scores;
    walk->sums = scratch->sums;
    walk->sums_stride = plan->value_panel_count * plan->value_panel;
    walk->apart = walk->sums == NULL ? NULL : walk->sums + block->rows * walk->sums_stride;
    walk->weight_rows = scratch->weight_rows;
    walk->tile_max = scratch->tile_max;
    walk->clean_values = scratch->clean_values;
    for (size_t r = 0; r < block->rows; r++) {
        const double *sinks = with_sink ? plan->problem->sinks : NULL;
        attention_visible(plan, block->b, NAME(row_query)(walk, r), &walk->begin[r], &walk->end[r]);
        walk->max[r] = sinks == NULL ? MINUS_INFINITY : (REAL)sinks[NAME(row_head)(walk, r)];
        walk->sum[r] = sinks == NULL ? 0 : 1;
        walk->seen[r] = walk->odd[r] = walk->odd_output[r] = walk->summed[r] = walk->has_apart[r] = false;
    }
    NAME(pack_queries)(walk);
}

/* All rows over the keys [first, end), which lie within the block's. */
static void NAME(keys_walk)(struct NAME(walk) *walk, size_t first, size_t end)
{
    for (; first < end; first = (first / KEY_TILE + 1) * KEY_TILE) {
        if (attention_should_stop(walk->plan))
            return;
        for (size_t row = 0; row < walk->block->rows; row += walk->plan->rows_at_once) {
            struct NAME(tile) tile = NAME(tile_at)(walk, first, end, row);
            NAME(tile_clip)(walk, &tile);
            if (tile.count > 0)
                NAME(tile_compute)(walk, &tile);
        }
    }
}

void NAME(attention_block)(struct attention_plan *plan, const struct attention_block *block,
                           const struct attention_scratch *scratch)
{
    struct NAME(walk) walk;
    NAME(walk_init)(&walk, plan, block, scratch, true);
    NAME(keys_out_of_sight)(&walk, 0, block->key_begin);
    NAME(keys_out_of_sight)(&walk, block->key_end, plan->Tk);
    NAME(keys_walk)(&walk, block->key_begin, block->key_end);
    if (!attention_should_stop(plan))
        NAME(rows_finish)(&walk);
}

/* to += other, for row r; what `to` never held counts as 0. */
static void NAME(row_add)(REAL *to, bool holds, double own, const REAL *from, double other, size_t count)
{
    for (size_t d = 0; d < count; d++)
        to[d] = (REAL)((holds ? own * (double)to[d] : 0) + other * (double)from[d]);
}

/* Brings what a later split of the keys gave to row r into the first split's. */
static void NAME(row_merge)(struct NAME(walk) *walk, const struct NAME(walk) *later, size_t r)
{
    const struct attention_plan *plan = walk->plan;
    size_t at = r * walk->sums_stride;
    walk->odd[r] |= later->odd[r];
    walk->odd_output[r] |= later->odd_output[r];
    if (!later->seen[r])
        return;
    double max = walk->max[r] > later->max[r] ? (double)walk->max[r] : (double)later->max[r];
    double own = exp((double)walk->max[r] - max), other = exp((double)later->max[r] - max);
    walk->odd_output[r] |= walk->has_apart[r] && own < APART_FACTOR_MIN;
    walk->odd_output[r] |= later->has_apart[r] && other < APART_FACTOR_MIN;
    if (walk->sums != NULL)
        NAME(row_add)(walk->sums + at, walk->summed[r], own, later->sums + at, other, plan->Dv);
    if (later->has_apart[r])
        NAME(row_add)(walk->apart + at, walk->has_apart[r], 1, later->apart + at, 1, plan->Dv);
    walk->has_apart[r] |= later->has_apart[r];
    walk->sum[r] = own * walk->sum[r] + other * later->sum[r];
    walk->max[r] = (REAL)max;
    walk->seen[r] = walk->summed[r] = true;
}

size_t NAME(attention_split_bytes)(void)
{
    return sizeof(struct NAME(walk));
}

void NAME(attention_split)(struct attention_plan *plan, const struct attention_block *block,
                           const struct attention_scratch *scratch, void *walk_memory, size_t first, size_t end)
{
    struct NAME(walk) *walk = walk_memory;
    NAME(walk_init)(walk, plan, block, scratch, first == 0);
    size_t begin = size_max(first, block->key_begin);
    NAME(keys_out_of_sight)(walk, first, size_min(end, block->key_begin));
    NAME(keys_out_of_sight)(walk, size_max(first, block->key_end), end);
    NAME(keys_walk)(walk, begin, size_min(end, block->key_end));
}

void NAME(attention_merge)(struct attention_plan *plan, void *const *walk_memory, size_t count)
{
    struct NAME(walk) *walk = walk_memory[0];
    for (size_t split = 1; split < count; split++)
        for (size_t r = 0; r < walk->block->rows; r++)
            NAME(row_merge)(walk, walk_memory[split], r);
    if (!attention_should_stop(plan))
        NAME(rows_finish)(walk);
}
