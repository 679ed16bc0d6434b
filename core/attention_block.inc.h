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
    REAL *tile_max;
    REAL *clean_values;                        /* [KEY_TILE, Dv], where values are read as they lie */
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

static REAL *NAME(score_row)(const struct NAME(walk) *walk, const struct NAME(tile) *tile, size_t r)
{
    return walk->scores + (r - tile->row) * KERNEL_ROW_STRIDE;
}

/* The head and the query of row r. */
static size_t NAME(row_head)(const struct NAME(walk) *walk, size_t r)
{
    return walk->block->head + r / walk->block->queries;
}

static size_t NAME(row_query)(const struct NAME(walk) *walk, size_t r)
{
    return walk->block->first_query + r % walk->block->queries;
}

/* The row of a (B,H,Tq,..) result that row r of the block writes. */
static ELEMENT *NAME(result_row)(const struct NAME(walk) *walk, const struct tensor *t, size_t r)
{
    return tensor_row(t, walk->block->b, NAME(row_head)(walk, r), NAME(row_query)(walk, r));
}

/* Row r of the block's weights: all Tk columns. */
static REAL *NAME(weights_row)(const struct NAME(walk) *walk, size_t r)
{
    if (walk->plan->weights_in_place)
        return (REAL *)NAME(result_row)(walk, &walk->plan->results->weights, r);
    return walk->weights + r * walk->plan->Tk;
}

/* Copies a tile's scores, as they are now, to a (B,H,Tq,Tk) result. */
static void NAME(emit)(const struct NAME(walk) *walk, const struct NAME(tile) *tile, const struct tensor *t)
{
    for (size_t r = tile->row; r < tile->row + tile->rows; r++) {
        const REAL *from = NAME(score_row)(walk, tile, r);
        ELEMENT *to = NAME(result_row)(walk, t, r);
        for (size_t j = 0; j < tile->count; j++)
            to[(ptrdiff_t)(tile->first + j) * t->stride[3]] = (ELEMENT)from[j];
    }
}

/* The same for a stage before the bans; what overflowed on the way is computed again in double. */
static void NAME(emit_exact)(const struct NAME(walk) *walk, const struct NAME(tile) *tile, const struct tensor *t, bool capped)
{
    const struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    NAME(emit)(walk, tile, t);
    for (size_t r = tile->row; r < tile->row + tile->rows; r++) {
        if (plan->kernels->KERNEL(finite_row)(NAME(score_row)(walk, tile, r), tile->count))
            continue;
        ELEMENT *to = NAME(result_row)(walk, t, r);
        for (size_t j = 0; j < tile->count; j++) {
            double score = attention_score(plan, block->b, NAME(row_head)(walk, r), NAME(row_query)(walk, r), tile->first + j);
            to[(ptrdiff_t)(tile->first + j) * t->stride[3]] = (ELEMENT)(capped ? attention_capped(plan, score) : score);
        }
    }
}

/* scores = scale * q.k, from packed keys. */
static void NAME(scores_packed)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
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
        .panel_row_stride = plan->key_panel,
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

/* The same from keys as they lie. */
static void NAME(scores_direct)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = walk->plan;
    const struct tensor *key = &plan->problem->key;
    const struct KERNEL(kernel_dots) dots = {
        .rows = tile->rows,
        .keys = tile->count,
        .depth = plan->D,
        .a = walk->queries + tile->row * KERNEL_ROW_STRIDE,
        .b = tensor_row(key, walk->block->b, walk->block->g, tile->first),
        .b_stride = key->stride[2],
        .alpha = (REAL)plan->problem->scale,
        .c = walk->scores,
    };
    plan->kernels->KERNEL(dots)(&dots);
}

/* An infinity may stand for a product that overflowed before it was scaled, so it must not pass as the cap: the kernel makes
 * it NaN, which hands the row to attention_row. */
static void NAME(stage_softcap)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = walk->plan;
    for (size_t r = tile->row; r < tile->row + tile->rows; r++)
        plan->kernels->KERNEL(softcap_row)(NAME(score_row)(walk, tile, r), tile->count, (REAL)plan->problem->softcap);
}

/* scale * q.k and softcap, and their results. */
static void NAME(stages_before_bans)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    const struct attention_results *results = walk->plan->results;
    if (walk->plan->direct)
        NAME(scores_direct)(walk, tile);
    else
        NAME(scores_packed)(walk, tile);
    if (results->scores.data != NULL)
        NAME(emit_exact)(walk, tile, &results->scores, false);
    if (walk->plan->problem->softcap > 0)
        NAME(stage_softcap)(walk, tile);
    if (results->capped_scores.data != NULL)
        NAME(emit_exact)(walk, tile, &results->capped_scores, true);
}

