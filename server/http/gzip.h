/* gzip.h: bodies in the content coding gzip (RFC 1952), both ways; on a worker, never on a thread for sockets.
 *
 * A reply is compressed in pieces, by all threads of the executor. Each piece ends at a byte boundary, so together they are one
 * stream. Level 1: digits of numbers hardly compress further.
 *
 * Threads  reentrant. */
#ifndef ATTND_SERVER_HTTP_GZIP_H
#define ATTND_SERVER_HTTP_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"
#include "core/executor.h"
#include "server/http/body.h"
#include "server/work/work_item.h"

#define GZIP_REPLY_BYTES_MIN ((size_t)32 * 1024) /* shorter replies are not compressed */

/* A compressed reply. */
struct gzip {
    void *memory; /* owned */
};

/* Appends what `data` holds to `ret`, whose bytes_max and budget bound it.
 * Fails   malformed: not gzip, or truncated; too_large, no_memory; deadline: the work was stopped. */
bool gzip_inflate(const char *data, size_t bytes, struct work_item *work_item, struct body *ret, struct error *err)
    __attribute__((warn_unused_result));

/* The most memory that gzip_deflate allocates. */
size_t gzip_cost(const struct api_reply *reply, const struct executor *executor);

/* Compresses `reply`; its memory is then `ret`'s. Returns false, with the reply unchanged, where there is no memory or the executor
 * was stopped. */
bool gzip_deflate(struct api_reply *reply, const struct executor *executor, struct gzip *ret)
    __attribute__((warn_unused_result));

/* Safe on a zeroed one, and twice. */
void gzip_done(struct gzip *gzip);

#endif
