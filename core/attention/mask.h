/* mask.h: which keys a query may see, rules and mask together. */
#ifndef ATTND_CORE_ATTENTION_MASK_H
#define ATTND_CORE_ATTENTION_MASK_H

#include "core/attention/plan.h"

/* True where key j is masked for query i by rule (visible.h) or by mask. */
bool attention_masked(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j);

#endif
