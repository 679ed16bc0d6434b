/* merge.h: attention over disjoint sets of keys, brought together from the output and the lse of each.
 *
 *   lse[r]   = log sum_p exp(lse_p[r])
 *   out[r,:] = sum_p exp(lse_p[r] - lse[r]) * out_p[r,:]      (Dao 2022, section 3.1; Rabe and Staats 2021)
 *
 * A row whose lse is -Infinity has seen no key: it weighs nothing, whatever its output holds. A row that is so in all parts gets
 * an output of 0 and an lse of -Infinity. Other NaN and infinities go on as in arithmetic.
 *
 * Accuracy in double, in the order of the parts; the bits do not depend on how many threads took part.
 * Threads  reentrant. */
#ifndef ATTND_CORE_MERGE_H
#define ATTND_CORE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/executor.h"
#include "core/tensor.h"

/* Turns lse, (parts, rows) and row-major, into the parts' weights, which sum to 1 over the parts. ret_lse [rows]. `base_2`: both are
 * logarithms to base 2. Returns how many rows have no key in any part. */
size_t merge_weights(double *lse, size_t part_count, size_t row_count, bool base_2, double *ret_lse);

/* Adds a part's output times its weights to `sum`: both (B,H,T,Dv) views in double, weights [B*H*T]. Stops early once the executor
 * is stopped. `executor` may be NULL. */
void merge_add(const struct tensor *output, const double *weights, const struct tensor *sum, const struct executor *executor);

#endif
