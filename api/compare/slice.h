/* slice.h: a variant's results for some of its tokens: every item and head of the queries [first, first + count).
 *
 * Scores are core's; where the variant deviates from what a request can say, the rest is computed here (finish.h), in double.
 *
 * Shapes   stages (B,H,n,Tk), mean_weights (B,n,Tk), lse (B,H,n), output (B,H,n,Dv), or (B,n,O) where it is projected;
 *          row-major float64
 * Memory   a slice has its buffers from an arena, for its largest n; core's scratch comes from one of its own each time. */
#ifndef ATTND_API_COMPARE_SLICE_H
#define ATTND_API_COMPARE_SLICE_H

#include "api/compare/slice_buffers.h"

/* What slice_init allocates, and core's scratch besides. */
size_t slice_cost(const struct plan *plan, const struct executor *executor);

/* Buffers for slices of the plan's variants, `wanted` by result. */
bool slice_init(struct slice *ret, const struct plan *plan, const bool wanted[RESULTS], const struct executor *executor,
                struct arena *arena, struct error *err) __attribute__((warn_unused_result));

/* How many tokens of the prepared variant fit; 0 where not even one does. */
size_t slice_capacity(const struct slice *slice, const struct variant *variant);

/* Computes `count` tokens, at most slice_capacity.
 * Fails   no_memory, deadline. */
bool slice_compute(struct slice *slice, struct variant *variant, size_t first, size_t count, struct error *err)
    __attribute__((warn_unused_result));

#endif
