/* norm.h: normalisation of queries or keys, in place, before their scores are taken ("QK-norm").
 *
 *   rms   x / sqrt(mean x^2 + eps) * w      (Zhang and Sennrich 2019)
 *   l2    x / sqrt(sum x^2 + eps) * w
 *
 * over the D dimensions of each head, or with weights for all heads over the H*D dimensions of a token together (OLMo 2).
 *
 * Shapes   t (B,H,T,D), any strides, float32 or float64
 * Accuracy sums and products in double, rounded once.
 * Threads  reentrant. */
#ifndef ATTND_CORE_NORM_H
#define ATTND_CORE_NORM_H

#include <stdbool.h>

#include "core/tensor.h"

struct norm {
    bool l2; /* else rms */
    double eps;
    bool all_heads;
    const double *weights; /* [D], or [H*D] where all_heads, head 0 first; NULL: 1 */
};

void norm_apply(const struct norm *norm, const struct tensor *t);

#endif
