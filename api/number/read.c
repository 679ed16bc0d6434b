#include "api/number/read.h"

#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/number/nearest.h"
#include "api/number/powers_of_ten.h"
#include "api/number/scan.h"

/* The fast path is one straight line of code: what it calls is inlined, what it leaves to others is not. */
#define NEVER_INLINE __attribute__((noinline))

/* The midpoint between two float64 has at most 768 significant digits in decimal: of a longer text it only matters whether any
 * digit but 0 follows. */
#define FALLBACK_DIGITS_MAX 800
#define FALLBACK_BYTES_MAX (FALLBACK_DIGITS_MAX + 16)

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

NUMBER_INLINE bool nearest_truncated(const struct number_scan *scan, const struct number_format *format, uint64_t *ret_bits)
{
    uint64_t above;
    return number_nearest(scan->significand, scan->exponent, format, ret_bits) &&
           (!scan->truncated || (number_nearest(scan->significand + 1, scan->exponent, format, &above) && above == *ret_bits));
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
    if (nearest_truncated(&scan, &number_format_f32, &magnitude)) {
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
    if (nearest_truncated(&scan, &number_format_f64, &magnitude)) {
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
    if (!after || !number_nearest(scan.significand, scan.exponent, &number_format_f32, &magnitude))
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
    if (!after || !number_nearest(scan.significand, scan.exponent, &number_format_f64, &magnitude))
        return read_any_f64(text, end, ret);
    store_f64(magnitude, scan.negative, ret);
    return after;
}
