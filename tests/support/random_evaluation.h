/* random_evaluation.h: a drawn request evaluated in double, stage by stage, each the plain way; attention by the oracle. */
#ifndef ATTND_TESTS_SUPPORT_RANDOM_EVALUATION_H
#define ATTND_TESTS_SUPPORT_RANDOM_EVALUATION_H

#include "tests/support/oracle.h"
#include "tests/support/random_request.h"

/* What is promised of numbers whose terms add up to no more than MAGNITUDE_FREE; above it the bound grows in proportion, as
 * rounding does. */
#define TOLERANCE_F32 2e-6
#define TOLERANCE_F64 2e-14
#define MAGNITUDE_FREE 4.0

/* A (B,count,tokens,width) tensor, and how far off each number may be. */
struct heads {
    size_t count, tokens, width;
    double *values, *allowed; /* owned */
};

struct heads heads_new(const struct random_request *c, size_t count, size_t tokens, size_t width);
void heads_done(struct heads *heads);

/* Moves numbers from the request's order, in which the reply is, too, to heads first; or `back`. */
void heads_rearrange(const struct random_request *c, const struct heads *heads, double *request, double *own, bool back);

struct evaluation {
    const struct random_request *c;
    double unit;                       /* TOLERANCE_ of the precision */
    struct heads query, key, value;    /* the new tokens' */
    struct heads all_keys, all_values; /* past and new */
    double *slopes;                    /* [H]; NULL: none */
    double *mask;                      /* (B,H,Tq,Tk), added; NULL: none */
    unsigned char *keeps;              /* (B,H,Tq,Tk); NULL: none */
    size_t *key_lengths;               /* [B]; NULL: none */
    int64_t *query_offsets;            /* [B] */
    struct oracle_results oracle;
};

void evaluation_init(struct evaluation *e, const struct random_request *c);
void evaluation_done(struct evaluation *e);

/* How far off a sum may be whose terms add up to `magnitude` in absolute value. */
double evaluation_bound(const struct evaluation *e, double magnitude);

/* tokens * weight^T + bias of the projection, and how far off each may be. */
void evaluation_project(const struct evaluation *e, const double *tokens, size_t token_count, enum random_request_name weight,
                        double *ret, double *ret_allowed);

#endif
