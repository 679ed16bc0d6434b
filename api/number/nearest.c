#include "api/number/nearest.h"

/* Only |power| <= this can make a tie, in either format (see round_close): 5^27 < 2^63. */
#define POWER_TIES_MAX 27

/* A product with a truncated power is less than 2 (in units of `low`) below the exact x. Where half is within that and
 * |power| <= POWER_TIES_MAX, x is exactly half: for power >= 0 the product is exact and even; for power = -n the numerator of
 * x - half over 5^n is a multiple of 2^65, and 5^n < 2^63. Beyond those powers there is no tie: 5^|power| would have to divide
 * one of two integers that are too small. */
enum number_rounding number_round_close(uint64_t significand, int power, uint64_t low, uint64_t rest, uint64_t half)
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
