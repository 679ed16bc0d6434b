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

/* True where every lane is 0, false where one is NaN. */
static inline bool NAME(all_zero)(NAME(lanes) x)
{
#if defined __AVX512F__
    return sizeof(REAL) == sizeof(float) ? _mm512_cmp_ps_mask((__m512)x, _mm512_setzero_ps(), _CMP_NEQ_UQ) == 0
                                         : _mm512_cmp_pd_mask((__m512d)x, _mm512_setzero_pd(), _CMP_NEQ_UQ) == 0;
#elif defined __AVX2__
    return _mm256_movemask_epi8((__m256i)(x == 0)) == -1;
#else
    NAME(mask) zero = (NAME(mask))(x == 0);
    uint64_t halves[2];
    memcpy(halves, &zero, sizeof halves);
    return (halves[0] & halves[1]) == UINT64_MAX;
#endif
}

/* The lanes of a and behind them those of b, as the mask picks them. */
static inline __attribute__((always_inline)) NAME(lanes) NAME(picked)(NAME(lanes) a, NAME(lanes) b, NAME(mask) mask)
{
#ifdef __clang__ /* which has no shuffle by a variable; the fuzzers are built with it */
    NAME(lanes) lanes;
    for (size_t i = 0; i < LANES; i++)
        lanes[i] = (size_t)mask[i] < LANES ? a[mask[i]] : b[(size_t)mask[i] - LANES];
    return lanes;
#else
    return __builtin_shuffle(a, b, mask);
#endif
}

/* first, first + 1, ...: from memory, since GCC 12 makes such a vector lane by lane. */
static inline NAME(mask) NAME(counted_from)(size_t first)
{
    static const INTEGER from_zero[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    NAME(mask) counted;
    memcpy(&counted, from_zero, sizeof counted);
    return counted + (INTEGER)first;
}

/* Lane i + distance, counted around, in lane i. */
static inline __attribute__((always_inline)) NAME(lanes) NAME(lanes_from)(NAME(lanes) lanes, size_t distance)
{
    return NAME(picked)(lanes, lanes, NAME(counted_from)(distance));
}

/* A panel's vectors added in their order, then the lanes by halves. */
static inline REAL NAME(panel_sum)(const NAME(lanes) panel[VECTORS])
{
    NAME(lanes) sum = panel[0];
#pragma GCC unroll 4
    for (size_t v = 1; v < VECTORS; v++)
        sum += panel[v];
#pragma GCC unroll 4
    for (size_t half = LANES / 2; half > 0; half /= 2)
        sum += NAME(lanes_from)(sum, half);
    return sum[0];
}

static inline REAL NAME(lanes_max)(NAME(lanes) lanes)
{
#pragma GCC unroll 4
    for (size_t half = LANES / 2; half > 0; half /= 2)
        lanes = NAME(larger)(NAME(lanes_from)(lanes, half), lanes);
    return lanes[0];
}
