/* evaluation_norm.h: steps of an evaluation: the memory, the weights and the application of qk_norm. */
#ifndef ATTND_API_REQUEST_EVALUATION_NORM_H
#define ATTND_API_REQUEST_EVALUATION_NORM_H

#include "api/request/evaluation.h"

bool evaluation_norm_allocate(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
    __attribute__((warn_unused_result));

/* Fails   invalid: a weight that is not finite. */
bool evaluation_norm_read(struct evaluation *evaluation, struct error *err) __attribute__((warn_unused_result));

/* Normalises queries and new keys, in place. */
void evaluation_norm_apply(const struct evaluation *evaluation);

#endif
