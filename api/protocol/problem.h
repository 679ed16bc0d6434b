/* problem.h: an error as application/problem+json (RFC 9457):
 *
 *   {"type": "urn:attnd:problem:invalid", "title": "Unprocessable Content", "status": 422, "detail": "..",
 *    "pointer": "/key", "limit": {"name": "max-body", "value": 1048576}} */
#ifndef ATTND_API_PROTOCOL_PROBLEM_H
#define ATTND_API_PROTOCOL_PROBLEM_H

#include <stddef.h>

#include "core/error.h"

/* The HTTP status of a code. */
int problem_status(enum error_code code);

/* Seconds after which the same request may succeed; 0 where it will not. */
int problem_retry_after_s(enum error_code code);

/* Writes to the buffer (PROBLEM_BYTES_MAX bytes are enough for any error), returns the number of bytes. */
size_t problem_write(const struct error *err, char *buffer, size_t buffer_bytes);

#endif
