/* scores.inc.h: a tile of scores: the product of queries and keys, then stage by stage in attention.h's order up to the
 * masks. */

/* scores = scale * q.k, from packed keys, and their rows' maxima (NULL: not wanted). */
static void NAME(scores_packed)(struct NAME(state) *state, const struct NAME(tile) *tile, REAL *ret_max)
{
    const struct attention_plan *plan = state->plan;
    size_t first = state->unit_keys + (tile->first - state->block->sequence->first_key); /* the first of a panel */
    const REAL *panels = (const REAL *)plan->key_panels + first * plan->D;
    struct KERNEL(kernel_product) product = {
        .rows = tile->rows,
        .columns = tile->count,
        .panel_columns = plan->key_panel,
        .panel_stride = plan->D * plan->key_panel,
        .panel_row_stride = plan->key_panel,
        .alpha = (REAL)plan->params->scale,
        .c = NAME(score_row)(state, tile, tile->row),
        .c_stride = KERNEL_ROW_STRIDE,
    };
    for (size_t d = 0; d == 0 || d < plan->D; d += KERNEL_DEPTH_MAX) {
        product.depth = size_min(KERNEL_DEPTH_MAX, plan->D - d);
        product.a = state->queries + (d / KERNEL_DEPTH_MAX * QUERY_TILE + tile->row) * KERNEL_ROW_STRIDE;
        product.panels = panels + d * plan->key_panel;
        product.add = d > 0;
        product.ret_max = d + KERNEL_DEPTH_MAX < plan->D ? NULL : ret_max;
        plan->kernels->KERNEL(product)(&product);
    }
}

/* The same from keys in place, unpacked. */
static void NAME(scores_unpacked)(struct NAME(state) *state, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = state->plan;
    const struct tensor *key = &plan->params->key;
    const struct KERNEL(kernel_dots) dots = {
        .rows = tile->rows,
        .keys = tile->count,
        .depth = plan->D,
        .a = state->queries + tile->row * KERNEL_ROW_STRIDE,
        .b = tensor_row(key, state->block->b, state->block->g, tile->first),
        .b_stride = key->stride[2],
        .alpha = (REAL)plan->params->scale,
        .c = NAME(score_row)(state, tile, tile->row),
    };
    plan->kernels->KERNEL(dots)(&dots);
}

/* Copies a tile's scores at their present stage to a (B,H,Tq,Tk) result. */
static void NAME(store_stage)(const struct NAME(state) *state, const struct NAME(tile) *tile, const struct tensor *t)
{
    size_t first = tile->first, end = tile->first + tile->count;
    if (!NAME(keys_selected)(state, &first, &end))
        return;
    size_t place = first - state->plan->selection.key_first;
    for (size_t r = tile->row; r < tile->row + tile->rows; r++) {
        const REAL *from = NAME(score_row)(state, tile, r) + (first - tile->first);
        if (!NAME(row_selected)(state, r))
            continue;
        ELEMENT *to = NAME(selected_row)(state, t, r);
        if (sizeof(ELEMENT) == sizeof(REAL) && t->stride[3] == 1)
            memcpy(to + place, from, (end - first) * sizeof *to);
        else
            for (size_t j = 0; j < end - first; j++)
                to[(ptrdiff_t)(place + j) * t->stride[3]] = NAME(element)(state->plan, (double)from[j]);
    }
}

/* The same for a stage before the mask; scores that overflowed are computed again in double, each by itself. */
static void NAME(store_stage_exact)(const struct NAME(state) *state, const struct NAME(tile) *tile, const struct tensor *t,
                                    bool capped)
{
    const struct attention_plan *plan = state->plan;
    const struct attention_block *block = state->block;
    size_t first = tile->first, end = tile->first + tile->count;
    NAME(store_stage)(state, tile, t);
    if (!NAME(keys_selected)(state, &first, &end))
        return;
    for (size_t r = tile->row; r < tile->row + tile->rows; r++) {
        if (!NAME(row_selected)(state, r) ||
            plan->kernels->KERNEL(finite_row)(NAME(score_row)(state, tile, r) + (first - tile->first), end - first))
            continue;
        ELEMENT *to = NAME(selected_row)(state, t, r);
        for (size_t j = first; j < end; j++) {
            if (isfinite(NAME(score_row)(state, tile, r)[j - tile->first]))
                continue;
            size_t h = NAME(row_head)(state, r), i = NAME(row_query)(state, r);
            double score = exact_score(plan, block->b, h, i, j);
            ptrdiff_t at = (ptrdiff_t)(j - plan->selection.key_first) * t->stride[3];
            to[at] = NAME(element)(plan, capped ? exact_capped_score(plan, block->b, h, i, j, score) : score);
        }
    }
}

