/* attention_block.inc.h: one block of queries over its keys. Included once a precision, with ELEMENT (what the views hold),
 * REAL (what is computed in), KERNEL(x) and NAME(x) defined; every step is a function with one job, called in the order of
 * attention.h's stages. */

#include <math.h>
#include <string.h>

#include "core/attention_pack.inc.h"

#define MINUS_INFINITY (-(REAL)INFINITY)

/* A block on its way through the tiles. */
struct NAME(walk) {
    struct attention_plan *plan;
    const struct attention_block *block;
    REAL *queries; /* packed: struct attention_scratch */
    REAL *scores;
    REAL *sums; /* NULL: output not wanted */
    size_t sums_stride;
    REAL *weights; /* all Tk columns; NULL: not wanted */
    size_t weights_stride;
    REAL *tile_max;
    size_t begin[QUERY_TILE], end[QUERY_TILE]; /* the keys each row may see by position */
    REAL max[QUERY_TILE];                      /* running */
    double sum[QUERY_TILE];                    /* running denominator, against max */
    bool seen[QUERY_TILE];                     /* some key was not banned */
    bool odd[QUERY_TILE];                      /* a score is not finite: attention_row computes it */
    bool odd_output[QUERY_TILE];               /* a value or their sum is not finite: attention_row_output computes it */
    bool summed[QUERY_TILE];                   /* sums holds something */
};

/* The keys [first, first + count) for the rows [row, row + rows) of a block. Its scores lie in walk->scores, row by row. */
struct NAME(tile) {
    size_t first, count;
    size_t row, rows;
};

static REAL *NAME(score_row)(const struct NAME(walk) * walk, const struct NAME(tile) * tile, size_t r)
{
    return walk->scores + (r - tile->row) * KERNEL_ROW_STRIDE;
}

/* The row of a (B,H,Tq,Tk) result that row r of the block writes. */
static ELEMENT *NAME(result_row)(const struct NAME(walk) * walk, const struct tensor *t, size_t r)
{
    const struct attention_block *block = walk->block;
    return tensor_row(t, block->b, block->h, block->first_query + r);
}

/* Copies a tile's scores, as they are now, to a (B,H,Tq,Tk) result. */
static void NAME(emit)(const struct NAME(walk) * walk, const struct NAME(tile) * tile, const struct tensor *t)
{
    for (size_t r = tile->row; r < tile->row + tile->rows; r++) {
        const REAL *from = NAME(score_row)(walk, tile, r);
        ELEMENT *to = NAME(result_row)(walk, t, r);
        for (size_t j = 0; j < tile->count; j++)
            to[(ptrdiff_t)(tile->first + j) * t->stride[3]] = (ELEMENT)from[j];
    }
}

/* The same for a stage before the bans; what overflowed on the way is computed again in double. */
static void NAME(emit_exact)(const struct NAME(walk) * walk, const struct NAME(tile) * tile, const struct tensor *t,
                             bool capped)
{
    const struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    NAME(emit)(walk, tile, t);
    for (size_t r = tile->row; r < tile->row + tile->rows; r++) {
        if (plan->kernels->KERNEL(finite_row)(NAME(score_row)(walk, tile, r), tile->count))
            continue;
        ELEMENT *to = NAME(result_row)(walk, t, r);
        for (size_t j = 0; j < tile->count; j++) {
            double score = attention_score(plan, block->b, block->h, block->first_query + r, tile->first + j);
            to[(ptrdiff_t)(tile->first + j) * t->stride[3]] = (ELEMENT)(capped ? attention_capped(plan, score) : score);
        }
    }
}

/* scores = scale * q.k */
static void NAME(stage_scores)(struct NAME(walk) * walk, const struct NAME(tile) * tile)
{
    const struct attention_plan *plan = walk->plan;
    size_t head = walk->block->b * plan->Hkv + walk->block->g;
    size_t panel = tile->first / plan->key_panel;
    const REAL *panels = (const REAL *)plan->key_panels + (head * plan->key_panel_count + panel) * plan->D * plan->key_panel;
    struct KERNEL(kernel_product) product = {
        .rows = tile->rows,
        .columns = tile->count,
        .panel_columns = plan->key_panel,
        .panel_stride = plan->D * plan->key_panel,
        .alpha = (REAL)plan->problem->scale,
        .c = walk->scores,
        .c_stride = KERNEL_ROW_STRIDE,
    };
    for (size_t d = 0; d == 0 || d < plan->D; d += KERNEL_DEPTH_MAX) {
        product.depth = size_min(KERNEL_DEPTH_MAX, plan->D - d);
        product.a = walk->queries + (d / KERNEL_DEPTH_MAX * QUERY_TILE + tile->row) * KERNEL_ROW_STRIDE;
        product.panels = panels + d * plan->key_panel;
        product.add = d > 0;
        plan->kernels->KERNEL(product)(&product);
    }
}

