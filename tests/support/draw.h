/* draw.h: the tests' own random numbers, so that a failing case is named by its seed alone.
 *
 * splitmix64 (Steele, Lea and Flood 2014). Independent of core/random.h, which is itself under test. */
#ifndef ATTND_TESTS_SUPPORT_DRAW_H
#define ATTND_TESTS_SUPPORT_DRAW_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct draw {
    uint64_t state;
};

static inline uint64_t draw_u64(struct draw *draw)
{
    uint64_t z = draw->state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* Uniform over low .. high, both included. */
static inline size_t draw_size(struct draw *draw, size_t low, size_t high)
{
    return low + (size_t)(draw_u64(draw) % (high - low + 1));
}

static inline int64_t draw_integer(struct draw *draw, int64_t low, int64_t high)
{
    return low + (int64_t)(draw_u64(draw) % (uint64_t)(high - low + 1));
}

/* Uniform over [0, 1). */
static inline double draw_unit(struct draw *draw)
{
    return (double)(draw_u64(draw) >> 11) * 0x1p-53;
}

static inline bool draw_chance(struct draw *draw, double probability)
{
    return draw_unit(draw) < probability;
}

/* Mean 0, variance 1 (Box and Muller 1958; the second of each pair is thrown away). */
static inline double draw_normal(struct draw *draw)
{
    const double two_pi = 6.283185307179586;
    double radius = sqrt(-2 * log(1 - draw_unit(draw)));
    return radius * cos(two_pi * draw_unit(draw));
}

#endif
