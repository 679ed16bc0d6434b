/* reduce.inc.h: the second sweep: a tile of scores again, now to weights, which are summed up over the queries. */

/* Row r's scores, masks included, to weights but for the factor that it returns. */
static double NAME(row_weights)(const struct NAME(state) *state, const struct NAME(tile) *tile, size_t r, REAL *row)
{
    const struct attention_plan *plan = state->plan;
    size_t b = state->block->b, h = NAME(row_head)(state, r), i = NAME(row_query)(state, r);
    const struct attention_row_norm *norm = &plan->row_norms[(b * plan->H + h) * plan->Tq + i];
    if (norm->kind == ROW_FINITE) {
        (void)plan->kernels->KERNEL(exp_row)(row, NAME(padded)(state, tile->count), (REAL)norm->max);
        return 1 / norm->sum;
    }
    for (size_t j = 0; j < tile->count; j++)
        row[j] = norm->kind == ROW_MASKED ? 0 : (REAL)exact_weight(plan, b, h, i, tile->first + j, norm->max, norm->sum);
    return 1;
}

/* The rows' largest weights, key by key. What is NaN is not the largest of anything, so it is added. */
static void NAME(columns_largest)(const struct attention_plan *plan, double *columns, const REAL *rows, size_t row_count,
                                  const double *factors, size_t count)
{
    plan->kernels->KERNEL(max_columns)(columns, rows, row_count, factors, count);
    for (size_t r = 0; r < row_count; r++)
        if (!plan->kernels->KERNEL(finite_row)(rows + r * KERNEL_ROW_STRIDE, count))
            plan->kernels->KERNEL(add_columns)(columns, rows + r * KERNEL_ROW_STRIDE, 1, &factors[r], count);
}

/* Adds weights, rows of keys [key, key + count), to the cells of pooled_weights: rows that share a row of cells together. */
static void NAME(tile_pool)(const struct NAME(state) *state, size_t first_row, size_t row_count, const REAL *rows,
                            const double *factors, size_t key, size_t count)
{
    const struct attention_plan *plan = state->plan;
    size_t first = NAME(row_query)(state, first_row), end = first + row_count;
    for (size_t i = first; i < end;) {
        size_t cell_row = attention_pool_cell(plan->pool_rows, plan->Tq, i);
        size_t next = size_min(attention_pool_edge(plan->pool_rows, plan->Tq, cell_row + 1), end);
        double columns[KEY_TILE];
        memset(columns, 0, count * sizeof *columns);
        if (plan->results->pool_max)
            NAME(columns_largest)(plan, columns, rows + (i - first) * KERNEL_ROW_STRIDE, next - i, factors + (i - first),
                                  count);
        else
            plan->kernels->KERNEL(add_columns)(columns, rows + (i - first) * KERNEL_ROW_STRIDE, next - i, factors + (i - first),
                                               count);
        attention_pool_add(plan, state->span, cell_row, columns, key, count);
        i = next;
    }
}

static void NAME(tile_reduce)(struct NAME(state) *state, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = state->plan;
    const struct attention_span *span = state->span;
    size_t first = size_max(tile->first, span->first), end = tile->first + tile->count;
    bool full = NAME(tile_is_full)(state, tile);
    double factors[QUERY_TILE];
    if (first >= end)
        return;
    NAME(stages_before_mask)(state, tile, NULL);
    for (size_t r = tile->row; r < tile->row + tile->rows; r++) {
        REAL *row = NAME(score_row)(state, tile, r);
        if (!full)
            (void)NAME(stages_of_row)(state, tile, r, row);
        factors[r - tile->row] = NAME(row_weights)(state, tile, r, row);
    }
    const REAL *rows = NAME(score_row)(state, tile, tile->row) + (first - tile->first);
    if (span->key_sums != NULL)
        plan->kernels->KERNEL(add_columns)(span->key_sums + (first - span->first), rows, tile->rows, factors, end - first);
    if (span->cells != NULL)
        NAME(tile_pool)(state, tile->row, tile->rows, rows, factors, first, end - first);
}

static void NAME(block_reduce)(struct attention_plan *plan, const struct attention_block *block,
                               const struct attention_scratch *scratch, const struct attention_span *span)
{
    struct NAME(state) state;
    size_t first = size_max(span->first, block->key_begin), end = size_min(span->end, block->key_end);
    if (first >= end)
        return;
    first -= (first - block->sequence->first_key) % plan->key_panel;
    NAME(state_init)(&state, plan, block, scratch, false);
    state.span = span;
    state.stored = false;
    state.kept_scores = NULL;
    NAME(keys_run)(&state, first, end, NAME(tile_reduce));
}
