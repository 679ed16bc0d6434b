#include "api/number/scan.h"

/* Written exponents saturate here: beyond the length of any text, whose digits could shift the point back, and far from
 * overflowing an int64. */
#define EXPONENT_MAX 100000000000000000

/* Appends digits to the significand while they fit. */
static const char *take_digits(const char *p, const char *end, struct number_scan *scan)
{
    if (scan->significand == 0)
        while (p < end && *p == '0')
            p++;
    while (end - p >= 8 && scan->digit_count + 8 <= NUMBER_SIGNIFICAND_DIGITS_MAX) {
        uint64_t word = number_load_eight(p);
        if (number_non_digits(word))
            break;
        scan->significand = scan->significand * 100000000 + number_eight_digits(word);
        scan->digit_count += 8;
        p += 8;
    }
    for (; p < end && number_is_digit(*p) && scan->digit_count < NUMBER_SIGNIFICAND_DIGITS_MAX; p++) {
        scan->significand = scan->significand * 10 + (uint64_t)(*p - '0');
        scan->digit_count++;
    }
    return p;
}

/* Skips the digits that did not fit. */
static const char *skip_digits(const char *p, const char *end, struct number_scan *scan)
{
    for (; end - p >= 8; p += 8) {
        uint64_t word = number_load_eight(p);
        if (number_non_digits(word))
            break;
        scan->truncated |= word != 0;
    }
    for (; p < end && number_is_digit(*p); p++)
        scan->truncated |= *p != '0';
    return p;
}

/* `p` is at an 'e'. Returns p where no exponent follows: the number then ends before it. */
static const char *scan_exponent(const char *p, const char *end, struct number_scan *scan)
{
    const char *digit = p + 1;
    bool negative = false;
    if (digit < end && (*digit == '+' || *digit == '-'))
        negative = *digit++ == '-';
    if (digit == end || !number_is_digit(*digit))
        return p;

    int64_t exponent = 0;
    for (; digit < end && number_is_digit(*digit); digit++)
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (*digit - '0');
    scan->exponent += negative ? -exponent : exponent;
    return digit;
}

const char *number_scan_any(const char *text, const char *end, struct number_scan *ret)
{
    struct number_scan scan = {.negative = text < end && *text == '-'};
    const char *p = scan.digits = text + scan.negative;
    if (p == end || !number_is_digit(*p))
        return NULL;

    if (*p == '0') {
        p++;
    } else {
        const char *kept_end = take_digits(p, end, &scan);
        p = skip_digits(kept_end, end, &scan);
        scan.exponent = p - kept_end;
    }
    if (end - p >= 2 && *p == '.' && number_is_digit(p[1])) {
        const char *kept_end = take_digits(p + 1, end, &scan);
        scan.exponent -= kept_end - (p + 1);
        p = skip_digits(kept_end, end, &scan);
    }
    scan.digits_end = p;
    if (p < end && (*p == 'e' || *p == 'E'))
        p = scan_exponent(p, end, &scan);
    *ret = scan;
    return p;
}
