/* pack.inc.h: keys into panels. */

/* Which elements of two vectors, one behind the other, make the lower and the upper half of both interleaved. */
static inline NAME(mask) NAME(interleaved)(bool upper)
{
    NAME(mask) mask;
    for (int i = 0; i < (int)LANES; i++)
        mask[i] = (i / 2 + (upper ? (int)LANES / 2 : 0)) + (i % 2 != 0 ? (int)LANES : 0);
    return mask;
}

/* LANES keys at LANES dimensions, transposed: interleaving row i with row i + LANES/2, log2(LANES) times. */
static inline __attribute__((always_inline)) void NAME(pack_square)(const REAL *keys, ptrdiff_t stride, REAL *panel)
{
    const NAME(mask) low = NAME(interleaved)(false), high = NAME(interleaved)(true);
    NAME(lanes) rows[LANES], next[LANES];
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        rows[i] = NAME(load)(keys + (ptrdiff_t)i * stride);
#pragma GCC unroll 4
    for (size_t round = LANES; round > 1; round /= 2) {
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES / 2; i++) {
            next[2 * i] = NAME(picked)(rows[i], rows[i + LANES / 2], low);
            next[2 * i + 1] = NAME(picked)(rows[i], rows[i + LANES / 2], high);
        }
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++)
            rows[i] = next[i];
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        NAME(store)(panel + i * PANEL, rows[i]);
}

static void NAME(pack)(const REAL *keys, ptrdiff_t stride, size_t count, size_t depth, REAL *panel)
{
    size_t whole_keys = count / LANES * LANES, whole_depth = depth / LANES * LANES;
    for (size_t j = 0; j < whole_keys; j += LANES)
        for (size_t d = 0; d < whole_depth; d += LANES)
            NAME(pack_square)(keys + (ptrdiff_t)j * stride + d, stride, panel + d * PANEL + j);
    for (size_t d = 0; d < depth; d++)
        for (size_t j = d < whole_depth ? whole_keys : 0; j < PANEL; j++)
            panel[d * PANEL + j] = j < count ? keys[(ptrdiff_t)j * stride + (ptrdiff_t)d] : 0;
}
