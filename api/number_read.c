#include "api/number_read.h"

#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/powers_of_ten.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a word's first character is its lowest byte");

__extension__ typedef unsigned __int128 uint128;

/* The usual number takes one straight line of code, in registers: what it calls is inlined, what it leaves is not. */
#define ALWAYS_INLINE __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))

#define SHORT_BYTES_MAX 12               /* what scan_short looks at */
#define USUAL_BYTES_MAX (1 + 2 + 18 + 1) /* what scan_usual looks at */

#define SIGNIFICAND_DIGITS_MAX 19 /* 10^19 < 2^64 */

/* The decimal expansion of a point halfway between two float64 has at most 768 significant digits: of a longer text only
 * matters whether something follows. */
#define FALLBACK_DIGITS_MAX 800
#define FALLBACK_BYTES_MAX (FALLBACK_DIGITS_MAX + 16)

/* Only |power| <= this can make a tie, in either format (see round_close): 5^27 < 2^63. */
#define POWER_TIES_MAX 27

/* Written exponents saturate here: beyond the length of any text, which could shift the point back, and far from
 * overflowing an int64. */
#define EXPONENT_MAX 100000000000000000

/* A number's text, taken apart: the value is significand * 10^exponent; where `cut`, more than that and less than
 * (significand + 1) * 10^exponent. */
struct decimal {
    uint64_t significand; /* the first SIGNIFICAND_DIGITS_MAX significant digits, or all */
    int64_t exponent;
    int digit_count; /* of significand */
    bool negative;
    bool cut;
    const char *digits, *digits_end; /* the text without sign and exponent */
};

struct binary_format {
    int significand_bits; /* the hidden one included */
    int exponent_min, exponent_max;
    int power_min, power_max; /* 2^64 * 10^(power_min - 1) is a zero, 10^(power_max + 1) an infinity */
};

static const struct binary_format format_f32 = {24, -126, 127, -64, 38};
static const struct binary_format format_f64 = {53, -1022, 1023, POWERS_OF_TEN_MIN, 308};

/* ---- Eight characters at a time ---- */

/* Each byte is its character xor '0': a digit's value, or above 9. */
static inline uint64_t load_eight(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word ^ 0x3030303030303030u;
}

/* Nonzero where some byte is no digit; its lowest set bit is then in the first such byte (those after may be wrong). */
static inline uint64_t non_digits(uint64_t word)
{
    return ((word + 0x7676767676767676u) | word) & 0x8080808080808080u;
}

