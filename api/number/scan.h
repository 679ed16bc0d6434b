/* scan.h: the text of a decimal number, split into sign, significand and exponent. read.h has the grammar.
 *
 * Three scanners, each for what the one before leaves: nearly every number of a tensor is scanned in a straight line of inlined
 * code, in registers; the last scanner takes any text, up to `end` and of any length, in linear time.
 *
 * Each returns the first byte after the number. number_scan_any returns NULL where there is none; the others also where it is
 * not of their kind or too near to `end`. */
#ifndef ATTND_API_NUMBER_SCAN_H
#define ATTND_API_NUMBER_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/number/powers_of_ten.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a word's first character is its lowest byte");

#define NUMBER_INLINE static inline __attribute__((always_inline))

#define NUMBER_SIGNIFICAND_DIGITS_MAX 19                       /* 10^19 < 2^64 */
#define NUMBER_SHORT_BYTES_MAX 12                              /* what number_scan_short looks at */
#define NUMBER_FAST_BYTES_MAX (1 + 7 + 1 + 18 + 1 + 1 + 2 + 1) /* what number_scan_fast looks at */

/* The value is significand * 10^exponent; where `truncated`, more than that and less than (significand + 1) * 10^exponent. */
struct number_scan {
    uint64_t significand; /* the first NUMBER_SIGNIFICAND_DIGITS_MAX significant digits, or all */
    int64_t exponent;
    int digit_count; /* of significand */
    bool negative;
    bool truncated;
    const char *digits, *digits_end; /* the text without sign and exponent */
};

/* ---- Eight characters at a time ---- */

/* Each byte is its character xor '0': a digit's value, or above 9. */
NUMBER_INLINE uint64_t number_load_eight(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word ^ 0x3030303030303030u;
}

/* Nonzero where some byte is not a digit; its lowest set bit is then in the first such byte (later bytes may be wrong). */
NUMBER_INLINE uint64_t number_non_digits(uint64_t word)
{
    return ((word + 0x7676767676767676u) | word) & 0x8080808080808080u;
}

/* The value of eight digits: neighbours are combined into pairs, fours, and all. */
NUMBER_INLINE uint64_t number_eight_digits(uint64_t word)
{
    word = (word * (10u << 8 | 1) >> 8) & 0x00ff00ff00ff00ffu;
    word = (word * (100u << 16 | 1) >> 16) & 0x0000ffff0000ffffu;
    return word * (UINT64_C(10000) << 32 | 1) >> 32;
}

NUMBER_INLINE bool number_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- The scanners ---- */

/* What most float32 look like: a digit before the point and 1 to 8 after it, no exponent. Sets significand, exponent and sign.
 * Reading the next number depends on the end of this one, so the end is found without waiting for the sign: from text[4] on,
 * since only a text like 0.5 can end before. */
NUMBER_INLINE const char *number_scan_short(const char *text, const char *end, struct number_scan *ret)
{
    if (end - text < NUMBER_SHORT_BYTES_MAX)
        return NULL;
    uint64_t stop = number_non_digits(number_load_eight(text + 4));
    if (stop == 0)
        return NULL;
    const char *after = number_is_digit(text[3]) ? text + 4 + __builtin_ctzll(stop) / 8 : text + 3;

    ret->negative = *text == '-';
    const char *fraction = text + ret->negative + 2;
    ptrdiff_t count = after - fraction;
    if (!number_is_digit(fraction[-2]) || fraction[-1] != '.' || !number_is_digit(fraction[0]) || count > 8 ||
        (*after | 0x20) == 'e')
        return NULL;
    ret->significand = (uint64_t)(fraction[-2] - '0') * powers_of_ten_exact[count] +
                       number_eight_digits(number_load_eight(fraction) << (64 - 8 * count)); /* zeros before the digits */
    ret->exponent = -count;
    return after;
}

/* How many of a word's characters are digits before the first that is not, and their value. */
NUMBER_INLINE int number_leading_digits(uint64_t word, uint64_t *ret_value)
{
    uint64_t stop = number_non_digits(word);
    int count = stop ? __builtin_ctzll(stop) / 8 : 8;
    *ret_value = count ? number_eight_digits(word << (64 - 8 * count)) : 0; /* the rest shifted out, zeros before */
    return count;
}

/* 1 to 18 digits after the point, at `p`. */
NUMBER_INLINE const char *number_scan_fast_fraction(const char *p, struct number_scan *scan)
{
    uint64_t value;
    int count = number_leading_digits(number_load_eight(p), &value);
    scan->significand = scan->significand * powers_of_ten_exact[count] + value;
    if (number_is_digit(p[count])) {
        int more = number_leading_digits(number_load_eight(p + 8), &value);
        scan->significand = scan->significand * powers_of_ten_exact[more] + value;
        for (count = 8 + more; count < 18 && number_is_digit(p[count]); count++)
            scan->significand = scan->significand * 10 + (uint64_t)(p[count] - '0');
    }
    scan->digit_count += count;
    scan->exponent -= count;
    return count > 0 && !number_is_digit(p[count]) ? p + count : NULL;
}

/* One or two digits after an 'e' and a sign, at `p`. */
NUMBER_INLINE const char *number_scan_fast_exponent(const char *p, struct number_scan *scan)
{
    bool negative = *p == '-';
    p += negative || *p == '+';
    if (!number_is_digit(*p))
        return NULL;
    int exponent = *p++ - '0';
    if (number_is_digit(*p))
        exponent = exponent * 10 + (*p++ - '0');
    scan->exponent += negative ? -exponent : exponent;
    return number_is_digit(*p) ? NULL : p;
}

/* What most numbers look like: at most 7 digits before the point, 18 after it, 19 in all, and 2 in an exponent. Sets
 * significand, exponent and sign. */
NUMBER_INLINE const char *number_scan_fast(const char *text, const char *end, struct number_scan *ret)
{
    if (end - text < NUMBER_FAST_BYTES_MAX)
        return NULL;
    struct number_scan scan = {.negative = *text == '-'};
    const char *p = text + scan.negative;
    if (p[1] == '.') { /* predicted: the next load need not wait for a count */
        scan.digit_count = 1;
        scan.significand = (uint64_t)(*p - '0');
        if (!number_is_digit(*p))
            return NULL;
    } else {
        scan.digit_count = number_leading_digits(number_load_eight(p), &scan.significand);
        if (scan.digit_count == 0 || scan.digit_count == 8 || (*p == '0' && scan.digit_count > 1))
            return NULL;
    }
    p += scan.digit_count;
    if (*p == '.') {
        p = number_scan_fast_fraction(p + 1, &scan);
        if (!p || scan.digit_count > NUMBER_SIGNIFICAND_DIGITS_MAX)
            return NULL;
    }
    if ((*p | 0x20) == 'e')
        p = number_scan_fast_exponent(p + 1, &scan);
    *ret = scan;
    return p;
}

/* Any text. Sets all of *ret. */
const char *number_scan_any(const char *text, const char *end, struct number_scan *ret);

#endif
