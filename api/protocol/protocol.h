/* face.h: what differs between the ways to ask for attention: how a request is decoded and a reply written. Everything between
 * is one path (attention.c). */
#ifndef ATTND_API_PROTOCOL_PROTOCOL_H
#define ATTND_API_PROTOCOL_PROTOCOL_H

#include "api/api.h"
#include "api/request/evaluation.h"

struct protocol {
    /* The body to a request, which may borrow the body, the extract and the arena. */
    bool (*decode)(const struct api_request *sent, struct arena *arena, struct extract *extract, struct request *ret,
                   struct error *err);

    /* The room that write_reply needs in job->text at the most. SIZE_MAX where it overflows. */
    size_t (*reply_bytes_max)(const struct plan *plan);

    /* Fills in the reply, from the room and from the job's results as they lie. May round the results.
     * Fails   deadline: the executor was stopped. */
    bool (*write_reply)(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret,
                        struct error *err);
};

extern const struct protocol protocol_attention, protocol_kserve;

/* What decode may take of the arena besides the extract. */
#define PROTOCOL_READ_BYTES_MAX ((size_t)3 * DOCUMENT_BYTES_MAX)

#endif
