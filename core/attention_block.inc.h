/* attention_block.inc.h: one block of queries over its keys. Included once a precision, with ELEMENT (what the views hold),
 * REAL (what is computed in), GEMM, TANH, KERNEL(x) and NAME(x) defined; every step is a function with one job, called in the
 * order of attention.h's stages. */

#include <cblas.h>
#include <math.h>
#include <string.h>

#define MINUS_INFINITY (-(REAL)INFINITY)

/* Rows of numbers, `stride` elements apart, each row contiguous. */
struct NAME(rows) {
    REAL *data;
    size_t stride;
};

/* A block on its way through the tiles. */
struct NAME(walk) {
    struct attention_plan *plan;
    const struct attention_scratch *scratch;
    const struct attention_block *block;
    struct NAME(rows) query;
    struct NAME(rows) sums;    /* the weighted sums of values, not yet divided; data NULL: not wanted */
    struct NAME(rows) weights; /* all Tk columns; data NULL: not wanted */
    size_t begin[QUERY_TILE], end[QUERY_TILE]; /* the keys each row may see by position */
    REAL max[QUERY_TILE];                      /* running */
    double sum[QUERY_TILE];                    /* running denominator, against max */
    bool seen[QUERY_TILE];                     /* some key was not banned */
    bool odd[QUERY_TILE];                      /* a score is not finite: attention_row computes it */
    bool odd_output[QUERY_TILE];               /* a value or their sum is not finite: attention_row_output computes it */
    bool summed;                               /* sums holds something */
};

/* The keys [first, first + count) and where their scores lie. */
struct NAME(tile) {
    size_t index, first, count;
    struct NAME(rows) scores; /* column 0 is key `first` */
};

static void NAME(gemm)(bool transposed, size_t m, size_t n, size_t k, REAL alpha, struct NAME(rows) a, struct NAME(rows) b,
                       bool add, struct NAME(rows) c)
{
    GEMM(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, alpha, a.data,
         (int)a.stride, b.data, (int)b.stride, add ? 1 : 0, c.data, (int)c.stride);
}

/* Rows [first, first + count) of head [b, h] of a view, columns [column, column + columns), packed where BLAS cannot take
 * them as they are. */
static struct NAME(rows) NAME(rows_of)(const struct tensor *t, size_t b, size_t h, size_t first, size_t count, size_t column,
                                       size_t columns, bool direct, REAL *pack)
{
    if (direct) {
        REAL *data = (REAL *)tensor_row(t, b, h, first) + column;
        return (struct NAME(rows)){data, count > 1 ? (size_t)t->stride[2] : size_max(t->shape[3], 1)};
    }
    for (size_t r = 0; r < count; r++) {
        const ELEMENT *row = tensor_row(t, b, h, first + r);
        for (size_t d = 0; d < columns; d++)
            pack[r * columns + d] = (REAL)row[(ptrdiff_t)(column + d) * t->stride[3]];
    }
    return (struct NAME(rows)){pack, columns};
}

/* Copies columns [first, first + count) of a block's rows to a (B,H,Tq,Tk) result. */
static void NAME(emit)(const struct tensor *t, const struct attention_block *block, size_t first, size_t count,
                       struct NAME(rows) from)
{
    for (size_t r = 0; r < block->rows; r++) {
        ELEMENT *to = tensor_row(t, block->b, block->h, block->first_query + r);
        for (size_t j = 0; j < count; j++)
            to[(ptrdiff_t)(first + j) * t->stride[3]] = (ELEMENT)from.data[r * from.stride + j];
    }
}

/* Sets columns [first, end) of a block's rows of a (B,H,Tq,Tk) result. */
static void NAME(fill)(const struct tensor *t, const struct attention_block *block, size_t first, size_t end, ELEMENT x)
{
    for (size_t r = 0; r < block->rows; r++) {
        ELEMENT *to = tensor_row(t, block->b, block->h, block->first_query + r);
        for (size_t j = first; j < end; j++)
            to[(ptrdiff_t)j * t->stride[3]] = x;
    }
}

