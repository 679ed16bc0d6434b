/* torch_draw.h: the numbers that torch.manual_seed(seed) leads to on the CPU, a second time and apart from core/random.h, so that
 * a test can say what a seeded request computes with. Numbers are float32, held as doubles. */
#ifndef ATTND_TESTS_SUPPORT_TORCH_DRAW_H
#define ATTND_TESTS_SUPPORT_TORCH_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct torch_draw {
    uint32_t words[624];
    size_t used;     /* words handed out since the last twist */
    bool has_second; /* the second of a pair of normal numbers waits */
    double second;
};

void torch_draw_init(struct torch_draw *torch, uint64_t seed);

/* torch.randn: `count` normal numbers. */
void torch_draw_normal(struct torch_draw *torch, size_t count, double *ret);

/* torch.nn.Linear(in, out).weight: out x in numbers. */
void torch_draw_linear(struct torch_draw *torch, size_t out, size_t in, double *ret);

#endif
