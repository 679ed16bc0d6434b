/* product.inc.h: rows times panels, the product of attention's tiles: ROWS * VECTORS sums live in registers. */

/* `rows` rows of one panel, and their maxima, lane by lane, brought into `maxima` (NULL: not wanted). `rows` is a constant
 * at each call, so that the sums stay in registers. */
static inline __attribute__((always_inline)) void NAME(rows_panel)(size_t rows, size_t depth, const REAL *a, const REAL *panel,
                                                                   size_t panel_row_stride, REAL alpha, bool add, REAL *c,
                                                                   size_t c_stride, NAME(lanes) *maxima)
{
    NAME(lanes) sums[ROWS][VECTORS];
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            sums[r][v] = (NAME(lanes)){0};
#pragma GCC unroll 4 /* fewer instructions a multiply-add: 3 % on AVX2, nothing on AVX-512 */
    for (size_t k = 0; k < depth; k++) {
        NAME(lanes) right[VECTORS];
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            right[v] = NAME(load)(panel + k * panel_row_stride + v * LANES);
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++) {
            REAL x = a[r * KERNEL_ROW_STRIDE + k];
#pragma GCC unroll 4
            for (size_t v = 0; v < VECTORS; v++)
                sums[r][v] += x * right[v];
        }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++) {
        REAL *to = c + r * c_stride;
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++) {
            sums[r][v] *= alpha;
            if (add)
                sums[r][v] += NAME(load)(to + v * LANES);
            NAME(store)(to + v * LANES, sums[r][v]);
        }
    }
    if (maxima == NULL)
        return;
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++) {
        NAME(lanes) largest = sums[r][0];
#pragma GCC unroll 4
        for (size_t v = 1; v < VECTORS; v++)
            largest = NAME(larger)(largest, sums[r][v]);
        maxima[r] = NAME(larger)(largest, maxima[r]);
    }
}

_Static_assert(ROWS == 6 || ROWS == 12, "rows_step has a case for each number of rows");

/* A step of `rows` rows, at most ROWS: one function with its own sums in registers for each number. */
static void NAME(rows_step)(size_t rows, const struct NAME(kernel_product) *p, const REAL *a, const REAL *panel, REAL *c,
                            NAME(lanes) *maxima)
{
    switch (rows) {
#define STEP(n)                                                                                                                \
    case n:                                                                                                                    \
        NAME(rows_panel)((n), p->depth, a, panel, p->panel_row_stride, p->alpha, p->add, c, p->c_stride, maxima);              \
        break;
        STEP(1)
        STEP(2)
        STEP(3)
        STEP(4)
        STEP(5)
        STEP(6)
#if ROWS > 6
        STEP(7)
        STEP(8)
        STEP(9)
        STEP(10)
        STEP(11)
        STEP(12)
#endif
#undef STEP
    }
}

/* Rows in as few steps as registers allow, about the same number in each: few sums would wait for each other. */
static void NAME(product)(const struct NAME(kernel_product) *p)
{
    NAME(lanes) maxima[2 * ROWS];
    for (size_t r = 0; r < p->rows && p->ret_max != NULL; r++)
        maxima[r] = (NAME(lanes)){0} - (REAL)INFINITY;
    for (size_t column = 0; column < p->columns; column += PANEL) {
        const REAL *panel = p->panels + column / PANEL * p->panel_stride;
        for (size_t r = 0, step; r < p->rows; r += step) {
            size_t left = p->rows - r, steps = (left + ROWS - 1) / ROWS;
            step = (left + steps - 1) / steps;
            NAME(rows_step)(step, p, p->a + r * KERNEL_ROW_STRIDE, panel, p->c + r * p->c_stride + column,
                            p->ret_max == NULL ? NULL : maxima + r);
        }
    }
    for (size_t r = 0; r < p->rows && p->ret_max != NULL; r++)
        p->ret_max[r] = NAME(lanes_max)(maxima[r]);
}