/* scores = scale * q.k for all rows of the block. */
static void NAME(stage_scores)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = walk->plan;
    size_t rows = walk->block->rows;
    if (plan->D == 0) {
        for (size_t r = 0; r < rows; r++)
            memset(tile->scores.data + r * tile->scores.stride, 0, tile->count * sizeof(REAL));
        return;
    }
    struct NAME(rows) keys = NAME(rows_of)(&plan->problem->key, walk->block->b, walk->block->g, tile->first, tile->count, 0,
                                           plan->D, plan->key_direct, walk->scratch->key_pack);
    /* BLAS skips the product where alpha is 0, and with it a NaN; 1 keeps it, the factor comes after. */
    REAL scale = (REAL)plan->problem->scale;
    NAME(gemm)(true, rows, tile->count, plan->D, scale == 0 ? 1 : scale, walk->query, keys, false, tile->scores);
    if (scale == 0)
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < tile->count; j++)
                tile->scores.data[r * tile->scores.stride + j] *= 0;
}

/* cap * tanh(score / cap). An infinity may stand for a product that overflowed before it was scaled, so it must not pass as
 * the cap: NaN hands the row to attention_row. */
static void NAME(stage_softcap)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    REAL cap = (REAL)walk->plan->problem->softcap;
    for (size_t r = 0; r < walk->block->rows; r++) {
        REAL *row = tile->scores.data + r * tile->scores.stride;
        for (size_t j = 0; j < tile->count; j++)
            row[j] = isfinite(row[j]) ? cap * TANH(row[j] / cap) : (REAL)NAN;
    }
}

/* Copies a stage before the bans to its result; what overflowed on the way is computed again in double. */
static void NAME(emit_exact)(struct NAME(walk) *walk, const struct NAME(tile) *tile, const struct tensor *t, bool capped)
{
    const struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    NAME(emit)(t, block, tile->first, tile->count, tile->scores);
    for (size_t r = 0; r < block->rows; r++) {
        const REAL *row = tile->scores.data + r * tile->scores.stride;
        if (plan->kernels->KERNEL(finite_row)(row, tile->count))
            continue;
        ELEMENT *to = tensor_row(t, block->b, block->h, block->first_query + r);
        for (size_t j = 0; j < tile->count; j++) {
            double score = attention_score(plan, block->b, block->h, block->first_query + r, tile->first + j);
            to[(ptrdiff_t)(tile->first + j) * t->stride[3]] = (ELEMENT)(capped ? attention_capped(plan, score) : score);
        }
    }
}

/* scale * q.k and softcap, and their results. */
static void NAME(stages_before_bans)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
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

static void NAME(stage_alibi)(struct NAME(walk) *walk, size_t r, size_t first, size_t begin, size_t end, REAL *row)
{
    const struct attention_block *block = walk->block;
    double position = (double)attention_position(walk->plan, block->b, block->first_query + r);
    double slope = walk->plan->problem->alibi_slopes[block->h];
    for (size_t j = begin; j < end; j++)
        row[j] -= (REAL)(slope * fabs(position - (double)(first + j)));
}

/* Adds or applies row r of the mask to columns [begin, end); returns false where a key that is not banned has a non-finite
 * score. */
static bool NAME(stage_mask)(struct NAME(walk) *walk, size_t r, size_t first, size_t begin, size_t end, REAL *row)
{
    const struct attention_block *block = walk->block;
    const struct tensor *mask = &walk->plan->problem->mask;
    const void *mask_row = tensor_row(mask, block->b, block->h, block->first_query + r);
    ptrdiff_t stride = mask->stride[3];
    bool odd = false;
    for (size_t j = begin; j < end; j++) {
        ptrdiff_t at = (ptrdiff_t)(first + j) * stride;
        REAL add = mask->dtype == DTYPE_BOOL ? 0 : (REAL)((const ELEMENT *)mask_row)[at];
        bool banned = mask->dtype == DTYPE_BOOL ? ((const unsigned char *)mask_row)[at] == 0 : add == MINUS_INFINITY;
        REAL score = row[j] + add;
        odd |= !banned && !isfinite(score);
        row[j] = banned ? MINUS_INFINITY : score;
    }
    return !odd;
}

