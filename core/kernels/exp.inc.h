/* exp.inc.h: the exponential of a row of scores, in float32 and in float64. */

#define LOG2_E 1.44269504088896340736F
#define LN2_HIGH 0.693145751953125F /* 16 bits: its products with exponents are exact */
#define LN2_LOW 1.428606820309417e-6F
#define ROUND_MAGIC 0x1.8p23F /* adding it leaves the nearest integer in the low bits */
#define EXP_ZERO (-104.0F)    /* e to this and below rounds to 0 */

#define LOG2_E_F64 1.4426950408889634
#define LN2_HIGH_F64 0x1.62e42fee00000p-1 /* 32 bits: its products with exponents are exact */
#define LN2_LOW_F64 1.9082149292705877e-10
#define ROUND_MAGIC_F64 0x1.8p52
#define EXP_ZERO_F64 (-746.0) /* e to this and below rounds to 0 */

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

/* Where `finite` is asked for, a product with 0 turns the sum to NaN if the element is not finite, and leaves it else. */
static inline __attribute__((always_inline)) float exp_row_body(float *row, size_t count, float max, bool finite)
{
    lanes_f32 sum = {0};
    size_t j = 0;
    for (; j + LANES_F32 <= count; j += LANES_F32) {
        lanes_f32 x = load_f32(row + j) - max, p = exp_lanes(x);
        sum += p;
        if (finite)
            sum += x * 0.0F;
        store_f32(row + j, &p);
    }
    if (!finite && j < count) {
        float rest[LANES_F32];
        for (size_t i = 0; i < LANES_F32; i++)
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

/* As exp_lanes; relative error of the polynomial 2e-17. The halves of the exponent are rounded by the same trick as the exponent,
 * since not every processor shifts 64-bit lanes with their sign. */
static inline lanes_f64 exp_lanes_f64(lanes_f64 x)
{
    const lanes_f64 zero = {0};
    lanes_i64 magic = (lanes_i64)(zero + ROUND_MAGIC_F64);
    lanes_i64 live = smaller_f64(x, -EXP_ZERO_F64);
    x = (lanes_f64)(live & (lanes_i64)x);
    lanes_f64 shifted = x * LOG2_E_F64 + ROUND_MAGIC_F64;
    lanes_f64 n = shifted - ROUND_MAGIC_F64;
    lanes_f64 r = x - n * LN2_HIGH_F64;
    r = r - n * LN2_LOW_F64;
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
    lanes_i64 half = (lanes_i64)(n * 0.5 + ROUND_MAGIC_F64) - magic;
    lanes_i64 rest = (lanes_i64)shifted - magic - half;
    return (lanes_f64)(live & (lanes_i64)(p * (lanes_f64)((half + 1023) << 52) * (lanes_f64)((rest + 1023) << 52)));
}

static inline __attribute__((always_inline)) double exp_row_body_f64(double *row, size_t count, double max, bool finite)
{
    lanes_f64 sum = {0};
    double total = 0;
    for (size_t j = 0; j < count; j += LANES_F64) {
        double part[LANES_F64];
        size_t columns = count - j < LANES_F64 ? count - j : LANES_F64;
        for (size_t i = 0; i < LANES_F64 && columns < LANES_F64; i++)
            part[i] = i < columns ? row[j + i] : -INFINITY;
        lanes_f64 x = load_f64(columns < LANES_F64 ? part : row + j) - max, p = exp_lanes_f64(x);
        sum += p;
        if (finite)
            sum += x * 0.0;
        memcpy(row + j, &p, columns * sizeof *row);
    }
    for (size_t i = 0; i < LANES_F64; i++)
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
