/* torch_random.h: the numbers that torch.manual_seed(seed) leads to on the CPU, for the oracle of seeded requests. Written a second
 * time, without core/random.h, since it is what checks that. Numbers are float32, held as doubles. */
#ifndef ATTND_TESTS_SUPPORT_TORCH_RANDOM_H
#define ATTND_TESTS_SUPPORT_TORCH_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct torch_random {
    uint32_t words[624];
    size_t used;     /* words used since the last twist */
    bool has_second; /* the second of a pair of normal numbers is still to be returned */
    double second;
};

void torch_random_init(struct torch_random *torch, uint64_t seed);

/* torch.randn: `count` normal numbers. */
void torch_random_normal(struct torch_random *torch, size_t count, double *ret);

/* torch.nn.Linear(in, out).weight: out x in numbers. */
void torch_random_linear(struct torch_random *torch, size_t out, size_t in, double *ret);

#endif