/* Bias and bans of one row; then `row` holds what softmax sees, and *ret_max its largest. */
static void NAME(stages_of_row)(struct NAME(walk) *walk, const struct NAME(tile) *tile, size_t r, REAL *row, REAL *ret_max)
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
        NAME(stage_alibi)(walk, r, tile->first, begin, end, row);
    bool finite = true;
    if (problem->mask.data != NULL)
        finite = NAME(stage_mask)(walk, r, tile->first, begin, end, row);
    bool all_finite = walk->plan->kernels->KERNEL(max_row)(row + begin, end - begin, ret_max);
    if (problem->mask.data == NULL)
        finite = all_finite;
    walk->odd[r] |= !finite;
}

/* Turns row r's scores to exp(score - max) and brings what was summed before to the new maximum. */
static void NAME(stage_softmax)(struct NAME(walk) *walk, const struct NAME(tile) *tile, size_t r, REAL *row, REAL tile_max)
{
    const struct kernels *kernels = walk->plan->kernels;
    REAL before = walk->max[r];
    REAL max = tile_max > before ? tile_max : before;
    if (tile_max == MINUS_INFINITY || walk->odd[r]) { /* nothing to see in this tile, or attention_row will look */
        memset(row, 0, tile->count * sizeof *row);
    } else {
        walk->seen[r] = true;
        if (max > before) {
            double factor = exp((double)before - (double)max);
            walk->sum[r] *= factor;
            if (walk->summed)
                kernels->KERNEL(scale_row)(walk->sums.data + r * walk->sums.stride, walk->plan->Dv, (REAL)factor);
            walk->max[r] = max;
        }
        walk->sum[r] += (double)kernels->KERNEL(exp_row)(row, tile->count, max);
    }
    if (walk->weights.data != NULL)
        ((REAL *)walk->scratch->tile_max)[tile->index * QUERY_TILE + r] = walk->max[r];
}

/* Values in [VALUE_TILE] columns with non-finite keys zeroed; the rows that may see such a key get an odd output. */
static struct NAME(rows) NAME(values_cleaned)(struct NAME(walk) *walk, const struct NAME(tile) *tile, size_t columns,
                                              struct NAME(rows) values)
{
    const struct attention_block *block = walk->block;
    REAL *clean = walk->scratch->value_pack;
    for (size_t j = 0; j < tile->count; j++) {
        REAL *from = values.data + j * values.stride;
        bool finite = walk->plan->kernels->KERNEL(finite_row)(from, columns);
        for (size_t r = 0; r < block->rows && !finite; r++)
            walk->odd_output[r] |= !attention_banned(walk->plan, block->b, block->h, block->first_query + r, tile->first + j);
        if (finite)
            memmove(clean + j * columns, from, columns * sizeof *clean);
        else
            memset(clean + j * columns, 0, columns * sizeof *clean);
    }
    return (struct NAME(rows)){clean, columns};
}

/* sums += weights * values */
static void NAME(stage_values)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    for (size_t column = 0; column < plan->Dv; column += VALUE_TILE) {
        size_t columns = size_min(VALUE_TILE, plan->Dv - column);
        struct NAME(rows) values = NAME(rows_of)(&plan->problem->value, block->b, block->g, tile->first, tile->count, column,
                                                 columns, plan->value_direct, walk->scratch->value_pack);
        bool finite = true;
        for (size_t j = 0; j < tile->count && finite; j++)
            finite = plan->kernels->KERNEL(finite_row)(values.data + j * values.stride, columns);
        if (!finite)
            values = NAME(values_cleaned)(walk, tile, columns, values);
        struct NAME(rows) sums = {walk->sums.data + column, walk->sums.stride};
        NAME(gemm)(false, block->rows, columns, tile->count, 1, tile->scores, values, walk->summed, sums);
    }
    walk->summed = true;
}

