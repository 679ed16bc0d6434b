/* random.h: the numbers torch draws on the CPU after torch.manual_seed(seed).
 *
 * Generator  mt19937 (Matsumoto and Nishimura 1998), seeded with the low 32 bits of the seed.
 * Normals    Box and Muller 1958. 16 and more elements: float32 pairs in blocks of 16, the last block redrawn where the
 *            count is no multiple of 16. Fewer: 53-bit pairs one at a time, the second of a pair cached for the next such draw.
 * Linear     uniform in +-1/sqrt(in), as torch.nn.Linear initialises a weight of [out, in] (He et al. 2015, a = sqrt(5)).
 *
 * Draws are float32 in both precisions, converted for float64: so both see the same inputs. */
#ifndef ATTND_CORE_RANDOM_H
#define ATTND_CORE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/executor.h"
#include "core/tensor.h"

#define RANDOM_STATE_WORDS 624

struct random {
    uint32_t state[RANDOM_STATE_WORDS];
    size_t next; /* index into state; RANDOM_STATE_WORDS: all used */
    double cached_normal;
    bool has_cached_normal;
};

void random_init(struct random *random, uint64_t seed);
uint32_t random_u32(struct random *random);

/* torch.randn(shape). `ret` is contiguous, float32 or float64. The executor takes no part in the draw, which is one sequence, but in
 * what makes normals of it. */
void random_normal(struct random *random, const struct tensor *ret, const struct executor *executor);

/* The initial weight of torch.nn.Linear(in, out, bias=False). `ret` is [out, in], contiguous, float32 or float64. */
void random_linear(struct random *random, const struct tensor *ret);

#endif
