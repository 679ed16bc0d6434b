/* plan.h: a request whose fields have been held against each other: every shape and every convention is settled, nothing is
 * read or computed yet, so what it will cost is known before any memory is taken.
 *
 * Source   design of the fields: README.md; offsets and corners: core/attention/attention.h. */
#ifndef ATTND_API_REQUEST_PLAN_H
#define ATTND_API_REQUEST_PLAN_H

#include "api/request/request.h"

/* How heads lie in query, key, value, output and the caches. Without a head axis it is PLAN_TOKENS_FIRST with one head. */
enum plan_memory {
    PLAN_TOKENS_FIRST, /* [B,T,H,D], and [B,T,H*D] packed */
    PLAN_HEADS_FIRST,  /* [B,H,T,D] */
};

struct plan {
    const struct request *request;
    enum dtype dtype;

    bool from_tokens; /* x and projections, not query, key, value */
    bool has_batch, has_heads;
    bool rank4; /* query, key, value have a head axis of their own */
    enum plan_memory memory;
    enum plan_memory cache_memory; /* of past and present keys and values */

    size_t B, H, Hkv;
    size_t Tq, Tnew, Tpast, Tk; /* Tk = Tpast + Tnew */
    size_t D, Dv;
    size_t C, context_C;                 /* features of x and of what keys and values come from */
    size_t weight_shape[PROJECTIONS][2]; /* [out, in]; out 0 for an output projection that is not applied */

    bool causal;
    int64_t query_offset;
    double scale, softcap; /* as applied: rounded to the precision */
    size_t rope_dims;      /* 0: none */

    struct plan_result {
        size_t rank, shape[4];
    } results[RESULTS]; /* of those that the request could ask for */
};

/* True where the projection is a weight to be read or drawn. */
bool plan_projects(const struct plan *plan, enum request_projection which);

/* True where something other than causal looks at positions. */
bool plan_counts_positions(const struct plan *plan);

/* True where attention sees keys and values that lie in memory of their own: the past's and the new ones behind each other, or
 * the new ones in the order of the cache. */
bool plan_concatenates(const struct plan *plan);

/* The (B,H,Tq,Tk) view of the mask's numbers: it broadcasts to the weights as the reply shapes them. False where it does not. */
bool plan_mask_view(const struct plan *plan, void *data, struct tensor *ret) __attribute__((warn_unused_result));

/* The (B,H,T,D) view of a tensor that lies in a memory order. */
struct tensor plan_heads_view(const struct plan *plan, enum plan_memory memory, void *data, size_t heads, size_t tokens,
                              size_t width);

#endif