/* The value of eight digits: neighbours are joined into pairs, fours, and all. */
static inline uint64_t eight_digits(uint64_t word)
{
    word = (word * (10u << 8 | 1) >> 8) & 0x00ff00ff00ff00ffu;
    word = (word * (100u << 16 | 1) >> 16) & 0x0000ffff0000ffffu;
    return word * (UINT64_C(10000) << 32 | 1) >> 32;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- Text to decimal ---- */

/* Appends digits to the significand while it has room. */
static const char *take_digits(const char *p, const char *end, struct decimal *d)
{
    if (d->significand == 0)
        while (p < end && *p == '0')
            p++;
    while (end - p >= 8 && d->digit_count + 8 <= SIGNIFICAND_DIGITS_MAX) {
        uint64_t word = load_eight(p);
        if (non_digits(word))
            break;
        d->significand = d->significand * 100000000 + eight_digits(word);
        d->digit_count += 8;
        p += 8;
    }
    for (; p < end && is_digit(*p) && d->digit_count < SIGNIFICAND_DIGITS_MAX; p++) {
        d->significand = d->significand * 10 + (uint64_t)(*p - '0');
        d->digit_count++;
    }
    return p;
}

/* Passes over the digits that had no room. */
static const char *skip_digits(const char *p, const char *end, struct decimal *d)
{
    for (; end - p >= 8; p += 8) {
        uint64_t word = load_eight(p);
        if (non_digits(word))
            break;
        d->cut |= word != 0;
    }
    for (; p < end && is_digit(*p); p++)
        d->cut |= *p != '0';
    return p;
}

/* `p` is at an 'e'. Returns p where no exponent follows: the number then ends before it. */
static const char *scan_exponent(const char *p, const char *end, struct decimal *d)
{
    const char *digit = p + 1;
    bool negative = false;
    if (digit < end && (*digit == '+' || *digit == '-'))
        negative = *digit++ == '-';
    if (digit == end || !is_digit(*digit))
        return p;

    int64_t exponent = 0;
    for (; digit < end && is_digit(*digit); digit++)
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (*digit - '0');
    d->exponent += negative ? -exponent : exponent;
    return digit;
}

static const char *scan_any(const char *text, const char *end, struct decimal *ret)
{
    struct decimal d = {.negative = text < end && *text == '-'};
    const char *p = d.digits = text + d.negative;
    if (p == end || !is_digit(*p))
        return NULL;

    if (*p == '0') {
        p++;
    } else {
        const char *room_end = take_digits(p, end, &d);
        p = skip_digits(room_end, end, &d);
        d.exponent = p - room_end;
    }
    if (end - p >= 2 && *p == '.' && is_digit(p[1])) {
        const char *room_end = take_digits(p + 1, end, &d);
        d.exponent -= room_end - (p + 1);
        p = skip_digits(room_end, end, &d);
    }
    d.digits_end = p;
    if (p < end && (*p == 'e' || *p == 'E'))
        p = scan_exponent(p, end, &d);
    *ret = d;
    return p;
}

/* The usual text of a float32: a digit before the point and 1 to 8 after it, no exponent. Returns NULL for any other, and near
 * `end`. Sets significand, exponent and sign. Where the text ends, which the next one waits for, is found without a look at
 * the sign: its digits cover text[4] in any case, but for a single one. */
static inline ALWAYS_INLINE const char *scan_short(const char *text, const char *end, struct decimal *ret)
{
    if (end - text < SHORT_BYTES_MAX)
        return NULL;
    uint64_t stop = non_digits(load_eight(text + 4));
    if (stop == 0)
        return NULL;
    const char *after = is_digit(text[3]) ? text + 4 + __builtin_ctzll(stop) / 8 : text + 3;

    ret->negative = *text == '-';
    const char *fraction = text + ret->negative + 2;
    ptrdiff_t count = after - fraction;
    if (!is_digit(fraction[-2]) || fraction[-1] != '.' || !is_digit(fraction[0]) || count > 8 || (*after | 0x20) == 'e')
        return NULL;
    ret->significand = (uint64_t)(fraction[-2] - '0') * powers_of_ten_exact[count] +
                       eight_digits(load_eight(fraction) << (64 - 8 * count)); /* zeros before the digits */
    ret->exponent = -count;
    return after;
}

/* How many of a word's characters are digits before the first that is none, and their value. */
static inline ALWAYS_INLINE int leading_digits(uint64_t word, uint64_t *ret_value)
{
    uint64_t stop = non_digits(word);
    int count = stop ? __builtin_ctzll(stop) / 8 : 8;
    *ret_value = count ? eight_digits(word << (64 - 8 * count)) : 0; /* the rest shifted out, zeros before */
    return count;
}

/* The usual text in tensors: a digit before the point, up to 18 after it, no exponent. Returns NULL for any other, and near
 * `end`. Sets the significand, the exponent and the sign. */
static inline ALWAYS_INLINE const char *scan_usual(const char *text, const char *end, struct decimal *ret)
{
    if (end - text < USUAL_BYTES_MAX)
        return NULL;
    ret->negative = *text == '-';
    const char *p = text + ret->negative + 2;
    if (!is_digit(p[-2]) || p[-1] != '.')
        return NULL;

    uint64_t value;
    int count = leading_digits(load_eight(p), &value);
    ret->significand = (uint64_t)(p[-2] - '0') * powers_of_ten_exact[count] + value;
    if (is_digit(p[count])) {
        int more = leading_digits(load_eight(p + 8), &value);
        ret->significand = ret->significand * powers_of_ten_exact[more] + value;
        for (count = 8 + more; count < 18 && is_digit(p[count]); count++)
            ret->significand = ret->significand * 10 + (uint64_t)(p[count] - '0');
        if (is_digit(p[count]))
            return NULL;
    }
    if (count == 0 || (p[count] | 0x20) == 'e')
        return NULL;
    ret->exponent = -count;
    return p + count;
}

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

/* Clinger 1990: where a double holds the significand and the power of ten exactly, one division rounds once.
 * -18 <= d->exponent <= 0. Returns false where it does not, *ret untouched. */
static inline ALWAYS_INLINE bool divide_f64(const struct decimal *d, double *ret)
{
    if (d->significand >> 53)
        return false;
    double quotient = (double)(int64_t)d->significand / (double)(int64_t)powers_of_ten_exact[-d->exponent];
    uint64_t bits;
    memcpy(&bits, &quotient, sizeof bits);
    store_f64(bits, d->negative, ret); /* a sign by its bit, since a jump over a negation would be mispredicted half the time */
    return true;
}

/* A double rounds on to float32 as the exact quotient does, unless it has come to lie halfway between two. The significand
 * is below 10^9. */
static inline ALWAYS_INLINE bool divide_f32(const struct decimal *d, float *ret)
{
    double quotient = (double)(int64_t)d->significand / (double)(int64_t)powers_of_ten_exact[-d->exponent];
    float value = (float)quotient;
    uint64_t bits;
    uint32_t value_bits;
    memcpy(&bits, &quotient, sizeof bits);
    memcpy(&value_bits, &value, sizeof value_bits);
    store_f32(value_bits, d->negative, ret);
    return (bits & 0x1fffffff) != 0x10000000;
}

enum rounding { ROUND_DOWN, ROUND_UP, ROUND_EVEN, ROUND_UNKNOWN };

/* How to round where `rest` is too close to `half` to tell with the first word of the power of ten alone.
 *
 * A product with a truncated power lies less than 2 (in units of `low`) under the exact x. Where half is within that and
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
static inline ALWAYS_INLINE bool nearest(uint64_t significand, int64_t exponent, const struct binary_format *format,
                                         uint64_t *ret_bits)
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

static inline ALWAYS_INLINE bool nearest_cut(const struct decimal *d, const struct binary_format *format, uint64_t *ret_bits)
{
    uint64_t above;
    return nearest(d->significand, d->exponent, format, ret_bits) &&
           (!d->cut || (nearest(d->significand + 1, d->exponent, format, &above) && above == *ret_bits));
}

/* ---- The fallback: the C library, which is exact, on a text of bounded length ---- */

static locale_t made_locale;

static void make_locale(void)
{
    made_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!made_locale)
        abort(); /* cannot be: the C library has "C" built in */
}

