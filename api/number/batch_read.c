/* Each number's text between commas is normalised to 16 digits, and up to 16 more: from its first digit on, padded with zeros, without
 * the point. Multiply-adds make integers of eight digits of them.
 *
 * float32: the double that the first two integers give is off by a few units in its last place, which changes the float32 it rounds
 * to only near the midpoint between two. Such numbers, and all that do not fit 16 digits, are left to number_read_f32.
 * float64: 19 digits fit 64 bits, and nearest.h rounds them. */
#include "api/number/batch.h"

#ifdef __SSE2__
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "api/number/nearest.h"

#define ALWAYS_INLINE __attribute__((always_inline))

/* No byte of a number further from its start is looked at: a blank, a sign, a point, two vectors of digits. */
#define LOOKED_AT_BYTES 48

/* A text larger than the caches takes a third less time with this. */
#define PREFETCH_BYTES 1024

/* X for each length that a number may have if a comma follows it within 32 bytes. */
#define UP_TO_31(X)                                                                                                            \
    X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10), X(11), X(12), X(13), X(14), X(15), X(16), X(17), X(18), \
        X(19), X(20), X(21), X(22), X(23), X(24), X(25), X(26), X(27), X(28), X(29), X(30), X(31)

/* Byte i is 0xff where i < n. */
#define ONES(n, i) ((n) > (i) ? 0xff : 0)
#define FIRST_BYTES(n)                                                                                                         \
    {                                                                                                                          \
        ONES(n, 0), ONES(n, 1), ONES(n, 2), ONES(n, 3), ONES(n, 4), ONES(n, 5), ONES(n, 6), ONES(n, 7), ONES(n, 8),            \
            ONES(n, 9), ONES(n, 10), ONES(n, 11), ONES(n, 12), ONES(n, 13), ONES(n, 14), ONES(n, 15)                           \
    }
#define FIRST_DIGITS(n)                                                                                                        \
    {                                                                                                                          \
        FIRST_BYTES(n), FIRST_BYTES((n)-16)                                                                                    \
    }

static const uint8_t first_bytes[32][16] __attribute__((aligned(16))) = {UP_TO_31(FIRST_BYTES)};
static const uint8_t first_digits[32][2][16] __attribute__((aligned(16))) = {UP_TO_31(FIRST_DIGITS)};

/* The powers of ten of the two integers, by the number of digits before the point; negative where that is off the fast path. */
#define NONE                                                                                                                   \
    {                                                                                                                          \
        -1, -1                                                                                                                 \
    }
static const double powers[32][2] __attribute__((aligned(16))) = {
    NONE,        {1e-7, 1e-15}, {1e-6, 1e-14}, {1e-5, 1e-13}, {1e-4, 1e-12}, {1e-3, 1e-11}, {1e-2, 1e-10}, {1e-1, 1e-9},
    {1e0, 1e-8}, {1e1, 1e-7},   {1e2, 1e-6},   {1e3, 1e-5},   {1e4, 1e-4},   {1e5, 1e-3},   {1e6, 1e-2},   {1e7, 1e-1},
    {1e8, 1e0},  NONE,          NONE,          NONE,          NONE,          NONE,          NONE,          NONE,
    NONE,        NONE,          NONE,          NONE,          NONE,          NONE,          NONE,          NONE,
};

/* What the first digit may not be, by the same number: '0' where other digits follow it before the point. */
#define ZERO_FORBIDDEN(n) ((n) > 1 ? '0' : '\0')
static const char forbidden[32] = {UP_TO_31(ZERO_FORBIDDEN)};

static inline __m128i load(const void *bytes)
{
    return _mm_loadu_si128(bytes);
}

static inline uint32_t equal(__m128i bytes, char c)
{
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)));
}

/* The two integers of 16 digits, a byte each, in its lower half: neighbours are combined into pairs, fours and eights. */
static inline __m128i eights(__m128i digits)
{
    __m128i pairs = _mm_srli_epi16(_mm_mullo_epi16(digits, _mm_set1_epi16(10 << 8 | 1)), 8);
    __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
    return _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
}

/* Whether the double is so close to a midpoint that the exact number may round to another float32.
 *
 * The three roundings and the powers' own errors are less than 4 units in the last place (ulp, at least 2^-53 of the double).
 * Digits beyond the 16th are less than 10^-15: 9 ulp where the integer part's first digit is not 0; else the number must be at
 * least 2^-9, and they are less than 4612 ulp. */
#define NEAR_ULPS 8192
#define MIDPOINT 0x10000000u                        /* in the 29 bits that float32 does not have */
#define SMALLEST_TRUNCATED_BITS 0x3f60000000000000u /* 2^-9 */
static inline bool in_doubt(uint64_t bits, size_t digit_count)
{
    uint64_t smallest = digit_count > 16 ? SMALLEST_TRUNCATED_BITS : 0;
    return ((uint32_t)bits & (2 * MIDPOINT - 1)) - (MIDPOINT - NEAR_ULPS) < 2 * NEAR_ULPS ||
           (bits - smallest) >> 63 != 0; /* below the smallest */
}

