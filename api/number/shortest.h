/* shortest.h: floating point to the shortest decimal that reads back as the same value, and that to digits, for write.c and
 * batch_write_f64.c.
 *
 * Source   Giulietti 2021, "The Schubfach way to render doubles", section 9. */
#ifndef ATTND_API_NUMBER_SHORTEST_H
#define ATTND_API_NUMBER_SHORTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "api/number/digits.h"
#include "api/number/powers_of_ten.h"

#define F32_DIGITS_MAX 9 /* of the shortest text */
#define F64_DIGITS_MAX 17

/* A float is a sign, an exponent field and a fraction; `bias` makes it significand * 2^(field - bias), in integers. */
#define F32_FRACTION_BITS 23
#define F32_BIAS (127 + F32_FRACTION_BITS)
#define F32_INFINITY 0x7f800000u
#define F32_ONE 0x3f800000u
#define F64_FRACTION_BITS 52
#define F64_BIAS (1023 + F64_FRACTION_BITS)
#define F64_INFINITY 0x7ff0000000000000u
#define F64_ONE 0x3ff0000000000000u

/* significand * 2^exponent or * 10^exponent */
struct binary {
    uint64_t significand;
    int exponent;
    bool narrow; /* the gap to the next smaller value is half of that to the next larger */
};

struct decimal {
    uint64_t significand; /* below 10^17; zeros may end it */
    int exponent;
};

/* ---- Binary to decimal ---- */

static inline struct binary split(uint64_t magnitude, int fraction_bits, int bias)
{
    uint64_t hidden = UINT64_C(1) << fraction_bits;
    uint64_t fraction = magnitude & (hidden - 1);
    int field = (int)(magnitude >> fraction_bits);
    if (field == 0)
        return (struct binary){fraction, 1 - bias, false};
    return (struct binary){fraction | hidden, field - bias, fraction == 0 && field > 1};
}

/* The largest k such that 10^k is at most the gap between b's neighbours' midpoints: floor(log10(2^q)) or, where narrow,
 * floor(log10(3/4 * 2^q)). */
static inline int interval_log10(struct binary b)
{
    return (b.exponent * 1262611 - (b.narrow ? 524031 : 0)) >> 22;
}

/* Picks from the interval of numbers that read back as the float. lower, value and upper are 4 / 10^exponent times its ends and
 * the float, each rounded to odd; `open` where the ends are outside. A multiple of 10 inside is the only one: it has fewer
 * digits, or zeros at the end. Else it is the nearer of the two integers around value, or the one inside. Which one cannot be
 * predicted, so the choice is made by arithmetic. */
static inline struct decimal pick(uint64_t lower, uint64_t value, uint64_t upper, bool open, int exponent)
{
    lower += open;
    upper -= open;
    uint64_t below = value / 4, tens = below / 10 * 10;
    uint64_t below_inside = lower <= 4 * below, above_inside = 4 * below + 4 <= upper;
    uint64_t above_nearer = (value & 3) + (below & 1) > 2; /* ties to even */
    uint64_t unit = below + (above_inside & ((below_inside ^ 1) | above_nearer));

    uint64_t tens_inside = lower <= 4 * tens, next_tens_inside = 4 * tens + 40 <= upper;
    uint64_t ten = tens + 10 * next_tens_inside;
    uint64_t ten_mask = -((tens_inside | next_tens_inside) & (below >= 10)); /* below 10 it would not have fewer digits */
    return (struct decimal){(ten & ten_mask) | (unit & ~ten_mask), exponent};
}

/* The integer part of significand * c, its lowest bit set where there is a fraction. The power's significand is too large by
 * at most 1, which adds less than 1 to the word under the point: so an integer leaves 0 there, and no other product that a
 * float makes comes so near to one that 0 or 1 is left (section 9 proves it for 126 bits; the same search over all exponents
 * was made for the 64 and 128 here). */