static locale_t c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_locale);
    return made_locale;
}

/* Writes digits without a point, FALLBACK_DIGITS_MAX and one more at the most, and an exponent: they round as |d| does. */
static void normalise(const struct decimal *d, char ret[FALLBACK_BYTES_MAX])
{
    const char *p = d->digits, *end = d->digits_end;
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
    (void)snprintf(ret + count, FALLBACK_BYTES_MAX - (size_t)count, "e%d", (int)d->exponent + d->digit_count - count);
}

/* ---- The readers ---- */

static NEVER_INLINE const char *read_any_f32(const char *text, const char *end, float *ret)
{
    struct decimal d;
    const char *after = scan_any(text, end, &d);
    if (!after)
        return NULL;

    uint64_t magnitude;
    if (nearest_cut(&d, &format_f32, &magnitude)) {
        store_f32((uint32_t)magnitude, d.negative, ret);
        return after;
    }
    char normal[FALLBACK_BYTES_MAX];
    normalise(&d, normal);
    float value = strtof_l(normal, NULL, c_locale());
    *ret = d.negative ? -value : value;
    return after;
}

static NEVER_INLINE const char *read_any_f64(const char *text, const char *end, double *ret)
{
    struct decimal d;
    const char *after = scan_any(text, end, &d);
    if (!after)
        return NULL;

    uint64_t magnitude;
    if (nearest_cut(&d, &format_f64, &magnitude)) {
        store_f64(magnitude, d.negative, ret);
        return after;
    }
    char normal[FALLBACK_BYTES_MAX];
    normalise(&d, normal);
    double value = strtod_l(normal, NULL, c_locale());
    *ret = d.negative ? -value : value;
    return after;
}

static NEVER_INLINE const char *read_usual_f32(const char *text, const char *end, float *ret)
{
    struct decimal d;
    uint64_t magnitude;
    const char *after = scan_usual(text, end, &d);
    if (!after || !nearest(d.significand, d.exponent, &format_f32, &magnitude))
        return read_any_f32(text, end, ret);
    store_f32((uint32_t)magnitude, d.negative, ret);
    return after;
}

const char *number_read_f32(const char *text, const char *end, float *ret)
{
    struct decimal d;
    const char *after = scan_short(text, end, &d);
    return after && divide_f32(&d, ret) ? after : read_usual_f32(text, end, ret);
}

const char *number_read_f64(const char *text, const char *end, double *ret)
{
    struct decimal d;
    uint64_t magnitude;
    const char *after = scan_usual(text, end, &d);
    if (after && divide_f64(&d, ret))
        return after;
    if (!after || !nearest(d.significand, d.exponent, &format_f64, &magnitude))
        return read_any_f64(text, end, ret);
    store_f64(magnitude, d.negative, ret);
    return after;
}
