/* vector.inc.h: vectors as wide as the target's registers. */

#define LANES (VECTOR_BYTES / sizeof(REAL))
#define PANEL (VECTORS * LANES) /* panel_columns, and the elements of a row that are read at once */

typedef REAL NAME(lanes) __attribute__((vector_size(VECTOR_BYTES)));
typedef INTEGER NAME(mask) __attribute__((vector_size(VECTOR_BYTES)));

static inline NAME(lanes) NAME(load)(const REAL *from)
{
    NAME(lanes) lanes;
    memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

/* The first `count` elements, 0 behind them. */
static inline NAME(lanes) NAME(load_part)(const REAL *from, size_t count)
{
    REAL part[LANES] = {0};
    for (size_t i = 0; i < LANES && i < count; i++)
        part[i] = from[i];
    return NAME(load)(part);
}

static inline void NAME(store)(REAL *to, NAME(lanes) lanes)
{
    memcpy(to, &lanes, sizeof lanes);
}

/* To an aligned place, past the caches, without reading its line first. */
static inline void NAME(store_streaming)(REAL *to, NAME(lanes) lanes)
{
#if defined __AVX512F__
    _mm512_stream_si512((void *)to, (__m512i)lanes);
#elif defined __AVX2__
    _mm256_stream_si256((void *)to, (__m256i)lanes);
#else
    NAME(store)(to, lanes);
#endif
}

static inline NAME(lanes) NAME(select)(NAME(mask) mask, NAME(lanes) yes, NAME(lanes) no)
{
    return (NAME(lanes))((mask & (NAME(mask))yes) | (~mask & (NAME(mask))no));
}

/* The larger of each lane; b where a is NaN. GCC 12 makes no single instruction of a comparison and a selection. */
static inline NAME(lanes) NAME(larger)(NAME(lanes) a, NAME(lanes) b)
{
#if defined __AVX512F__
    return sizeof(REAL) == sizeof(float) ? (NAME(lanes))_mm512_max_ps((__m512)a, (__m512)b)
                                         : (NAME(lanes))_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined __AVX2__
    return sizeof(REAL) == sizeof(float) ? (NAME(lanes))_mm256_max_ps((__m256)a, (__m256)b)
                                         : (NAME(lanes))_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return NAME(select)((NAME(mask))(a > b), a, b);
#endif
}

/* A panel's vectors added in one order, then their lanes by halves. */
static inline REAL NAME(panel_sum)(const NAME(lanes) panel[VECTORS])
{
    NAME(lanes) sum = panel[0];
    REAL part[LANES];
    for (size_t v = 1; v < VECTORS; v++)
        sum += panel[v];
    NAME(store)(part, sum);
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            part[i] += part[i + width];
    return part[0];
}

static inline REAL NAME(lanes_max)(NAME(lanes) lanes)
{
    REAL part[LANES];
    NAME(store)(part, lanes);
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            part[i] = part[i] > part[i + width] ? part[i] : part[i + width];
    return part[0];
}
