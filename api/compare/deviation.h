/* deviation.h: what implementations do and no request can say. A variant carries one of these beside its request; its rows are
 * then finished here, in double, from the scores that core computes.
 *
 * Zero means: as attnd does. */
#ifndef ATTND_API_COMPARE_DEVIATION_H
#define ATTND_API_COMPARE_DEVIATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/number/element_type.h"

enum deviation_softmax { SOFTMAX_OVER_KEYS, SOFTMAX_OVER_QUERIES, SOFTMAX_MISSING };
enum deviation_masked_rows { MASKED_ROWS_ZERO, MASKED_ROWS_MEAN, MASKED_ROWS_NAN };

/* A causal mask that the request does not say, which then has none. The prefix and the spans that it was asked with stay visible. */
enum deviation_causal {
    CAUSAL_AS_ASKED,
    CAUSAL_FROM_TOP_LEFT,     /* query i sees key j where j <= i, of all tokens, or within each packed sequence */
    CAUSAL_FROM_BOTTOM_RIGHT, /* where j <= i + keys - queries */
    CAUSAL_STRICT,            /* where its position is less than the query's */
};

/* How heads and tokens share memory. */
enum deviation_merge {
    MERGE_TRANSPOSED, /* [B,H,T,D] is transposed to [B,T,H,D] */
    MERGE_VIEWED,     /* the memory is taken as it is: view or reshape where a transpose belongs */
    MERGE_INTERLEAVED /* feature d * H + h instead of h * D + d */
};

struct deviation {
    /* Inputs, once they are projected. */
    bool rope_own; /* queries or keys are rotated by positions other than the request's, or not at all */
    bool rope_query_missing, rope_key_missing;
    int64_t rope_query_shift, rope_key_shift;
    enum deviation_merge heads_split; /* of query, key and value; MERGE_TRANSPOSED or MERGE_VIEWED */
    bool heads_tiled;                 /* query head h reads key head h mod Hkv */

    /* Masks. */
    enum deviation_causal causal;
    bool left_padded; /* the request has no key lengths: the last key_lengths[b] keys are there */

    /* From scores to output. */
    bool softcap_last; /* the request has no softcap: what softmax sees is capped, masks and all */
    double softcap;
    enum deviation_softmax softmax;
    bool softmax_uniform_columns; /* over queries: a key that no query may see weighs the same everywhere, not NaN */
    enum deviation_masked_rows masked_rows;
    double lse_factor; /* 0: 1 */
    bool lse_unscaled;
    enum deviation_merge output_merge;

    /* Rounding: ELEMENT_F64 rounds nothing. */
    enum element_type round_inputs, round_scores, round_weights, round_output;
};

/* True where core's scores are finished here. */
static inline bool deviation_finishes(const struct deviation *d)
{
    return d->causal != CAUSAL_AS_ASKED || d->left_padded || d->softcap_last || d->softmax != SOFTMAX_OVER_KEYS ||
           d->masked_rows != MASKED_ROWS_ZERO || (d->lse_factor != 0 && d->lse_factor != 1) || d->lse_unscaled ||
           d->round_scores != ELEMENT_F64 || d->round_weights != ELEMENT_F64 || d->round_output != ELEMENT_F64;
}

#endif
