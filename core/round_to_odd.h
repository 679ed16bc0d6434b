/* round_to_odd.h: a double as a float32 whose last bit is 1 wherever it is not exact.
 *
 * A second rounding to a format at least two bits narrower then gives what one rounding of the double would have.
 *
 * Source   Boldo and Melquiond 2008, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd". */
#ifndef ATTND_CORE_ROUND_TO_ODD_H
#define ATTND_CORE_ROUND_TO_ODD_H

#include <stdint.h>
#include <string.h>

static inline float round_to_odd(double x)
{
    float nearest = (float)x;
    if (x != x || (double)nearest == x)
        return nearest;
    uint32_t bits;
    memcpy(&bits, &nearest, sizeof bits);
    double magnitude = x < 0 ? -x : x, rounded = (double)(x < 0 ? -nearest : nearest);
    if (rounded > magnitude) /* rounded away from zero: step back, so that the odd neighbour is below or above alike */
        bits -= 1;
    bits |= 1U;
    memcpy(&nearest, &bits, sizeof nearest);
    return nearest;
}

#endif
