/* target.c: the kernels of kernels.h in GCC's vector types. Built once per KERNEL_TARGET with that target's flags, and with
 * contraction to fused multiply-adds, without errno and traps: safe here, since nothing reads errno or the exception flags and
 * no step relies on a product being rounded on its own. */
#include "core/kernels/kernels.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <math.h>
#include <stdint.h>
#include <string.h>

#define ROW_LANES 16

typedef float lanes_f32 __attribute__((vector_size(ROW_LANES * sizeof(float))));
typedef int32_t lanes_i32 __attribute__((vector_size(ROW_LANES * sizeof(int32_t))));

#define LOG2_E 1.44269504088896340736F
#define LN2_HIGH 0.693145751953125F /* 16 bits: its products with exponents are exact */
#define LN2_LOW 1.428606820309417e-6F
#define ROUND_MAGIC 0x1.8p23F /* adding it leaves the nearest integer in the low bits */
#define EXP_ZERO (-104.0F)    /* e to this and below rounds to 0 */
#define ODD_TANH 0.625F       /* below it tanh goes by its own polynomial */

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

/* p * 2^n for the n that rounding left in the low bits of `shifted`, rounded once where the result is subnormal, and 0 where x is
 * no more than EXP_ZERO: by an instruction of its own where there is one, else by two factors. */
static inline lanes_f32 times_power_of_two(lanes_f32 p, lanes_f32 shifted, lanes_f32 x)
{
#ifdef __AVX512F__
    __mmask16 live = _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(EXP_ZERO), _CMP_GT_OQ);
    return (lanes_f32)_mm512_maskz_scalef_ps(live, (__m512)p, (__m512)(shifted - ROUND_MAGIC));
#else
    lanes_i32 n = (lanes_i32)shifted - (lanes_i32)((lanes_f32){0} + ROUND_MAGIC);
    lanes_i32 half = n >> 1;
    lanes_f32 power = p * (lanes_f32)((half + 127) << 23) * (lanes_f32)((n - half + 127) << 23);
    return (lanes_f32)((lanes_i32)power & smaller_f32(x, -EXP_ZERO));
#endif
}

/* e^x for x <= 0: x = n ln 2 + r with |r| <= ln(2)/2, e^r by a polynomial interpolated at Chebyshev's nodes (relative error
 * 1e-8). */
static inline lanes_f32 exp_lanes(lanes_f32 given)
{
    lanes_f32 x = given;
#ifndef __AVX512F__
    /* Banned keys take the way of 0: products that vanish are slow. */
    x = (lanes_f32)((lanes_i32)x & smaller_f32(x, -EXP_ZERO));
#endif
    lanes_f32 shifted = x * LOG2_E + ROUND_MAGIC;
    lanes_f32 n_real = shifted - ROUND_MAGIC;
    lanes_f32 r = x - n_real * LN2_HIGH;
    r = r - n_real * LN2_LOW;
    lanes_f32 p = r * 0.001392617611993558F + 0.008363173074513711F;
    p = p * r + 0.041666554662050534F;
    p = p * r + 0.1666657702559799F;
    p = p * r + 0.5F;
    p = p * r + 1.0F;
    p = p * r + 1.0F;
    return times_power_of_two(p, shifted, given);
}

