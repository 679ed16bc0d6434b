/* pipeline.h: one request, one evaluation, one reply: how a protocol answers that differs only in how the request is read and
 * how the reply is written. */
#ifndef ATTND_API_PROTOCOL_PIPELINE_H
#define ATTND_API_PROTOCOL_PIPELINE_H

#include "api/protocol/protocol.h"
#include "api/request/evaluation.h"

struct pipeline {
    /* Decodes the body. The request may borrow the body, the extract and the arena; ret->reply is for `write`. May allocate
     * PIPELINE_READ_BYTES_MAX besides the extract. */
    bool (*read)(const struct api_request *sent, struct arena *arena, struct extract *extract, struct request *ret,
                 struct error *err);

    /* What `write` needs of evaluation->reply_buffer at most. SIZE_MAX where it overflows. */
    size_t (*write_bytes_max)(const struct plan *plan);

    /* Writes the reply to the buffer; chunks of it may be the evaluation's results themselves. May round the results.
     * Fails   deadline: the executor was stopped. */
    bool (*write)(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret, struct error *err);
};

#define PIPELINE_READ_BYTES_MAX ((size_t)3 * DOCUMENT_BYTES_MAX + EXTRACT_STRING_BYTES_MAX)

/* As an api_protocol's `answer`. */
bool pipeline_run(const struct pipeline *pipeline, const struct api_request *sent, const struct api_limits *limits,
                  const struct executor *executor, struct api_call *call, struct error *err)
    __attribute__((warn_unused_result));

#endif