static void NAME(stage_bias)(struct NAME(state) *state, const struct NAME(tile) *tile, size_t r)
{
    const struct tensor *bias = &state->plan->params->bias;
    const ELEMENT *from = NAME(result_row)(state, bias, r);
    ptrdiff_t stride = bias->stride[3];
    NAME(add_elements)(NAME(score_row)(state, tile, r), from + (ptrdiff_t)tile->first * stride, stride, tile->count);
}

/* How many keys from `key` on are in the range that its offset is in. */
static size_t NAME(relative_bias_run)(const struct NAME(state) *state, const struct NAME(tile) *tile, size_t key, size_t range,
                                      int64_t position)
{
    const struct attention_params *params = state->plan->params;
    const struct relative_bias_range *ranges = params->relative_bias.ranges;
    size_t rest = tile->first + tile->count - key, run = 1;
    bool last = range + 1 == params->relative_bias.count;
    int64_t end = last ? INT64_MAX : ranges[range + 1].start - 1;
    if (params->key_positions.given == NULL) { /* offsets rise by 1 */
        int64_t offset = position_difference(positions_at(&params->key_positions, state->block->b, key), position);
        return size_min(rest - 1, (uint64_t)end - (uint64_t)offset) + 1;
    }
    for (; run < rest; run++) {
        int64_t offset = position_difference(positions_at(&params->key_positions, state->block->b, key + run), position);
        if (offset < ranges[range].start || offset > end)
            break;
    }
    return run;
}

static void NAME(stage_relative_bias)(struct NAME(state) *state, const struct NAME(tile) *tile, size_t r)
{
    const struct attention_params *params = state->plan->params;
    const struct relative_bias *bias = &params->relative_bias;
    const double *table = bias->table + NAME(row_head)(state, r);
    int64_t position = positions_at(&params->query_positions, state->block->b, NAME(row_query)(state, r));
    REAL *row = NAME(score_row)(state, tile, r);
    for (size_t j = 0, run; j < tile->count; j += run) {
        int64_t key = positions_at(&params->key_positions, state->block->b, tile->first + j);
        size_t range = relative_bias_find(bias, position_difference(key, position));
        run = NAME(relative_bias_run)(state, tile, tile->first + j, range, position);
        NAME(add_constant)(row + j, (REAL)table[bias->ranges[range].bucket * bias->stride], run);
    }
}

/* An infinity may stand for a product that overflowed before it was scaled, so it must not become the cap: the kernel makes
 * it NaN, which leaves the row to exact_row. */
static void NAME(stage_softcap)(struct NAME(state) *state, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = state->plan;
    for (size_t r = tile->row; r < tile->row + tile->rows; r++)
        plan->kernels->KERNEL(softcap_row)(NAME(score_row)(state, tile, r), tile->count, (REAL)plan->params->softcap);
}

/* scale * q.k, biases and softcap, and their results. ret_max: only for a full tile, else NULL. */
static void NAME(stages_before_mask)(struct NAME(state) *state, const struct NAME(tile) *tile, REAL *ret_max)
{
    const struct attention_params *params = state->plan->params;
    const struct attention_results *results = state->plan->results;
    if (state->plan->split_kv)
        NAME(scores_unpacked)(state, tile);
    else
        NAME(scores_packed)(state, tile, ret_max);
    if (state->stored && results->scores.data != NULL)
        NAME(store_stage_exact)(state, tile, &results->scores, false);
    for (size_t r = tile->row; params->bias.data != NULL && r < tile->row + tile->rows; r++)
        NAME(stage_bias)(state, tile, r);
    for (size_t r = tile->row; params->relative_bias.table != NULL && r < tile->row + tile->rows; r++)
        NAME(stage_relative_bias)(state, tile, r);
    if (params->softcap > 0)
        NAME(stage_softcap)(state, tile);
    if (state->stored && results->capped_scores.data != NULL)
        NAME(store_stage_exact)(state, tile, &results->capped_scores, true);
}

static
    __attribute__((noinline)) void NAME(stage_alibi)(struct NAME(state) *state, size_t r, size_t first, size_t count, REAL *row)
{
    const struct attention_block *block = state->block;
    const struct attention_params *params = state->plan->params;
    int64_t position = positions_at(&params->query_positions, block->b, NAME(row_query)(state, r));
    double slope = params->alibi_slopes[NAME(row_head)(state, r)];
    size_t step = params->key_positions.given == NULL ? count : 1; /* keys in a row; the kernel rounds one as it does many */
    for (size_t j = 0; j < count; j += step) {
        double distance = (double)position - (double)positions_at(&params->key_positions, block->b, first + j);
        state->plan->kernels->KERNEL(alibi_row)(row + j, step, distance, slope);
    }
}

