/* kserve_write.h: the Open Inference Protocol's replies: outputs, errors, metadata. */
#ifndef ATTND_API_PROTOCOL_KSERVE_WRITE_H
#define ATTND_API_PROTOCOL_KSERVE_WRITE_H

#include "api/api.h"
#include "api/request/evaluation.h"

/* face.h's reply_bytes_max and write_reply. */
size_t kserve_reply_bytes_max(const struct plan *plan);
bool kserve_write_reply(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret,
                        struct error *err) __attribute__((warn_unused_result));

/* {"error": ".."}; returns the number of bytes. PROBLEM_BYTES_MAX bytes are enough for any error. */
size_t kserve_write_error(const struct error *err, char *room, size_t room_bytes);

#endif
