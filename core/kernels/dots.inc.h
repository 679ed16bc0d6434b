/* dots.inc.h: rows times keys in place: each key is loaded once, for all rows. */

static void NAME(dots)(const struct NAME(kernel_dots) *p)
{
    for (size_t j = 0; j < p->keys; j++) {
        const REAL *key = p->b + (ptrdiff_t)j * p->b_stride;
        for (size_t r = 0; r < p->rows; r++) {
            const REAL *row = p->a + r * KERNEL_ROW_STRIDE;
            NAME(lanes) sums[VECTORS] = {0};
            for (size_t d = 0; d < p->depth; d += PANEL)
#pragma GCC unroll 4
                for (size_t v = 0; v < VECTORS; v++)
                    sums[v] += NAME(load)(row + d + v * LANES) * NAME(load)(key + d + v * LANES);
            p->c[r * KERNEL_ROW_STRIDE + j] = p->alpha * NAME(panel_sum)(sums);
        }
    }
}
