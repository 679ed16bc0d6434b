/* evaluation_bias.h: biases and the queries' own scales: memory, numbers, and where a call of attention finds them. */
#ifndef ATTND_API_REQUEST_EVALUATION_BIAS_H
#define ATTND_API_REQUEST_EVALUATION_BIAS_H

#include "api/request/evaluation.h"

bool evaluation_bias_allocate(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
    __attribute__((warn_unused_result));

/* Sets the members of evaluation->params. */
void evaluation_bias_set(struct evaluation *evaluation);

/* Checks the bias, whose numbers are read already, and reads the others. */
bool evaluation_bias_read(struct evaluation *evaluation, struct error *err) __attribute__((warn_unused_result));

#endif
