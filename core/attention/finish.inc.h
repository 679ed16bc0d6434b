/* finish.inc.h: rows after their last key: division, results, and the rows that need more than this precision. */

/* Row r's weights of one tile, exponentials times `factor`, to where they belong. */
static void NAME(weights_write)(const struct NAME(state) *state, const struct NAME(tile) *tile, size_t r, REAL factor)
{
    const struct attention_plan *plan = state->plan;
    const REAL *from = NAME(score_row)(state, tile, r);
    size_t place = tile->first - plan->selection.key_first;
    if (dtype_bytes(plan->weights_dtype) == sizeof(REAL)) {
        REAL *to = (REAL *)NAME(weights_row)(state, r) + place;
        if (plan->weights_stream)
            plan->kernels->KERNEL(scale_streaming)(to, from, tile->count, factor);
        else
            (void)plan->kernels->KERNEL(scale_row)(to, from, tile->count, factor);
        return;
    }
    ELEMENT *to = (ELEMENT *)NAME(weights_row)(state, r) + place;
    for (size_t j = 0; j < tile->count; j++)
        to[j] = NAME(element)(plan, (double)(from[j] * factor));
}

/* The weights of row r, all 0 where every key is masked. */
static void NAME(weights_finish)(const struct NAME(state) *state, size_t r)
{
    size_t first = state->block->key_begin, end = state->block->key_end;
    if (!NAME(keys_selected)(state, &first, &end))
        return;
    while (first < end) {
        struct NAME(tile) tile = NAME(tile_at)(state, first, end, r);
        REAL tile_max = state->tile_max[NAME(kept_tile)(state, &tile) * QUERY_TILE + r];
        double rescale = tile_max == state->max[r] ? 1 : exp((double)tile_max - (double)state->max[r]); /* 1: most tiles */
        double factor = state->has_visible_key[r] ? rescale / state->sum[r] : 0;
        NAME(weights_write)(state, &tile, r, (REAL)factor);
        first += tile.count;
    }
}

/* Divides row r's output by its denominator, into `to`; what overflows needs more than this precision. */
static void NAME(stage_divide)(struct NAME(state) *state, size_t r, REAL *to)
{
    const struct attention_plan *plan = state->plan;
    const REAL *sums = state->sums + r * state->sums_stride;
    if (!state->has_visible_key[r]) {
        memset(to, 0, plan->Dv * sizeof *to);
    } else if (!state->needs_exact[r]) {
        /* Weights are at most 1, but before the division a sum of large values may pass the largest float. */
        state->needs_exact[r] = !plan->kernels->KERNEL(scale_row)(to, sums, plan->Dv, (REAL)(1 / state->sum[r]));
        for (size_t d = 0; d < plan->Dv && state->has_nonfinite_sums[r]; d++)
            to[d] += state->nonfinite_sums[r * state->sums_stride + d];
    }
}

/* Row r's output, straight to the result where that takes it. */
static void NAME(output_finish)(struct NAME(state) *state, size_t r)
{
    const struct attention_plan *plan = state->plan;
    const struct tensor *output = &plan->results->output;
    ELEMENT *to = NAME(result_row)(state, output, r);
    if (sizeof(ELEMENT) == sizeof(REAL) && output->stride[3] == 1) {
        NAME(stage_divide)(state, r, (REAL *)to);
    } else {
        REAL *divided = state->sums + r * state->sums_stride;
        NAME(stage_divide)(state, r, divided);
        NAME(to_elements)(plan, to, output->stride[3], divided, plan->Dv);
    }
    if (state->needs_exact[r])
        exact_row_output(plan, state->block->b, NAME(row_head)(state, r), NAME(row_query)(state, r));
}

/* -sum w*ln(w): ln(sum) - terms/sum, less a sink's part. */
static double NAME(row_entropy)(const struct NAME(state) *state, size_t r)
{
    const double *sinks = state->plan->params->sinks;
    if (!state->has_visible_key[r])
        return 0;
    double log_sum = log(state->sum[r]), entropy = log_sum - state->terms[r] / state->sum[r];
    if (sinks != NULL) {
        double log_weight = sinks[NAME(row_head)(state, r)] - (double)state->max[r] - log_sum, weight = exp(log_weight);
        entropy += weight > 0 ? weight * log_weight : 0;
    }
    return fmax(entropy, 0);
}

/* Entropy and largest weights of row r, and what the second sweep needs. */
static void NAME(reductions_finish)(const struct NAME(state) *state, size_t r)
{
    const struct attention_plan *plan = state->plan;
    size_t b = state->block->b, h = NAME(row_head)(state, r), i = NAME(row_query)(state, r);
    if (plan->results->entropy.data != NULL)
        *NAME(result_row)(state, &plan->results->entropy, r) = (ELEMENT)NAME(row_entropy)(state, r);
    if (plan->top > 0) {
        struct top_keys top = NAME(top_keys_of)(state, r);
        top_keys_store(plan, b, h, i, &top, (double)state->max[r], state->sum[r]);
    }
    if (plan->row_norms != NULL)
        plan->row_norms[(b * plan->H + h) * plan->Tq + i] = (struct attention_row_norm){
            (double)state->max[r], state->sum[r], state->has_visible_key[r] ? ROW_FINITE : ROW_MASKED};
}

/* All results of a row of finite scores. */
static void NAME(row_finish)(struct NAME(state) *state, size_t r)
{
    const struct attention_plan *plan = state->plan;
    const struct attention_results *results = plan->results;
    if (plan->weights_wanted && NAME(row_kept)(state, r))
        NAME(weights_finish)(state, r);
    if (results->lse.data != NULL)
        *NAME(result_row)(state, &results->lse, r) = (ELEMENT)attention_lse(plan, (double)state->max[r], state->sum[r]);
    if (plan->row_reductions)
        NAME(reductions_finish)(state, r);
    if (state->sums != NULL)
        NAME(output_finish)(state, r);
}

/* All results of a row that is computed again. */
static void NAME(exact_finish)(const struct NAME(state) *state, size_t r)
{
    const struct attention_plan *plan = state->plan;
    struct top_keys top = plan->top > 0 ? NAME(top_keys_of)(state, r) : (struct top_keys){0};
    exact_row(plan, state->block->b, NAME(row_head)(state, r), NAME(row_query)(state, r),
              plan->weights_wanted && NAME(row_kept)(state, r) ? NAME(weights_row)(state, r) : NULL, &top);
}

/* Finishes all rows. Those that need more than this precision are computed again, which takes long: each asks whether to
 * stop. */
static void NAME(rows_finish)(struct NAME(state) *state)
{
    struct attention_plan *plan = state->plan;
    const struct attention_block *block = state->block;
    size_t masked = 0;
    for (size_t r = 0; r < block->rows; r++) {
        bool exact = state->nonfinite[r] || state->needs_exact[r];
        if (exact && attention_should_stop(plan))
            break;
        masked += !state->nonfinite[r] && !state->has_visible_key[r] && !state->rows[r]->padding;
        if (state->nonfinite[r])
            NAME(exact_finish)(state, r);
        else
            NAME(row_finish)(state, r);
    }
    if (plan->weights_stream)
        plan->kernels->streaming_done();
    atomic_fetch_add_explicit(&plan->masked_row_count, masked, memory_order_relaxed);
}
