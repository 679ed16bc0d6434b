/* vector.inc.h: the vectors that rows of scores are read in, and what is done to them lane by lane. */

#define LANES_F32 16
#define LANES_F64 8

typedef float lanes_f32 __attribute__((vector_size(LANES_F32 * sizeof(float))));
typedef int32_t lanes_i32 __attribute__((vector_size(LANES_F32 * sizeof(int32_t))));
typedef double lanes_f64 __attribute__((vector_size(LANES_F64 * sizeof(double))));
typedef int64_t lanes_i64 __attribute__((vector_size(LANES_F64 * sizeof(int64_t))));

static inline lanes_f32 load_f32(const float *from)
{
    lanes_f32 lanes;
    memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

static inline void store_f32(float *to, const lanes_f32 *lanes)
{
    memcpy(to, lanes, sizeof *lanes);
}

static inline lanes_f64 load_f64(const double *from)
{
    lanes_f64 lanes;
    memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

/* Stores 64 aligned bytes past the caches, without reading their line first. */
static inline void store_streaming(void *to, const void *lanes)
{
#if defined __AVX512F__
    _mm512_stream_si512(to, _mm512_loadu_si512(lanes));
#elif defined __AVX2__
    _mm256_stream_si256(to, _mm256_loadu_si256(lanes));
    _mm256_stream_si256((__m256i *)to + 1, _mm256_loadu_si256((const __m256i *)lanes + 1));
#else
    memcpy(to, lanes, sizeof(lanes_f32));
#endif
}

static void streaming_done(void)
{
#if defined __AVX512F__ || defined __AVX2__
    _mm_sfence();
#endif
}

static inline lanes_i32 select_i32(lanes_i32 mask, lanes_i32 yes, lanes_i32 no)
{
    return (mask & yes) | (~mask & no);
}

static inline lanes_f32 select_f32(lanes_i32 mask, lanes_f32 yes, lanes_f32 no)
{
    return (lanes_f32)select_i32(mask, (lanes_i32)yes, (lanes_i32)no);
}

/* All ones in the lanes where |x| < bound, by their bits: GCC 12 compares vectors wider than the processor's lane by lane. */
static inline lanes_i32 smaller_f32(lanes_f32 x, float bound)
{
    lanes_i32 bound_bits = (lanes_i32)((lanes_f32){0} + bound);
    /* cppcheck-suppress shiftTooManyBitsSigned ; GCC fills up with the sign */
    return (((lanes_i32)x & INT32_MAX) - bound_bits) >> 31;
}

static inline lanes_i64 smaller_f64(lanes_f64 x, double bound)
{
    lanes_i64 bound_bits = (lanes_i64)((lanes_f64){0} + bound);
    /* cppcheck-suppress shiftTooManyBitsSigned ; as above */
    return (((lanes_i64)x & INT64_MAX) - bound_bits) >> 63;
}

static inline float sum_lanes(const lanes_f32 *lanes)
{
    float part[LANES_F32];
    memcpy(part, lanes, sizeof part);
    for (size_t width = LANES_F32 / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            part[i] += part[i + width];
    return part[0];
}
