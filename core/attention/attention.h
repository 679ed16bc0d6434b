/* attention.h: scaled dot-product attention over strided views.
 *
 *   out[b,h,i,:] = sum_j softmax_j(s[b,h,i,j]) * v[b,g,j,:]       (Vaswani et al. 2017, eq. 1)
 *   s[b,h,i,j]   = scale * q[b,h,i,:].k[b,g,j,:]                  g = h / (H/Hkv): grouped heads (Ainslie et al. 2023)
 *
 * The stages of a score, in order: scale, times the query's own; + bias, + the relative bias of c - p; softcap cap*tanh(s/cap);
 * + additive mask; + ALiBi -slope[h]*|p - c| (Press et al. 2022); masks; softmax, with a sink's exp(sink[h]) in the denominator. p is the
 * position of query i, c that of key j (core/positions.h). The key is masked for the query where the boolean mask is 0, the additive mask
 * is -infinity, or a rule says so:
 *   causal             c > p, unless c < prefix_lengths[b], or both are of one span, whose id is not negative
 *   window_left/right  c < p - window_left or c > p + window_right, unless c < num_sink_tokens
 *   chunk_size         c / chunk_size and p / chunk_size differ, rounded down
 *   segments           they are of different segments
 *   sequences          they are of different sequences
 *   key_lengths        j >= key_lengths[b]
 * What no query of a block may see in a tile of keys is not computed.
 *
 * Queries from query_lengths[b] on, and those of a negative segment, are padding: their weights and output are 0 and their lse is
 * -infinity, sinks or not. No query sees a key of a negative segment.
 *
 * What a masked key or its value holds reaches nothing but `scores` and `capped_scores`, the stages before the masks.
 * A row with every key masked gets weights 0, output 0 and lse -infinity (with a sink: the sink). A NaN that is not masked
 * makes its own row NaN, no other. Rows whose float32 scores overflow are computed again in double.
 *
 * Shapes   query (B,H,Tq,D)  key (B,Hkv,Tk,D)  value (B,Hkv,Tk,Dv), any strides; all float32 or all float64
 * Memory   borrows everything; scratch comes from the arena: one packed copy of keys and values, a few bytes for each query, and for
 *          each worker what does not grow with Tq. A worker's part grows with Tk only where weights are asked for. Sums over queries
 *          need a few numbers a row, and pooled weights up to twice their own size for each worker.
 * Fails    no_memory, deadline; the results are then undefined.
 * Threads  reentrant. Tiles have fixed sizes, and sums over queries go in their order: the bits of an item don't depend on B, on
 *          the executor, or on which results are asked for.
 *
 * row_invariant: the bits of a query's row, in every result that has one, depend on the query, on the keys and values that it may see,
 * their indices, counted from the first of the item or sequence, and positions, and on nothing else: not on Tq, Tk, other queries, or
 * what the masked keys hold. Float32 is then computed in float32 whatever its size, and few queries go through packed keys, too. Sums
 * over queries (key_sums, pooled_weights) are of these rows. */
#ifndef ATTND_CORE_ATTENTION_ATTENTION_H
#define ATTND_CORE_ATTENTION_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/error.h"
#include "core/executor.h"
#include "core/positions.h"
#include "core/relative_bias.h"
#include "core/tensor.h"

/* A part of an item that is packed of several: queries [first_query, first_query + queries), and keys likewise. */
struct attention_sequence {
    size_t first_query, queries, first_key, keys;
};

