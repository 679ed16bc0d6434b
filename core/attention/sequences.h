/* sequences.h: the sequences that a call computes one by one: its items, or the parts that an item is packed of (FlashAttention's
 * varlen). A sequence's queries see its own keys alone, and its tiles begin at its first key.
 *
 * Key head g of sequence s is unit s*Hkv + g. Units go in groups whose packed keys and values stay in the caches. */
#ifndef ATTND_CORE_ATTENTION_SEQUENCES_H
#define ATTND_CORE_ATTENTION_SEQUENCES_H

#include "core/attention/plan.h"
#include "core/size.h"

/* Fills plan->sequences, all but what rows tell. */
void attention_sequences_init(struct attention_plan *plan);

/* Keys at positions below it are visible to all queries of the sequence; INT64_MIN: there is no such rule. */
static inline int64_t attention_prefix_length(const struct attention_plan *plan, const struct attention_sequence_plan *sequence)
{
    const int64_t *lengths = plan->params->prefix_lengths;
    return lengths == NULL ? INT64_MIN : lengths[sequence - plan->sequences];
}

/* The unit behind the last of the group that begins with `first`. */
size_t attention_group_end(const struct attention_plan *plan, size_t first);

/* How many keys one head's panels have room for. */
static inline size_t attention_panel_keys(const struct attention_plan *plan, const struct attention_sequence_plan *sequence)
{
    return size_pieces(sequence->keys, plan->key_panel) * plan->key_panel;
}

/* Where a unit's keys are in its group's panels, in keys. */
size_t attention_unit_keys(const struct attention_plan *plan, size_t unit);

/* How many tiles of keys, and blocks of queries over all heads, are in the units before one. */
size_t attention_tiles_before(const struct attention_plan *plan, size_t unit);
size_t attention_blocks_before(const struct attention_plan *plan, size_t unit);

/* The tile'th of all tiles: its unit, and its number there. */
void attention_find_tile(const struct attention_plan *plan, size_t tile, size_t *ret_unit, size_t *ret_tile);

/* The block'th of all blocks of `heads` heads: its sequence, head and number there. */
void attention_find_block(const struct attention_plan *plan, size_t block, size_t heads, size_t *ret_sequence, size_t *ret_head,
                          size_t *ret_block);

#endif
