/* random_request.h: a request to POST /attention drawn over all its fields together, as JSON text.
 *
 *   struct random_request c;
 *   random_request_init(&c, seed);
 *   ... c.text ...
 *   random_request_done(&c);
 *
 * One seed gives one request, which is always one that is answered; request_oracle.h says how.
 *
 *   random_request.c          which sizes, tensors and projections
 *   random_request_fields.c   all but the tensors of tokens
 *   random_request_rope.c     rotary positions and norms
 *   random_request_json.c     the text */
#ifndef ATTND_TESTS_SUPPORT_RANDOM_REQUEST_H
#define ATTND_TESTS_SUPPORT_RANDOM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/draw.h"
#include "tests/support/request_oracle.h"

/* How a tensor stands in the request. */
enum random_tensor_form {
    FORM_NESTED, /* arrays in arrays */
    FORM_FLAT,   /* shape, and data in one array */
    FORM_SHAPED, /* shape, and data nested */
    FORM_DRAWN,  /* shape alone: the seed draws the numbers */
};

struct random_tensor {
    bool given; /* stands in the request */
    enum random_tensor_form form;
    bool boolean;
    size_t rank, shape[4];
    double *values; /* owned, row-major; NULL: left to the seed, or absent */
};

enum random_tensor_name {
    RANDOM_X,
    RANDOM_CONTEXT,
    RANDOM_VALUE_CONTEXT,
    RANDOM_KEY,
    RANDOM_QUERY,
    RANDOM_VALUE,
    RANDOM_WEIGHT_KEY,
    RANDOM_WEIGHT_QUERY,
    RANDOM_WEIGHT_VALUE,
    RANDOM_WEIGHT_OUTPUT,
    RANDOM_BIAS_KEY,
    RANDOM_BIAS_QUERY,
    RANDOM_BIAS_VALUE,
    RANDOM_BIAS_OUTPUT,
    RANDOM_PAST_KEY,
    RANDOM_PAST_VALUE,
    RANDOM_MASK,
    RANDOM_QUERY_OFFSET, /* one an item */
    RANDOM_QUERY_POSITIONS,
    RANDOM_KEY_POSITIONS,
    RANDOM_QUERY_LENGTHS,
    RANDOM_KEY_LENGTHS,
    RANDOM_PREFIX_LENGTH,
    RANDOM_QUERY_SEGMENTS, /* pairs: where only the first is given it stands for both */
    RANDOM_KEY_SEGMENTS,
    RANDOM_QUERY_SPANS,
    RANDOM_KEY_SPANS,
    RANDOM_QUERY_BOUNDARIES,
    RANDOM_KEY_BOUNDARIES,
    RANDOM_BIAS,
    RANDOM_RELATIVE_TABLE, /* [buckets,H] */
    RANDOM_QUERY_SCALE,
    RANDOM_ALIBI,
    RANDOM_SINKS,
    RANDOM_TENSOR_COUNT,
};

struct random_request {
    char *text; /* owned */
    size_t text_bytes;

    struct random_tensor tensors[RANDOM_TENSOR_COUNT];
    bool from_tokens, identity;
    bool has_batch, has_heads, rank4;
    bool thd;         /* rank 3 with a head axis: as rank 4 without the batch */
    bool heads_first; /* rank 4 tensors are [B,H,T,D] */
    size_t B, H, Hkv, Tq, Tnew, Tpast, D, Dv;
    size_t C, context_C, value_C; /* features of the tokens */
    size_t output_size;           /* features of the output projection, where there is one */

    bool is_f64;          /* precision float64 */
    const char *numerics; /* NULL: left out */
    bool has_seed;
    uint64_t draw_seed; /* the field; the request's own is random_request_init's */
    bool has_head_size, has_num_heads, has_num_kv_heads, has_layout;
    const char *causal; /* as JSON; NULL: left out */
    bool has_query_offset;
    int64_t query_offset;
    const char *mask_semantics; /* NULL: left out */
    bool has_window;
    int64_t window_left, window_right;
    size_t chunk_size, num_sink_tokens; /* 0: left out */
    size_t sequence_count;              /* packed; 0: none are */
    bool has_scale;
    double scale;
    double softcap;                        /* 0: left out */
    const char *lse_base;                  /* NULL: left out */
    const char *alibi;                     /* "true" or "false"; NULL: left out, or the tensor */
    bool has_bidirectional, bidirectional; /* of the relative bias */
    size_t max_distance;                   /* 0: left out */
    char *rope, *qk_norm;                  /* as JSON, owned; NULL: left out */

    bool has_return, wanted[ANSWER_COUNT];
    size_t top;                                    /* 0: left out */
    size_t pool[2];                                /* 0: left out */
    size_t selected_heads[4], selected_head_count; /* 0: left out */
    size_t selected_queries[2], selected_keys[2];  /* start and end; 0: left out */
    const char *pool_by;                           /* NULL: left out */
    const char *format;                            /* NULL: left out */
    int decimals;                                  /* -1: left out */
    const char *tokens;                            /* as JSON; NULL: left out */
};

void random_request_init(struct random_request *c, uint64_t seed);

/* All but the text, which costs most and random_request_write then writes with what is returned. */
struct draw random_request_draw(struct random_request *c, uint64_t seed);
void random_request_done(struct random_request *c);

/* A request's text as JSON: new reference. NaN and the infinities, which jansson refuses and api takes, become strings. */
json_t *random_request_parse(const char *text);

/* The parts of random_request_init that lie in files of their own. */
void random_request_draw_fields(struct random_request *c, struct draw *draw);
void random_request_draw_rope(struct random_request *c, struct draw *draw); /* needs positions and shapes */
void random_request_write(struct random_request *c, struct draw *draw);     /* to c->text */

#endif
