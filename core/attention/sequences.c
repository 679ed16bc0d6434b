#include "core/attention/sequences.h"

void attention_sequences_init(struct attention_plan *plan)
{
    const struct attention_params *params = plan->params;
    size_t tiles = 0, panels = 0, blocks = 0;
    for (size_t s = 0; s <= plan->sequence_count; s++) {
        struct attention_sequence_plan *sequence = &plan->sequences[s];
        *sequence = (struct attention_sequence_plan){.b = s, .queries = plan->Tq, .keys = plan->Tk};
        if (params->sequences != NULL && s < plan->sequence_count)
            *sequence = (struct attention_sequence_plan){
                .first_query = params->sequences[s].first_query,
                .queries = params->sequences[s].queries,
                .first_key = params->sequences[s].first_key,
                .keys = params->sequences[s].keys,
            };
        sequence->first_tile = tiles;
        sequence->first_panel = panels;
        sequence->first_block = blocks;
        tiles += size_pieces(sequence->keys, KEY_TILE);
        panels += size_pieces(sequence->keys, plan->key_panel);
        blocks += size_pieces(sequence->queries, QUERY_TILE);
    }
}

/* How many panels are in the units before one. */
static size_t panels_before(const struct attention_plan *plan, size_t unit)
{
    const struct attention_sequence_plan *sequence = &plan->sequences[unit / plan->Hkv];
    return sequence->first_panel * plan->Hkv + unit % plan->Hkv * size_pieces(sequence->keys, plan->key_panel);
}

size_t attention_group_end(const struct attention_plan *plan, size_t first)
{
    size_t units = plan->sequence_count * plan->Hkv, step = plan->mean_wanted ? plan->Hkv : 1, end = first + step;
    if (plan->params->sequences == NULL)
        return size_min(first + plan->group_heads, units);
    for (; end < units; end += step) {
        size_t panels = panels_before(plan, end + step) - panels_before(plan, first);
        if (panels > plan->group_panels || (panels > plan->cached_panels && end - first >= plan->group_heads))
            break;
    }
    return end;
}

size_t attention_unit_keys(const struct attention_plan *plan, size_t unit)
{
    if (plan->params->sequences == NULL) /* all are equal */
        return (unit - plan->group_first) * plan->key_panel_count * plan->key_panel;
    return (panels_before(plan, unit) - panels_before(plan, plan->group_first)) * plan->key_panel;
}

size_t attention_tiles_before(const struct attention_plan *plan, size_t unit)
{
    const struct attention_sequence_plan *sequence = &plan->sequences[unit / plan->Hkv];
    return sequence->first_tile * plan->Hkv + unit % plan->Hkv * size_pieces(sequence->keys, KEY_TILE);
}

size_t attention_blocks_before(const struct attention_plan *plan, size_t unit)
{
    const struct attention_sequence_plan *sequence = &plan->sequences[unit / plan->Hkv];
    size_t heads = unit % plan->Hkv * (plan->H / plan->Hkv);
    return sequence->first_block * plan->H + heads * size_pieces(sequence->queries, QUERY_TILE);
}

static size_t first_tile_of(const struct attention_sequence_plan *sequence)
{
    return sequence->first_tile;
}

static size_t first_block_of(const struct attention_sequence_plan *sequence)
{
    return sequence->first_block;
}

/* The last sequence of which, in `heads` heads, no more than `count` come before it. */
static size_t find(const struct attention_plan *plan, size_t first_of(const struct attention_sequence_plan *), size_t heads,
                   size_t count)
{
    size_t low = 0, high = plan->sequence_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (first_of(&plan->sequences[middle]) * heads <= count)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void attention_find_tile(const struct attention_plan *plan, size_t tile, size_t *ret_unit, size_t *ret_tile)
{
    size_t s = find(plan, first_tile_of, plan->Hkv, tile);
    size_t tiles = size_pieces(plan->sequences[s].keys, KEY_TILE), within = tile - plan->sequences[s].first_tile * plan->Hkv;
    *ret_unit = s * plan->Hkv + within / tiles;
    *ret_tile = within % tiles;
}

void attention_find_block(const struct attention_plan *plan, size_t block, size_t heads, size_t *ret_sequence, size_t *ret_head,
                          size_t *ret_block)
{
    size_t s = find(plan, first_block_of, heads, block);
    size_t blocks = size_pieces(plan->sequences[s].queries, QUERY_TILE);
    size_t within = block - plan->sequences[s].first_block * heads;
    *ret_sequence = s;
    *ret_head = within / blocks;
    *ret_block = within % blocks;
}
