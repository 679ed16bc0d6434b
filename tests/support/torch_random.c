#include "tests/support/torch_random.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/view.h"

#define WORDS 624
#define BLOCK 16

/* Matsumoto and Nishimura 1998: initialisation by one word, as their 2002 version has it. */
void torch_random_init(struct torch_random *torch, uint64_t seed)
{
    uint32_t word = (uint32_t)(seed & 0xffffffffU);
    for (uint32_t k = 0; k < WORDS; k++) {
        if (k > 0)
            word = 1812433253U * (word ^ word >> 30) + k;
        torch->words[k] = word;
    }
    torch->used = WORDS;
    torch->has_second = false;
}

static uint32_t next_word(struct torch_random *torch)
{
    uint32_t *w = torch->words;
    for (size_t k = 0; k < WORDS && torch->used == WORDS; k++) {
        uint32_t joined = (w[k] & 0x80000000U) + (w[(k + 1) % WORDS] & 0x7fffffffU);
        w[k] = w[(k + 397) % WORDS] ^ joined >> 1 ^ (joined % 2) * 0x9908b0dfU;
    }
    torch->used %= WORDS;
    uint32_t y = w[torch->used++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680U;
    y ^= y << 15 & 0xefc60000U;
    return y ^ y >> 18;
}

/* 24 bits of a word, 53 of two. */
static float unit_f32(struct torch_random *torch)
{
    return ldexpf((float)(next_word(torch) % (1U << 24)), -24);
}

static double unit_f64(struct torch_random *torch)
{
    uint64_t first = next_word(torch), second = next_word(torch);
    return ldexp((double)((first << 32 | second) % (UINT64_C(1) << 53)), -53);
}

/* Box and Muller's pairs over a block of 16: the first half of the uniform numbers gives radii, the second angles. */
static void fill_block(const float *units, double *ret)
{
    for (size_t k = 0; k < BLOCK / 2; k++) {
        float radius = sqrtf(-2.0F * logf(1.0F - units[k]));
        float angle = 2.0F * 3.14159265358979F * units[BLOCK / 2 + k];
        ret[k] = (double)(radius * cosf(angle));
        ret[BLOCK / 2 + k] = (double)(radius * sinf(angle));
    }
}

static double one_normal(struct torch_random *torch)
{
    torch->has_second = !torch->has_second;
    if (!torch->has_second)
        return torch->second;
    double angle = 2 * 3.14159265358979323846 * unit_f64(torch);
    double radius = sqrt(-2 * log1p(-unit_f64(torch)));
    torch->second = radius * sin(angle);
    return radius * cos(angle);
}

void torch_random_normal(struct torch_random *torch, size_t count, double *ret)
{
    if (count < BLOCK) {
        for (size_t k = 0; k < count; k++)
            ret[k] = (double)(float)one_normal(torch);
        return;
    }
    float *units = test_alloc(count, sizeof *units);
    for (size_t k = 0; k < count; k++)
        units[k] = unit_f32(torch);
    for (size_t k = 0; k + BLOCK <= count; k += BLOCK)
        fill_block(units + k, ret + k);
    if (count % BLOCK != 0) {
        for (size_t k = 0; k < BLOCK; k++)
            units[k] = unit_f32(torch);
        fill_block(units, ret + count - BLOCK);
    }
    free(units);
}

void torch_random_linear(struct torch_random *torch, size_t out, size_t in, double *ret)
{
    float bound = (float)(1 / sqrt((double)in));
    for (size_t k = 0; k < out * in; k++)
        ret[k] = (double)(unit_f32(torch) * (2 * bound) - bound);
}
