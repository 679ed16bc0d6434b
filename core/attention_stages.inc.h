/* attention_stages.inc.h: what happens to a tile of scores, stage by stage in attention.h's order. Included once a precision by
 * attention_block.inc.h. */

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
