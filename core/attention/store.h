/* store.h: a block's weights to the results that could not take them directly, and to the mean over heads. */
#ifndef ATTND_CORE_ATTENTION_STORE_H
#define ATTND_CORE_ATTENTION_STORE_H

#include "core/attention/block.h"

/* Sets the mean of a block's queries, first_query and on, to 0. */
void attention_store_mean_zero(const struct attention_plan *plan, size_t b, size_t first_query, size_t queries);

/* Copies a block's weights ([rows, Tk]; unused where they are in place) to their result, and adds them to the mean. */
void attention_store(const struct attention_plan *plan, const struct attention_block *block, const void *weight_rows);

#endif
