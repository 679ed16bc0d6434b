#include "server/http/http_request_reply.h"

#include "server/http/response.h"
#include "server/work/clock.h"

/* The least that a client must read a second, on average over the reply. */
#define HTTP_REQUEST_SEND_BYTES_PER_S_MIN 65536

int64_t http_request_timeout_ms(const struct http_request *request)
{
    return (int64_t)request->service->options->request_timeout_s * 1000;
}

static struct response response_of(const struct http_request *request)
{
    const struct api_reply *reply = &request->call.reply;
    return (struct response){
        .reply = reply,
        .request_id = request->id,
        .trace = &request->trace,
        .file = request->representation != NULL ? request->route->file : NULL,
        .representation = request->representation,
        .moved_to = reply->status == MHD_HTTP_PERMANENT_REDIRECT ? request->route->file : NULL,
        .cors_origin = request->service->options->cors_origin,
        .preflight_method = request->head.preflight_method,
        .is_gzip = request->reply_is_gzip,
        .varies_by_encoding = request->varies_by_encoding,
        .accepts_gzip = reply->status == MHD_HTTP_UNSUPPORTED_MEDIA_TYPE && request->head.content_encoding != NULL,
        .closes = request->lingers || request->head.wants_close || atomic_load(&request->service->closing) ||
                  connection_is_overflow(request->connection->watch),
        .idle_timeout_s = request->service->options->idle_timeout_s,
        .timings = request->computed ? &request->call.timings : NULL,
        .queue_ms = (double)(request->begun_ns - request->received_ns) / 1e6,
    };
}

/* The reply that was made beforehand, for want of memory for the request's own. */
static void reply_without_memory(struct http_request *request)
{
    request->no_memory = true;
    atomic_store(&request->connection->closes, true);
    request->call.reply = (struct api_reply){.status = MHD_HTTP_SERVICE_UNAVAILABLE, .error = ERROR_NO_MEMORY};
    request->replied =
        MHD_queue_response(request->mhd, MHD_HTTP_SERVICE_UNAVAILABLE, request->service->no_memory_response) == MHD_YES;
}

enum MHD_Result http_request_reply(struct http_request *request)
{
    const struct response response = response_of(request);
    int64_t reading_ms = (int64_t)(response_body_bytes(response.reply) * 1000 / HTTP_REQUEST_SEND_BYTES_PER_S_MIN);
    request->finished_ns = request->finished_ns != 0 ? request->finished_ns : clock_ns();
    connection_enter(request->connection->watch, CONNECTION_SEND, clock_ms() + http_request_timeout_ms(request) + reading_ms);
    atomic_store(&request->connection->closes, response.closes);
    request->replied = response_queue(&response, request->mhd);
    if (!request->replied)
        reply_without_memory(request);
    return request->replied ? MHD_YES : MHD_NO;
}

void http_request_reply_and_close(struct http_request *request)
{
    struct response response = response_of(request);
    response.closes = true;
    request->finished_ns = clock_ns();
    request->replied = response_write(&response, request->connection->fd);
    request->lingers = true;
}
