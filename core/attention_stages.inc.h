/* attention_stages.inc.h: what happens to a tile of scores, stage by stage in attention.h's order. Included once a precision by
 * attention_block.inc.h. */

/* scores = scale * q.k, from packed keys, and their rows' maxima (NULL: not wanted). */
static void NAME(scores_packed)(struct NAME(walk) *walk, const struct NAME(tile) *tile, REAL *ret_max)
{
    const struct attention_plan *plan = walk->plan;
    size_t head = NAME(wave_head)(walk);
    size_t panel = tile->first / plan->key_panel;
    const REAL *panels = (const REAL *)plan->key_panels + (head * plan->key_panel_count + panel) * plan->D * plan->key_panel;
    struct KERNEL(kernel_product) product = {
        .rows = tile->rows,
        .columns = tile->count,
        .panel_columns = plan->key_panel,
        .panel_stride = plan->D * plan->key_panel,
        .panel_row_stride = plan->key_panel,
        .alpha = (REAL)plan->problem->scale,
        .c = NAME(score_row)(walk, tile, tile->row),
        .c_stride = KERNEL_ROW_STRIDE,
    };
    for (size_t d = 0; d == 0 || d < plan->D; d += KERNEL_DEPTH_MAX) {
        product.depth = size_min(KERNEL_DEPTH_MAX, plan->D - d);
        product.a = walk->queries + (d / KERNEL_DEPTH_MAX * QUERY_TILE + tile->row) * KERNEL_ROW_STRIDE;
        product.panels = panels + d * plan->key_panel;
        product.add = d > 0;
        product.ret_max = d + KERNEL_DEPTH_MAX < plan->D ? NULL : ret_max;
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
        .c = NAME(score_row)(walk, tile, tile->row),
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

/* scale * q.k and softcap, and their results. ret_max: of tile_is_plain alone, else NULL. */
static void NAME(stages_before_bans)(struct NAME(walk) *walk, const struct NAME(tile) *tile, REAL *ret_max)
{
    const struct attention_results *results = walk->plan->results;
    if (walk->plan->direct)
        NAME(scores_direct)(walk, tile);
    else
        NAME(scores_packed)(walk, tile, ret_max);
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

/* Brings what was summed before to row r's new maximum. */
static void NAME(raise_max)(struct NAME(walk) *walk, size_t r, REAL max)
{
    double factor = exp((double)walk->max[r] - (double)max);
    walk->sum[r] *= factor;
    walk->max[r] = max;
    if (walk->summed[r])
        NAME(scale_sums)(walk, r, factor);
}

/* Turns row r's scores to exp(score - max). `plain`: tile_is_plain, where scores that are not finite are found only here. */
static void NAME(stage_softmax)(struct NAME(walk) *walk, const struct NAME(tile) *tile, size_t r, REAL tile_max, bool plain)
{
    const struct attention_plan *plan = walk->plan;
    REAL *row = NAME(score_row)(walk, tile, r);
    if (plain && !isfinite(tile_max))
        walk->odd[r] = true;
    if (tile_max != MINUS_INFINITY && !walk->odd[r]) {
        if (tile_max > walk->max[r])
            NAME(raise_max)(walk, r, tile_max);
        double sum = plain ? (double)plan->kernels->KERNEL(exp_finite_row)(row, tile->count, walk->max[r])
                           : (double)plan->kernels->KERNEL(exp_row)(row, tile->count, walk->max[r]);
        walk->sum[r] += sum;
        walk->odd[r] = isnan(sum);
        walk->seen[r] = true;
    }
    if (tile_max == MINUS_INFINITY || walk->odd[r]) /* nothing to see in this tile, or attention_row will look */
        memset(row, 0, tile->count * sizeof *row);
    if (plan->weights_wanted)
        walk->tile_max[tile->first / KEY_TILE * QUERY_TILE + r] = walk->max[r];
}

/* True where every row sees every key of the tile and its scores are as the product leaves them. */
static bool NAME(tile_is_plain)(const struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = walk->plan;
    if (!plan->plain_scores || plan->direct || !plan->kernels->product_tells_max || tile->count % plan->key_panel != 0)
        return false;
    for (size_t r = tile->row; r < tile->row + tile->rows; r++)
        if (walk->begin[r] > tile->first || walk->end[r] < tile->first + tile->count)
            return false;
    return true;
}

static void NAME(tile_compute)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = walk->plan;
    bool plain = NAME(tile_is_plain)(walk, tile);
    REAL tile_max[QUERY_TILE];
    NAME(stages_before_bans)(walk, tile, plain ? tile_max : NULL);
    for (size_t i = 0; i < tile->rows && !plain; i++)
        tile_max[i] = NAME(stages_of_row)(walk, tile, tile->row + i, NAME(score_row)(walk, tile, tile->row + i));
    if (plan->results->masked_scores.data != NULL)
        NAME(emit)(walk, tile, &plan->results->masked_scores);
    for (size_t i = 0; i < tile->rows; i++)
        NAME(stage_softmax)(walk, tile, tile->row + i, tile_max[i], plain);
    if (walk->sums != NULL)
        NAME(stage_values)(walk, tile);
}
