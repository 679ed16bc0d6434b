/* conventions.h: what replies say, in every format, of the conventions that were applied. */
#ifndef ATTND_API_PROTOCOL_CONVENTIONS_H
#define ATTND_API_PROTOCOL_CONVENTIONS_H

#include "api/json/writer.h"
#include "api/request/evaluation.h"

/* What the two functions below write together at most, with a few bytes to end them. */
size_t conventions_bytes_max(const struct plan *plan);

void conventions_write_applied(struct writer *writer, const struct evaluation *evaluation);  /* {"scale": ..} */
void conventions_write_warnings(struct writer *writer, const struct evaluation *evaluation); /* [".."] */

#endif