static inline uint64_t product_f32(uint64_t significand, uint64_t c)
{
    uint128 product = (uint128)significand * c;
    return (uint64_t)(product >> 64) | ((uint32_t)(product >> 32) > 1);
}

static inline uint64_t product_f64(struct power_of_ten significand, uint64_t c)
{
    uint128 product = (uint128)significand.high * c + ((uint128)significand.low * c >> 64);
    return (uint64_t)(product >> 64) | ((uint64_t)product > 1);
}

static inline struct decimal shortest_f32(uint32_t magnitude)
{
    struct binary b = split(magnitude, F32_FRACTION_BITS, F32_BIAS);
    int exponent = interval_log10(b);
    int shift = b.exponent + power_of_ten_log2(-exponent) + 1;
    uint64_t power = power_of_ten(-exponent)->high + 1;
    uint64_t c = 4 * b.significand;
    return pick(product_f32(power, (c - 2 + b.narrow) << shift), product_f32(power, c << shift),
                product_f32(power, (c + 2) << shift), b.significand & 1, exponent);
}

static inline struct decimal shortest_f64(uint64_t magnitude)
{
    struct binary b = split(magnitude, F64_FRACTION_BITS, F64_BIAS);
    int exponent = interval_log10(b);
    int shift = b.exponent + power_of_ten_log2(-exponent) + 1;
    struct power_of_ten power = *power_of_ten(-exponent);
    power.low++;
    uint64_t c = 4 * b.significand;
    return pick(product_f64(power, (c - 2 + b.narrow) << shift), product_f64(power, c << shift),
                product_f64(power, (c + 2) << shift), b.significand & 1, exponent);
}

/* ---- Decimal to digits ---- */

/* Up to 17 digits as characters: `first`, then the bytes of `middle` and `last`. */
struct spelling {
    char first;
    uint64_t middle, last;
    int count;    /* zeros at the end left out, but at least 1 */
    int exponent; /* of the first digit */
};

/* How many of eight digits remain without the zeros at the end. */
static inline int significant(uint64_t eight)
{
    return eight ? 8 - (__builtin_clzll(eight) >> 3) : 0;
}

static inline int count_digits(uint64_t v)
{
    int atleast = (64 - __builtin_clzll(v)) * 1233 >> 12; /* log10(2) is just under 1233 / 4096 */
    return atleast + (v >= powers_of_ten_exact[atleast]);
}

/* Of exactly nine digits, the first of which is not 0 and stands for 10^exponent. */
static inline __attribute__((always_inline)) struct spelling spell_nine(uint32_t nine, int exponent)
{
    uint64_t middle = digits_eight(nine % 100000000);
    return (struct spelling){.first = (char)('0' + nine / 100000000),
                             .middle = middle | DIGITS_ZEROS,
                             .last = DIGITS_ZEROS,
                             .count = 1 + significant(middle),
                             .exponent = exponent};
}

/* Of exactly 17 digits. */
static inline __attribute__((always_inline)) struct spelling spell_seventeen(uint64_t seventeen, int exponent)
{
    uint64_t last = digits_eight((uint32_t)(seventeen % 100000000));
    struct spelling ret = spell_nine((uint32_t)(seventeen / 100000000), exponent);
    ret.last |= last;
    if (last != 0)
        ret.count = 9 + significant(last);
    return ret;
}

/* d.significand has 1 to digits_max = F32_DIGITS_MAX or F64_DIGITS_MAX digits. */
static inline __attribute__((always_inline)) struct spelling spell(struct decimal d, int digits_max)
{
    int count = count_digits(d.significand);
    uint64_t aligned = d.significand * powers_of_ten_exact[digits_max - count];
    int exponent = d.exponent + count - 1;
    return digits_max == F64_DIGITS_MAX ? spell_seventeen(aligned, exponent) : spell_nine((uint32_t)aligned, exponent);
}

#endif
