/* reply.h: what replies say of the conventions that were applied, in every format. */
#ifndef ATTND_API_PROTOCOL_ATTENTION_WRITE_H
#define ATTND_API_PROTOCOL_ATTENTION_WRITE_H

#include "api/json/writer.h"
#include "api/request/evaluation.h"

/* What the two functions below write together at the most, and the bytes that end them. */
size_t reply_conventions_bytes_max(const struct plan *plan);

void reply_write_applied(struct text *text, const struct evaluation *evaluation);  /* {"scale": ..} */
void reply_write_warnings(struct text *text, const struct evaluation *evaluation); /* [".."] */

#endif
