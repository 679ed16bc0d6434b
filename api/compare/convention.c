#include "api/compare/convention.h"

const struct convention conventions[] = {
    {"scale", convention_scale, 6, "other sizes of heads", false},
    {"sequences_missing", convention_sequences_missing, 2, "more sequences than one", false},
    {"causal_corner", convention_causal_corner, 5, "more keys than queries", false},
    {"causal", convention_causal, 5, "more queries than one, and keys after them", false},
    {"mask_polarity", convention_mask_polarity, 1, "a mask that masks some keys of each row and not others", false},
    {"mask_added", convention_mask_added, 4, "a mask that masks some keys of each row and not others", false},
    {"mask_missing", convention_mask_missing, 1, "a mask that masks keys which nothing else masks", false},
    {"mask_transposed", convention_mask_transposed, 1, "a mask that is not symmetric", false},
    {"window_bound", convention_window_bound, 6, "more tokens than the window holds", false},
    {"padding", convention_padding, 2, "items shorter than the longest", false},
    {"masked_rows", convention_masked_rows, 2, "a row with every key masked", false},
    {"layout", convention_layout, 4, "numbers of heads and tokens that differ, and more than one of each", false},
    {"head_packing", convention_head_packing, 3, "more heads than one, of more dimensions than one", false},
    {"head_grouping", convention_head_grouping, 1, "more query heads than key heads, and more of these than one", false},
    {"swapped", convention_swapped, 2, "queries, keys and values that differ", false},
    {"projection_transposed", convention_projection_transposed, 5, "weights that are not symmetric", false},
    {"rope_style", convention_rope_style, 1, "heads of more than two dimensions", false},
    {"rope_base", convention_rope_base, 3, "more tokens", false},
    {"rope_offset", convention_rope_offset, 7, "more tokens, and a cache", false},
    {"rope_missing", convention_rope_missing, 3, "more tokens", false},
    {"rope_scaling", convention_rope_scaling, 2, "more tokens", false},
    {"softcap_order", convention_softcap_order, 1, "a mask of numbers", false},
    {"softcap_missing", convention_softcap_missing, 1, "scores larger than the softcap", false},
    {"sinks_missing", convention_sinks_missing, 1, "larger sinks", false},
    {"bias_missing", convention_bias_missing, 2, "larger biases", false},
    {"query_scale_missing", convention_query_scale_missing, 1, "query scales farther from 1", false},
    {"alibi_missing", convention_alibi_missing, 1, "more tokens", false},
    {"alibi_slopes", convention_alibi_slopes, 3, "another number of heads", false},
    {"alibi_sign", convention_alibi_sign, 1, "more tokens", false},
    {"softmax_axis", convention_softmax_axis, 2, "numbers of queries and keys that differ", false},
    {"softmax_missing", convention_softmax_missing, 1, "more keys than one", false},
    {"lse_base", convention_lse_base, 3, "more keys", false},
    {"lse_unscaled", convention_lse_unscaled, 1, "another scale", false},
    {"seed_order", convention_seed_order, 11, "the drawn tensors themselves, given as data", false},
    {"precision", convention_precision, 7, "inputs of more digits", true},
};
const size_t convention_count = sizeof conventions / sizeof *conventions;

void convention_names(const char *ret[CONVENTIONS_MAX + 1])
{
    _Static_assert(sizeof conventions / sizeof *conventions <= CONVENTIONS_MAX, "the list of names holds every convention");
    for (size_t i = 0; i < convention_count; i++)
        ret[i] = conventions[i].name;
    ret[convention_count] = NULL;
}
