/* projection_tile.inc.h: a tile of a projection by the kernels' product, in which an output is a chain of multiply-adds over chunks of the
 * inputs, in their order, whatever is computed along with it. Included with REAL, KERNEL(x) and NAME(x) defined; undefines them. */

/* Weights of outputs [first_output, ...) and inputs [first, first + count) as a panel; missing outputs are 0. */
static void NAME(weights_pack)(const struct projection *p, size_t first_output, size_t first, size_t count, REAL *panel)
{
    const REAL *weight = (const REAL *)p->weight->data + first_output * p->C + first;
    size_t outputs = size_min(p->kernels->KERNEL(panel_columns), p->O - first_output);
    p->kernels->KERNEL(pack)(weight, (ptrdiff_t)p->C, outputs, count, panel);
}

/* Inputs [first, first + count) of all rows, as the product's left operand: row r in line r % TILE_LINES. */
static void NAME(tokens_pack)(const struct projection *p, const REAL *x, size_t rows, size_t first, size_t count, REAL *to)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(to + r % TILE_LINES * KERNEL_ROW_STRIDE + r / TILE_LINES * INPUTS_OF_CHUNK, x + r * p->C + first,
               count * sizeof *to);
}

/* `out` holds the bias where `add`, else anything. */
static void NAME(tile_product)(const struct projection *p, const REAL *x, REAL *out, size_t rows, bool add)
{
    const size_t width = p->kernels->KERNEL(panel_columns), whole = p->O / width * width, rest = p->O - whole;
    REAL tokens[TILE_LINES * KERNEL_ROW_STRIDE], panel[INPUTS_OF_CHUNK * PANEL_COLUMNS_MAX];
    REAL last[TOKEN_TILE * PANEL_COLUMNS_MAX] = {
        0}; /* columns of the last panel, if it is not full: the product writes whole ones */
    for (size_t r = 0; r < rows; r++)
        memcpy(last + r * width, out + r * p->O + whole, add ? rest * sizeof *out : 0);
    for (size_t first = 0; first < p->C; first += INPUTS_OF_CHUNK) {
        size_t count = size_min(INPUTS_OF_CHUNK, p->C - first);
        NAME(tokens_pack)(p, x, rows, first, count, tokens);
        for (size_t output = 0; output < p->O; output += width) {
            NAME(weights_pack)(p, output, first, count, panel);
            for (size_t r = 0; r < rows; r += TILE_LINES) {
                const struct KERNEL(kernel_product) product = {
                    .rows = size_min(TILE_LINES, rows - r),
                    .columns = width,
                    .depth = count,
                    .a = tokens + r / TILE_LINES * INPUTS_OF_CHUNK,
                    .panels = panel,
                    .panel_columns = width,
                    .panel_row_stride = width,
                    .alpha = 1,
                    .add = add || first > 0,
                    .c = output < whole ? out + r * p->O + output : last + r * width,
                    .c_stride = output < whole ? p->O : width,
                };
                p->kernels->KERNEL(product)(&product);
            }
        }
    }
    for (size_t r = 0; r < rows; r++)
        memcpy(out + r * p->O + whole, last + r * width, rest * sizeof *out);
}

#undef REAL
#undef KERNEL
#undef NAME
