/* evaluation_rope.h: steps of an evaluation: the memory, the numbers and the application of rotary positions.
 *
 * evaluation_rope_read comes after the fields' own numbers are read, since frequencies may depend on positions. */
#ifndef ATTND_API_REQUEST_EVALUATION_ROPE_H
#define ATTND_API_REQUEST_EVALUATION_ROPE_H

#include "api/request/evaluation.h"

bool evaluation_rope_allocate(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
    __attribute__((warn_unused_result));

/* Fails   invalid: a position that no table holds, an angle that a double does not hold accurately, numbers out of range. */
bool evaluation_rope_read(struct evaluation *evaluation, struct error *err) __attribute__((warn_unused_result));

/* Rotates queries and new keys, in place. */
void evaluation_rope_apply(const struct evaluation *evaluation);

#endif
