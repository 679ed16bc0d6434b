/* attention_write.h: the JSON replies of POST /attention. */
#ifndef ATTND_API_PROTOCOL_ATTENTION_WRITE_H
#define ATTND_API_PROTOCOL_ATTENTION_WRITE_H

#include "api/json/chunks.h"
#include "api/protocol/attention_read.h"
#include "api/protocol/protocol.h"
#include "api/request/evaluation.h"

/* As a pipeline's. */
size_t attention_write_bytes_max(const struct plan *plan);
bool attention_write(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret, struct error *err)
    __attribute__((warn_unused_result));

/* One tensor in the form that the reply asks for, and what it takes at most. */
void attention_write_tensor(struct chunks *chunks, const struct attention_reply *reply, const struct tensor *t);
size_t attention_write_tensor_bytes_max(const struct attention_reply *reply, enum dtype dtype, size_t rank,
                                        const size_t *shape);

#endif
