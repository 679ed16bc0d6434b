/* rope_read.h: the field "rope" of POST /attention, and in it `scaling`: a rope_scaling or rope_parameters of a Hugging Face
 * configuration as it stands there. */
#ifndef ATTND_API_PROTOCOL_ROPE_READ_H
#define ATTND_API_PROTOCOL_ROPE_READ_H

#include <jansson.h>

#include "api/request/rope_request.h"

/* Decodes each member by itself.
 * Fails   invalid, with a pointer to the member. */
bool rope_read(const struct extract *extract, const json_t *value, struct rope_request *ret, struct error *err)
    __attribute__((warn_unused_result));

#endif
