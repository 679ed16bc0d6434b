/* exact_row.h: one row at a time in double, for rows whose numbers overflow or are not finite. */
#ifndef ATTND_CORE_ATTENTION_EXACT_ROW_H
#define ATTND_CORE_ATTENTION_EXACT_ROW_H

#include "core/attention/top_keys.h"

/* Writes the row's results but for its weights, which go to `ret_weights` (contiguous, of plan->weights_dtype; NULL: not
 * wanted). `top` is memory for the row's largest weights. */
void exact_row(const struct attention_plan *plan, size_t b, size_t h, size_t i, void *ret_weights, struct top_keys *top);

/* One weight of a row whose maximum and denominator are known. */
double exact_weight(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j, double max, double sum);

/* The output alone, of a row whose scores are finite: the other results then don't depend on whether it is asked for. */
void exact_row_output(const struct attention_plan *plan, size_t b, size_t h, size_t i);

/* scale * q.k of one pair, and what biases and softcap make of such a score. */
double exact_score(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j);
double exact_capped_score(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j, double score);

#endif
