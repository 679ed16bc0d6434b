#include "api/number/write.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "api/number/digits.h"
#include "api/number/powers_of_ten.h"
#include "api/number/shortest.h"

#define ALWAYS_INLINE __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))

#define POSITIONAL_EXPONENT_MIN (-5)
#define POSITIONAL_EXPONENT_MAX 15
#define POSITIONAL_LIMIT 1e16 /* 10^(POSITIONAL_EXPONENT_MAX + 1) */

/* ---- Decimal to text ---- */

static inline void store_eight(char *out, uint64_t word)
{
    memcpy(out, &word, sizeof word);
}

static inline void store_digits(const struct spelling *d, char *out)
{
    out[0] = d->first;
    store_eight(out + 1, d->middle);
    store_eight(out + 9, d->last);
}

/* Stores eight characters with a point before number `at` (0 .. 7) of them. */
static inline void store_with_point(char *out, uint64_t word, int at)
{
    uint64_t before = (UINT64_C(1) << 8 * at) - 1;
    store_eight(out + 1, word);
    store_eight(out, (word & before) | (uint64_t)'.' << 8 * at | (word & ~before) << 8);
}

static inline ALWAYS_INLINE char *write_positional(const struct spelling *d, bool below_one, char *out)
{
    if (below_one) {
        store_eight(out, DIGITS_ZEROS);
        out[1] = '.';
        out += 1 - d->exponent;
        store_digits(d, out);
        return out + d->count;
    }
    if (d->exponent < 8) {
        out[0] = d->first;
        store_with_point(out + 1, d->middle, d->exponent);
        store_eight(out + 10, d->last);
    } else {
        store_digits(d, out);
        store_with_point(out + 9, d->last, d->exponent - 8);
    }
    int integer_count = d->exponent + 2; /* with one zero after the point */
    return out + 1 + (d->count > integer_count ? d->count : integer_count);
}

static NEVER_INLINE char *write_scientific(struct decimal decimal, char *out)
{
    struct spelling d = spell(decimal, F64_DIGITS_MAX);
    store_digits(&d, out + 1);
    out[0] = d.first;
    out[1] = '.';
    out += d.count > 1 ? d.count + 1 : 1;
    *out++ = 'e';
    int exponent = d.exponent;
    if (exponent < 0) {
        *out++ = '-';
        exponent = -exponent;
    }
    if (exponent >= 100)
        *out++ = (char)('0' + exponent / 100);
    if (exponent >= 10)
        *out++ = (char)('0' + exponent / 10 % 10);
    *out++ = (char)('0' + exponent % 10);
    return out;
}

/* `below_one` is known early what decimal.exponent would only tell at the end. */
static inline ALWAYS_INLINE char *write_decimal(struct decimal decimal, int digits_max, bool below_one, char *out)
{
    struct spelling d = spell(decimal, digits_max);
    if (d.exponent < POSITIONAL_EXPONENT_MIN || d.exponent > POSITIONAL_EXPONENT_MAX)
        return write_scientific(decimal, out);
    return write_positional(&d, below_one, out);
}

static char *write_word(const char *word, char *out)
{
    size_t bytes = strlen(word);
    memcpy(out, word, bytes);
    return out + bytes;
}

static NEVER_INLINE char *write_non_finite(bool nan, bool negative, char *out)
{
    return write_word(nan ? "\"NaN\"" : negative ? "\"-Infinity\"" : "\"Infinity\"", out);
}

static NEVER_INLINE char *write_other_f32(uint32_t magnitude, char *out)
{
    return write_decimal(shortest_f32(magnitude), F32_DIGITS_MAX, magnitude < F32_ONE, out);
}

char *number_write_f32(float x, char *out)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t magnitude = bits & ~(UINT32_C(1) << 31);
    if (magnitude >= F32_INFINITY)
        return write_non_finite(magnitude > F32_INFINITY, bits >> 31, out);

    *out = '-';
    out += bits >> 31;
    if (magnitude == 0)
        return write_word("0.0", out);
    if (magnitude == F32_ONE)
        return write_word("1.0", out);
    return write_other_f32(magnitude, out);
}

static NEVER_INLINE char *write_other_f64(uint64_t magnitude, char *out)
{
    return write_decimal(shortest_f64(magnitude), F64_DIGITS_MAX, magnitude < F64_ONE, out);
}

