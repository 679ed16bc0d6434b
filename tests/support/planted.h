/* planted.h: what other implementations would answer: a request with one convention of POST /attention/compare planted, evaluated
 * the naive way (request_oracle.h), without core.
 *
 *   planted.c         each convention by name: in the request's JSON, or in what follows
 *   planted_attend.c  what no request can say, as loops in double */
#ifndef ATTND_TESTS_SUPPORT_PLANTED_H
#define ATTND_TESTS_SUPPORT_PLANTED_H

#include <jansson.h>
#include <stdbool.h>

#include "tests/support/draw.h"
#include "tests/support/request_oracle.h"

/* What no request can say. Zero: nothing. */
struct planted {
    json_t *request;                     /* owned: with what a request can say */
    int64_t query_shift, key_shift;      /* of RoPE's positions */
    bool unrotated_query, unrotated_key; /* the request has no rope: only the other is rotated */
    json_t *rope;                        /* owned: of the two above */
    bool packed_inputs, packed_output;   /* heads interleaved */
    bool viewed_inputs, viewed_output;   /* [B,T,H*D] viewed as [B,H,T,D], and back */
    bool mask_scaled;                    /* the mask is added before the scale, which stays what it is from then on */
    bool tiled;                          /* query head h reads key head h mod Hkv */
    int64_t *last_keys;   /* owned, [Tq]: a causal mask of its own: query i sees keys up to last_keys[i], by index */
    size_t *left_lengths; /* owned: keys of each item, at its end */
    double softcap;       /* > 0: after the masks */
    bool over_queries, no_softmax;
    char masked_rows; /* 'm': the mean; 'n': NaN */
    double lse_factor;
    bool lse_unscaled;
};

/* The names in order, every one but "precision"; NULL past the last. */
const char *planted_name(size_t i);

void planted_init(struct planted *ret, json_t *request);
void planted_done(struct planted *planted);

/* Adds a convention. False where this request cannot differ in it. */
bool planted_add(struct planted *planted, const char *name, struct draw *draw);

/* What the other implementation answers; request_answer_done. */
void planted_answer(struct planted *planted, struct request_answer *ret);

/* For planted_answer: the hooks. */
void planted_change_inputs(void *context, struct request_answer *answer);
void planted_attend(void *context, const struct attention_params *params, struct oracle_results *ret);
void planted_change_output(void *context, struct request_answer *answer, double *heads);

#endif
