/* request_oracle_rope.h: what rope and qk_norm make of queries and new keys, evaluated the naive way from the request's JSON. */
#ifndef ATTND_TESTS_SUPPORT_REQUEST_ORACLE_ROPE_H
#define ATTND_TESTS_SUPPORT_REQUEST_ORACLE_ROPE_H

#include "tests/support/request_oracle.h"

struct rope_answer {
    bool present, tables;
    size_t dims;
    double base, attention_factor;
    bool per_item;       /* each item has its own length */
    size_t sets;         /* 1, or B */
    double *lengths;     /* owned; [sets] */
    double *frequencies; /* owned; [sets, dims/2]; NULL: tables */
};

/* Rotates and normalises answer->query and answer->key in place, in the order asked for. */
void answer_change_inputs(struct request_answer *answer);

/* What the reply should say of "rope"; the inputs must have been read. */
void rope_answer_init(struct rope_answer *ret, const struct request_answer *answer);
void rope_answer_done(struct rope_answer *rope);

#endif
