#include "api/number/read.h"

#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/number/powers_of_ten.h"
#include "api/number/scan.h"

__extension__ typedef unsigned __int128 uint128;

/* The fast path is one straight line of code: what it calls is inlined, what it leaves to others is not. */
#define NEVER_INLINE __attribute__((noinline))

/* The midpoint between two float64 has at most 768 significant digits in decimal: of a longer text it only matters whether any
 * digit but 0 follows. */
#define FALLBACK_DIGITS_MAX 800
#define FALLBACK_BYTES_MAX (FALLBACK_DIGITS_MAX + 16)

/* Only |power| <= this can make a tie, in either format (see round_close): 5^27 < 2^63. */
#define POWER_TIES_MAX 27

struct binary_format {
    int significand_bits; /* the hidden one included */
    int exponent_min, exponent_max;
    int power_min, power_max; /* 2^64 * 10^(power_min - 1) is a zero, 10^(power_max + 1) an infinity */
};

static const struct binary_format format_f32 = {24, -126, 127, -64, 38};
static const struct binary_format format_f64 = {53, -1022, 1023, POWERS_OF_TEN_MIN, 308};

/* ---- Decimal to binary ---- */

static inline void store_f32(uint32_t magnitude, bool negative, float *ret)
{
    uint32_t bits = magnitude | (uint32_t)negative << 31;
    memcpy(ret, &bits, sizeof bits);
}

static inline void store_f64(uint64_t magnitude, bool negative, double *ret)
{
    uint64_t bits = magnitude | (uint64_t)negative << 63;
    memcpy(ret, &bits, sizeof bits);
}

/* Clinger 1990: where a double holds the significand and the power of ten exactly, one division rounds once. Returns false
 * where it does not. Signs are set by their bit: a branch over a negation would be mispredicted half the time. */
NUMBER_INLINE bool divide(const struct number_scan *scan, double *ret_magnitude)
{
    if (scan->significand >> 53 || scan->exponent > 0 || scan->exponent < -POWERS_OF_TEN_EXACT_MAX + 1)
        return false;
    *ret_magnitude = (double)(int64_t)scan->significand / (double)(int64_t)powers_of_ten_exact[-scan->exponent];
    return true;
}

NUMBER_INLINE bool divide_f64(const struct number_scan *scan, double *ret)
{
    double magnitude;
    uint64_t bits;
    if (!divide(scan, &magnitude))
        return false;
    memcpy(&bits, &magnitude, sizeof bits);
    store_f64(bits, scan->negative, ret);
    return true;
}

/* A double rounds to the same float32 as the exact quotient, unless it is exactly halfway between two. */
NUMBER_INLINE bool divide_f32(const struct number_scan *scan, float *ret)
{
    double magnitude;
    uint64_t bits;
    uint32_t bits_f32;
    if (!divide(scan, &magnitude))
        return false;
    float magnitude_f32 = (float)magnitude;
    memcpy(&bits, &magnitude, sizeof bits);
    memcpy(&bits_f32, &magnitude_f32, sizeof bits_f32);
    store_f32(bits_f32, scan->negative, ret);
    return (bits & 0x1fffffff) != 0x10000000;
}

enum rounding { ROUND_DOWN, ROUND_UP, ROUND_EVEN, ROUND_UNKNOWN };

/* How to round where `rest` is too close to `half` to tell with the first word of the power of ten alone.
 *
 * A product with a truncated power is less than 2 (in units of `low`) below the exact x. Where half is within that and
 * |power| <= POWER_TIES_MAX, x is exactly half: for power >= 0 the product is exact and even; for power = -n the numerator of
 * x - half over 5^n is a multiple of 2^65, and 5^n < 2^63. Beyond those powers there is no tie: 5^|power| would have to divide
 * one of two integers that are too small. */
static NEVER_INLINE enum rounding round_close(uint64_t significand, int power, uint64_t low, uint64_t rest, uint64_t half)
{
    uint64_t more = (uint64_t)((uint128)significand * power_of_ten(power)->low >> 64);
    low += more;
    rest += low < more;
    if (rest < half - 1 || (rest == half - 1 && low != UINT64_MAX))
        return ROUND_DOWN;
    if (rest > half || (rest == half && low != 0))
        return ROUND_UP;
    return power >= -POWER_TIES_MAX && power <= POWER_TIES_MAX ? ROUND_EVEN : ROUND_UNKNOWN;
}

/* significand * 10^exponent to the bits of the nearest value of `format`. Returns false where it takes more than 128 bits of
 * the power of ten to decide. `format` is a constant, folded in. */
