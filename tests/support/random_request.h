/* composed.h: a request to POST /attention drawn over all its fields together, as JSON text and as what it means.
 *
 *   struct composed c;
 *   random_request_init(&c, seed);
 *   ... c.text ...
 *   random_request_expect(&c, &expected);
 *
 * One seed gives one request. What it means is evaluated in double, from README's words on the fields, with the oracle for
 * attention itself; nothing here comes from api. */
#ifndef ATTND_TESTS_SUPPORT_RANDOM_REQUEST_H
#define ATTND_TESTS_SUPPORT_RANDOM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/draw.h"

/* How a tensor stands in the request. */
enum random_request_form {
    FORM_NESTED, /* arrays in arrays */
    FORM_FLAT,   /* shape, and data in one array */
    FORM_SHAPED, /* shape, and data nested */
    FORM_DRAWN,  /* shape alone: the seed's numbers */
    FORMS,
};

struct random_request_tensor {
    bool given; /* stands in the request */
    enum random_request_form form;
    bool boolean;
    size_t rank, shape[4];
    double *values; /* owned, row-major; NULL: there is no such tensor */
};

/* Tensors, then projections, each in the order in which a seed draws them. */
enum random_request_name {
    COMPOSED_X,
    RANDOM_CONTEXT,
    COMPOSED_KEY,
    COMPOSED_QUERY,
    COMPOSED_VALUE,
    COMPOSED_WEIGHT_KEY,
    COMPOSED_WEIGHT_QUERY,
    COMPOSED_WEIGHT_VALUE,
    COMPOSED_WEIGHT_OUTPUT,
    COMPOSED_DRAWABLE, /* how many the seed may draw */
    COMPOSED_BIAS_KEY = COMPOSED_DRAWABLE,
    COMPOSED_BIAS_QUERY,
    COMPOSED_BIAS_VALUE,
    COMPOSED_BIAS_OUTPUT,
    COMPOSED_PAST_KEY,
    COMPOSED_PAST_VALUE,
    COMPOSED_MASK,
    COMPOSED_KEY_LENGTHS,
    COMPOSED_ALIBI,
    COMPOSED_SINKS,
    COMPOSED_TENSORS,
};

enum random_request_result {
    GIVES_OUTPUT,
    GIVES_WEIGHTS,
    GIVES_MEAN_WEIGHTS,
    GIVES_SCORES,
    GIVES_CAPPED_SCORES,
    GIVES_MASKED_SCORES,
    GIVES_LSE,
    GIVES_QUERY,
    GIVES_KEY,
    GIVES_VALUE,
    GIVES_X,
    GIVES_CONTEXT,
    GIVES_PRESENT_KEY,
    GIVES_PRESENT_VALUE,
    GIVES,
};

extern const char *const random_request_result_names[GIVES];

struct random_request {
    uint64_t seed; /* of the request, not the field */
    char *text;    /* owned: the request */
    size_t text_bytes;

    struct random_request_tensor tensors[COMPOSED_TENSORS];
    bool from_tokens, identity;
    bool has_batch, has_heads, rank4;
    bool heads_first; /* rank 4 tensors are [B,H,T,D] */
    size_t B, H, Hkv, Tq, Tnew, Tpast, D, Dv;
    size_t C, context_C; /* features of the tokens */
    size_t output_size;  /* features of the output projection, where there is one */

    bool wide; /* precision float64 */
    bool has_seed;
    uint64_t draw_seed;
    bool has_head_size, has_num_heads, has_num_kv_heads, has_layout;
    const char *causal; /* as JSON; NULL: left out */
    bool has_query_offset;
    int64_t query_offset;       /* as it holds, given or not */
    const char *mask_semantics; /* NULL: left out */
    bool has_window;
    int64_t window_left, window_right;
    bool has_scale;
    double scale;      /* as it holds, given or not */
    double softcap;    /* 0: left out */
    const char *alibi; /* "true" or "false"; NULL: left out, or the tensor */
    bool has_rope, rope_half, has_rope_base, has_rope_dims;
    double rope_base;
    size_t rope_dims;

    bool has_return, wanted[GIVES];
    const char *format; /* NULL: left out */
    int decimals;       /* -1: left out */
};

void random_request_init(struct random_request *c, uint64_t seed);
void random_request_done(struct random_request *c);

/* random_fields.c: draws all but the tensors of tokens. */
void random_request_draw_fields(struct random_request *c, struct draw *draw);

/* random_json.c: writes the request to c->text. */
void random_request_write(struct random_request *c, struct draw *draw);

/* What one tensor of the reply must hold. */
struct random_request_wanted {
    size_t rank, shape[4];
    double *values;  /* owned */
    double *allowed; /* owned: how far off each may be */
};

struct random_expected {
    struct random_request_wanted results[GIVES]; /* values NULL where the request cannot have it */
    size_t masked_row_count;
    bool mask_looks_boolean;
};

/* random_expected.c: evaluates the request. */
void random_request_expect(const struct random_request *c, struct random_expected *ret);
void random_expected_done(struct random_expected *expected);

#endif