static void NAME(tile_compute)(struct NAME(walk) *walk, struct NAME(tile) *tile)
{
    const struct attention_plan *plan = walk->plan;
    NAME(stages_before_bans)(walk, tile);
    REAL tile_max[QUERY_TILE];
    for (size_t r = 0; r < walk->block->rows; r++)
        NAME(stages_of_row)(walk, tile, r, tile->scores.data + r * tile->scores.stride, &tile_max[r]);
    if (plan->results->masked_scores.data != NULL)
        NAME(emit)(&plan->results->masked_scores, walk->block, tile->first, tile->count, tile->scores);
    for (size_t r = 0; r < walk->block->rows; r++)
        NAME(stage_softmax)(walk, tile, r, tile->scores.data + r * tile->scores.stride, tile_max[r]);
    if (walk->sums.data != NULL)
        NAME(stage_values)(walk, tile);
}

/* Where a tile's scores lie: in the weights' own place, so that they need not move, or in scratch. */
static struct NAME(tile) NAME(tile_at)(const struct NAME(walk) *walk, size_t first, size_t end, bool in_weights)
{
    struct NAME(tile) tile = {.index = first / KEY_TILE, .first = first};
    tile.count = size_min(end, (tile.index + 1) * KEY_TILE) - first;
    if (in_weights)
        tile.scores = (struct NAME(rows)){walk->weights.data + first, walk->weights.stride};
    else
        tile.scores = (struct NAME(rows)){walk->scratch->scores, tile.count};
    return tile;
}

/* The stages before the bans for keys that no row of the block may see: only where somebody asked for them. */
static void NAME(tiles_out_of_sight)(struct NAME(walk) *walk, size_t first, size_t end)
{
    const struct attention_results *results = walk->plan->results;
    if (results->masked_scores.data != NULL)
        NAME(fill)(&results->masked_scores, walk->block, first, end, -(ELEMENT)INFINITY);
    for (size_t r = 0; r < walk->block->rows && walk->weights.data != NULL && first < end; r++)
        memset(walk->weights.data + r * walk->weights.stride + first, 0, (end - first) * sizeof(REAL));
    if (results->scores.data == NULL && results->capped_scores.data == NULL)
        return;
    while (first < end && !atomic_load_explicit(&walk->plan->stopped, memory_order_relaxed)) {
        struct NAME(tile) tile = NAME(tile_at)(walk, first, end, false);
        NAME(stages_before_bans)(walk, &tile);
        first += tile.count;
    }
}

/* Divides by the denominator, row by row. */
static void NAME(stage_divide)(struct NAME(walk) *walk)
{
    const struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    for (size_t r = 0; r < block->rows; r++) {
        REAL *sums = walk->sums.data == NULL ? NULL : walk->sums.data + r * walk->sums.stride;
        if (sums != NULL && !walk->seen[r])
            memset(sums, 0, plan->Dv * sizeof *sums);
        else if (sums != NULL && !walk->odd[r] && !walk->odd_output[r]) {
            plan->kernels->KERNEL(scale_row)(sums, plan->Dv, (REAL)(1 / walk->sum[r]));
            /* Weights are at most 1, but their sum before the division may carry large values past the largest float. */
            walk->odd_output[r] = !plan->kernels->KERNEL(finite_row)(sums, plan->Dv);
        }
        if (walk->weights.data == NULL || !walk->seen[r])
            continue;
        REAL *weights = walk->weights.data + r * walk->weights.stride;
        for (size_t first = block->key_begin; first < block->key_end;) {
            struct NAME(tile) tile = NAME(tile_at)(walk, first, block->key_end, false);
            double tile_max = (double)((const REAL *)walk->scratch->tile_max)[tile.index * QUERY_TILE + r];
            double factor = exp(tile_max - (double)walk->max[r]) / walk->sum[r];
            plan->kernels->KERNEL(scale_row)(weights + first, tile.count, (REAL)factor);
            first += tile.count;
        }
    }
}

