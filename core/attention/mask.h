/* mask.h: which keys a query may see. */
#ifndef ATTND_CORE_ATTENTION_MASK_H
#define ATTND_CORE_ATTENTION_MASK_H

#include "core/attention/plan.h"

/* The position of query i of item b among the keys. */
int64_t attention_position(const struct attention_plan *plan, size_t b, size_t i);

/* The keys [*ret_begin, *ret_end) that causal, window and key_lengths leave to query i of item b. */
void attention_visible(const struct attention_plan *plan, size_t b, size_t i, size_t *ret_begin, size_t *ret_end);

/* True where key j is masked for query i by position or by mask. */
bool attention_masked(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j);

#endif
