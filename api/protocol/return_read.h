/* return_read.h: the fields of POST /attention that say what the reply holds. */
#ifndef ATTND_API_PROTOCOL_RETURN_READ_H
#define ATTND_API_PROTOCOL_RETURN_READ_H

#include <jansson.h>

#include "api/request/request.h"

/* Decode "return", "pool" and "select", each by itself.
 * Fail    invalid, with a pointer to the member. */
bool return_read(const struct extract *extract, const json_t *value, struct request *ret, struct error *err)
    __attribute__((warn_unused_result));
bool return_read_pool(const struct extract *extract, const json_t *value, struct request *ret, struct error *err)
    __attribute__((warn_unused_result));
bool return_read_select(const struct extract *extract, const json_t *value, struct request *ret, struct error *err)
    __attribute__((warn_unused_result));

#endif