static inline float sum_lanes(const lanes_f32 *lanes)
{
    float part[ROW_LANES];
    memcpy(part, lanes, sizeof part);
    for (size_t width = ROW_LANES / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            part[i] += part[i + width];
    return part[0];
}

/* Where `finite` is asked for, a product with 0 turns the sum to NaN if the element is not finite, and leaves it else. */
static inline __attribute__((always_inline)) float exp_row_body(float *row, size_t count, float max, bool finite)
{
    lanes_f32 sum = {0};
    size_t j = 0;
    for (; j + ROW_LANES <= count; j += ROW_LANES) {
        lanes_f32 x = load_f32(row + j) - max, p = exp_lanes(x);
        sum += p;
        if (finite)
            sum += x * 0.0F;
        store_f32(row + j, &p);
    }
    if (!finite && j < count) {
        float rest[ROW_LANES];
        for (size_t i = 0; i < ROW_LANES; i++)
            rest[i] = j + i < count ? row[j + i] : -INFINITY;
        lanes_f32 p = exp_lanes(load_f32(rest) - max);
        sum += p;
        store_f32(rest, &p);
        memcpy(row + j, rest, (count - j) * sizeof *row);
    }
    return sum_lanes(&sum);
}

static float exp_row_f32(float *row, size_t count, float max)
{
    return exp_row_body(row, count, max, false);
}

static float exp_finite_row_f32(float *row, size_t count, float max)
{
    return exp_row_body(row, count, max, true);
}

#define WIDE_LANES 8

typedef double lanes_f64 __attribute__((vector_size(WIDE_LANES * sizeof(double))));
typedef int64_t lanes_i64 __attribute__((vector_size(WIDE_LANES * sizeof(int64_t))));

#define WIDE_LOG2_E 1.4426950408889634
#define WIDE_LN2_HIGH 0x1.62e42fee00000p-1 /* 32 bits: its products with exponents are exact */
#define WIDE_LN2_LOW 1.9082149292705877e-10
#define WIDE_ROUND_MAGIC 0x1.8p52
#define WIDE_EXP_ZERO (-746.0) /* e to this and below rounds to 0 */

static inline lanes_f64 load_f64(const double *from)
{
    lanes_f64 lanes;
    memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

static inline lanes_i64 smaller_f64(lanes_f64 x, double bound)
{
    lanes_i64 bound_bits = (lanes_i64)((lanes_f64){0} + bound);
    /* cppcheck-suppress shiftTooManyBitsSigned ; as above */
    return (((lanes_i64)x & INT64_MAX) - bound_bits) >> 63;
}

/* As exp_lanes; relative error of the polynomial 2e-17. The halves of the exponent are rounded by the same trick as the exponent,
 * since not every processor shifts 64-bit lanes with their sign. */
static inline lanes_f64 exp_lanes_f64(lanes_f64 x)
{
    const lanes_f64 zero = {0};
    lanes_i64 magic = (lanes_i64)(zero + WIDE_ROUND_MAGIC);
    lanes_i64 live = smaller_f64(x, -WIDE_EXP_ZERO);
    x = (lanes_f64)(live & (lanes_i64)x);
    lanes_f64 shifted = x * WIDE_LOG2_E + WIDE_ROUND_MAGIC;
    lanes_f64 n = shifted - WIDE_ROUND_MAGIC;
    lanes_f64 r = x - n * WIDE_LN2_HIGH;
    r = r - n * WIDE_LN2_LOW;
    lanes_f64 p = r * 2.510038549551032e-08 + 2.7620088445409746e-07;
    p = p * r + 2.7557268459997064e-06;
    p = p * r + 2.4801521295954376e-05;
    p = p * r + 0.00019841269863053618;
    p = p * r + 0.0013888888917213717;
    p = p * r + 0.008333333333330062;
    p = p * r + 0.04166666666662413;
    p = p * r + 0.16666666666666669;
    p = p * r + 0.5000000000000001;
    p = p * (r * r) + r;
    p = p + 1.0;
    lanes_i64 half = (lanes_i64)(n * 0.5 + WIDE_ROUND_MAGIC) - magic;
    lanes_i64 rest = (lanes_i64)shifted - magic - half;
    return (lanes_f64)(live & (lanes_i64)(p * (lanes_f64)((half + 1023) << 52) * (lanes_f64)((rest + 1023) << 52)));
}

static inline __attribute__((always_inline)) double exp_row_body_f64(double *row, size_t count, double max, bool finite)
{
    lanes_f64 sum = {0};
    double total = 0;
    for (size_t j = 0; j < count; j += WIDE_LANES) {
        double part[WIDE_LANES];
        size_t columns = count - j < WIDE_LANES ? count - j : WIDE_LANES;
        for (size_t i = 0; i < WIDE_LANES && columns < WIDE_LANES; i++)
            part[i] = i < columns ? row[j + i] : -INFINITY;
        lanes_f64 x = load_f64(columns < WIDE_LANES ? part : row + j) - max, p = exp_lanes_f64(x);
        sum += p;
        if (finite)
            sum += x * 0.0;
        memcpy(row + j, &p, columns * sizeof *row);
    }
    for (size_t i = 0; i < WIDE_LANES; i++)
        total += sum[i];
    return total;
}

static double exp_row_f64(double *row, size_t count, double max)
{
    return exp_row_body_f64(row, count, max, false);
}

static double exp_finite_row_f64(double *row, size_t count, double max)
{
    return exp_row_body_f64(row, count, max, true);
}

static bool max_row_f32(const float *row, size_t count, float *ret_max)
{
    lanes_f32 max = (lanes_f32){0} - INFINITY;
    lanes_f32 nonfinite = {0}; /* 0 while all is finite, NaN after */
    size_t j = 0;
    for (; j + ROW_LANES <= count; j += ROW_LANES) {
        lanes_f32 x = load_f32(row + j);
        max = select_f32(x > max, x, max);
        nonfinite += x * 0.0F;
    }
    float top = -INFINITY;
    float rest_odd = sum_lanes(&nonfinite);
    for (size_t i = 0; i < ROW_LANES; i++)
        top = max[i] > top ? max[i] : top;
    for (; j < count; j++) {
        top = row[j] > top ? row[j] : top;
        rest_odd += row[j] - row[j];
    }
    *ret_max = top;
    return rest_odd == 0;
}

static bool max_row_f64(const double *row, size_t count, double *ret_max)
{
    double top = -INFINITY;
    double nonfinite = 0;
    for (size_t j = 0; j < count; j++) {
        top = row[j] > top ? row[j] : top;
        nonfinite += row[j] - row[j];
    }
    *ret_max = top;
    return nonfinite == 0;
}

/* tanh: an odd polynomial up to ODD_TANH (interpolated at Chebyshev's nodes, relative error 2e-8), (1 - e)/(1 + e) with
 * e = exp(-2|x|) beyond. */
static inline lanes_f32 tanh_lanes(lanes_f32 x)
{
    lanes_i32 sign = (lanes_i32)x & INT32_MIN;
    lanes_f32 size = (lanes_f32)((lanes_i32)x & INT32_MAX);
    lanes_f32 square = x * x;
    lanes_f32 p = square * -0.006096714165908197F + 0.020997178999074752F;
    p = p * square - 0.05385090957851358F;
    p = p * square + 0.13332769736976327F;
    p = p * square - 0.33333328944134255F;
    lanes_f32 small = size + size * (square * p);
    lanes_f32 e = exp_lanes(size * -2.0F);
    lanes_f32 large = (1.0F - e) / (1.0F + e);
    lanes_i32 magnitude = (lanes_i32)select_f32(smaller_f32(x, ODD_TANH), small, large);
    return (lanes_f32)(magnitude | sign);
}

static inline lanes_f32 softcap_lanes(lanes_f32 x, float cap)
{
    return cap * tanh_lanes(x / cap) + (x - x); /* x - x: 0, or NaN where x is not finite */
}

static void softcap_row_f32(float *row, size_t count, float cap)
{
    size_t j = 0;
    for (; j + ROW_LANES <= count; j += ROW_LANES) {
        lanes_f32 y = softcap_lanes(load_f32(row + j), cap);
        store_f32(row + j, &y);
    }
    if (j < count) {
        float rest[ROW_LANES] = {0};
        memcpy(rest, row + j, (count - j) * sizeof *row);
        lanes_f32 y = softcap_lanes(load_f32(rest), cap);
        store_f32(rest, &y);
        memcpy(row + j, rest, (count - j) * sizeof *row);
    }
}

static void softcap_row_f64(double *row, size_t count, double cap)
{
    for (size_t j = 0; j < count; j++)
        row[j] = cap * tanh(row[j] / cap) + (row[j] - row[j]);
}

#define REAL float
#define LANES lanes_f32
#define NAME(x) x##_f32
#include "core/kernels/target/bias.inc.h"
#undef REAL
#undef LANES
#undef NAME

#define REAL double
#define LANES lanes_f64
#define NAME(x) x##_f64
#include "core/kernels/target/bias.inc.h"
#undef REAL
#undef LANES
#undef NAME

static bool finite_row_f32(const float *row, size_t count)
{
    lanes_f32 nonfinite = {0};
    size_t j = 0;
    for (; j + ROW_LANES <= count; j += ROW_LANES) {
        nonfinite += load_f32(row + j) * 0.0F;
    }
    float rest = sum_lanes(&nonfinite);
    for (; j < count; j++)
        rest += row[j] - row[j];
    return rest == 0;
}

static bool finite_row_f64(const double *row, size_t count)
{
    double nonfinite = 0;
    for (size_t j = 0; j < count; j++)
        nonfinite += row[j] - row[j];
    return nonfinite == 0;
}

/* What fits the registers: ROWS * VECTORS sums, VECTORS vectors of a panel's row, 1 element of the left operand. NEON belongs to
 * every arm64, so there the build says which table is to have products of its own. */
#if defined __AVX512F__
#define VECTOR_BYTES 64 /* 32 registers */
#define VECTORS 2
#define ROWS 12
#elif defined __AVX2__
#define VECTOR_BYTES 32 /* 16 registers */
#define VECTORS 2
#define ROWS 6
#elif defined KERNEL_NEON
#define VECTOR_BYTES 16 /* 32 registers */
#define VECTORS 4
#define ROWS 6
#endif

#ifdef VECTOR_BYTES

#define REAL float
#define INTEGER int32_t
#define LANES (VECTOR_BYTES / sizeof(float))
#define NAME(x) x##_f32
#include "core/kernels/target/product.inc.h"
#undef REAL
#undef INTEGER
#undef LANES
#undef NAME

#define REAL double
#define INTEGER int64_t
#define LANES (VECTOR_BYTES / sizeof(double))
#define NAME(x) x##_f64
#include "core/kernels/target/product.inc.h"
#undef REAL
#undef INTEGER
#undef LANES
#undef NAME

#define PRODUCT(precision) product_##precision
#define DOTS(precision) dots_##precision
#define PACK(precision) pack_##precision
#define PANEL_COLUMNS(type) (VECTORS * VECTOR_BYTES / sizeof(type))

#else

#include "core/kernels/product_blas.h"

#define PRODUCT(precision) product_blas_##precision
#define DOTS(precision) NULL
#define PACK(precision) NULL
#define ROWS 0
#define PANEL_COLUMNS(type) 0

#endif

#define TARGET_NAME_(target) #target
#define TARGET_NAME(target) TARGET_NAME_(target)
#define TARGET_TABLE_(target) kernels_##target
#define TARGET_TABLE(target) TARGET_TABLE_(target)

extern const struct kernels TARGET_TABLE(KERNEL_TARGET);
const struct kernels TARGET_TABLE(KERNEL_TARGET) = {
    .name = TARGET_NAME(KERNEL_TARGET),
    .panel_columns_f32 = PANEL_COLUMNS(float),
    .panel_columns_f64 = PANEL_COLUMNS(double),
    .rows_f32 = 2 * ROWS, /* two turns of a panel that is in the first cache */
    .rows_f64 = 2 * ROWS,
    .product_f32 = PRODUCT(f32),
    .product_f64 = PRODUCT(f64),
    .product_tells_max = ROWS != 0,
    .dots_f32 = DOTS(f32),
    .dots_f64 = DOTS(f64),
    .pack_f32 = PACK(f32),
    .pack_f64 = PACK(f64),
    .exp_row_f32 = exp_row_f32,
    .exp_row_f64 = exp_row_f64,
    .exp_finite_row_f32 = exp_finite_row_f32,
    .exp_finite_row_f64 = exp_finite_row_f64,
    .max_row_f32 = max_row_f32,
    .max_row_f64 = max_row_f64,
    .softcap_row_f32 = softcap_row_f32,
    .softcap_row_f64 = softcap_row_f64,
    .alibi_row_f32 = alibi_row_f32,
    .alibi_row_f64 = alibi_row_f64,
    .keep_row_f32 = keep_row_f32,
    .keep_row_f64 = keep_row_f64,
    .add_row_f32 = add_row_f32,
    .add_row_f64 = add_row_f64,
    .scale_row_f32 = scale_row_f32,
    .scale_row_f64 = scale_row_f64,
    .streaming_done = streaming_done,
    .scale_streaming_f32 = scale_streaming_f32,
    .scale_streaming_f64 = scale_streaming_f64,
    .finite_row_f32 = finite_row_f32,
    .finite_row_f64 = finite_row_f64,
};
