/* nearest.h: a decimal significand and exponent to the binary floating point nearest to them, for read.c and batch_read.c.
 *
 * Source   Lemire 2021, "Number parsing at a gigabyte per second". */
#ifndef ATTND_API_NUMBER_NEAREST_H
#define ATTND_API_NUMBER_NEAREST_H

#include <stdbool.h>
#include <stdint.h>

#include "api/number/powers_of_ten.h"

struct number_format {
    int significand_bits; /* the hidden one included */
    int exponent_min, exponent_max;
    int power_min, power_max; /* 2^64 * 10^(power_min - 1) is a zero, 10^(power_max + 1) an infinity */
};

static const struct number_format number_format_f32 = {24, -126, 127, -64, 38};
static const struct number_format number_format_f64 = {53, -1022, 1023, POWERS_OF_TEN_MIN, 308};

enum number_rounding { ROUND_DOWN, ROUND_UP, ROUND_EVEN, ROUND_UNKNOWN };

/* How to round where `rest` is too close to `half` to tell with the first word of the power of ten alone: the product's second word is
 * `low`, and its first is cut into what is kept and `rest`, of which `half` is half a unit. */
enum number_rounding number_round_close(uint64_t significand, int power, uint64_t low, uint64_t rest, uint64_t half);

/* significand * 10^exponent to the bits of the nearest value of `format`. Returns false where it takes more than 128 bits of
 * the power of ten to decide. `format` is a constant, folded in. */
static inline __attribute__((always_inline)) bool number_nearest(uint64_t significand, int64_t exponent,
                                                                 const struct number_format *format, uint64_t *ret_bits)
{
    *ret_bits = 0;
    if (significand == 0 || exponent < format->power_min)
        return true;
    *ret_bits = (uint64_t)(2 * format->exponent_max + 1) << (format->significand_bits - 1);
    if (exponent > format->power_max)
        return true;

    int power = (int)exponent;
    int zeros = __builtin_clzll(significand);
    significand <<= zeros;
    uint128 product = (uint128)significand * power_of_ten(power)->high;
    uint64_t high = (uint64_t)(product >> 64);
    int top = (int)(high >> 63);
    int shift = 63 + top - format->significand_bits;
    int exponent_field = 63 + top + power_of_ten_log2(power) - zeros - format->exponent_min; /* less the hidden bit's 1 */
    if (exponent_field > format->exponent_max - format->exponent_min)
        return true;
    if (exponent_field < 0) {
        shift -= exponent_field;
        exponent_field = 0;
        if (shift > 63) {
            *ret_bits = 0;
            return shift > 64; /* 64: between a half and a whole of the smallest subnormal */
        }
    }

    uint64_t half = UINT64_C(1) << (shift - 1);
    uint64_t kept = high >> shift, rest = high & (2 * half - 1);
    if (__builtin_expect(rest - (half - 1) > 1, 1)) {
        kept += rest >= half;
    } else {
        enum number_rounding rounding = number_round_close(significand, power, (uint64_t)product, rest, half);
        if (rounding == ROUND_UNKNOWN)
            return false;
        kept += rounding == ROUND_UP || (rounding == ROUND_EVEN && (kept & 1));
    }
    *ret_bits = ((uint64_t)exponent_field << (format->significand_bits - 1)) + kept;
    return true;
}

#endif