/* An infinity may stand for a product that overflowed before it was scaled, so it must not pass as the cap: the kernel makes
 * it NaN, which hands the row to attention_row. */
static void NAME(stage_softcap)(struct NAME(walk) * walk, const struct NAME(tile) * tile)
{
    const struct attention_plan *plan = walk->plan;
    for (size_t r = tile->row; r < tile->row + tile->rows; r++)
        plan->kernels->KERNEL(softcap_row)(NAME(score_row)(walk, tile, r), tile->count, (REAL)plan->problem->softcap);
}

/* scale * q.k and softcap, and their results. */
static void NAME(stages_before_bans)(struct NAME(walk) * walk, const struct NAME(tile) * tile)
{
    const struct attention_results *results = walk->plan->results;
    NAME(stage_scores)(walk, tile);
    if (results->scores.data != NULL)
        NAME(emit_exact)(walk, tile, &results->scores, false);
    if (walk->plan->problem->softcap > 0)
        NAME(stage_softcap)(walk, tile);
    if (results->capped_scores.data != NULL)
        NAME(emit_exact)(walk, tile, &results->capped_scores, true);
}

static void NAME(stage_alibi)(struct NAME(walk) * walk, size_t r, size_t first, size_t count, REAL *row)
{
    const struct attention_block *block = walk->block;
    double distance = (double)attention_position(walk->plan, block->b, block->first_query + r) - (double)first;
    walk->plan->kernels->KERNEL(alibi_row)(row, count, distance, walk->plan->problem->alibi_slopes[block->h]);
}

/* A mask whose numbers for one query don't lie side by side. */
static bool NAME(stage_mask_strided)(const struct tensor *mask, const void *mask_row, size_t first, size_t count, REAL *row)
{
    bool odd = false;
    for (size_t j = 0; j < count; j++) {
        ptrdiff_t at = (ptrdiff_t)(first + j) * mask->stride[3];
        REAL add = mask->dtype == DTYPE_BOOL ? 0 : (REAL)((const ELEMENT *)mask_row)[at];
        bool banned = mask->dtype == DTYPE_BOOL ? ((const unsigned char *)mask_row)[at] == 0 : add == MINUS_INFINITY;
        REAL score = row[j] + add;
        odd |= !banned && !isfinite(score);
        row[j] = banned ? MINUS_INFINITY : score;
    }
    return !odd;
}

/* Adds or applies row r of the mask to the scores of keys [first, first + count); returns false where a key that is not banned
 * has a non-finite score. */
static bool NAME(stage_mask)(struct NAME(walk) * walk, size_t r, size_t first, size_t count, REAL *row)
{
    const struct attention_block *block = walk->block;
    const struct tensor *mask = &walk->plan->problem->mask;
    const void *mask_row = tensor_row(mask, block->b, block->h, block->first_query + r);
    if (mask->stride[3] == 1 && mask->dtype == DTYPE_BOOL)
        return walk->plan->kernels->KERNEL(keep_row)(row, count, (const unsigned char *)mask_row + first);
    if (mask->stride[3] == 1 && sizeof(ELEMENT) == sizeof(REAL))
        return walk->plan->kernels->KERNEL(add_row)(row, count, (const REAL *)mask_row + first);
    return NAME(stage_mask_strided)(mask, mask_row, first, count, row);
}

/* Bias and bans of one row; then `row` holds what softmax sees. Returns its largest. */
static REAL NAME(stages_of_row)(struct NAME(walk) * walk, const struct NAME(tile) * tile, size_t r, REAL *row)
{
    const struct attention_problem *problem = walk->plan->problem;
    size_t tile_end = tile->first + tile->count;
    size_t begin = size_min(size_max(walk->begin[r], tile->first), tile_end) - tile->first;
    size_t end = size_max(size_min(walk->end[r], tile_end), tile->first + begin) - tile->first;
    for (size_t j = 0; j < begin; j++)
        row[j] = MINUS_INFINITY;
    for (size_t j = end; j < tile->count; j++)
        row[j] = MINUS_INFINITY;
    if (problem->alibi_slopes != NULL)
        NAME(stage_alibi)(walk, r, tile->first + begin, end - begin, row + begin);
    bool finite = true;
    if (problem->mask.data != NULL)
        finite = NAME(stage_mask)(walk, r, tile->first + begin, end - begin, row + begin);
    REAL max;
    bool all_finite = walk->plan->kernels->KERNEL(max_row)(row + begin, end - begin, &max);
    walk->odd[r] |= problem->mask.data == NULL ? !all_finite : !finite;
    return max;
}

