/* size.h: arithmetic on sizes that a client controls. An overflow gives SIZE_MAX, which no limit admits: a cost may be
 * summed up without a check at each step and compared with its limit once. */
#ifndef ATTND_CORE_SIZE_H
#define ATTND_CORE_SIZE_H

#include <stddef.h>
#include <stdint.h>

static inline size_t size_add(size_t a, size_t b)
{
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

static inline size_t size_multiply(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

/* How many pieces of b, the last one perhaps not full, make a. b > 0. */
static inline size_t size_pieces(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

static inline size_t size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t size_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

#endif
