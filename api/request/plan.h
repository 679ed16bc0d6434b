/* plan.h: a request whose fields fit each other: every shape and every convention is resolved, nothing is read or computed yet;
 * so its cost is known before memory is allocated.
 *
 * Source   offsets and corners: core/attention/attention.h. */
#ifndef ATTND_API_REQUEST_PLAN_H
#define ATTND_API_REQUEST_PLAN_H

#include "api/request/request.h"

/* The order of heads and tokens in query, key, value, output and the caches. Without a head axis: PLAN_TOKENS_FIRST with one
 * head. */
enum plan_layout {
    PLAN_TOKENS_FIRST, /* [B,T,H,D], and [B,T,H*D] packed */
    PLAN_HEADS_FIRST,  /* [B,H,T,D] */
};

struct plan {
    const struct request *request;
    enum dtype dtype;

    bool from_tokens; /* x and projections, not query, key, value */
    bool has_batch, has_heads;
    bool head_axis; /* query, key and value have a head axis of their own: rank 4, or 3 with layout "thd" */
    enum plan_layout layout;
    enum plan_layout cache_layout; /* of past and present keys and values */

    size_t B, H, Hkv;
    size_t sequence_count;      /* packed in the only item (cu_seqlens); 0: none are */
    size_t Tq, Tnew, Tpast, Tk; /* Tk = Tpast + Tnew */
    size_t D, Dv;
    size_t C, context_C, value_C;        /* features of x, and of what keys and what values come from */
    size_t weight_shape[PROJECTIONS][2]; /* [out, in]; out 0 for an output projection that is not applied */

    bool causal;
    int64_t query_offset;
    double scale, softcap; /* as applied: rounded to the precision */

    struct plan_rope {
        size_t dims; /* 0: none */
        double base;
        struct rope_scaling scaling; /* factors of longrope aside */
        double attention_factor;
        size_t frequency_sets; /* 1, or one an item where its length decides; with tables none */
        bool tables, by_token; /* the latter: a row a token, else a row a position */
        size_t table_rows;
        size_t axes; /* of positions */
    } rope;
    bool norm_all_heads[2]; /* of queries, of keys: one norm over all heads of a token */

    /* What weights and scores are stored of: all, unless the request selects. */
    size_t stored_heads, first_query, stored_queries, first_key, stored_keys;

    struct plan_result {
        size_t rank, shape[4];
    } pairs, results[RESULTS]; /* a number for each query and key of each head; and the results, as far as
                                  * the request could ask for them */
};

/* True where the projection is a weight to be read or drawn. */
bool plan_projects(const struct plan *plan, enum request_projection which);

/* The tokens that query, key or value come from. */
enum request_tensor plan_source(const struct plan *plan, enum request_projection which);

/* How many multiplications attention and the projections take, masks and caches aside. SIZE_MAX where it overflows. */
size_t plan_products(const struct plan *plan);

/* True where something other than causal depends on positions. */
bool plan_uses_positions(const struct plan *plan);

/* True where queries and keys are not what the request gives or the projections make of it: they are written in place. */
bool plan_changes_inputs(const struct plan *plan);

/* True where the keys and values that attention sees are copies: the past's and the new ones concatenated, or the new ones in
 * the layout of the cache. */
bool plan_concatenates(const struct plan *plan);

/* The (B,H,Tq,Tk) view of the mask or the bias, broadcast to the weights as the reply shapes them. False where it does not
 * broadcast. */
bool plan_pairs_view(const struct plan *plan, enum request_tensor which, void *data, struct tensor *ret)
    __attribute__((warn_unused_result));

/* The (B,H,T,D) view of a tensor of that layout. */
struct tensor plan_heads_view(const struct plan *plan, enum plan_layout layout, void *data, size_t heads, size_t tokens,
                              size_t width);

#endif
