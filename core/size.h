/* size.h: arithmetic on sizes that a client controls. An overflow gives SIZE_MAX, which no limit admits: a cost may be
 * summed up without a check at each step and compared with its limit once. */
#ifndef ATTND_CORE_SIZE_H
#define ATTND_CORE_SIZE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* The first multiple of `unit`, a power of two, that is not below a. */
static inline size_t size_round_up(size_t a, size_t unit)
{
    size_t sum = size_add(a, unit - 1);
    return sum == SIZE_MAX ? SIZE_MAX : sum & ~(unit - 1);
}

static inline size_t size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t size_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Writes a size for an error's text, where an overflow is no number but "2^64 or more". Returns text. */
#define SIZE_TEXT_BYTES_MAX 24
static inline char *size_text(size_t size, char text[SIZE_TEXT_BYTES_MAX])
{
    (void)snprintf(text, SIZE_TEXT_BYTES_MAX, size == SIZE_MAX ? "2^64 or more" : "%zu", size);
    return text;
}

#endif
