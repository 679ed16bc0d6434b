/* reduce.h: sums of weights over queries, without holding the weights: key_sums and pooled_weights.
 *
 * They need weights that are final, so once all rows of a head know their maximum and denominator, a second sweep computes the
 * scores again. A task is a span of keys of one head with all its queries in order: it owns what it sums up, so the order of
 * the sums is the queries', whatever the threads. A span ends where a column of pooled_weights ends. */
#ifndef ATTND_CORE_ATTENTION_REDUCE_H
#define ATTND_CORE_ATTENTION_REDUCE_H

#include "core/attention/block.h"
#include "core/attention/memory.h"

/* Where cell `cell` of `cells` begins among `count` rows or keys; and the cell that holds number i of them. */
static inline size_t attention_pool_edge(size_t cells, size_t count, size_t cell)
{
    return cell * count / cells;
}

static inline size_t attention_pool_cell(size_t cells, size_t count, size_t i)
{
    return ((i + 1) * cells - 1) / count;
}

/* Adds sums, or largest weights, of keys [key, key + count) to a row of the span's cells. */
void attention_pool_add(const struct attention_plan *plan, const struct attention_span *span, size_t row, const double *columns,
                        size_t key, size_t count);

/* Divides a plan's keys into spans, and takes the memory that is not a worker's; then a worker's. */
void attention_reduce_init(struct attention_plan *plan, struct attention_memory *memory);
void attention_reduce_scratch(struct attention_memory *memory, const struct attention_plan *plan,
                              struct attention_scratch *ret);

/* The second sweep over `heads` query heads, counted b*H + h, whose keys are packed. */
void attention_reduce_run(struct attention_plan *plan, size_t first_head, size_t heads);

/* Zeros where there are no queries. */
void attention_reduce_none(const struct attention_plan *plan);

#endif
