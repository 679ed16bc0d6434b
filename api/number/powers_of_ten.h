/* powers_of_ten.h: the first 128 bits of each power of ten that a float64 needs, for read.c and write.c.
 *
 *   10^q = (T + t) * 2^(power_of_ten_log2(q) - 127),  2^127 <= T < 2^128,  0 <= t < 1,  T = high * 2^64 + low
 *
 * t is 0 for 0 <= q <= 55. Neither word of any T is all ones, so that T + 1 never carries out of one.
 * scripts/powers_of_ten.py writes the table and proves these claims as it does. */
#ifndef ATTND_API_NUMBER_POWERS_OF_TEN_H
#define ATTND_API_NUMBER_POWERS_OF_TEN_H

#include <stdint.h>

#define POWERS_OF_TEN_MIN (-342) /* reading: 2^64 * 10^-343 is a zero */
#define POWERS_OF_TEN_MAX 324    /* writing: makes the smallest subnormal, 5e-324, an integer */
#define POWERS_OF_TEN_EXACT_MAX 19

__extension__ typedef unsigned __int128 uint128; /* what their products take */

struct power_of_ten {
    uint64_t high, low;
};

extern const struct power_of_ten powers_of_ten[POWERS_OF_TEN_MAX - POWERS_OF_TEN_MIN + 1];
extern const uint64_t powers_of_ten_exact[POWERS_OF_TEN_EXACT_MAX + 1]; /* 10^0 .. 10^19 */

/* POWERS_OF_TEN_MIN <= q <= POWERS_OF_TEN_MAX. */
static inline const struct power_of_ten *power_of_ten(int q)
{
    return &powers_of_ten[q - POWERS_OF_TEN_MIN];
}

/* floor(log2(10^q)), for the same q. */
static inline int power_of_ten_log2(int q)
{
    return (q * 217706) >> 16;
}

#endif
