/* finish.h: a slice's rows from core's scores on, in double, where a variant deviates from what a request can say. */
#ifndef ATTND_API_COMPARE_FINISH_H
#define ATTND_API_COMPARE_FINISH_H

#include "api/compare/slice_buffers.h"

/* The masked scores of `count` tokens from `first` on, as the deviation has them. */
void finish_scores(struct slice *slice, const struct variant *variant, size_t first, size_t count);

/* Adds the finished scores of `count` tokens to the sums over queries, variant->column_max and column_sum. */
void finish_columns(struct slice *slice, struct variant *variant, size_t count);

/* Masked scores, weights, their mean, lse and the heads' output. */
void finish_rows(struct slice *slice, const struct variant *variant, size_t first, size_t count);

/* The weights' mean over heads. */
void finish_mean(struct slice *slice, const struct variant *variant, size_t count);

#endif
