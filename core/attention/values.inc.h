/* values.inc.h: the product of weights and values. What is not finite in a value reaches only the rows that see it: the
 * product takes zeros in its place, and what infinities and NaN contribute is summed separately (nonfinite_sums). */

static bool NAME(value_is_nonfinite)(const struct NAME(state) *state, size_t j)
{
    const struct attention_plan *plan = state->plan;
    if (!plan->split_kv)
        return plan->nonfinite_values[state->unit_keys + (j - state->block->sequence->first_key)] != 0;
    return !plan->kernels->KERNEL(finite_row)(tensor_row(&plan->params->value, state->block->b, state->block->g, j), plan->Dv);
}

/* Adds what of value j is not finite to row r, which gives it `weight`. A weight that underflowed is not zero, so its
 * product with an infinity is left to exact_row_output. */
static void NAME(add_nonfinite_value)(struct NAME(state) *state, size_t r, size_t j, REAL weight)
{
    const struct attention_plan *plan = state->plan;
    const struct tensor *value = &plan->params->value;
    const ELEMENT *from = tensor_row(value, state->block->b, state->block->g, j);
    REAL *to = state->nonfinite_sums + r * state->sums_stride;
    if (weight == 0) {
        state->needs_exact[r] = true;
        return;
    }
    if (!state->has_nonfinite_sums[r])
        memset(to, 0, plan->Dv * sizeof *to);
    state->has_nonfinite_sums[r] = true;
    for (size_t d = 0; d < plan->Dv; d++) {
        REAL x = (REAL)from[(ptrdiff_t)d * value->stride[3]];
        to[d] += weight * (isfinite(x) ? 0 : x);
    }
}

/* Adds the tile's values that are not finite to the rows that see them; false where there is none. */
static bool NAME(add_nonfinite_values)(struct NAME(state) *state, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = state->plan;
    const struct attention_block *block = state->block;
    bool nonfinite = false;
    if (!plan->split_kv && !atomic_load_explicit(&plan->has_nonfinite_values, memory_order_relaxed))
        return false;
    for (size_t j = tile->first; j < tile->first + tile->count; j++) {
        if (!NAME(value_is_nonfinite)(state, j))
            continue;
        nonfinite = true;
        for (size_t r = tile->row; r < tile->row + tile->rows; r++)
            if (!state->nonfinite[r] && !state->needs_exact[r] &&
                !attention_masked(plan, block->b, NAME(row_head)(state, r), NAME(row_query)(state, r), j))
                NAME(add_nonfinite_value)(state, r, j, NAME(score_row)(state, tile, r)[j - tile->first]);
    }
    return nonfinite;
}

/* A tile's values, [count, Dv], copied with zeros in place of what is not finite. */
static const REAL *NAME(values_cleaned)(struct NAME(state) *state, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = state->plan;
    for (size_t j = 0; j < tile->count; j++) {
        const REAL *row = tensor_row(&plan->params->value, state->block->b, state->block->g, tile->first + j);
        for (size_t d = 0; d < plan->Dv; d++)
            state->clean_values[j * plan->Dv + d] = isfinite(row[d]) ? row[d] : 0;
    }
    return state->clean_values;
}

/* The tile's values as the product's right side. */
static void NAME(values_set)(struct NAME(state) *state, const struct NAME(tile) *tile, bool nonfinite,
                             struct KERNEL(kernel_product) *product)
{
    const struct attention_plan *plan = state->plan;
    const struct tensor *value = &plan->params->value;
    product->panel_columns = plan->value_panel;
    if (!plan->values_in_place) {
        const struct attention_sequence_plan *sequence = state->block->sequence;
        size_t first = state->unit_keys * plan->value_panel_count + (tile->first - sequence->first_key);
        product->panels = (const REAL *)plan->value_panels + first * plan->value_panel;
        product->panel_stride = attention_panel_keys(plan, sequence) * plan->value_panel;
        product->panel_row_stride = plan->value_panel;
        return;
    }
    product->panels =
        nonfinite ? NAME(values_cleaned)(state, tile) : tensor_row(value, state->block->b, state->block->g, tile->first);
    product->panel_stride = plan->value_panel;
    product->panel_row_stride = nonfinite ? plan->Dv : (size_t)value->stride[2];
}

/* sums += weights * values */
static void NAME(stage_values)(struct NAME(state) *state, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = state->plan;
    struct KERNEL(kernel_product) product = {
        .rows = tile->rows,
        .columns = plan->Dv,
        .depth = tile->count,
        .a = NAME(score_row)(state, tile, tile->row),
        .alpha = 1,
        .add = state->has_sums[tile->row],
        .c = state->sums + tile->row * state->sums_stride,
        .c_stride = state->sums_stride,
    };
    NAME(values_set)(state, tile, NAME(add_nonfinite_values)(state, tile), &product);
    plan->kernels->KERNEL(product)(&product);
    for (size_t r = tile->row; r < tile->row + tile->rows; r++)
        state->has_sums[r] = true;
}
