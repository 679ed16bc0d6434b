/* exp_f32.inc.h: e^x in float32 for x <= 0, 0 where the result would be subnormal (products with subnormal numbers are
 * slow). x = n ln 2 + r with |r| <= ln(2)/2, and e^r by a polynomial interpolated at Chebyshev's nodes (relative error
 * 1e-8). */

#define LOG2_E_F32 1.44269504088896340736F
#define LN2_HIGH_F32 0.693145751953125F /* 16 bits: its products with exponents are exact */
#define LN2_LOW_F32 1.428606820309417e-6F
#define ROUND_MAGIC_F32 (0x1.8p23F + 127) /* adding it leaves the nearest integer, biased as an exponent, in the low bits */
#define EXP_MIN_F32 (-87.33654F)          /* e to this is 2^-126, the smallest normal number */

static inline lanes_f32 exp_f32(lanes_f32 x)
{
    lanes_f32 shifted = x * LOG2_E_F32 + ROUND_MAGIC_F32;
    lanes_f32 n = shifted - ROUND_MAGIC_F32;
    lanes_f32 r = x - n * LN2_HIGH_F32;
    r = r - n * LN2_LOW_F32;
    lanes_f32 p = r * 0.001392617611993558F + 0.008363173074513711F;
    p = p * r + 0.041666554662050534F;
    p = p * r + 0.1666657702559799F;
    p = p * r + 0.5F;
    p = p * r + 1.0F;
    p = p * r + 1.0F;
    lanes_f32 power = (lanes_f32)((mask_f32)shifted << 23);
#if defined __AVX512F__
    return (lanes_f32)_mm512_maskz_mul_ps(_mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(EXP_MIN_F32), _CMP_GE_OQ), (__m512)p,
                                          (__m512)power);
#else
    return (lanes_f32)((mask_f32)(x >= EXP_MIN_F32) & (mask_f32)(p * power));
#endif
}
