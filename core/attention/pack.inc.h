/* pack.inc.h: keys and values into the panels that the products read. */

#define CACHE_LINE_BYTES 64

#define PACK_ROWS 16 /* of a panel, and dimensions, that are converted before they are packed */
#define PACK_DEPTH 64

/* Keys [first, first + count) as columns: panel [D][width], missing keys as 0. */
static void NAME(pack_key_panel)(const struct attention_plan *plan, size_t b, size_t g, size_t first, size_t count, REAL *panel)
{
    const struct tensor *key = &plan->params->key;
    size_t width = plan->key_panel;
    if (plan->kernels->KERNEL(pack) != NULL && sizeof(ELEMENT) == sizeof(REAL) && key->stride[3] == 1) {
        plan->kernels->KERNEL(pack)(tensor_row(key, b, g, first), key->stride[2], count, plan->D, panel);
        return;
    }
    if (plan->kernels->KERNEL(pack) != NULL && count <= PACK_ROWS) {
        REAL rows[PACK_ROWS][PACK_DEPTH];
        for (size_t d = 0; d < plan->D; d += PACK_DEPTH) {
            size_t depth = size_min(PACK_DEPTH, plan->D - d);
            for (size_t j = 0; j < count; j++) {
                const ELEMENT *row = tensor_row(key, b, g, first + j);
                (void)NAME(to_reals)(rows[j], row + (ptrdiff_t)d * key->stride[3], key->stride[3], depth);
            }
            plan->kernels->KERNEL(pack)(rows[0], PACK_DEPTH, count, depth, panel + d * width);
        }
        return;
    }
    for (size_t j = 0; j < count; j++) {
        const ELEMENT *row = tensor_row(key, b, g, first + j);
        for (size_t d = 0; d < plan->D; d++)
            panel[d * width + j] = (REAL)row[(ptrdiff_t)d * key->stride[3]];
    }
    for (size_t d = 0; d < plan->D; d++)
        for (size_t j = count; j < width; j++)
            panel[d * width + j] = 0;
}

/* Prefetches the keys [first, end): a panel's rows are too far apart for the processor to predict. */
static void NAME(prefetch_keys)(const struct attention_plan *plan, size_t b, size_t g, size_t first, size_t end)
{
    const struct tensor *key = &plan->params->key;
    for (size_t j = first; j < end; j++) {
        const ELEMENT *row = tensor_row(key, b, g, j);
        for (size_t d = 0; d < plan->D && key->stride[3] == 1; d += CACHE_LINE_BYTES / sizeof *row)
            __builtin_prefetch(row + d);
    }
}

/* One value's row into its panels, `panel_stride` apart; false, and zeros in their place, where numbers of it are not finite. */
static bool NAME(pack_value)(const struct attention_plan *plan, const ELEMENT *row, REAL *panels, size_t panel_stride)
{
    const struct tensor *value = &plan->params->value;
    size_t width = plan->value_panel;
    bool all_finite = true;
    for (size_t panel = 0; panel < plan->value_panel_count; panel++) {
        REAL *to = panels + panel * panel_stride;
        size_t columns = size_min(width, plan->Dv - panel * width);
        bool finite = NAME(to_reals)(to, row + (ptrdiff_t)(panel * width) * value->stride[3], value->stride[3], columns);
        for (size_t d = 0; d < columns && !finite; d++)
            to[d] = isfinite(to[d]) ? to[d] : 0;
        for (size_t d = columns; d < width; d++)
            to[d] = 0;
        all_finite &= finite;
    }
    return all_finite;
}

/* Marks the values [first, end) that are not finite, and packs them where the product cannot read them in place. */
static void NAME(pack_values)(struct attention_plan *plan, size_t unit, size_t first, size_t end)
{
    const struct tensor *value = &plan->params->value;
    const struct attention_sequence_plan *sequence = &plan->sequences[unit / plan->Hkv];
    size_t b = sequence->b, g = unit % plan->Hkv, keys = attention_unit_keys(plan, unit);
    REAL *panels = (REAL *)plan->value_panels + keys * plan->value_panel_count * plan->value_panel;
    unsigned char *nonfinite = plan->nonfinite_values + keys + (first - sequence->first_key);
    bool all_finite = true;
    if (plan->values_in_place && value->stride[2] == (ptrdiff_t)plan->Dv &&
        plan->kernels->KERNEL(finite_row)(tensor_row(value, b, g, first), (end - first) * plan->Dv)) {
        memset(nonfinite, 0, end - first);
        return;
    }
    size_t width = plan->value_panel, panel_stride = attention_panel_keys(plan, sequence) * width;
    for (size_t j = first; j < end; j++) {
        const ELEMENT *row = tensor_row(value, b, g, j);
        bool finite = plan->values_in_place
                          ? plan->kernels->KERNEL(finite_row)((const REAL *)row, plan->Dv)
                          : NAME(pack_value)(plan, row, panels + (j - sequence->first_key) * width, panel_stride);
        nonfinite[j - first] = !finite;
        all_finite &= finite;
    }
    if (!all_finite)
        atomic_store_explicit(&plan->has_nonfinite_values, true, memory_order_relaxed);
}

static void NAME(pack)(struct attention_plan *plan, size_t unit, size_t first)
{
    const struct attention_sequence_plan *sequence = &plan->sequences[unit / plan->Hkv];
    size_t b = sequence->b, g = unit % plan->Hkv, origin = sequence->first_key;
    size_t end = size_min(first + KEY_TILE, origin + sequence->keys);
    REAL *key_panels = (REAL *)plan->key_panels + attention_unit_keys(plan, unit) * plan->D;
    for (size_t j = first; j < end; j += plan->key_panel) {
        NAME(prefetch_keys)(plan, b, g, size_min(j + plan->key_panel, end), size_min(j + 2 * plan->key_panel, end));
        NAME(pack_key_panel)(plan, b, g, j, size_min(plan->key_panel, end - j), key_panels + (j - origin) * plan->D);
    }
    if (plan->nonfinite_values != NULL)
        NAME(pack_values)(plan, unit, first, end);
}
