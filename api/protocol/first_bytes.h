/* first_bytes.h: what a body is that is not what it should be, as its first bytes betray: a file of another kind, a compressed one,
 * an encoding, a form, a command line gone wrong. A body that may be what it should be passes. */
#ifndef ATTND_API_PROTOCOL_FIRST_BYTES_H
#define ATTND_API_PROTOCOL_FIRST_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* Whether the first character that is no white space is '{', as of every request in JSON. */
bool first_bytes_are_json(const char *body, size_t body_bytes);

/* Of a body that is to be read as JSON.
 * Fails   malformed, with what it looks like and what to send instead. */
bool first_bytes_check_json(const char *body, size_t body_bytes, struct error *err) __attribute__((warn_unused_result));

/* Of a body that is to be read as a safetensors file, and cannot be one.
 * Fails   as above; unsupported_media for JSON. */
bool first_bytes_check_safetensors(const char *body, size_t body_bytes, struct error *err) __attribute__((warn_unused_result));

/* What to send instead of a content type that is not read: a sentence, from "; " on; "" where there is nothing to say. Static. */
const char *first_bytes_of_type(const char *content_type);

#endif
