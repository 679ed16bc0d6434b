/* mask.h: which keys a query may see.
 *
 * Before anything is computed each query gets its row: the range of keys outside of which all are masked by rule (causal, window,
 * lengths), and whether keys inside of it may be masked by rule, too. Where keys stand in order, ranges say it all. */
#ifndef ATTND_CORE_ATTENTION_MASK_H
#define ATTND_CORE_ATTENTION_MASK_H

#include "core/attention/plan.h"

/* Fills plan->rows and plan->items. */
void attention_rows_init(struct attention_plan *plan);

/* Query i of item b. */
static inline const struct attention_row *attention_row_at(const struct attention_plan *plan, size_t b, size_t i)
{
    return &plan->rows[b * plan->Tq + i];
}

/* The keys [*ret_begin, *ret_end) that some of `count` rows may see; none: both 0. */
void attention_rows_range(const struct attention_row *rows, size_t count, size_t *ret_begin, size_t *ret_end);

/* keep[j] = 1 where the rules leave key first + j to query i of item b, else 0. Keys outside of the row's range may be either. */
void attention_row_keeps(const struct attention_plan *plan, size_t b, size_t i, size_t first, size_t count,
                         unsigned char *ret_keep);

/* True where key j is masked for query i by rule or by mask. */
bool attention_masked(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j);

#endif