static void NAME(stage_alibi)(struct NAME(walk) *walk, size_t r, size_t first, size_t count, REAL *row)
{
    const struct attention_block *block = walk->block;
    double distance = (double)attention_position(walk->plan, block->b, NAME(row_query)(walk, r)) - (double)first;
    walk->plan->kernels->KERNEL(alibi_row)(row, count, distance, walk->plan->problem->alibi_slopes[NAME(row_head)(walk, r)]);
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
static bool NAME(stage_mask)(struct NAME(walk) *walk, size_t r, size_t first, size_t count, REAL *row)
{
    const struct attention_block *block = walk->block;
    const struct tensor *mask = &walk->plan->problem->mask;
    const void *mask_row = tensor_row(mask, block->b, NAME(row_head)(walk, r), NAME(row_query)(walk, r));
    if (mask->stride[3] == 1 && mask->dtype == DTYPE_BOOL)
        return walk->plan->kernels->KERNEL(keep_row)(row, count, (const unsigned char *)mask_row + first);
    if (mask->stride[3] == 1 && sizeof(ELEMENT) == sizeof(REAL))
        return walk->plan->kernels->KERNEL(add_row)(row, count, (const REAL *)mask_row + first);
    return NAME(stage_mask_strided)(mask, mask_row, first, count, row);
}

/* Bias and bans of one row; then `row` holds what softmax sees. Returns its largest. */
static REAL NAME(stages_of_row)(struct NAME(walk) *walk, const struct NAME(tile) *tile, size_t r, REAL *row)
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
static void NAME(stage_softmax)(struct NAME(walk) *walk, const struct NAME(tile) *tile, size_t r, REAL *row, REAL tile_max)
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
    if (!plan->weights_wanted)
        return;
    memcpy(NAME(weights_row)(walk, r) + tile->first, row, tile->count * sizeof *row);
    walk->tile_max[tile->first / KEY_TILE * QUERY_TILE + r] = walk->max[r];
}

/* The rows that may see key j get an odd output. */
static void NAME(mark_odd_value)(struct NAME(walk) *walk, const struct NAME(tile) *tile, size_t j)
{
    for (size_t r = tile->row; r < tile->row + tile->rows; r++)
        walk->odd_output[r] |=
            !attention_banned(walk->plan, walk->block->b, NAME(row_head)(walk, r), NAME(row_query)(walk, r), j);
}

/* The values of a tile as they lie, or, where one is not finite, copied with zeros in its place. */
static const REAL *NAME(values_direct)(struct NAME(walk) *walk, const struct NAME(tile) *tile, size_t *ret_stride)
{
    const struct attention_plan *plan = walk->plan;
    const struct tensor *value = &plan->problem->value;
    const REAL *values = tensor_row(value, walk->block->b, walk->block->g, tile->first);
    bool odd = false;
    for (size_t j = 0; j < tile->count; j++) {
        if (plan->kernels->KERNEL(finite_row)(values + (ptrdiff_t)j * value->stride[2], plan->Dv))
            continue;
        NAME(mark_odd_value)(walk, tile, tile->first + j);
        odd = true;
    }
    *ret_stride = (size_t)value->stride[2];
    if (!odd)
        return values;
    for (size_t j = 0; j < tile->count; j++) {
        const REAL *row = values + (ptrdiff_t)j * value->stride[2];
        bool finite = plan->kernels->KERNEL(finite_row)(row, plan->Dv);
        for (size_t d = 0; d < plan->Dv; d++)
            walk->clean_values[j * plan->Dv + d] = finite ? row[d] : 0;
    }
    *ret_stride = plan->Dv;
    return walk->clean_values;
}

static const REAL *NAME(values_packed)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = walk->plan;
    size_t head = walk->block->b * plan->Hkv + walk->block->g;
    const unsigned char *odd = plan->odd_values + head * plan->Tk;
    bool some_odd = atomic_load_explicit(&plan->has_odd_values, memory_order_relaxed);
    for (size_t j = tile->first; some_odd && j < tile->first + tile->count; j++)
        if (odd[j] != 0)
            NAME(mark_odd_value)(walk, tile, j);
    return (const REAL *)plan->value_panels + (head * plan->value_panel_count * plan->Tk + tile->first) * plan->value_panel;
}

/* sums += weights * values */
static void NAME(stage_values)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = walk->plan;
    struct KERNEL(kernel_product) product = {
        .rows = tile->rows,
        .columns = plan->Dv,
        .depth = tile->count,
        .a = walk->scores,
        .panel_columns = plan->value_panel,
        .panel_stride = plan->Tk * plan->value_panel,
        .panel_row_stride = plan->value_panel,
        .alpha = 1,
        .add = walk->summed[tile->row],
        .c = walk->sums + tile->row * walk->sums_stride,
        .c_stride = walk->sums_stride,
    };
    if (plan->direct) {
        product.panels = NAME(values_direct)(walk, tile, &product.panel_row_stride);
        product.panel_stride = plan->value_panel;
    } else {
        product.panels = NAME(values_packed)(walk, tile);
    }
    plan->kernels->KERNEL(product)(&product);
    for (size_t r = tile->row; r < tile->row + tile->rows; r++)
        walk->summed[r] = true;
}

static void NAME(tile_compute)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
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

