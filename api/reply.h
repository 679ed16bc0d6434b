/* reply.h: what replies say of the conventions that were applied, in every format. */
#ifndef ATTND_API_REPLY_H
#define ATTND_API_REPLY_H

#include "api/job.h"
#include "api/text.h"

/* What the two functions below write together at the most, and the bytes that end them. */
size_t reply_conventions_bytes_max(const struct plan *plan);

void reply_write_applied(struct text *text, const struct job *job);  /* {"scale": ..} */
void reply_write_warnings(struct text *text, const struct job *job); /* [".."] */

#endif
