/* gzip.h: bodies in the content coding gzip (RFC 1952), both ways. On a worker, never on the sockets' thread.
 *
 * A reply is compressed in pieces, by all threads of the executor: each ends at a byte's edge, so together they are one stream.
 * Level 1: numbers' digits have little else to give.
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

#define GZIP_REPLY_BYTES_MIN ((size_t)32 * 1024) /* shorter replies go out as they are */

/* A compressed reply. */
struct gzip {
    void *memory; /* owned */
};

/* Appends what `data` holds to `ret`, whose bytes_max and budget bound it: what would pass them is cut off there.
 * Fails   malformed: no gzip, or not all of it; too_large, no_memory; deadline: the job was stopped. */
bool gzip_inflate(const char *data, size_t bytes, struct work_item *work_item, struct body *ret, struct error *err)
    __attribute__((warn_unused_result));

/* What gzip_deflate takes of memory at the most. */
size_t gzip_cost(const struct api_reply *reply, const struct executor *executor);

/* Makes `reply` what it is compressed; its memory is then `ret`'s. Returns false, and leaves it as it was, where there is no memory
 * or the executor was stopped. */
bool gzip_deflate(struct api_reply *reply, const struct executor *executor, struct gzip *ret)
    __attribute__((warn_unused_result));

/* Safe on a zeroed one, and twice. */
void gzip_done(struct gzip *gzip);

#endif
