#include "server/setup/once.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "core/size.h"
#include "server/work/pool.h"

#define ONCE_READ_BYTES_FIRST ((size_t)1 << 16)

struct once_body {
    char *data; /* owned */
    size_t bytes;
};

/* Reads up to `bytes_max`, and one byte more where there are more.
 * Fails  internal: the stream cannot be read. no_memory. */
static bool read_body(FILE *in, size_t bytes_max, struct once_body *ret, struct error *err)
{
    size_t capacity = 0, limit = size_add(bytes_max, 1);
    do {
        capacity = size_min(limit, capacity == 0 ? ONCE_READ_BYTES_FIRST : size_multiply(2, capacity));
        char *grown = realloc(ret->data, capacity);
        if (grown == NULL)
            return error_set(err, ERROR_NO_MEMORY, "there is no memory for the request");
        ret->data = grown;
        ret->bytes += fread(ret->data + ret->bytes, 1, capacity - ret->bytes, in);
    } while (ret->bytes == capacity && capacity < limit);
    if (ferror(in))
        return error_set(err, ERROR_INTERNAL, "cannot read the request: %s", strerrordesc_np(errno));
    return true;
}

static bool write_reply(const struct api_reply *reply, FILE *out)
{
    bool written = fwrite(reply->body, 1, reply->body_bytes, out) == reply->body_bytes;
    for (size_t i = 0; i < reply->chunk_count; i++)
        written = written && fwrite(reply->chunks[i].data, 1, reply->chunks[i].bytes, out) == reply->chunks[i].bytes;
    return fflush(out) == 0 && written;
}

static void compute(const struct options *options, const struct once_body *body, struct pool *pool, struct api_call *call)
{
    struct work_item work_item = {.class = WORK_LARGE, .deadline_ms = CLOCK_NEVER_MS};
    struct pool_use use = {.pool = pool, .work_item = &work_item};
    const struct api_limits limits = {.request_memory_bytes_max = options->request_memory_bytes_max};
    const struct api_request sent = {
        .content_type = options->content_type,
        .accept = options->accept,
        .body = body->data,
        .body_bytes = body->bytes,
    };
    struct error err = {0};
    if (body->bytes <= options->body_bytes_max) {
        const struct executor executor = pool_enter(&use);
        api_compute(options->once, &sent, &limits, &executor, call);
        pool_leave(&use);
        return;
    }
    (void)error_set_limit(&err, "max-body", options->body_bytes_max,
                          "the body has more than the %zu bytes that are read at most", options->body_bytes_max);
    api_problem(&err, NULL, call);
}

enum once_status once(const struct options *options, FILE *in, FILE *out)
{
    struct error err = {0};
    struct once_body body = {0};
    struct pool pool;
    struct api_call call = {.protocol = options->once};
    int status = 0;
    if (!pool_start(&pool, options->threads, &err))
        goto done;
    if (read_body(in, options->body_bytes_max, &body, &err)) {
        compute(options, &body, &pool, &call);
        status = call.reply.status;
        if (!write_reply(&call.reply, out)) {
            (void)error_set(&err, ERROR_INTERNAL, "cannot write the reply: %s", strerrordesc_np(errno));
            status = 0;
        }
    }
    api_call_done(&call);
    pool_stop(&pool);
done:
    free(body.data);
    if (err.code != ERROR_NONE)
        (void)fprintf(stderr, "attnd: %s\n", err.text);
    return status == 200 ? ONCE_ANSWERED : status >= 400 && status < 500 ? ONCE_REFUSED : ONCE_FAILED;
}
