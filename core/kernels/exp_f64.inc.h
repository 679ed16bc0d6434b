/* exp_f64.inc.h: e^x in float64 for x <= 0, as exp_f32.inc.h; relative error of the polynomial 2e-17. */

#define LOG2_E_F64 1.4426950408889634
#define LN2_HIGH_F64 0x1.62e42fee00000p-1 /* 32 bits: its products with exponents are exact */
#define LN2_LOW_F64 1.9082149292705877e-10
#define ROUND_MAGIC_F64 (0x1.8p52 + 1023)
#define EXP_MIN_F64 (-708.3964185322641) /* e to this is 2^-1022, the smallest normal number */

static inline lanes_f64 exp_f64(lanes_f64 x)
{
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
    lanes_f64 power = (lanes_f64)((mask_f64)shifted << 52);
#if defined __AVX512F__
    return (lanes_f64)_mm512_maskz_mul_pd(_mm512_cmp_pd_mask((__m512d)x, _mm512_set1_pd(EXP_MIN_F64), _CMP_GE_OQ), (__m512d)p,
                                          (__m512d)power);
#else
    return (lanes_f64)((mask_f64)(x >= EXP_MIN_F64) & (mask_f64)(p * power));
#endif
}
