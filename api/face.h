/* face.h: what differs between the ways to ask for attention: how a request is decoded and a reply written. Everything between
 * is one path (attention.c). */
#ifndef ATTND_API_FACE_H
#define ATTND_API_FACE_H

#include "api/job.h"

struct face {
    /* The envelope to a request, which may borrow the lift and the arena, not the envelope. */
    bool (*decode)(const struct lift *lift, const json_t *envelope, struct arena *arena, struct request *ret, struct error *err);

    /* What write_reply writes at the most. SIZE_MAX where it overflows. */
    size_t (*reply_bytes_max)(const struct plan *plan);

    /* Writes to job->text; returns the number of bytes. May round the job's results. */
    size_t (*write_reply)(struct job *job);
};

extern const struct face face_attention, face_infer;

#endif
