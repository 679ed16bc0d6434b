/* store.h: numbers to results: rounding, and a block's weights to the results that could not take them directly, and to the mean
 * over heads. */
#ifndef ATTND_CORE_ATTENTION_STORE_H
#define ATTND_CORE_ATTENTION_STORE_H

#include "core/attention/block.h"
#include "core/round_to_odd.h"

/* A number of output, weights or scores, as float32 holds it. */
static inline float attention_to_f32(const struct attention_plan *plan, double x)
{
    return plan->results->rounded_again ? round_to_odd(x) : (float)x;
}

/* Sets the element at `at`, in elements from `row`, of such a result. */
static inline void attention_set(const struct attention_plan *plan, const struct tensor *t, void *row, ptrdiff_t at, double x)
{
    if (t->dtype == DTYPE_F32)
        ((float *)row)[at] = attention_to_f32(plan, x);
    else
        ((double *)row)[at] = x;
}

/* Sets the mean of a block's queries, first_query and on, to 0. */
void attention_store_mean_zero(const struct attention_plan *plan, size_t b, size_t first_query, size_t queries);

/* Copies a block's weights ([rows, Tk]; unused where they are in place) to their result, and adds them to the mean. */
void attention_store(const struct attention_plan *plan, const struct attention_block *block, const void *weight_rows);

#endif
