/* exp_row.inc.h: exp(score - max) of a row of scores, and their sum; and what its entropy is made of. Element j is added to lane j % LANES of sum j / LANES
 * % VECTORS, whatever the row's length and elements are. */

/* Below it exp is 0 in either precision; a masked score's -infinity counts as this, since 0 times infinity is not 0. */
#define EXP_ARGUMENT_MIN (-(REAL)10000)

/* One panel. Where `finite`, a product with 0 turns the sum to NaN if an element is not finite. `terms`: NULL, or what
 * exp(x) * x is added to. */
static inline __attribute__((always_inline)) void NAME(exp_panel)(REAL *row, REAL max, bool finite, NAME(lanes) sums[VECTORS],
                                                                  NAME(lanes) *terms)
{
#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++) {
        NAME(lanes) x = NAME(load)(row + v * LANES) - max, p = NAME(exp)(x);
        sums[v] += p;
        if (finite)
            sums[v] += x * (REAL)0;
        if (terms != NULL)
            terms[v] += p * NAME(larger)(x, (NAME(lanes)){0} + EXP_ARGUMENT_MIN);
        NAME(store)(row + v * LANES, p);
    }
}

static inline __attribute__((always_inline))
REAL NAME(exp_row_body)(REAL *row, size_t count, REAL max, bool finite, NAME(lanes) *terms)
{
    NAME(lanes) sums[VECTORS] = {{0}};
    size_t j = 0;
    for (; j + PANEL <= count; j += PANEL)
        NAME(exp_panel)(row + j, max, finite, sums, terms);
    if (j < count) {
        REAL rest[PANEL];
        for (size_t i = 0; i < PANEL; i++)
            rest[i] = j + i < count ? row[j + i] : -(REAL)INFINITY;
        NAME(exp_panel)(rest, max, false, sums, terms);
        memcpy(row + j, rest, (count - j) * sizeof *row);
    }
    return NAME(panel_sum)(sums);
}

static REAL NAME(exp_row)(REAL *row, size_t count, REAL max)
{
    return NAME(exp_row_body)(row, count, max, false, NULL);
}

static REAL NAME(exp_finite_row)(REAL *row, size_t count, REAL max)
{
    return NAME(exp_row_body)(row, count, max, true, NULL);
}

static REAL NAME(exp_entropy_row)(REAL *row, size_t count, REAL max, bool finite, REAL *ret_terms)
{
    NAME(lanes) terms[VECTORS] = {{0}};
    REAL sum = finite ? NAME(exp_row_body)(row, count, max, true, terms) : NAME(exp_row_body)(row, count, max, false, terms);
    *ret_terms = NAME(panel_sum)(terms);
    return sum;
}
