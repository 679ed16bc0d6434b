/* positions.h: where tokens stand, and what they belong to. Every rule that depends on distance or order counts from positions, never from indices: the
 * causal mask, windows, ALiBi, relative biases, RoPE.
 *
 * Queries have one such description and keys another (attention_params). A key's index counts from the first key of its item, the
 * past included; so key i of the new ones is token Tpast + i. Positions may be negative: that does not make them padding.
 *
 *   positions_at(&params->query_positions, b, i)           query i of item b
 *   positions_at(&params->key_positions, b, Tpast + i)     its i-th new key
 *
 * Threads  reentrant. */
#ifndef ATTND_CORE_POSITIONS_H
#define ATTND_CORE_POSITIONS_H

#include <stddef.h>
#include <stdint.h>

struct positions {
    const int64_t *given; /* [B,tokens]: each token's own; NULL: token i of item b stands at first[b] + i */
    size_t item_stride;   /* of `given`: the tokens of an item, or 0 where all items share the same */
    const int64_t *first; /* [B]; NULL: all 0 */
};

/* Positions may be anything an int64_t holds: what lies past its ends is as far away as the ends are. */
static inline int64_t position_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t position_difference(int64_t a, int64_t b)
{
    int64_t difference;
    if (!__builtin_sub_overflow(a, b, &difference))
        return difference;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

/* The position of token i of item b. */
static inline int64_t positions_at(const struct positions *positions, size_t b, size_t i)
{
    if (positions->given != NULL)
        return positions->given[b * positions->item_stride + i];
    return position_add(positions->first == NULL ? 0 : positions->first[b], (int64_t)i);
}

/* A number of each token that says what it belongs to: a segment, a span. */
struct token_ids {
    const int64_t *ids; /* [B,tokens]; NULL: none */
    size_t item_stride; /* as in struct positions */
};

static inline int64_t token_id(const struct token_ids *ids, size_t b, size_t i)
{
    return ids->ids[b * ids->item_stride + i];
}

#endif
