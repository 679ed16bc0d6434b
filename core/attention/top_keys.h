/* top_keys.h: the keys of a row with the largest scores, as they are met. */
#ifndef ATTND_CORE_ATTENTION_TOP_KEYS_H
#define ATTND_CORE_ATTENTION_TOP_KEYS_H

#include "core/attention/plan.h"

struct top_keys {
    double *scores; /* [capacity], falling; ties in the order in which they came */
    int64_t *keys;
    size_t count, capacity;
};

/* Keys come in rising order, so that of ties the lower index stands first. */
void top_keys_insert(struct top_keys *top, double score, size_t key);

/* Writes the row's top_indices and top_weights, exp(score - max) / sum. */
void top_keys_store(const struct attention_plan *plan, size_t b, size_t h, size_t i, const struct top_keys *top, double max,
                    double sum);

#endif
