/* reply.h: the JSON of a computed job.
 *
 *   {"output": .., "weights": .., (what "return" named) .., "applied": {..}, "warnings": [..]} */
#ifndef ATTND_API_REPLY_H
#define ATTND_API_REPLY_H

#include "api/job.h"

/* What reply_write writes at the most. SIZE_MAX where it overflows. */
size_t reply_bytes_max(const struct plan *plan);

/* Writes to job->text, returns the number of bytes. */
size_t reply_write(const struct job *job);

#endif