NUMBER_INLINE bool nearest(uint64_t significand, int64_t exponent, const struct binary_format *format, uint64_t *ret_bits)
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
        enum rounding rounding = round_close(significand, power, (uint64_t)product, rest, half);
        if (rounding == ROUND_UNKNOWN)
            return false;
        kept += rounding == ROUND_UP || (rounding == ROUND_EVEN && (kept & 1));
    }
    *ret_bits = ((uint64_t)exponent_field << (format->significand_bits - 1)) + kept;
    return true;
}

NUMBER_INLINE bool nearest_truncated(const struct number_scan *scan, const struct binary_format *format, uint64_t *ret_bits)
{
    uint64_t above;
    return nearest(scan->significand, scan->exponent, format, ret_bits) &&
           (!scan->truncated || (nearest(scan->significand + 1, scan->exponent, format, &above) && above == *ret_bits));
}

/* ---- The fallback: the C library, which is exact, on a text of bounded length ---- */

static locale_t made_locale;

static void make_locale(void)
{
    made_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!made_locale)
        abort(); /* cannot happen: the C library has "C" built in */
}

static locale_t c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_locale);
    return made_locale;
}

/* Writes at most FALLBACK_DIGITS_MAX + 1 digits without a point, and an exponent: together they round as |scan| does. */
static void normalise(const struct number_scan *scan, char ret[FALLBACK_BYTES_MAX])
{
    const char *p = scan->digits, *end = scan->digits_end;
    while (p < end && (*p == '0' || *p == '.'))
        p++;

    int count = 0;
    for (; p < end && count < FALLBACK_DIGITS_MAX; p++)
        if (*p != '.')
            ret[count++] = *p;
    while (p < end && (*p == '0' || *p == '.'))
        p++;
    if (p < end)
        ret[count++] = '1';
    (void)snprintf(ret + count, FALLBACK_BYTES_MAX - (size_t)count, "e%d", (int)scan->exponent + scan->digit_count - count);
}

/* ---- The readers ---- */

static NEVER_INLINE const char *read_any_f32(const char *text, const char *end, float *ret)
{
    struct number_scan scan;
    const char *after = number_scan_any(text, end, &scan);
    if (!after)
        return NULL;

    uint64_t magnitude;
    if (nearest_truncated(&scan, &format_f32, &magnitude)) {
        store_f32((uint32_t)magnitude, scan.negative, ret);
        return after;
    }
    char normal[FALLBACK_BYTES_MAX];
    normalise(&scan, normal);
    float value = strtof_l(normal, NULL, c_locale());
    *ret = scan.negative ? -value : value;
    return after;
}

static NEVER_INLINE const char *read_any_f64(const char *text, const char *end, double *ret)
{
    struct number_scan scan;
    const char *after = number_scan_any(text, end, &scan);
    if (!after)
        return NULL;

    uint64_t magnitude;
    if (nearest_truncated(&scan, &format_f64, &magnitude)) {
        store_f64(magnitude, scan.negative, ret);
        return after;
    }
    char normal[FALLBACK_BYTES_MAX];
    normalise(&scan, normal);
    double value = strtod_l(normal, NULL, c_locale());
    *ret = scan.negative ? -value : value;
    return after;
}

static NEVER_INLINE const char *read_fast_f32(const char *text, const char *end, float *ret)
{
    struct number_scan scan;
    uint64_t magnitude;
    const char *after = number_scan_fast(text, end, &scan);
    if (after && divide_f32(&scan, ret))
        return after;
    if (!after || !nearest(scan.significand, scan.exponent, &format_f32, &magnitude))
        return read_any_f32(text, end, ret);
    store_f32((uint32_t)magnitude, scan.negative, ret);
    return after;
}

const char *number_read_f32(const char *text, const char *end, float *ret)
{
    struct number_scan scan;
    const char *after = number_scan_short(text, end, &scan);
    return after && divide_f32(&scan, ret) ? after : read_fast_f32(text, end, ret);
}

const char *number_read_f64(const char *text, const char *end, double *ret)
{
    struct number_scan scan;
    uint64_t magnitude;
    const char *after = number_scan_fast(text, end, &scan);
    if (after && divide_f64(&scan, ret))
        return after;
    if (!after || !nearest(scan.significand, scan.exponent, &format_f64, &magnitude))
        return read_any_f64(text, end, ret);
    store_f64(magnitude, scan.negative, ret);
    return after;
}
