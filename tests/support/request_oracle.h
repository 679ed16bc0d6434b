/* request_oracle.h: what POST /attention must answer, evaluated the naive way from the request's JSON.
 *
 * Written from the contract of the fields alone; of api/ it uses nothing. Draws come from torch_random.h, attention itself from
 * oracle.h; the rest (tensor forms, heads, layouts, projections, RoPE, KV cache, mask, offsets) is plain loops in double.
 * The request must be one that is answered: what is wrong with others is for tests/cases to say.
 *
 *   request_oracle_inputs.c   from the JSON to query, key and value by head
 *   request_oracle_reductions.c  what comes of the weights
 *   request_oracle_biases.c   biases, and the queries' own scales
 *   request_oracle_rope.c     rotations and norms of queries and keys
 *   request_oracle.c          the KV cache, attention, the results in the reply's shapes
 *
 * Bounds   each number of a result has its own: 2e-6 in float32 and 2e-14 in float64, for outputs times the largest value, is
 *          what documents promise where the terms of a sum add up to no more than 4; above, it grows in proportion, as rounding
 *          does. What a request gave comes back exactly. */
#ifndef ATTND_TESTS_SUPPORT_REQUEST_ORACLE_H
#define ATTND_TESTS_SUPPORT_REQUEST_ORACLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/attention/attention.h"
#include "tests/support/json_tensor.h"
#include "tests/support/oracle.h"

enum answer_name {
    ANSWER_OUTPUT,
    ANSWER_WEIGHTS,
    ANSWER_MEAN_WEIGHTS,
    ANSWER_SCORES,
    ANSWER_CAPPED_SCORES,
    ANSWER_MASKED_SCORES,
    ANSWER_LSE,
    ANSWER_KEY_SUMS,
    ANSWER_ENTROPY,
    ANSWER_TOP_KEYS, /* its weights; the indices have a place of their own */
    ANSWER_POOLED_WEIGHTS,
    ANSWER_QUERY,
    ANSWER_KEY,
    ANSWER_VALUE,
    ANSWER_X,
    ANSWER_CONTEXT,
    ANSWER_VALUE_CONTEXT,
    ANSWER_PRESENT_KEY,
    ANSWER_PRESENT_VALUE,
    ANSWER_COUNT,
};
extern const char *const answer_names[ANSWER_COUNT];

enum answer_layer { LAYER_KEY, LAYER_QUERY, LAYER_VALUE, LAYER_OUTPUT, LAYER_COUNT }; /* in the order of draws */

struct request_answer {
    json_t *request; /* borrowed */
    bool is_f32;
    bool has_batch, has_heads;
    bool thd;                 /* rank 3 with a head axis: no batch */
    bool rank4, tokens_first; /* the order in memory of query, key and value; without a head axis: tokens first */
    size_t B, H, Hkv, Tq, Tpast, Tnew, Tk, D, Dv;
    int64_t query_offset;                     /* where it is one integer */
    int64_t *query_positions, *key_positions; /* [B,Tq] [B,Tk]; owned */
    size_t sequence_count;                    /* packed; 0: none are */
    struct attention_sequence *sequences;     /* owned, and so are where their queries begin */
    int64_t *sequence_offsets;
    double scale;
    double query_blur, key_blur; /* how far off rotations may be, their angles being rounded */
    double score_blur;           /* and so scores */

    struct json_tensor x, context, value_context;
    struct json_tensor weight[LAYER_COUNT], bias[LAYER_COUNT];
    struct json_tensor query, key, value;          /* [B,H,Tq,D] [B,Hkv,Tnew,D] [B,Hkv,Tnew,Dv] */
    struct json_tensor past_key, past_value;       /* [B,Hkv,Tpast,..] */
    struct json_tensor present_key, present_value; /* [B,Hkv,Tk,..] */
    struct json_tensor mask;                       /* as given */
    bool mask_is_bits;                             /* numbers, all of them 0 or 1, with a 1 */

    struct json_tensor results[ANSWER_COUNT]; /* what the reply may hold, in its shapes */
    struct json_tensor top_indices;
    double *masked_scores; /* owned, [B,H,Tq,Tk] */
    double score_bound;    /* how far off any of them may be */
    size_t masked_row_count;
    const char *draws[10]; /* names, in order */
    size_t draw_count;
};

void request_answer_init(struct request_answer *ret, json_t *request);

/* What another implementation does otherwise; each may be NULL. */
struct request_deviation {
    void *context;
    void (*change_inputs)(void *context, struct request_answer *answer); /* query, key and value by head, and the mask */
    void (*attend)(void *context, const struct attention_params *params, struct oracle_results *ret);
    void (*change_output)(void *context, struct request_answer *answer, double *heads); /* [B,H,Tq,Dv], before a projection */
};

/* The same as that implementation answers. */
void request_answer_deviating(struct request_answer *ret, json_t *request, const struct request_deviation *deviation);
void request_answer_done(struct request_answer *answer);

/* Reads, draws, projects and rotates: everything up to past_value. */
void answer_inputs(struct request_answer *answer);

/* The place in a mask or a bias, broadcast to the weights by NumPy's rules, of number `pair` of [B,H,Tq,Tk]. */
size_t answer_broadcast_at(const struct request_answer *answer, const struct json_tensor *t, size_t pair);

/* bias and relative_bias together, [B,H,Tq,Tk]; query_scale, [B,Tq]. New; NULL where absent. */
double *answer_bias(const struct request_answer *answer);
double *answer_query_scales(const struct request_answer *answer);

/* Sums, entropy, largest and pooled weights. */
void answer_reductions(struct request_answer *answer, const struct attention_params *params, struct oracle_results *oracle);

/* Cuts weights and scores to the part that is selected. */
void answer_select(struct request_answer *answer);

/* True where place k of top_indices may hold `got`: of keys whose scores are within rounding of each other either may come first. */
bool answer_names_key(const struct request_answer *answer, double got, size_t k);

/* How far off a sum may be whose terms add up to `magnitude` in absolute value. */
double answer_bound(const struct request_answer *answer, double magnitude);

/* Elements of a (B,H,T,D) array put from one order to the other. New, of rank 4. */
struct json_tensor answer_reorder(const struct json_tensor *in, const size_t bhtd[4], bool from_tokens_first,
                                  bool to_tokens_first);

/* The linear layer over [.., C]: [.., O]. New. */
struct json_tensor answer_layer(const struct request_answer *answer, const struct json_tensor *x, enum answer_layer layer);

json_t *answer_field(const struct request_answer *answer, const char *name); /* NULL where absent or null */

#endif
