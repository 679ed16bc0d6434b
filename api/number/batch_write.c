/* The shortest digits, as Giulietti 2021 defines them (see write.c), of floats for which one product is enough.
 *
 * A float32 on the fast path is c * 2^q, c its significand of 24 bits. Of the powers of ten let P be the one with P / 10 <= 2^q
 * < P. In units of P the float is c * gap, where gap = 2^q / P is 10^n * 2^q with n > 0, exact in 32 bits after the binary
 * point: so the product is exact too, its integer part has at most eight digits, and the place of the decimal point among them
 * is known before they are. All that reads back as the float is within gap / 2 of the product. If an integer is, its eight
 * digits are the text; if not, the fraction, rounded to a ninth digit, follows them. The interval's ends are never integers:
 * 10^n * 2^(q - 1) has too few factors of two. Below a power of two the interval is half as wide, but none of the floats here
 * has an integer, or its ninth digit, in the missing part. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "api/number/batch.h"
#include "api/number/digits.h"
#include "api/number/shortest.h"

/* The fast path is 2^-16 <= |x| < 2^20. */
#define FIELD_MIN (127 - 16) /* of the exponent */
#define FIELD_END (127 + 20)
#define FAST_MIN ((uint32_t)FIELD_MIN << F32_FRACTION_BITS)
#define FAST_SPAN ((uint32_t)(FIELD_END - FIELD_MIN) << F32_FRACTION_BITS)

/* ---- Where the digits go ---- */

/* How the floats of one exponent field are written: "0.00dddddddde", or with the point among the digits as in "ddd.ddddde". The
 * text's first eight bytes are digits & before | point | digits << shift_bits & after, with the digits in a word. */
struct place {
    uint64_t before, after, point;
    uint32_t gap;           /* in 1 / 2^32 */
    uint8_t shift_bits;     /* of the digits after the point: 8 for each character before them that is not a digit */
    uint8_t ninth;          /* where e is */
    uint8_t text_bytes_min; /* with one digit after the point */
    uint8_t may_skip;       /* the first d is left out if it is 0 */
};

#define BELOW(n) ((UINT64_C(1) << 8 * (n)) - 1)
#define GAP(field, power) ((uint32_t)((UINT64_C(power) << ((field)-FIELD_MIN)) >> (F32_BIAS - FIELD_MIN - 32)))
#define AMONG(field, power, n)                                                                                                 \
    {                                                                                                                          \
        BELOW(n), ~BELOW(n) << 8, (uint64_t)'.' << 8 * (n), GAP(field, power), 8, 9, (n) + 2, (n) > 1                          \
    }
#define BEHIND(field, power, zeros)                                                                                            \
    {                                                                                                                          \
        0, UINT64_MAX, 0x3030303030302e30u & BELOW(2 + (zeros)), GAP(field, power), 8 * (2 + (zeros)), 10 + (zeros), 0, 0      \
    }

static const struct place places[FIELD_END - FIELD_MIN] = {
    BEHIND(111, 100000000000, 3),
    BEHIND(112, 100000000000, 3),
    BEHIND(113, 100000000000, 3),
    BEHIND(114, 10000000000, 2),
    BEHIND(115, 10000000000, 2),
    BEHIND(116, 10000000000, 2),
    BEHIND(117, 1000000000, 1),
    BEHIND(118, 1000000000, 1),
    BEHIND(119, 1000000000, 1),
    BEHIND(120, 1000000000, 1),
    BEHIND(121, 100000000, 0),
    BEHIND(122, 100000000, 0),
    BEHIND(123, 100000000, 0),
    AMONG(124, 10000000, 1),
    AMONG(125, 10000000, 1),
    AMONG(126, 10000000, 1),
    AMONG(127, 1000000, 2),
    AMONG(128, 1000000, 2),
    AMONG(129, 1000000, 2),
    AMONG(130, 1000000, 2),
    AMONG(131, 100000, 3),
    AMONG(132, 100000, 3),
    AMONG(133, 100000, 3),
    AMONG(134, 10000, 4),
    AMONG(135, 10000, 4),
    AMONG(136, 10000, 4),
    AMONG(137, 1000, 5),
    AMONG(138, 1000, 5),
    AMONG(139, 1000, 5),
    AMONG(140, 1000, 5),
    AMONG(141, 100, 6),
    AMONG(142, 100, 6),
    AMONG(143, 100, 6),
    AMONG(144, 10, 7),
    AMONG(145, 10, 7),
    AMONG(146, 10, 7),
};

/* ---- The digits ---- */

struct digits {
    uint64_t eight, ninth;
};

static inline struct digits shortest(uint32_t bits, uint64_t gap)
{
    uint64_t hidden = UINT64_C(1) << F32_FRACTION_BITS;
    uint64_t product = ((bits & (hidden - 1)) | hidden) * gap;
    uint64_t tenths = (product & UINT32_MAX) * 10;
    uint64_t ninth = (tenths + (UINT32_MAX >> 1) + (tenths >> 32 & 1)) >> 32; /* ties to even */
    product += gap / 2;
    uint64_t none_inside = (gap - (product & UINT32_MAX)) >> 63;
    return (struct digits){digits_eight(product >> 32), ninth & -none_inside};
}

/* A comma and the float. A sign, or a digit 0 that is left out, is written where the comma goes, before the comma is. */
static inline char *write_fast(uint32_t bits, char *out)
{
    const struct place *place = &places[(bits >> F32_FRACTION_BITS & 0xff) - FIELD_MIN];
    struct digits digits = shortest(bits, place->gap);
    unsigned sign = bits >> 31, skip = place->may_skip & ((digits.eight & 0xf) == 0);
    uint64_t eight = digits.eight | DIGITS_ZEROS;
    uint64_t first = (eight & place->before) | place->point | (eight << place->shift_bits & place->after);
    char *text = out + 1 + sign - skip;
    memcpy(text + place->ninth - sizeof eight, &eight, sizeof eight);
    text[place->ninth] = (char)('0' | digits.ninth);
    memcpy(text, &first, sizeof first);
    out[sign] = '-';
    out[0] = ',';
    /* The last digit that is not 0 has the highest bit set; the ninth's bits are right above the others'. */
    unsigned highest = 63 ^ (unsigned)__builtin_clzll(digits.eight | digits.ninth << 60);
    unsigned text_bytes = (highest + 12) / 8 + place->ninth - (unsigned)sizeof eight;
    return text + (text_bytes > place->text_bytes_min ? text_bytes : place->text_bytes_min);
}

static __attribute__((noinline)) char *write_other(float x, char *out)
{
    *out = ',';
    return number_write_f32(x, out + 1);
}

char *number_batch_write_f32(const float *x, size_t count, char *out)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bool fast = (bits & (UINT32_MAX >> 1)) - FAST_MIN < FAST_SPAN;
        out = fast ? write_fast(bits, out) : write_other(x[i], out);
    }
    return out;
}