/* Turns row r's scores to exp(score - max) and brings what was summed before to the new maximum. */
static void NAME(stage_softmax)(struct NAME(walk) * walk, const struct NAME(tile) * tile, size_t r, REAL *row, REAL tile_max)
{
    const struct attention_plan *plan = walk->plan;
    REAL before = walk->max[r];
    if (tile_max == MINUS_INFINITY || walk->odd[r]) { /* nothing to see in this tile, or attention_row will look */
        memset(row, 0, tile->count * sizeof *row);
    } else {
        walk->seen[r] = true;
        if (tile_max > before) {
            double factor = exp((double)before - (double)tile_max);
            walk->sum[r] *= factor;
            if (walk->summed[r])
                plan->kernels->KERNEL(scale_row)(walk->sums + r * walk->sums_stride, plan->Dv, (REAL)factor);
            walk->max[r] = tile_max;
        }
        walk->sum[r] += (double)plan->kernels->KERNEL(exp_row)(row, tile->count, walk->max[r]);
    }
    if (walk->weights == NULL)
        return;
    memcpy(walk->weights + r * walk->weights_stride + tile->first, row, tile->count * sizeof *row);
    walk->tile_max[tile->first / KEY_TILE * QUERY_TILE + r] = walk->max[r];
}

/* The rows that may see a key whose value is not finite get an odd output. */
static void NAME(mark_odd_values)(struct NAME(walk) * walk, const struct NAME(tile) * tile)
{
    const struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    const unsigned char *odd = plan->odd_values + (block->b * plan->Hkv + block->g) * plan->Tk;
    for (size_t j = tile->first; j < tile->first + tile->count; j++)
        for (size_t r = tile->row; r < tile->row + tile->rows && odd[j] != 0; r++)
            walk->odd_output[r] |= !attention_banned(plan, block->b, block->h, block->first_query + r, j);
}

/* sums += weights * values */
static void NAME(stage_values)(struct NAME(walk) * walk, const struct NAME(tile) * tile)
{
    const struct attention_plan *plan = walk->plan;
    size_t head = walk->block->b * plan->Hkv + walk->block->g;
    const REAL *panels = (const REAL *)plan->value_panels + head * plan->value_panel_count * plan->Tk * plan->value_panel;
    if (atomic_load_explicit(&plan->has_odd_values, memory_order_relaxed))
        NAME(mark_odd_values)(walk, tile);
    struct KERNEL(kernel_product) product = {
        .rows = tile->rows,
        .columns = plan->Dv,
        .depth = tile->count,
        .a = walk->scores,
        .panels = panels + tile->first * plan->value_panel,
        .panel_columns = plan->value_panel,
        .panel_stride = plan->Tk * plan->value_panel,
        .alpha = 1,
        .add = walk->summed[tile->row],
        .c = walk->sums + tile->row * walk->sums_stride,
        .c_stride = walk->sums_stride,
    };
    plan->kernels->KERNEL(product)(&product);
    for (size_t r = tile->row; r < tile->row + tile->rows; r++)
        walk->summed[r] = true;
}

static void NAME(tile_compute)(struct NAME(walk) * walk, const struct NAME(tile) * tile)
{
    const struct attention_plan *plan = walk->plan;
    REAL tile_max[QUERY_TILE];
    NAME(stages_before_bans)(walk, tile);
    for (size_t r = tile->row; r < tile->row + tile->rows; r++)
        tile_max[r] = NAME(stages_of_row)(walk, tile, r, NAME(score_row)(walk, tile, r));
    if (plan->results->masked_scores.data != NULL)
        NAME(emit)(walk, tile, &plan->results->masked_scores);
    for (size_t r = tile->row; r < tile->row + tile->rows; r++)
        NAME(stage_softmax)(walk, tile, r, NAME(score_row)(walk, tile, r), tile_max[r]);
    if (walk->sums != NULL)
        NAME(stage_values)(walk, tile);
}

