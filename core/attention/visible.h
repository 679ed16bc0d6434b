/* visible.h: which keys each query may see by rule: causal, windows, chunks, segments, sequences, lengths.
 *
 * Before anything is computed each query gets its row: the range of keys outside of which all are masked, and whether keys inside of it
 * may be masked, too. Where keys stand in order and segments lie in one piece, ranges say it all. Where not, a tile of keys is left
 * out if its positions and ids show that no row of a block can see one of them. */
#ifndef ATTND_CORE_ATTENTION_VISIBLE_H
#define ATTND_CORE_ATTENTION_VISIBLE_H

#include "core/attention/plan.h"

/* Fills plan->sequences, plan->rows and plan->summaries. */
void attention_visible_init(struct attention_plan *plan);

/* Query i of item b. */
static inline const struct attention_row *attention_row_at(const struct attention_plan *plan, size_t b, size_t i)
{
    return &plan->rows[b * plan->Tq + i];
}

/* The keys [*ret_begin, *ret_end) that some of `count` rows may see; none: both 0. */
void attention_rows_range(const struct attention_row *rows, size_t count, size_t *ret_begin, size_t *ret_end);

/* keep[j] = 1 where the rules leave key first + j to query i of item b, else 0, for keys within the row's range. */
void attention_row_keeps(const struct attention_plan *plan, size_t b, size_t i, size_t first, size_t count,
                         unsigned char *ret_keep);

/* True where query i of item b, whose row is by_key, can see none of the keys in the tile that key j of its sequence is in;
 * where it sees all of them, *ret_all is set. */
bool attention_row_misses(const struct attention_plan *plan, size_t b, size_t i, size_t j, bool *ret_all);

#endif