/* A number's text, taken apart. */
struct parts {
    __m128i digits, rest;              /* the first 16 and those that follow, a byte each */
    size_t integer_count, digit_count; /* before the point; in all */
    uint32_t minus;                    /* its highest bit is set where there is one */
    bool wrong;                        /* what stands between the commas is no number, or has an exponent */
    const char *after;                 /* the comma */
};

/* Returns false where there is no comma near enough. */
static inline ALWAYS_INLINE bool take_apart(const char *at, struct parts *ret)
{
    __m128i begin = load(at);
    uint32_t commas = equal(begin, ',') | equal(load(at + 16), ',') << 16;
    if (commas == 0)
        return false;
    size_t comma = (uint32_t)__builtin_ctz(commas);
    size_t point = (uint32_t)__builtin_ctz(equal(begin, '.') | (commas & -commas)); /* or the comma, where there is none */

    const char *first = at + (*at == ' ');
    ret->minus = ((uint32_t)(unsigned char)*first ^ '-') - 1;
    first += ret->minus >> 31;
    size_t before = (size_t)(first - at);
    ret->integer_count = point - before;
    ret->digit_count = comma - before - (point < comma);

    __m128i digits = load(first + 1), rest = load(first + 17);
    digits = _mm_xor_si128(digits, _mm_and_si128(_mm_xor_si128(digits, load(first)), load(first_bytes[ret->integer_count])));
    ret->digits = _mm_and_si128(_mm_sub_epi8(digits, _mm_set1_epi8('0')), load(first_digits[ret->digit_count][0]));
    ret->rest = _mm_and_si128(_mm_sub_epi8(rest, _mm_set1_epi8('0')), load(first_digits[ret->digit_count][1]));
    __m128i above_nine = _mm_adds_epu8(ret->digits, _mm_set1_epi8(0x80 - 10));
    above_nine = _mm_or_si128(above_nine, _mm_adds_epu8(ret->rest, _mm_set1_epi8(0x80 - 10)));
    ret->wrong = _mm_movemask_epi8(above_nine) != 0 || point + 1 == comma || *first == forbidden[ret->integer_count];
    ret->after = at + comma;
    return true;
}

/* Both return the first byte after the comma; NULL where the number is off the fast path. */
static inline ALWAYS_INLINE const char *read_fast_f32(const char *at, float *ret)
{
    struct parts parts;
    if (!take_apart(at, &parts))
        return NULL;
    __m128d products = _mm_mul_pd(_mm_cvtepi32_pd(eights(parts.digits)), _mm_load_pd(powers[parts.integer_count]));
    double magnitude = products[0] + products[1];
    float nearest = (float)magnitude;
    uint64_t magnitude_bits;
    uint32_t bits;
    memcpy(&magnitude_bits, &magnitude, sizeof magnitude_bits);
    memcpy(&bits, &nearest, sizeof bits);
    bits |= parts.minus & 1u << 31;
    memcpy(ret, &bits, sizeof bits);
    return parts.wrong || in_doubt(magnitude_bits, parts.digit_count) ? NULL : parts.after + 1;
}

#define F64_DIGITS_READ_MAX 19 /* 10^19 < 2^64 */

static inline ALWAYS_INLINE const char *read_fast_f64(const char *at, double *ret)
{
    struct parts parts;
    if (!take_apart(at, &parts))
        return NULL;
    uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights(parts.digits));
    uint64_t third = (uint32_t)_mm_cvtsi128_si32(eights(parts.rest)) / 100000; /* the first three of its digits */
    uint64_t significand = ((uint32_t)both * UINT64_C(100000000) + (both >> 32)) * 1000 + third;
    uint64_t bits;
    if (parts.wrong || parts.digit_count > F64_DIGITS_READ_MAX || parts.integer_count - 1 >= 16 ||
        !number_nearest(significand, (int64_t)parts.integer_count - F64_DIGITS_READ_MAX, &number_format_f64, &bits))
        return NULL;
    bits |= (uint64_t)(parts.minus >> 31) << 63;
    memcpy(ret, &bits, sizeof bits);
    return parts.after + 1;
}

#define READ_ROW(read_fast)                                                                                                    \
    const char *next = *at;                                                                                                    \
    size_t i = 0;                                                                                                              \
    for (; i < count && end - next >= LOOKED_AT_BYTES; i++) {                                                                  \
        __builtin_prefetch(next + PREFETCH_BYTES);                                                                             \
        const char *after = read_fast(next, &ret[i]);                                                                          \
        if (after == NULL)                                                                                                     \
            break;                                                                                                             \
        next = after;                                                                                                          \
    }                                                                                                                          \
    *at = next;                                                                                                                \
    return i

size_t number_batch_read_f32(const char **at, const char *end, size_t count, float *ret)
{
    READ_ROW(read_fast_f32);
}

size_t number_batch_read_f64(const char **at, const char *end, size_t count, double *ret)
{
    READ_ROW(read_fast_f64);
}
#else
/* Without SSE2 there is no fast path. */
size_t number_batch_read_f32(const char **at, const char *end, size_t count, float *ret)
{
    (void)at, (void)end, (void)count, (void)ret;
    return 0;
}

size_t number_batch_read_f64(const char **at, const char *end, size_t count, double *ret)
{
    (void)at, (void)end, (void)count, (void)ret;
    return 0;
}
#endif
