#include "api/number/write.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "api/number/digits.h"
#include "api/number/powers_of_ten.h"

__extension__ typedef unsigned __int128 uint128;

#define ALWAYS_INLINE __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))

#define POSITIONAL_EXPONENT_MIN (-5)
#define POSITIONAL_EXPONENT_MAX 15
#define POSITIONAL_LIMIT 1e16 /* 10^(POSITIONAL_EXPONENT_MAX + 1) */

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

/* ---- Binary to the shortest decimal: Giulietti 2021, section 9 ---- */

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

/* ---- Decimal to text ---- */

/* Up to 17 digits as characters: `first`, then the bytes of `middle` and `last`. */
struct digits {
    char first;
    uint64_t middle, last;
    int count;    /* zeros at the end left out, but at least 1 */
    int exponent; /* of the first digit */
};

static inline void store_eight(char *out, uint64_t word)
{
    memcpy(out, &word, sizeof word);
}

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

/* d.significand has 1 to digits_max = F32_DIGITS_MAX or F64_DIGITS_MAX digits. */
static inline ALWAYS_INLINE struct digits spell(struct decimal d, int digits_max)
{
    int count = count_digits(d.significand);
    uint64_t aligned = d.significand * powers_of_ten_exact[digits_max - count];
    struct digits ret = {.exponent = d.exponent + count - 1, .last = DIGITS_ZEROS};
    int last_count = 0;
    if (digits_max == F64_DIGITS_MAX) {
        uint64_t last = digits_eight((uint32_t)(aligned % 100000000));
        aligned /= 100000000;
        last_count = significant(last);
        ret.last |= last;
    }
    uint32_t nine = (uint32_t)aligned;
    uint64_t middle = digits_eight(nine % 100000000);
    ret.first = (char)('0' + nine / 100000000);
    ret.middle = middle | DIGITS_ZEROS;
    ret.count = last_count ? 9 + last_count : 1 + significant(middle);
    return ret;
}

static inline void store_digits(const struct digits *d, char *out)
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

static inline ALWAYS_INLINE char *write_positional(const struct digits *d, bool below_one, char *out)
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
    struct digits d = spell(decimal, F64_DIGITS_MAX);
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
    struct digits d = spell(decimal, digits_max);
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
