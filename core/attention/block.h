/* block.h: rows of scores that are computed together, over their keys. Written once, block.inc.h, for each precision. */
#ifndef ATTND_CORE_ATTENTION_BLOCK_H
#define ATTND_CORE_ATTENTION_BLOCK_H

#include "core/attention/plan.h"

/* Queries of one head, or of several heads that share a key head. Row r is query first_query + r % queries of head `head` + r /
 * queries. */
struct attention_block {
    const struct attention_sequence_plan *sequence;
    size_t b, g, head; /* item, key head, first query head */
    size_t first_query, queries;
    size_t rows;               /* <= QUERY_TILE */
    size_t key_begin, key_end; /* the keys that some row of the block may see by rule */
};

/* Of sequence s. */
void attention_block_init(const struct attention_plan *plan, size_t s, size_t g, size_t head, size_t queries,
                          size_t first_query, size_t rows, struct attention_block *ret);

/* True where no result wants the block: none of its rows is selected, nothing but weights and scores is asked for, and the rules
 * alone tell how many of its rows have every key masked, `ret_masked`. */
bool attention_block_is_unselected(const struct attention_plan *plan, const struct attention_block *block, size_t *ret_masked);

/* Keys [first, end) of one head, over which the second sweep sums up the weights of all queries: struct attention_results'
 * key_sums, and the cells of pooled_weights that lie in the span. */
struct attention_span {
    size_t first, end;
    size_t column;    /* the first of pooled_weights */
    double *key_sums; /* [end - first]; NULL: not wanted */
    double *cells;    /* [pool_rows, span_columns]; NULL: not wanted */
};

/* One precision's functions. */
struct attention_block_functions {
    /* A unit's tile of keys and values, from key `first` on, into the plan's panels. */
    void (*pack)(struct attention_plan *plan, size_t unit, size_t first);

    /* A block over all its keys, to results. */
    void (*run)(struct attention_plan *plan, const struct attention_block *block, const struct attention_scratch *scratch);

    /* The second sweep: adds the weights of a block of one head, whose row_norms are known, to a span. */
    void (*reduce)(struct attention_plan *plan, const struct attention_block *block, const struct attention_scratch *scratch,
                   const struct attention_span *span);

    /* A block over the keys [first, end) alone, leaving its softmax state in `state`, state_bytes large. */
    void (*run_split)(struct attention_plan *plan, const struct attention_block *block, const struct attention_scratch *scratch,
                      void *state, size_t first, size_t end);
    size_t state_bytes;

    /* The states of all splits, merged in order, to results. */
    void (*merge_splits)(struct attention_plan *plan, void *const *states, size_t count);
};

/* Of the plan's precision. */
const struct attention_block_functions *attention_block_functions(const struct attention_plan *plan);

#endif
