/* convention.h: the conventions that implementations differ in, one row a name.
 *
 * A convention has choices, numbered from 0. Each changes a variant of the request: its fields where a field says it, else its
 * deviation; and says so in the variant's sentence and patch. A new convention is a row in convention.c and its function.
 *
 *   convention_scores.c      scale, softcap, softmax, lse, sinks, biases, rounding
 *   convention_causal.c      causal, its corner
 *   convention_masks.c       mask, window, padding, packed sequences, rows with every key masked
 *   convention_inputs.c      layouts, heads, projections, draws
 *   convention_positions.c   RoPE, ALiBi */
#ifndef ATTND_API_COMPARE_CONVENTION_H
#define ATTND_API_COMPARE_CONVENTION_H

#include "api/compare/variant.h"

/* Changes the variant. False where the choice does not exist for it or is what it does anyway; the variant is then spoilt. */
typedef bool convention_function(struct variant *variant, size_t choice);

struct convention {
    const char *name;
    convention_function *apply;
    size_t choices;
    const char *tells; /* what input would tell it from another: "a request with .." */
    bool rounds;       /* explains rounding: held against its own error, not against the tolerance */
};

extern const struct convention conventions[];
extern const size_t convention_count;

/* The names, NULL-terminated. */
#define CONVENTIONS_MAX 48
void convention_names(const char *ret[CONVENTIONS_MAX + 1]);

convention_function convention_scale, convention_softcap_order, convention_softcap_missing, convention_softmax_axis,
    convention_softmax_missing, convention_lse_base, convention_lse_unscaled, convention_sinks_missing, convention_bias_missing,
    convention_query_scale_missing, convention_precision;
convention_function convention_causal, convention_causal_corner, convention_mask_polarity, convention_mask_added,
    convention_mask_missing, convention_mask_transposed, convention_window_bound, convention_padding,
    convention_sequences_missing, convention_masked_rows;
convention_function convention_layout, convention_head_packing, convention_head_grouping, convention_swapped,
    convention_projection_transposed, convention_seed_order;
convention_function convention_rope_style, convention_rope_base, convention_rope_offset, convention_rope_missing,
    convention_rope_scaling, convention_alibi_missing, convention_alibi_sign, convention_alibi_slopes;

#endif