/* The tile of keys [first, end), cut at the next tile's edge, for rows [row, ...) that one product takes. */
static struct NAME(tile) NAME(tile_at)(const struct NAME(walk) * walk, size_t first, size_t end, size_t row)
{
    size_t edge = (first / KEY_TILE + 1) * KEY_TILE;
    return (struct NAME(tile)){.first = first,
                               .count = size_min(end, edge) - first,
                               .row = row,
                               .rows = size_min(walk->plan->rows_at_once, walk->block->rows - row)};
}

/* Leaves out keys that none of the tile's rows may see, whole panels before and single keys behind. Where a result has a number
 * for each key, all of the block's are needed. */
static void NAME(tile_clip)(const struct NAME(walk) * walk, struct NAME(tile) * tile)
{
    if (walk->plan->stages_wanted)
        return;
    size_t end = size_min(tile->first + tile->count, walk->end[tile->row + tile->rows - 1]);
    size_t begin = walk->begin[tile->row] / walk->plan->key_panel * walk->plan->key_panel;
    tile->first = size_max(tile->first, begin);
    tile->count = end > tile->first ? end - tile->first : 0;
}

static bool NAME(should_stop)(struct attention_plan *plan)
{
    if (executor_stopped(plan->executor))
        atomic_store_explicit(&plan->stopped, true, memory_order_relaxed);
    return atomic_load_explicit(&plan->stopped, memory_order_relaxed);
}

/* The keys that no row of the block may see: banned, and of interest only to whoever asked for the stages before the bans. */
static void NAME(keys_out_of_sight)(struct NAME(walk) * walk, size_t first, size_t end)
{
    const struct attention_plan *plan = walk->plan;
    const struct tensor *masked = &plan->results->masked_scores;
    for (size_t r = 0; r < walk->block->rows && first < end; r++) {
        ELEMENT *to = masked->data == NULL ? NULL : NAME(result_row)(walk, masked, r);
        for (size_t j = first; j < end && to != NULL; j++)
            to[(ptrdiff_t)j * masked->stride[3]] = -(ELEMENT)INFINITY;
        if (walk->weights != NULL)
            memset(walk->weights + r * walk->weights_stride + first, 0, (end - first) * sizeof(REAL));
    }
    if (plan->results->scores.data == NULL && plan->results->capped_scores.data == NULL)
        return;
    first = first / plan->key_panel * plan->key_panel; /* panels are whole; a few scores are written twice */
    while (first < end && !NAME(should_stop)(walk->plan)) {
        struct NAME(tile) tile = NAME(tile_at)(walk, first, end, 0);
        for (; tile.row < walk->block->rows; tile = NAME(tile_at)(walk, first, end, tile.row + tile.rows))
            NAME(stages_before_bans)(walk, &tile);
        first += tile.count;
    }
}

/* Divides row r by its denominator. */
static void NAME(stage_divide)(struct NAME(walk) * walk, size_t r)
{
    const struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    REAL *sums = walk->sums == NULL ? NULL : walk->sums + r * walk->sums_stride;
    if (sums != NULL && !walk->seen[r]) {
        memset(sums, 0, plan->Dv * sizeof *sums);
    } else if (sums != NULL && !walk->odd_output[r]) {
        plan->kernels->KERNEL(scale_row)(sums, plan->Dv, (REAL)(1 / walk->sum[r]));
        /* Weights are at most 1, but their sum before the division may carry large values past the largest float. */
        walk->odd_output[r] = !plan->kernels->KERNEL(finite_row)(sums, plan->Dv);
    }
    if (walk->weights == NULL || !walk->seen[r])
        return;
    REAL *weights = walk->weights + r * walk->weights_stride;
    for (size_t first = block->key_begin; first < block->key_end;) {
        struct NAME(tile) tile = NAME(tile_at)(walk, first, block->key_end, r);
        double tile_max = (double)walk->tile_max[first / KEY_TILE * QUERY_TILE + r];
        double factor = exp(tile_max - (double)walk->max[r]) / walk->sum[r];
        plan->kernels->KERNEL(scale_row)(weights + first, tile.count, (REAL)factor);
        first += tile.count;
    }
}

