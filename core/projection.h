/* projection.h: a linear layer over tokens, as torch.nn.Linear computes it.
 *
 *   out[b,t,o] = sum_c x[b,t,c] * weight[o,c] + bias[o]
 *
 * Shapes   x (B,T,C)  weight (O,C)  bias (O)  out (B,T,O), all contiguous and of one dtype
 * Fails    deadline
 * Threads  reentrant. Tiles of fixed size over B and T: the bits of an item don't depend on B or on the executor. Where `row_invariant`
 *          those of a token don't depend on T either: OpenBLAS, which takes another order of sums for other sizes, then has no part
 *          in it, nor has core/precision.h. */
#ifndef ATTND_CORE_PROJECTION_H
#define ATTND_CORE_PROJECTION_H

#include <stdbool.h>

#include "core/error.h"
#include "core/executor.h"
#include "core/tensor.h"

/* `bias` with data NULL: none. */
bool projection_apply(const struct tensor *x, const struct tensor *weight, const struct tensor *bias, bool row_invariant,
                      const struct executor *executor, const struct tensor *ret, struct error *err)
    __attribute__((warn_unused_result));

#endif
