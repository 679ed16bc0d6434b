/* The shortest digits, as shortest.h finds them, of doubles that are written without an exponent; where they go is looked up.
 *
 * A text is "0.00ddddd" or "ddd.dd": its first 16 bytes are digits & before | point | digits shifted by one & after, in a pair of
 * words, stored where the first digit goes. The two last of 17 digits follow. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "api/number/batch.h"
#include "api/number/shortest.h"

/* The fast path is 2^-16 <= |x| < 2^49: the first digit's power of ten is from -5 to 14. Below a power of two the interval is half as
 * wide, but no shorter text, and none that is nearer, is in the missing part of any of these 65. */
#define FAST_MIN ((uint64_t)(1023 - 16) << F64_FRACTION_BITS)
#define FAST_SPAN ((uint64_t)(16 + 49) << F64_FRACTION_BITS)
#define PLACE_MIN (-5)
#define PLACE_END 15

/* ---- Where the digits go ---- */

/* How the doubles whose first digit stands for one power of ten are written. */
struct place {
    uint64_t before[2], point[2],
        after[2];            /* a byte of `before` is a digit in its place, of `after` one that stands one behind it */
    uint8_t start;           /* of the first digit, behind "0.000" */
    uint8_t point_bytes;     /* 1: there is a point among the digits */
    uint8_t last_shift_bits; /* 8: digit 15 is among the first 16 bytes */
    uint8_t text_bytes_min;  /* from the first digit on, with one digit after the point */
};

#define BELOW(n) ((n) <= 0 ? 0 : (n) >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * ((n)&7)) - 1)
#define BYTE(c, n) ((n) < 0 || (n) >= 8 ? 0 : (uint64_t)(c) << 8 * ((n)&7))
/* n digits before the point. */
#define AMONG(n)                                                                                                               \
    {                                                                                                                          \
        {BELOW(n), BELOW((n)-8)}, {BYTE('.', n), BYTE('.', (n)-8)}, {~BELOW((n) + 1), ~BELOW((n)-7)}, 0, 1, 0, (n) + 2         \
    }
/* n zeros between the point and the digits. */
#define BEHIND(n)                                                                                                              \
    {                                                                                                                          \
        {UINT64_MAX, UINT64_MAX}, {0, 0}, {0, 0}, 2 + (n), 0, 8, 0                                                             \
    }

static const struct place places[PLACE_END - PLACE_MIN] = {
    BEHIND(4), BEHIND(3), BEHIND(2), BEHIND(1), BEHIND(0), AMONG(1),  AMONG(2),  AMONG(3),  AMONG(4),  AMONG(5),
    AMONG(6),  AMONG(7),  AMONG(8),  AMONG(9),  AMONG(10), AMONG(11), AMONG(12), AMONG(13), AMONG(14), AMONG(15),
};

/* ---- The digits ---- */

/* For a double of one exponent field: `power` is the negative power of ten of shortest_f64's decimal, `shift` what it shifts by. */
struct scaling {
    int8_t power;
    uint8_t shift;
};

/* -interval_log10 of a negative exponent, that of the integer significand, and power_of_ten_log2 of it, as constants. */
#define POWER(exponent) ((1262611 * -(exponent) + (1 << 22) - 1) / (1 << 22))
#define SCALING(exponent)                                                                                                      \
    {                                                                                                                          \
        POWER(exponent), (exponent) + (POWER(exponent) * 217706 >> 16) + 1                                                     \
    }
#define SCALINGS_5(exponent)                                                                                                   \
    SCALING(exponent), SCALING((exponent) + 1), SCALING((exponent) + 2), SCALING((exponent) + 3), SCALING((exponent) + 4)
static const struct scaling scalings[16 + 49] = {
    SCALINGS_5(-68), SCALINGS_5(-63), SCALINGS_5(-58), SCALINGS_5(-53), SCALINGS_5(-48), SCALINGS_5(-43), SCALINGS_5(-38),
    SCALINGS_5(-33), SCALINGS_5(-28), SCALINGS_5(-23), SCALINGS_5(-18), SCALINGS_5(-13), SCALINGS_5(-8),
};

/* A decimal here has 16 or 17 digits: the gap, 2^-52 of the double or half of that, is 1 to 10 of its units. */
#define SEVENTEEN_DIGITS UINT64_C(10000000000000000)

static inline struct spelling digits_of(uint64_t magnitude)
{
    const struct scaling *scaling = &scalings[(magnitude - FAST_MIN) >> F64_FRACTION_BITS];
    const uint64_t hidden = UINT64_C(1) << F64_FRACTION_BITS;
    const uint64_t significand = (magnitude & (hidden - 1)) | hidden, c = 4 * significand;
    struct power_of_ten power = *power_of_ten(scaling->power);
    power.low++;
    const struct decimal decimal = pick(product_f64(power, (c - 2) << scaling->shift), product_f64(power, c << scaling->shift),
                                        product_f64(power, (c + 2) << scaling->shift), significand & 1, -scaling->power);
    const int seventeen = decimal.significand >= SEVENTEEN_DIGITS;
    return spell_seventeen(decimal.significand * (uint64_t)(10 - 9 * seventeen), decimal.exponent + 15 + seventeen);
}

/* A comma and the double. A sign is written where the comma goes, before the comma is. */
static inline char *write_fast(uint64_t bits, char *out)
{
    const struct spelling spelling = digits_of(bits & (UINT64_MAX >> 1));
    const struct place *place = &places[spelling.exponent - PLACE_MIN];
    const uint64_t digits[2] = {(uint64_t)(unsigned char)spelling.first | spelling.middle << 8,
                                spelling.middle >> 56 | spelling.last << 8};
    const uint64_t shifted[2] = {digits[0] << 8, digits[1] << 8 | digits[0] >> 56};
    const uint64_t text[2] = {(digits[0] & place->before[0]) | place->point[0] | (shifted[0] & place->after[0]),
                              (digits[1] & place->before[1]) | place->point[1] | (shifted[1] & place->after[1])};
    const uint16_t last = (uint16_t)((uint32_t)(spelling.last >> 48) >> place->last_shift_bits);
    const uint64_t sign = bits >> 63;
    char *first = out + 1 + sign;
    memcpy(first, "0.000000", 8);
    first += place->start;
    memcpy(first, text, sizeof text);
    memcpy(first + sizeof text, &last, sizeof last);
    out[sign] = '-';
    out[0] = ',';
    int text_bytes = spelling.count + place->point_bytes;
    return first + (text_bytes > place->text_bytes_min ? text_bytes : place->text_bytes_min);
}

static __attribute__((noinline)) char *write_other(double x, char *out)
{
    *out = ',';
    return number_write_f64(x, out + 1);
}

char *number_batch_write_f64(const double *x, size_t count, char *out)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bool fast = (bits & (UINT64_MAX >> 1)) - FAST_MIN < FAST_SPAN;
        out = fast ? write_fast(bits, out) : write_other(x[i], out);
    }
    return out;
}
