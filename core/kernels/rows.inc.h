/* rows.inc.h: ALiBi, a factor, whether all is finite, and what is above a bound, over one row. */

static void NAME(alibi_row)(REAL *row, size_t count, double distance, double slope)
{
    for (size_t j = 0; j < count; j++)
        row[j] -=
            (REAL)(slope * fabs(distance - (double)(int32_t)j)); /* a tile's columns fit an int32_t, which converts fast */
}

static bool NAME(scale_row)(REAL *to, const REAL *from, size_t count, REAL factor)
{
    NAME(lanes) nonfinite = {0}; /* 0 while all is finite, NaN after */
    size_t j = 0;
    for (; j + LANES <= count; j += LANES) {
        NAME(lanes) x = NAME(load)(from + j) * factor + (REAL)0;
        nonfinite += x * (REAL)0;
        NAME(store)(to + j, x);
    }
    bool finite = NAME(all_zero)(nonfinite);
    for (; j < count; j++) {
        to[j] = from[j] * factor + (REAL)0;
        finite &= to[j] - to[j] == 0;
    }
    return finite;
}

static void NAME(scale_streaming)(REAL *to, const REAL *from, size_t count, REAL factor)
{
    size_t misaligned = (uintptr_t)to % VECTOR_BYTES / sizeof(REAL);
    size_t first = misaligned == 0 ? 0 : LANES - misaligned, j;
    for (j = 0; j < first && j < count; j++)
        to[j] = from[j] * factor;
    for (; j + LANES <= count; j += LANES)
        NAME(store_streaming)(to + j, NAME(load)(from + j) * factor);
    for (; j < count; j++)
        to[j] = from[j] * factor;
}

static bool NAME(finite_row)(const REAL *row, size_t count)
{
    NAME(lanes) nonfinite[VECTORS] = {{0}}; /* 0 while all is finite, NaN after */
    size_t j = 0;
    for (; j + PANEL <= count; j += PANEL)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            nonfinite[v] += NAME(load)(row + j + v * LANES) * (REAL)0;
    for (; j < count; j += LANES)
        nonfinite[0] += NAME(load_part)(row + j, count - j) * (REAL)0;
    for (size_t v = 1; v < VECTORS; v++)
        nonfinite[0] += nonfinite[v];
    return NAME(all_zero)(nonfinite[0]);
}

static size_t NAME(find_above)(const REAL *row, size_t first, size_t count, REAL bound)
{
    size_t j = first;
    while (j + LANES <= count && NAME(all_zero)((NAME(lanes))(NAME(load)(row + j) > bound)))
        j += LANES;
    while (j < count && !(row[j] > bound))
        j++;
    return j;
}