/* lse and output of a row of finite scores. */
static void NAME(row_finish)(struct NAME(walk) *walk, size_t r)
{
    struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    const struct attention_results *results = plan->results;
    size_t i = block->first_query + r;
    if (results->lse.data != NULL)
        *(ELEMENT *)tensor_row(&results->lse, block->b, block->h, i) = (ELEMENT)((double)walk->max[r] + log(walk->sum[r]));
    if (walk->odd_output[r])
        attention_row_output(plan, block->b, block->h, i);
    if (walk->odd_output[r] || walk->sums.data == NULL || plan->output_in_place)
        return;
    ELEMENT *to = tensor_row(&results->output, block->b, block->h, i);
    for (size_t d = 0; d < plan->Dv; d++)
        to[(ptrdiff_t)d * results->output.stride[3]] = (ELEMENT)walk->sums.data[r * walk->sums.stride + d];
}

/* All rows' ends, those that need more than this precision computed again. These take long: the executor is asked at each. */
static void NAME(rows_finish)(struct NAME(walk) *walk)
{
    struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    size_t banned = 0;
    for (size_t r = 0; r < block->rows; r++) {
        bool slow = walk->odd[r] || walk->odd_output[r];
        if (slow && executor_stopped(plan->executor))
            atomic_store_explicit(&plan->stopped, true, memory_order_relaxed);
        if (slow && atomic_load_explicit(&plan->stopped, memory_order_relaxed))
            return;
        banned += !walk->odd[r] && !walk->seen[r];
        if (walk->odd[r])
            attention_row(plan, block->b, block->h, block->first_query + r,
                          walk->weights.data == NULL ? NULL : walk->weights.data + r * walk->weights.stride);
        else
            NAME(row_finish)(walk, r);
    }
    atomic_fetch_add_explicit(&plan->banned_row_count, banned, memory_order_relaxed);
}

static void NAME(walk_init)(struct NAME(walk) *walk)
{
    const struct attention_plan *plan = walk->plan;
    const struct attention_problem *problem = plan->problem;
    const struct attention_results *results = plan->results;
    const struct attention_block *block = walk->block;
    walk->query = NAME(rows_of)(&problem->query, block->b, block->h, block->first_query, block->rows, 0, plan->D,
                                plan->query_direct, walk->scratch->query_pack);
    if (plan->output_in_place)
        walk->sums = (struct NAME(rows)){tensor_row(&results->output, block->b, block->h, block->first_query),
                                         (size_t)results->output.stride[2]};
    else if (results->output.data != NULL)
        walk->sums = (struct NAME(rows)){walk->scratch->sums, size_max(plan->Dv, 1)};
    if (plan->weights_in_place)
        walk->weights = (struct NAME(rows)){tensor_row(&results->weights, block->b, block->h, block->first_query),
                                            (size_t)results->weights.stride[2]};
    else if (plan->weights_wanted)
        walk->weights = (struct NAME(rows)){walk->scratch->weight_rows, size_max(plan->Tk, 1)};
    for (size_t r = 0; r < block->rows; r++) {
        attention_visible(plan, block->b, block->first_query + r, &walk->begin[r], &walk->end[r]);
        walk->max[r] = problem->sinks == NULL ? MINUS_INFINITY : (REAL)problem->sinks[block->h];
        walk->sum[r] = problem->sinks == NULL ? 0 : 1;
    }
}

void NAME(attention_block)(struct attention_plan *plan, const struct attention_scratch *scratch,
                           const struct attention_block *block, void **ret_weights, size_t *ret_stride)
{
    struct NAME(walk) walk = {.plan = plan, .scratch = scratch, .block = block};
    NAME(walk_init)(&walk);
    NAME(tiles_out_of_sight)(&walk, 0, block->key_begin);
    NAME(tiles_out_of_sight)(&walk, block->key_end, plan->Tk);
    for (size_t first = block->key_begin; first < block->key_end;) {
        if (executor_stopped(plan->executor))
            atomic_store_explicit(&plan->stopped, true, memory_order_relaxed);
        if (atomic_load_explicit(&plan->stopped, memory_order_relaxed))
            return;
        struct NAME(tile) tile = NAME(tile_at)(&walk, first, block->key_end, plan->weights_wanted);
        NAME(tile_compute)(&walk, &tile);
        first += tile.count;
    }
    NAME(stage_divide)(&walk);
    NAME(rows_finish)(&walk);
    *ret_weights = walk.weights.data;
    *ret_stride = walk.weights.stride;
}
