#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/daemon.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/work/clock.h"

/* Requests that hold more than this are freed by the monitor. */
#define REQUEST_FREED_AT_ONCE_BYTES_MAX ((size_t)4 << 20)

/* Tells a client that was too slow why its connection ends, where that can still be told. */
static void reply_too_slow(struct http_request *request)
{
    struct error err = {0};
    const struct options *options = request->daemon->options;
    if (connection_is_overflow(request->connection))
        (void)request_set_taken(request, &err);
    else
        (void)error_set(&err, ERROR_TOO_SLOW, "the request did not arrive within %zu s, or not a byte of it came for %zu s",
                        options->request_timeout_s, options->idle_timeout_s);
    api_problem(&err, NULL, &request->call);
    response_write(request);
    request->lingers = true;
}

static const char *how_it_ended(const struct http_request *request, enum MHD_RequestTerminationCode how, bool too_slow)
{
    if (work_item_why_stopped(&request->work_item) == WORK_CLIENT_GONE)
        return "client gone";
    if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
        return "ok";
    if (too_slow)
        return "too slow";
    if (request->replied && request->lingers)
        return "ok";
    return how == MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN ? "shutdown" : "client gone";
}

static double ms_between(int64_t from_ns, int64_t to_ns)
{
    return from_ns == 0 || to_ns == 0 ? 0 : (double)(to_ns - from_ns) / 1e6;
}

/* As handed over; libmicrohttpd does not tell how much of a broken off reply went out. */
static uint64_t sent_bytes(const struct http_request *request)
{
    return request->replied && strcmp(request->method, "HEAD") != 0 ? response_body_bytes(&request->call.reply) : 0;
}

/* One record, for the log and for the metrics. */
static void record(struct http_request *request, unsigned status, const char *end)
{
    int64_t now_ns = clock_ns();
    const struct api_timings *timings = &request->call.timings;
    request->target[strcspn(request->target, "?")] = '\0'; /* queries are not logged: they may hold what is private */
    const struct log_request line = {
        .method = request->method,
        .path = request->target,
        .id = request->id,
        .status = status,
        .bytes_in = request->received_bytes,
        .bytes_out = sent_bytes(request),
        .receive_ms = ms_between(request->started_ns, request->received_ns),
        .queue_ms = ms_between(request->received_ns, request->begun_ns),
        .parse_ms = timings->parse_ms,
        .compute_ms = timings->compute_ms,
        .encode_ms = timings->encode_ms,
        .send_ms = ms_between(request->finished_ns, now_ns),
        .total_ms = ms_between(request->started_ns, now_ns),
        .end = end,
    };
    log_request(request->daemon->log, &line);
    metrics_add(&request->daemon->metrics, request->route != NULL ? request->route->protocol : NULL, &line);
}

static void request_free(struct monitor_garbage *garbage)
{
    struct http_request *request = (struct http_request *)((char *)garbage - offsetof(struct http_request, garbage));
    struct daemon *daemon = request->daemon;
    body_done(&request->body);
    api_call_done(&request->call);
    gzip_done(&request->gzip);
    budget_release_grant(&daemon->budget, &request->grant);
    request_count_work(request, false);
    free(request);
    (void)atomic_fetch_sub(&daemon->request_count, 1);
}

void request_completed(struct http_request *request, enum MHD_RequestTerminationCode how)
{
    struct daemon *daemon = request->daemon;
    /* libmicrohttpd itself replies to what is no HTTP. */
    const union MHD_ConnectionInfo *replied = MHD_get_connection_info(request->mhd, MHD_CONNECTION_INFO_HTTP_STATUS);
    bool too_slow = how == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED || connection_was_cut(request->connection);
    if (too_slow && !request->replied && replied == NULL && !request->connection->tls)
        reply_too_slow(request);
    unsigned status = request->replied ? (unsigned)request->call.reply.status : replied != NULL ? replied->http_status : 0;
    const char *end = how_it_ended(request, how, too_slow);
    if (replied != NULL && !request->replied && !too_slow) {
        request->lingers = true;
        end = "ok";
    }
    record(request, status, end);
    if (request->lingers) {
        int fd = fcntl(request->connection->fd, F_DUPFD_CLOEXEC, 0);
        if (fd >= 0)
            monitor_linger(&daemon->monitor, fd);
    }
    connection_enter(request->connection, CONNECTION_IDLE, daemon_idle_until_ms(daemon));
    if (request->body.room_bytes + request->grant.bytes <= REQUEST_FREED_AT_ONCE_BYTES_MAX) {
        request_free(&request->garbage);
        return;
    }
    body_recycle(&request->body); /* the client's next one may be here before the monitor is */
    request->garbage.free = request_free;
    monitor_free_later(&daemon->monitor, &request->garbage);
}
