/* mask_row.inc.h: the masks of a row of scores, its maximum and whether it is finite, in one pass. */

/* All ones where keep[i] is not 0; of `count` elements, those behind them are not kept. */
static inline NAME(mask) NAME(load_keep)(const unsigned char *keep, size_t count)
{
    unsigned char part[LANES] = {0};
    for (size_t i = 0; i < LANES && count < LANES; i++)
        part[i] = i < count ? keep[i] : 0;
    const unsigned char *from = count < LANES ? part : keep;
#if defined __AVX512F__
    uint64_t halves[2] = {0};
    memcpy(halves, from, LANES);
    __m128i bytes = _mm_set_epi64x((int64_t)halves[1], (int64_t)halves[0]);
    __mmask16 kept = _mm_test_epi8_mask(bytes, bytes);
    return sizeof(REAL) == sizeof(float) ? (NAME(mask))_mm512_movm_epi32(kept) : (NAME(mask))_mm512_movm_epi64((__mmask8)kept);
#elif defined __AVX2__
    uint64_t word = 0;
    memcpy(&word, from, LANES);
    __m128i bytes = _mm_cvtsi64_si128((int64_t)word);
    NAME(mask) wide =
        sizeof(REAL) == sizeof(float) ? (NAME(mask))_mm256_cvtepu8_epi32(bytes) : (NAME(mask))_mm256_cvtepu8_epi64(bytes);
    return (NAME(mask))(wide != 0);
#else
    NAME(mask) mask = {0};
    for (size_t i = 0; i < LANES; i++)
        mask[i] = -(INTEGER)(from[i] != 0);
    return mask;
#endif
}

/* All ones where an element of the vector that starts at column j is in [begin, end). */
static inline NAME(mask) NAME(in_range)(size_t j, size_t begin, size_t end)
{
    NAME(mask) column = NAME(counted_from)(j);
    return (NAME(mask))(column >= (INTEGER)begin) & (NAME(mask))(column < (INTEGER)end);
}

/* One panel that [begin, end) meets. `edges`: part of it is outside. */
static inline __attribute__((always_inline)) void NAME(mask_panel)(REAL *row, size_t j, const struct NAME(kernel_mask) *m,
                                                                   bool edges, const unsigned char *keep, const REAL *add,
                                                                   NAME(lanes) maxima[VECTORS], NAME(lanes) nonfinite[VECTORS])
{
#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++) {
        size_t at = j + v * LANES, left = m->end > at ? m->end - at : 0;
        NAME(lanes) x = NAME(load)(row + at);
        NAME(mask) visible = (NAME(mask))x | -1;
        if (edges)
            visible = NAME(in_range)(at, m->begin, m->end);
        if (keep != NULL)
            visible &= NAME(load_keep)(keep + at, edges ? left : LANES);
        if (add != NULL) {
            NAME(lanes) addend = edges && left < LANES ? NAME(load_part)(add + at, left) : NAME(load)(add + at);
            visible &= (NAME(mask))(addend != -(REAL)INFINITY);
            x += addend;
        }
        if (edges || keep != NULL || add != NULL) {
            nonfinite[v] += (NAME(lanes))(visible & (NAME(mask))x) * (REAL)0;
            x = NAME(select)(visible, x, (NAME(lanes)){0} - (REAL)INFINITY);
            NAME(store)(row + at, x);
        } else {
            nonfinite[v] += x * (REAL)0;
        }
        maxima[v] = NAME(larger)(x, maxima[v]);
    }
}

static inline
    __attribute__((always_inline)) bool NAME(mask_row_body)(REAL *row, size_t count, const struct NAME(kernel_mask) *m,
                                                            const unsigned char *keep, const REAL *add, REAL *ret_max)
{
    const NAME(lanes) masked = (NAME(lanes)){0} - (REAL)INFINITY;
    NAME(lanes) maxima[VECTORS], nonfinite[VECTORS] = {{0}};
    for (size_t v = 0; v < VECTORS; v++)
        maxima[v] = masked;
    for (size_t j = 0; j < count; j += PANEL) {
        if (j >= m->begin && j + PANEL <= m->end)
            NAME(mask_panel)(row, j, m, false, keep, add, maxima, nonfinite);
        else if (j < m->end && j + PANEL > m->begin)
            NAME(mask_panel)(row, j, m, true, keep, add, maxima, nonfinite);
        else
            for (size_t v = 0; v < VECTORS; v++)
                NAME(store)(row + j + v * LANES, masked);
    }
    for (size_t v = 1; v < VECTORS; v++) {
        maxima[0] = NAME(larger)(maxima[v], maxima[0]);
        nonfinite[0] += nonfinite[v];
    }
    *ret_max = NAME(lanes_max)(maxima[0]);
    return NAME(all_zero)(nonfinite[0]);
}

static bool NAME(mask_row)(REAL *row, size_t count, const struct NAME(kernel_mask) *mask, REAL *ret_max)
{
    if (mask->keep != NULL)
        return NAME(mask_row_body)(row, count, mask, mask->keep, NULL, ret_max);
    if (mask->add != NULL)
        return NAME(mask_row_body)(row, count, mask, NULL, mask->add, ret_max);
    return NAME(mask_row_body)(row, count, mask, NULL, NULL, ret_max);
}