static bool NAME(should_stop)(struct attention_plan *plan)
{
    if (executor_stopped(plan->executor))
        atomic_store_explicit(&plan->stopped, true, memory_order_relaxed);
    return atomic_load_explicit(&plan->stopped, memory_order_relaxed);
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
        if (plan->weights_wanted)
            memset(NAME(weights_row)(walk, r) + first, 0, (end - first) * sizeof(REAL));
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
static void NAME(stage_divide)(struct NAME(walk) *walk, size_t r)
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
    if (!plan->weights_wanted || !walk->seen[r])
        return;
    REAL *weights = NAME(weights_row)(walk, r);
    for (size_t first = block->key_begin; first < block->key_end;) {
        struct NAME(tile) tile = NAME(tile_at)(walk, first, block->key_end, r);
        double tile_max = (double)walk->tile_max[first / KEY_TILE * QUERY_TILE + r];
        double factor = exp(tile_max - (double)walk->max[r]) / walk->sum[r];
        plan->kernels->KERNEL(scale_row)(weights + first, tile.count, (REAL)factor);
        first += tile.count;
    }
}

/* Weights, lse and output of a row of finite scores. */
static void NAME(row_finish)(struct NAME(walk) *walk, size_t r)
{
    struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    const struct attention_results *results = plan->results;
    NAME(stage_divide)(walk, r);
    if (results->lse.data != NULL)
        *NAME(result_row)(walk, &results->lse, r) = (ELEMENT)((double)walk->max[r] + log(walk->sum[r]));
    if (walk->odd_output[r])
        attention_row_output(plan, block->b, NAME(row_head)(walk, r), NAME(row_query)(walk, r));
    if (walk->odd_output[r] || walk->sums == NULL)
        return;
    ELEMENT *to = NAME(result_row)(walk, &results->output, r);
    for (size_t d = 0; d < plan->Dv; d++)
        to[(ptrdiff_t)d * results->output.stride[3]] = (ELEMENT)walk->sums[r * walk->sums_stride + d];
}

/* All rows' ends; those that need more than this precision are computed again. These take long: the executor is asked at each. */
static void NAME(rows_finish)(struct NAME(walk) *walk)
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
            attention_row(plan, block->b, NAME(row_head)(walk, r), NAME(row_query)(walk, r),
                          plan->weights_wanted ? NAME(weights_row)(walk, r) : NULL);
        else
            NAME(row_finish)(walk, r);
    }
    atomic_fetch_add_explicit(&plan->banned_row_count, banned, memory_order_relaxed);
}

static void NAME(pack_queries)(struct NAME(walk) *walk)
{
    const struct attention_plan *plan = walk->plan;
    const struct tensor *query = &plan->problem->query;
    for (size_t r = 0; r < walk->block->rows; r++) {
        const ELEMENT *row = NAME(result_row)(walk, query, r);
        for (size_t first = 0; first < plan->D; first += KERNEL_DEPTH_MAX) {
            REAL *to = walk->queries + (first / KERNEL_DEPTH_MAX * QUERY_TILE + r) * KERNEL_ROW_STRIDE;
            size_t count = size_min(KERNEL_DEPTH_MAX, plan->D - first);
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
    walk->weights = scratch->weight_rows;
    walk->tile_max = scratch->tile_max;
    walk->clean_values = scratch->clean_values;
    for (size_t r = 0; r < block->rows; r++) {
        const double *sinks = with_sink ? plan->problem->sinks : NULL;
        attention_visible(plan, block->b, NAME(row_query)(walk, r), &walk->begin[r], &walk->end[r]);
        walk->max[r] = sinks == NULL ? MINUS_INFINITY : (REAL)sinks[NAME(row_head)(walk, r)];
        walk->sum[r] = sinks == NULL ? 0 : 1;
        walk->seen[r] = walk->odd[r] = walk->odd_output[r] = walk->summed[r] = false;
    }
    NAME(pack_queries)(walk);
}

/* All rows over the keys [first, end), which lie within the block's. */
static void NAME(keys_walk)(struct NAME(walk) *walk, size_t first, size_t end)
{
    for (; first < end; first = (first / KEY_TILE + 1) * KEY_TILE) {
        if (NAME(should_stop)(walk->plan))
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
    if (!NAME(should_stop)(plan))
        NAME(rows_finish)(&walk);
}

/* Brings what a later split of the keys gave to row r into the first split's. */
static void NAME(row_merge)(struct NAME(walk) *walk, const struct NAME(walk) *later, size_t r)
{
    const struct attention_plan *plan = walk->plan;
    walk->odd[r] |= later->odd[r];
    walk->odd_output[r] |= later->odd_output[r];
    if (!later->seen[r])
        return;
    double max = walk->max[r] > later->max[r] ? (double)walk->max[r] : (double)later->max[r];
    double own = exp((double)walk->max[r] - max), other = exp((double)later->max[r] - max);
    REAL *sums = walk->sums == NULL ? NULL : walk->sums + r * walk->sums_stride;
    for (size_t d = 0; d < plan->Dv && sums != NULL; d++) {
        double before = walk->summed[r] ? own * (double)sums[d] : 0;
        sums[d] = (REAL)(before + other * (double)later->sums[r * walk->sums_stride + d]);
    }
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
    if (!NAME(should_stop)(plan))
        NAME(rows_finish)(walk);
}
