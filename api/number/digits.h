/* digits.h: eight decimal digits written at once. */
#ifndef ATTND_API_NUMBER_DIGITS_H
#define ATTND_API_NUMBER_DIGITS_H

#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a word's first character is its lowest byte");

#define DIGITS_ZEROS 0x3030303030303030u /* what makes eight digits characters */

/* The eight digits of v < 10^8, a byte each, the first one in the lowest: split into halves, pairs and digits at once. */
static inline uint64_t digits_eight(uint64_t v)
{
    uint64_t high = v * 0xd1b71759u >> 45; /* v / 10000 */
    uint64_t fours = (v << 32) - high * ((UINT64_C(10000) << 32) - 1);
    uint64_t hundreds = (fours * 10486 >> 20) & 0x0000007f0000007fu;
    uint64_t pairs = (fours << 16) - hundreds * ((100 << 16) - 1);
    uint64_t tens = (pairs * 103 >> 10) & 0x000f000f000f000fu;
    return (pairs << 8) - tens * ((10 << 8) - 1);
}

#endif