/* Weights, lse and output of a row of finite scores. */
static void NAME(row_finish)(struct NAME(walk) * walk, size_t r)
{
    struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    const struct attention_results *results = plan->results;
    size_t i = block->first_query + r;
    NAME(stage_divide)(walk, r);
    if (results->lse.data != NULL)
        *(ELEMENT *)tensor_row(&results->lse, block->b, block->h, i) = (ELEMENT)((double)walk->max[r] + log(walk->sum[r]));
    if (walk->odd_output[r])
        attention_row_output(plan, block->b, block->h, i);
    if (walk->odd_output[r] || walk->sums == NULL)
        return;
    ELEMENT *to = tensor_row(&results->output, block->b, block->h, i);
    for (size_t d = 0; d < plan->Dv; d++)
        to[(ptrdiff_t)d * results->output.stride[3]] = (ELEMENT)walk->sums[r * walk->sums_stride + d];
}

/* All rows' ends; those that need more than this precision are computed again. These take long: the executor is asked at each. */
static void NAME(rows_finish)(struct NAME(walk) * walk)
{
    struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    size_t banned = 0;
    for (size_t r = 0; r < block->rows; r++) {
        bool slow = walk->odd[r] || walk->odd_output[r];
        if (slow && NAME(should_stop)(plan))
            return;
        banned += !walk->odd[r] && !walk->seen[r];
        if (walk->odd[r])
            attention_row(plan, block->b, block->h, block->first_query + r,
                          walk->weights == NULL ? NULL : walk->weights + r * walk->weights_stride);
        else
            NAME(row_finish)(walk, r);
    }
    atomic_fetch_add_explicit(&plan->banned_row_count, banned, memory_order_relaxed);
}

static void NAME(pack_queries)(struct NAME(walk) * walk)
{
    const struct attention_plan *plan = walk->plan;
    const struct tensor *query = &plan->problem->query;
    for (size_t r = 0; r < walk->block->rows; r++) {
        const ELEMENT *row = tensor_row(query, walk->block->b, walk->block->h, walk->block->first_query + r);
        for (size_t d = 0; d < plan->D; d++) {
            size_t chunk_row = d / KERNEL_DEPTH_MAX * QUERY_TILE + r;
            walk->queries[chunk_row * KERNEL_ROW_STRIDE + d % KERNEL_DEPTH_MAX] = (REAL)row[(ptrdiff_t)d * query->stride[3]];
        }
    }
}

static void NAME(walk_init)(struct NAME(walk) * walk, const struct attention_scratch *scratch)
{
    const struct attention_plan *plan = walk->plan;
    const struct attention_problem *problem = plan->problem;
    const struct attention_block *block = walk->block;
    walk->queries = scratch->queries;
    walk->scores = scratch->scores;
    walk->sums = scratch->sums;
    walk->sums_stride = plan->value_panel_count * plan->value_panel;
    walk->tile_max = scratch->tile_max;
    if (plan->weights_in_place) {
        walk->weights = (REAL *)tensor_row(&plan->results->weights, block->b, block->h, block->first_query);
        walk->weights_stride = (size_t)plan->results->weights.stride[2];
    } else if (plan->weights_wanted) {
        walk->weights = scratch->weight_rows;
        walk->weights_stride = plan->Tk;
    }
    for (size_t r = 0; r < block->rows; r++) {
        attention_visible(plan, block->b, block->first_query + r, &walk->begin[r], &walk->end[r]);
        walk->max[r] = problem->sinks == NULL ? MINUS_INFINITY : (REAL)problem->sinks[block->h];
        walk->sum[r] = problem->sinks == NULL ? 0 : 1;
    }
    NAME(pack_queries)(walk);
}

void NAME(attention_block)(struct attention_plan *plan, const struct attention_scratch *scratch,
                           const struct attention_block *block, void **ret_weights, size_t *ret_stride)
{
    struct NAME(walk) walk = {.plan = plan, .block = block};
    NAME(walk_init)(&walk, scratch);
    NAME(keys_out_of_sight)(&walk, 0, block->key_begin);
    NAME(keys_out_of_sight)(&walk, block->key_end, plan->Tk);
    for (size_t first = block->key_begin; first < block->key_end; first = (first / KEY_TILE + 1) * KEY_TILE) {
        if (NAME(should_stop)(plan))
            return;
        for (size_t row = 0; row < block->rows; row += plan->rows_at_once) {
            struct NAME(tile) tile = NAME(tile_at)(&walk, first, block->key_end, row);
            NAME(tile_clip)(&walk, &tile);
            if (tile.count > 0)
                NAME(tile_compute)(&walk, &tile);
        }
    }
    NAME(rows_finish)(&walk);
    *ret_weights = walk.weights;
    *ret_stride = walk.weights_stride;
}
