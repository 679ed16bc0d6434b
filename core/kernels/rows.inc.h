/* rows.inc.h: ALiBi and multiplication by a factor, over one row. Included once a precision, with REAL, LANES (a vector of them) and
 * NAME(x) defined. */

static void NAME(alibi_row)(REAL *row, size_t count, double distance, double slope)
{
    for (size_t j = 0; j < count; j++)
        row[j] -=
            (REAL)(slope * fabs(distance - (double)(int32_t)j)); /* a tile's columns fit an int32_t, which converts fast */
}

static void NAME(scale_row)(REAL *to, const REAL *from, size_t count, REAL factor)
{
    size_t j = 0;
    for (; j + sizeof(LANES) / sizeof(REAL) <= count; j += sizeof(LANES) / sizeof(REAL)) {
        LANES lanes;
        memcpy(&lanes, from + j, sizeof lanes);
        lanes *= factor;
        memcpy(to + j, &lanes, sizeof lanes);
    }
    for (; j < count; j++)
        to[j] = from[j] * factor;
}

static void NAME(scale_streaming)(REAL *to, const REAL *from, size_t count, REAL factor)
{
    size_t misaligned = (uintptr_t)to % sizeof(LANES) / sizeof(REAL);
    size_t first = misaligned == 0 ? 0 : sizeof(LANES) / sizeof(REAL) - misaligned, j;
    for (j = 0; j < first && j < count; j++)
        to[j] = from[j] * factor;
    for (; j + sizeof(LANES) / sizeof(REAL) <= count; j += sizeof(LANES) / sizeof(REAL)) {
        LANES lanes;
        memcpy(&lanes, from + j, sizeof lanes);
        lanes *= factor;
        store_streaming(to + j, &lanes);
    }
    for (; j < count; j++)
        to[j] = from[j] * factor;
}
