/* request.h: a request as the client wrote it: every field decoded and checked by itself, tensors not yet read, fields not yet
 * compared with each other (plan_resolve.h does that).
 *
 * Memory   borrows the extract and the arena. */
#ifndef ATTND_API_REQUEST_REQUEST_H
#define ATTND_API_REQUEST_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "api/request/rope_request.h"
#include "api/request/tensor_input.h"

/* Tensors by name. x to value are in the order in which a seed draws them. */
enum request_tensor {
    REQUEST_X,
    REQUEST_CONTEXT,
    REQUEST_VALUE_CONTEXT,
    REQUEST_KEY,
    REQUEST_QUERY,
    REQUEST_VALUE,
    REQUEST_PAST_KEY,
    REQUEST_PAST_VALUE,
    REQUEST_MASK,
    REQUEST_BIAS,
    REQUEST_TENSORS,
};

/* Projections, in the order in which a seed draws them. */
enum request_projection {
    PROJECTION_KEY,
    PROJECTION_QUERY,
    PROJECTION_VALUE,
    PROJECTION_OUTPUT,
    PROJECTIONS,
};

/* What a reply may hold, in the order in which it holds them. */
enum request_result {
    RESULT_OUTPUT,
    RESULT_WEIGHTS,
    RESULT_MEAN_WEIGHTS,
    RESULT_SCORES,
    RESULT_CAPPED_SCORES,
    RESULT_MASKED_SCORES,
    RESULT_LSE,
    RESULT_KEY_SUMS,
    RESULT_ENTROPY,
    RESULT_TOP_KEYS,
    RESULT_POOLED_WEIGHTS, /* the last of attention's own */
    RESULT_QUERY,
    RESULT_KEY,
    RESULT_VALUE,
    RESULT_X,
    RESULT_CONTEXT,
    RESULT_VALUE_CONTEXT,
    RESULT_PRESENT_KEY,
    RESULT_PRESENT_VALUE,
    RESULTS,
};

/* Fields that hold integers. */
enum request_integers {
    INTEGERS_QUERY_OFFSET,
    INTEGERS_QUERY_LENGTHS,
    INTEGERS_KEY_LENGTHS,
    INTEGERS_QUERY_POSITIONS,
    INTEGERS_KEY_POSITIONS,
    INTEGERS_PREFIX_LENGTH,
    INTEGERS_QUERY_SEGMENTS, /* from here on pairs: of queries, and next of keys */
    INTEGERS_KEY_SEGMENTS,
    INTEGERS_QUERY_SPANS,
    INTEGERS_KEY_SPANS,
    INTEGERS_QUERY_BOUNDARIES,
    INTEGERS_KEY_BOUNDARIES,
    REQUEST_INTEGERS,
};

/* How many integers such a field holds. */
enum integers_axis {
    INTEGERS_PER_ITEM,        /* [B], or one integer where there is no batch axis */
    INTEGERS_ONE_OR_PER_ITEM, /* one integer for all items, or [B]; for all packed sequences, or one each */
    INTEGERS_PER_QUERY,       /* [Tq] for all items, or [B,Tq] */
    INTEGERS_PER_KEY,         /* [Tk] for all items, or [B,Tk]; the past included */
    INTEGERS_BOUNDARIES,      /* [sequences + 1], from 0 to the number of tokens */
};

struct integers_field {
    const char *name;
    const char *part; /* "query" or "key", of a pair; else NULL */
    enum integers_axis axis;
    int64_t min; /* from it up to REQUEST_POSITION_MAX; lengths: up to the number of tokens */
};
extern const struct integers_field request_integers_fields[REQUEST_INTEGERS];

struct integers_input {
    bool given;
    bool is_list;
    bool shared;   /* of keys: the queries' list stands for both */
    int64_t value; /* where it is no list */
    struct tensor_input list;
};

enum request_layout { LAYOUT_BHTD, LAYOUT_BTHD, LAYOUT_THD, LAYOUTS };
enum request_causal { CAUSAL_FALSE, CAUSAL_TRUE, CAUSAL_TOP_LEFT, CAUSAL_BOTTOM_RIGHT, CAUSALS };

