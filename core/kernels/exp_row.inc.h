/* exp_row.inc.h: exp(score - max) of a row of scores, and their sum. Element j is added to lane j % LANES of sum j / LANES
 * % VECTORS, whatever the row's length and elements are. */

/* One panel. Where `finite`, a product with 0 turns the sum to NaN if an element is not finite. */
static inline __attribute__((always_inline)) void NAME(exp_panel)(REAL *row, REAL max, bool finite, NAME(lanes) sums[VECTORS])
{
#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++) {
        NAME(lanes) x = NAME(load)(row + v * LANES) - max, p = NAME(exp)(x);
        sums[v] += p;
        if (finite)
            sums[v] += x * (REAL)0;
        NAME(store)(row + v * LANES, p);
    }
}

static inline __attribute__((always_inline)) REAL NAME(exp_row_body)(REAL *row, size_t count, REAL max, bool finite)
{
    NAME(lanes) sums[VECTORS] = {{0}};
    size_t j = 0;
    for (; j + PANEL <= count; j += PANEL)
        NAME(exp_panel)(row + j, max, finite, sums);
    if (j < count) {
        REAL rest[PANEL];
        for (size_t i = 0; i < PANEL; i++)
            rest[i] = j + i < count ? row[j + i] : -(REAL)INFINITY;
        NAME(exp_panel)(rest, max, false, sums);
        memcpy(row + j, rest, (count - j) * sizeof *row);
    }
    return NAME(panel_sum)(sums);
}

static REAL NAME(exp_row)(REAL *row, size_t count, REAL max)
{
    return NAME(exp_row_body)(row, count, max, false);
}

static REAL NAME(exp_finite_row)(REAL *row, size_t count, REAL max)
{
    return NAME(exp_row_body)(row, count, max, true);
}