struct attention_params {
    struct tensor query, key, value;
    double scale;               /* finite */
    const double *query_scales; /* [B,Tq], finite: multiply scale; NULL: none */
    size_t query_scale_stride;  /* from item to item: Tq, or 0 where all share the same */
    double softcap;             /* > 0, or 0 for none */
    bool causal;
    int64_t window_left, window_right; /* positions visible before and after the query's; -1: unbounded */
    int64_t num_sink_tokens;           /* positions below it are visible outside of the window; 0: none */
    int64_t chunk_size;                /* 0: none */
    const int64_t *prefix_lengths;     /* one an item, or a sequence; NULL: none */
    struct positions query_positions, key_positions;
    struct token_ids query_segments, key_segments; /* both or neither, and so are spans */
    struct token_ids query_spans, key_spans;
    const struct attention_sequence
        *sequences; /* [sequence_count], in order, all tokens of the only item; NULL: items are not packed */
    size_t sequence_count;
    const size_t *query_lengths; /* [B], each <= Tq; NULL: all Tq */
    const size_t *key_lengths;   /* [B], each <= Tk; NULL: all Tk */
    struct tensor mask; /* (B,H,Tq,Tk), usually broadcast: bool, 1 = may attend, or the inputs' dtype, added; data NULL: none */
    struct tensor bias; /* (B,H,Tq,Tk), usually broadcast: the inputs' dtype, finite; data NULL: none */
    struct relative_bias relative_bias; /* table NULL: none */
    const double *alibi_slopes;         /* [H]; NULL: none */
    const double *sinks;                /* [H]; NULL: none */
    bool lse_base_2;                    /* lse is a logarithm to base 2, else natural */
    bool row_invariant;                 /* see above */
};

/* The part of queries and keys that results with a number for each pair are stored of. No other result depends on it. */
struct attention_selection {
    const size_t
        *head_places; /* [H]: the head's number in the results, SIZE_MAX: none; not of the mean, which is over all heads.
                                * NULL: all, in their order */
    size_t query_first, query_count;
    size_t key_first, key_count;
};

/* Where results go: views of the inputs' dtype, any strides; data NULL where not asked for. */
struct attention_results {
    struct tensor output;        /* (B,H,Tq,Dv) */
    struct tensor weights;       /* (B,H,Tq,Tk) */
    struct tensor mean_weights;  /* (B,Tq,Tk), the mean over H */
    struct tensor scores;        /* (B,H,Tq,Tk), scale * q.k */
    struct tensor capped_scores; /* (B,H,Tq,Tk), after biases and softcap */
    struct tensor masked_scores; /* (B,H,Tq,Tk), what softmax sees; -infinity where masked */
    struct tensor lse;           /* (B,H,Tq), the logarithm of the row's denominator */

    /* Reductions of the weights w, which are never held whole for them. */
    struct tensor key_sums;       /* (B,H,Tk), the sum of w over the queries: how much each key receives */
    struct tensor entropy;        /* (B,H,Tq), -sum_j w*ln(w); a sink is in the denominator alone */
    struct tensor top_indices;    /* (B,H,Tq,k), DTYPE_I64: visible keys by falling score, ties by rising index; -1: no more */
    struct tensor top_weights;    /* (B,H,Tq,k): theirs; 0 where there are no more */
    struct tensor pooled_weights; /* (B,H,m,n), m <= max(Tq,1), n <= max(Tk,1): over rows floor(i*Tq/m) to floor((i+1)*Tq/m) - 1
                                   * and keys likewise, the mean, masked cells counting 0, or the largest */
    bool pool_max;                /* pooled_weights: the largest */

    /* The caller rounds output, weights and scores once more, to a narrower format. Those of them that are computed in double are
     * then rounded to odd (core/round_to_odd.h) where they are stored as float32, so that both roundings give what one would. */
    bool rounded_again;

    /* Of weights, mean_weights and scores, which then have as many heads, queries and keys as it. NULL: all. */
    const struct attention_selection *selection;

    size_t masked_row_count; /* written: rows (b,h,i) with every key masked, padding not counted */
};

/* The most that attention_compute takes of its arena. */
size_t attention_scratch_cost(const struct attention_params *params, const struct attention_results *results,
                              const struct executor *executor);

/* Shapes, dtypes and values are the caller's to check; a mismatch asserts. */
bool attention_compute(const struct attention_params *params, struct attention_results *results, struct arena *arena,
                       const struct executor *executor, struct error *err) __attribute__((warn_unused_result));

#endif