/* The names by value, NULL-terminated. */
extern const char *const request_tensor_names[REQUEST_TENSORS + 1];
extern const char *const request_projection_names[PROJECTIONS + 1];
extern const char *const request_result_names[RESULTS + 1];
extern const char *const request_layout_names[LAYOUTS + 1];
extern const char *const request_causal_names[CAUSALS + 1];

#define REQUEST_POSITION_MAX (INT64_C(1) << 53) /* of positions and windows: exact in a double, and sums of them fit */
#define REQUEST_HEADS_MAX INT32_MAX
#define REQUEST_SELECT_HEADS_MAX 128
#define REQUEST_BUCKETS_MAX 65536
#define REQUEST_TOP_MAX 1024 /* keys of a row in top_keys: finding them takes time that grows with their square */

/* Normalisation of queries and keys. */
struct qk_norm_request {
    bool query, key;
    struct tensor_input query_weights, key_weights; /* [D], or [H*D] over all heads together; absent: 1 */
    bool l2;                                        /* else rms */
    bool after_rope;
    double eps;
};

/* T5's biases by distance. */
struct relative_bias_request {
    bool given, has_bidirectional;
    bool bidirectional;
    int64_t max_distance;
    struct tensor_input table; /* [buckets,H] */
};

/* "select": the part of queries and keys that weights and scores are stored of. */
struct request_select {
    bool given, has_heads, has_queries, has_keys;
    size_t head_count;
    int32_t heads[REQUEST_SELECT_HEADS_MAX]; /* in the order of the reply */
    int64_t queries[2], keys[2];             /* half-open */
};

struct request {
    struct tensor_input tensors[REQUEST_TENSORS];
    struct tensor_input weights[PROJECTIONS];
    struct tensor_input biases[PROJECTIONS];
    bool has_projection, identity;

    bool has_head_size, has_num_heads, has_num_kv_heads;
    int64_t head_size, num_heads, num_kv_heads;
    enum request_layout layout;

    enum request_causal causal;
    struct integers_input integers[REQUEST_INTEGERS];
    bool mask_drops;                     /* boolean true means masked */
    int64_t window_left, window_right;   /* -1: unbounded */
    int64_t num_sink_tokens, chunk_size; /* 0: none */

    bool has_scale;
    double scale;
    double softcap;                  /* 0: none */
    struct tensor_input query_scale; /* [Tq] or [B,Tq] */
    struct relative_bias_request relative_bias;
    bool alibi;                       /* the paper's slopes, unless given */
    struct tensor_input alibi_slopes; /* [H] */
    struct tensor_input sinks;        /* [H] */
    bool has_lse_base, lse_base_2;    /* else natural logarithms */
    struct rope_request rope;
    bool has_qk_norm;
    struct qk_norm_request qk_norm;

    bool has_seed;
    uint64_t seed;
    enum dtype dtype;                 /* DTYPE_F32 or DTYPE_F64 */
    bool has_numerics, row_invariant; /* core/attention/attention.h; else whatever is fastest */

    bool results[RESULTS];
    size_t result_places[RESULTS]; /* of those that are named, in "return" */
    int64_t top;                   /* of top_keys; 0: not given */
    int64_t pool[2];               /* rows and columns of pooled_weights; 0: not given */
    bool pool_max;                 /* else the mean */
    struct request_select select;

    const void *reply; /* for the protocol that read the request: how its reply is to be written */

    /* What only the ONNX operator does. */
    bool cache_heads_first;   /* caches are [B,Hkv,T,D], whatever the layout of query, key and value */
    bool mask_ends_early;     /* a mask may hold fewer keys than there are; the others are masked */
    bool results_narrowed;    /* output, weights and scores are sent in 16 bits */
    bool offset_from_lengths; /* the last query of an item is at its last key: offset = key_lengths[b] - Tq */
};

/* A request without tensors and results, every option at its default. */
void request_init(struct request *ret);

#endif
