/* infer_reply.h: the Open Inference Protocol's replies: outputs, errors, metadata. */
#ifndef ATTND_API_INFER_REPLY_H
#define ATTND_API_INFER_REPLY_H

#include "api/api.h"
#include "api/job.h"

/* face.h's reply_bytes_max and write_reply. */
size_t infer_reply_bytes_max(const struct plan *plan);
bool infer_write_reply(struct job *job, const struct executor *executor, struct api_reply *ret, struct error *err)
    __attribute__((warn_unused_result));

/* {"error": ".."}; returns the number of bytes. PROBLEM_BYTES_MAX bytes are enough for any error. */
size_t infer_write_error(const struct error *err, char *room, size_t room_bytes);

#endif