char *number_write_f64(double x, char *out)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t magnitude = bits & ~(UINT64_C(1) << 63);
    if (magnitude >= F64_INFINITY)
        return write_non_finite(magnitude > F64_INFINITY, bits >> 63, out);

    *out = '-';
    out += bits >> 63;
    if (magnitude == 0)
        return write_word("0.0", out);
    if (magnitude == F64_ONE)
        return write_word("1.0", out);
    return write_other_f64(magnitude, out);
}

/* ---- Rounded ---- */

/* Writes v < 10^8 without zeros before it. Touches eight bytes. */
static inline char *write_below_1e8(uint32_t v, char *out)
{
    uint64_t eight = digits_eight(v);
    int zeros = v ? __builtin_ctzll(eight) / 8 : 7;
    store_eight(out, (eight | DIGITS_ZEROS) >> 8 * zeros);
    return out + 8 - zeros;
}

static inline char *write_below_1e16(uint64_t v, char *out)
{
    if (v < 100000000)
        return write_below_1e8((uint32_t)v, out);
    out = write_below_1e8((uint32_t)(v / 100000000), out);
    store_eight(out, digits_eight((uint32_t)(v % 100000000)) | DIGITS_ZEROS);
    return out + 8;
}

/* Writes the `decimals` digits of `fraction` without zeros at the end, but at least one. */
static char *write_fraction(uint64_t fraction, int decimals, char *out)
{
    if (fraction == 0) {
        *out = '0';
        return out + 1;
    }
    /* Touches no more bytes than the longest text has: with this many decimals the integer part is short. */
    if (decimals <= 8) {
        uint64_t eight = digits_eight((uint32_t)(fraction * powers_of_ten_exact[8 - decimals]));
        store_eight(out, eight | DIGITS_ZEROS);
        return out + significant(eight);
    }
    uint64_t aligned = fraction * powers_of_ten_exact[NUMBER_DECIMALS_MAX - decimals];
    uint64_t last = digits_eight((uint32_t)(aligned % 100000000));
    uint64_t middle = digits_eight((uint32_t)(aligned / 100000000 % 100000000));
    *out++ = (char)('0' + aligned / 10000000000000000);
    if (middle | last)
        store_eight(out, middle | DIGITS_ZEROS);
    if (last == 0)
        return out + significant(middle);
    store_eight(out + 8, last | DIGITS_ZEROS);
    return out + 8 + significant(last);
}

/* |x| < POSITIONAL_LIMIT. */
static char *write_rounded(double x, int decimals, char *out)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    struct binary b = split(bits & ~(UINT64_C(1) << 63), F64_FRACTION_BITS, F64_BIAS);
    uint64_t integer = 0, fraction = 0;
    if (b.exponent >= 0) {
        integer = b.significand << b.exponent;
    } else if (b.exponent > -128) { /* else x is too small to round to anything */
        int shift = -b.exponent;
        uint128 scaled = b.significand, one = (uint128)1 << shift;
        integer = (uint64_t)(scaled >> shift);
        scaled = (scaled & (one - 1)) * powers_of_ten_exact[decimals]; /* < 2^53 * 10^17 < 2^110 */
        fraction = (uint64_t)(scaled >> shift);
        uint64_t odd = (decimals > 0 ? fraction : integer) & 1;
        fraction += (scaled & (one - 1)) + odd > one >> 1; /* ties to even */
        if (fraction == powers_of_ten_exact[decimals]) {
            fraction = 0;
            integer++;
        }
    }

    *out = '-';
    out += bits >> 63 & ((integer | fraction) != 0);
    if (integer == 0 && fraction > 0 && decimals > -POSITIONAL_EXPONENT_MIN &&
        fraction < powers_of_ten_exact[decimals + POSITIONAL_EXPONENT_MIN])
        return write_scientific((struct decimal){fraction, -decimals}, out);
    out = write_below_1e16(integer, out);
    *out++ = '.';
    return write_fraction(fraction, decimals, out);
}

char *number_write_f32_rounded(float x, int decimals, char *out)
{
    assert(decimals >= 0 && decimals <= NUMBER_DECIMALS_MAX);
    if (!(fabsf(x) < (float)POSITIONAL_LIMIT))
        return number_write_f32(x, out);
    return write_rounded((double)x, decimals, out);
}

char *number_write_f64_rounded(double x, int decimals, char *out)
{
    assert(decimals >= 0 && decimals <= NUMBER_DECIMALS_MAX);
    if (!(fabs(x) < POSITIONAL_LIMIT))
        return number_write_f64(x, out);
    return write_rounded(x, decimals, out);
}
