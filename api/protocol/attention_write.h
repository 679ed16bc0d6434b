/* attention_write.h: the JSON replies of POST /attention. */
#ifndef ATTND_API_PROTOCOL_ATTENTION_WRITE_H
#define ATTND_API_PROTOCOL_ATTENTION_WRITE_H

#include "api/protocol/protocol.h"
#include "api/request/evaluation.h"

/* As a pipeline's. */
size_t attention_write_bytes_max(const struct plan *plan);
bool attention_write(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret, struct error *err)
    __attribute__((warn_unused_result));

#endif
