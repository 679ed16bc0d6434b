/* attention_values.inc.h: the product with the values. What is not finite in a value reaches only the rows that see it: the product
 * takes zeros in its place, and its own contributions, infinities and NaN, are summed up apart. Included once a precision by
 * attention_block.inc.h. */

static bool NAME(value_is_odd)(const struct NAME(walk) *walk, size_t j)
{
    const struct attention_plan *plan = walk->plan;
    if (!plan->direct)
        return plan->odd_values[NAME(wave_head)(walk) * plan->Tk + j] != 0;
    return !plan->kernels->KERNEL(finite_row)(tensor_row(&plan->problem->value, walk->block->b, walk->block->g, j), plan->Dv);
}

/* Adds what of value j is not finite to row r, which gives it `weight`. One that vanished is no zero yet: what zero times
 * infinity is, attention_row_output shall say. */
static void NAME(add_odd_value)(struct NAME(walk) *walk, size_t r, size_t j, REAL weight)
{
    const struct attention_plan *plan = walk->plan;
    const struct tensor *value = &plan->problem->value;
    const ELEMENT *from = tensor_row(value, walk->block->b, walk->block->g, j);
    REAL *to = walk->apart + r * walk->sums_stride;
    if (weight == 0) {
        walk->odd_output[r] = true;
        return;
    }
    if (!walk->has_apart[r])
        memset(to, 0, plan->Dv * sizeof *to);
    walk->has_apart[r] = true;
    for (size_t d = 0; d < plan->Dv; d++) {
        REAL x = (REAL)from[(ptrdiff_t)d * value->stride[3]];
        to[d] += weight * (isfinite(x) ? 0 : x);
    }
}

/* Adds the tile's values that are not finite to the rows that see them; false where there is none. */
static bool NAME(add_odd_values)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    bool odd = false;
    if (!plan->direct && !atomic_load_explicit(&plan->has_odd_values, memory_order_relaxed))
        return false;
    for (size_t j = tile->first; j < tile->first + tile->count; j++) {
        if (!NAME(value_is_odd)(walk, j))
            continue;
        odd = true;
        for (size_t r = tile->row; r < tile->row + tile->rows; r++)
            if (!walk->odd[r] && !walk->odd_output[r] &&
                !attention_banned(plan, block->b, NAME(row_head)(walk, r), NAME(row_query)(walk, r), j))
                NAME(add_odd_value)(walk, r, j, NAME(score_row)(walk, tile, r)[j - tile->first]);
    }
    return odd;
}

/* A tile's values, [count, Dv], copied with zeros in place of what is not finite. */
static const REAL *NAME(values_cleaned)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = walk->plan;
    for (size_t j = 0; j < tile->count; j++) {
        const REAL *row = tensor_row(&plan->problem->value, walk->block->b, walk->block->g, tile->first + j);
        for (size_t d = 0; d < plan->Dv; d++)
            walk->clean_values[j * plan->Dv + d] = isfinite(row[d]) ? row[d] : 0;
    }
    return walk->clean_values;
}

/* The tile's values as the product's right side. */
static void NAME(values_set)(struct NAME(walk) *walk, const struct NAME(tile) *tile, bool odd,
                             struct KERNEL(kernel_product) *product)
{
    const struct attention_plan *plan = walk->plan;
    const struct tensor *value = &plan->problem->value;
    product->panel_columns = plan->value_panel;
    if (!plan->values_lie) {
        size_t first = NAME(wave_head)(walk) * plan->value_panel_count * plan->Tk + tile->first;
        product->panels = (const REAL *)plan->value_panels + first * plan->value_panel;
        product->panel_stride = plan->Tk * plan->value_panel;
        product->panel_row_stride = plan->value_panel;
        return;
    }
    product->panels = odd ? NAME(values_cleaned)(walk, tile) : tensor_row(value, walk->block->b, walk->block->g, tile->first);
    product->panel_stride = plan->value_panel;
    product->panel_row_stride = odd ? plan->Dv : (size_t)value->stride[2];
}

/* sums += weights * values */
static void NAME(stage_values)(struct NAME(walk) *walk, const struct NAME(tile) *tile)
{
    const struct attention_plan *plan = walk->plan;
    struct KERNEL(kernel_product) product = {
        .rows = tile->rows,
        .columns = plan->Dv,
        .depth = tile->count,
        .a = NAME(score_row)(walk, tile, tile->row),
        .alpha = 1,
        .add = walk->summed[tile->row],
        .c = walk->sums + tile->row * walk->sums_stride,
        .c_stride = walk->sums_stride,
    };
    NAME(values_set)(walk, tile, NAME(add_odd_values)(walk, tile), &product);
    plan->kernels->KERNEL(product)(&product);
    for (size_t r = tile->row; r < tile->row + tile->rows; r++)
        walk->summed[r] = true;
}

/* What the sums of row r are multiplied by when a larger score is found. Where that all but takes away weights that met an
 * infinity, zero times infinity is near, and attention_row_output shall say. */
static void NAME(scale_sums)(struct NAME(walk) *walk, size_t r, double factor)
{
    REAL *sums = walk->sums + r * walk->sums_stride;
    walk->plan->kernels->KERNEL(scale_row)(sums, sums, walk->plan->Dv, (REAL)factor);
    walk->odd_output[r] |= walk->has_apart[r] && factor < APART_FACTOR_MIN;
}