#define ADDS_NOTHING ((REAL)-0.0) /* not even to -0, which 0 makes 0 */

/* Leaves out what the rules mask within row r's range, for keys [first, first + count): -infinity in `copy`. */
static void NAME(mask_by_key)(const struct NAME(state) *state, size_t r, size_t first, size_t count, REAL copy[KEY_TILE],
                              struct KERNEL(kernel_mask) *mask)
{
    unsigned char keep[KEY_TILE];
    attention_row_keeps(state->plan, state->block->b, NAME(row_query)(state, r), first, count, keep);
    for (size_t j = 0; j < count; j++) {
        bool masked = keep[j] == 0 || (mask->keep != NULL && mask->keep[j] == 0);
        copy[j] = masked ? MINUS_INFINITY : mask->add != NULL ? mask->add[j] : ADDS_NOTHING;
    }
    mask->keep = NULL;
    mask->add = copy;
}

/* Row r of the mask for keys [first, first + count), as the kernel takes it: in place, or as numbers to add, in `copy`. */
static void NAME(mask_of_row)(const struct NAME(state) *state, size_t r, size_t first, size_t count, REAL copy[KEY_TILE],
                              struct KERNEL(kernel_mask) *mask)
{
    const struct tensor *t = &state->plan->params->mask;
    const void *row = tensor_row(t, state->block->b, NAME(row_head)(state, r), NAME(row_query)(state, r));
    if (t->stride[3] == 1 && t->dtype == DTYPE_BOOL) {
        mask->keep = (const unsigned char *)row + first;
        return;
    }
    mask->add = copy;
    if (t->stride[3] == 1 && sizeof(ELEMENT) == sizeof(REAL)) {
        mask->add = (const REAL *)row + first;
        return;
    }
    for (size_t j = 0; j < count; j++) {
        ptrdiff_t at = (ptrdiff_t)(first + j) * t->stride[3];
        if (t->dtype == DTYPE_BOOL)
            copy[j] = ((const unsigned char *)row)[at] == 0 ? MINUS_INFINITY : ADDS_NOTHING;
        else
            copy[j] = (REAL)((const ELEMENT *)row)[at];
    }
}

/* The masks of one row where there are more than its range: finishes it and returns as the kernel does. */
static __attribute__((noinline)) bool NAME(masks_of_row)(struct NAME(state) *state, const struct NAME(tile) *tile, size_t r,
                                                         REAL *row, struct KERNEL(kernel_mask) *mask, REAL *ret_max)
{
    REAL copy[KEY_TILE];
    if (state->plan->params->mask.data != NULL)
        NAME(mask_of_row)(state, r, tile->first, mask->end, copy, mask);
    bool all = true;
    if (state->rows[r]->by_key &&
        (attention_row_misses(state->plan, state->block->b, NAME(row_query)(state, r), tile->first, &all) || !all))
        NAME(mask_by_key)(state, r, tile->first, mask->end, copy, mask);
    return state->plan->kernels->KERNEL(mask_row)(row, NAME(padded)(state, tile->count), mask, ret_max);
}

/* ALiBi and masks of one row, after which `row` holds what softmax sees, up to a multiple of row_step. Returns its maximum. */
static inline REAL NAME(stages_of_row)(struct NAME(state) *state, const struct NAME(tile) *tile, size_t r, REAL *row)
{
    const struct attention_params *params = state->plan->params;
    size_t tile_end = tile->first + tile->count;
    const struct attention_row *visible = state->rows[r];
    size_t begin = size_min(size_max(visible->begin, tile->first), tile_end) - tile->first;
    size_t end = size_max(size_min(visible->end, tile_end), tile->first + begin) - tile->first;
    struct KERNEL(kernel_mask) mask = {.begin = begin, .end = end};
    REAL max;
    if (params->alibi_slopes != NULL)
        NAME(stage_alibi)(state, r, tile->first + begin, end - begin, row + begin);
    bool finite = params->mask.data == NULL && !visible->by_key
                      ? state->plan->kernels->KERNEL(mask_row)(row, NAME(padded)(state, tile->count), &mask, &max)
                      : NAME(masks_of_row)(state, tile, r, row, &mask, &max);
    if (!finite)
        state->nonfinite[r] = true;
    return max;
}
