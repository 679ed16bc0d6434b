/* rope_scaling.h: the frequencies of rotary positions, plain and scaled for longer contexts, as model configurations name them.
 *
 *   ret[i] = base^(-2i/dims), the angle of pair i at position 1, then by type
 *     linear        divided by factor                                   (Chen et al. 2023)
 *     dynamic       at a base that grows with the length                (NTK-aware)
 *     yarn          between plain and divided, by a ramp over the pairs (Peng et al. 2023, eq. 17 to 23)
 *     longrope      divided by a factor of each pair's own              (Ding et al. 2024)
 *     llama3        low frequencies divided, middle ones interpolated   (Llama 3.1)
 *     proportional  divided by factor; only the first share of the pairs turn, the others have frequency 0 (Gemma 4)
 *
 * Accuracy double throughout.
 * Threads  reentrant. */
#ifndef ATTND_CORE_ROPE_SCALING_H
#define ATTND_CORE_ROPE_SCALING_H

#include <stdbool.h>
#include <stddef.h>

enum rope_type {
    ROPE_DEFAULT,
    ROPE_LINEAR,
    ROPE_DYNAMIC,
    ROPE_YARN,
    ROPE_LONGROPE,
    ROPE_LLAMA3,
    ROPE_PROPORTIONAL,
    ROPE_TYPES,
};

/* What a type does not use is ignored. */
struct rope_scaling {
    enum rope_type type;
    double factor;                              /* > 0 */
    double original_length;                     /* that the model was trained for, >= 1 */
    double attention_factor;                    /* > 0; 0: what the type implies */
    double beta_fast, beta_slow;                /* yarn: rotations over the original length where its ramp begins and ends */
    bool truncate;                              /* yarn: the ramp's ends are whole pairs */
    double mscale, mscale_all_dim;              /* yarn: > 0; 0: absent */
    double low_factor, high_factor;             /* llama3: rotations over the original length where its ramp ends and begins */
    double share;                               /* proportional: of the pairs that turn */
    const double *short_factors, *long_factors; /* longrope: [dims/2] */
};

/* Writes dims/2 frequencies. `length`: of the sequence, for dynamic and longrope. */
void rope_scaling_frequencies(const struct rope_scaling *scaling, double base, size_t dims, double length, double *ret);

/* What cosines and sines are multiplied by. */
double rope_scaling_attention_factor(const struct rope_scaling *scaling);

/* True where frequencies depend on the length. */
static inline bool rope_scaling_uses_length(const struct rope_scaling *scaling)
{
    return scaling->type == ROPE_DYNAMIC || scaling->type == ROPE_LONGROPE;
}

#endif
