/* infer_reply.h: the Open Inference Protocol's replies: outputs, errors, metadata. */
#ifndef ATTND_API_INFER_REPLY_H
#define ATTND_API_INFER_REPLY_H

#include "api/api.h"
#include "api/job.h"

/* face.h's reply_bytes_max and write_reply. */
size_t infer_reply_bytes_max(const struct plan *plan);
void infer_write_reply(struct job *job, struct api_reply *ret);

/* {"error": ".."}; returns the number of bytes. PROBLEM_BYTES_MAX bytes are enough for any error. */
size_t infer_write_error(const struct error *err, char *room, size_t room_bytes);

#endif
