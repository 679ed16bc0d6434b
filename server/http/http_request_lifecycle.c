#include "server/http/http_request_lifecycle.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/http/admission.h"
#include "server/http/http_request_bypass.h"
#include "server/http/http_request_log.h"
#include "server/http/http_request_reply.h"
#include "server/http/http_request_run.h"
#include "server/http/router.h"
#include "server/setup/limits.h"
#include "server/work/clock.h"

/* A refused body up to this size is read and dropped, and the connection stays open; a larger one ends the connection. */
#define HTTP_REQUEST_DISCARD_BYTES_MAX ((uint64_t)64 * 1024)

/* Requests that hold more than this are freed by the monitor's thread. */
#define HTTP_REQUEST_FREED_AT_ONCE_BYTES_MAX ((size_t)4 << 20)

static int64_t arrives_until_ms(const struct http_request *request)
{
    return request->started_ns / 1000000 + http_request_timeout_ms(request);
}

static void copy_truncated(const char *text, char *ret, size_t ret_bytes)
{
    size_t length = strnlen(text, ret_bytes - 1);
    memcpy(ret, text, length);
    ret[length] = '\0';
}

static void run(struct work_item *work_item);

struct http_request *http_request_new(struct http_connection *connection, struct MHD_Connection *mhd, const char *target)
{
    struct service *service = connection->service;
    struct http_request *request = malloc(sizeof *request);
    if (request == NULL)
        return NULL;
    memset(request, 0, offsetof(struct http_request, call.problem));
    (void)atomic_fetch_add(&service->request_count, 1);
    request->service = service;
    request->mhd = mhd;
    request->connection = connection;
    connection->request = request;
    http_connection_leave_fresh(connection);
    request->work_item.run = run;
    request->started_ns = clock_ns();
    request_id_draw(request->id);
    request->target_bytes = strlen(target);
    copy_truncated(target, request->target, sizeof request->target);
    request->call.protocol = router_protocol(request->target);
    connection_enter(request->connection->watch, CONNECTION_RECEIVE, arrives_until_ms(request));
    return request;
}

/* ---- replying before the body ---- */

/* The reply goes out before the body is read, and the connection ends. */
static enum MHD_Result reply_now(struct http_request *request)
{
    request->lingers |= request->head.has_body;
    return http_request_reply(request);
}

/* The reply is ready before the body has been read. */
static enum MHD_Result reply_early(struct http_request *request)
{
    const struct head *head = &request->head;
    bool small = head->length_known && head->body_bytes <= HTTP_REQUEST_DISCARD_BYTES_MAX;
    if (!head->has_body || (small && !head->expects_continue)) {
        request->stage = HTTP_REQUEST_DISCARD;
        return MHD_YES;
    }
    return reply_now(request);
}

/* ---- the head ---- */

static bool check_key(const struct http_request *request, struct error *err)
{
    struct api_keys *keys = &request->service->keys;
    const char *key;
    if (request->service->options->api_key_file == NULL)
        return true;
    if (!head_key(&request->head, &key))
        return error_set(err, ERROR_UNAUTHORIZED, "a key is needed here: Authorization: Bearer KEY, or X-API-Key: KEY");
    if (!api_keys_match(keys, key))
        return error_set(err, ERROR_UNAUTHORIZED, "the key is not one of those that may compute here");
    return true;
}

/* Returns false for a content encoding that is not read here. */
static bool read_encoding(struct http_request *request)
{
    const char *encoding = request->head.content_encoding;
    request->body_is_gzip = encoding != NULL && (strcasecmp(encoding, "gzip") == 0 || strcasecmp(encoding, "x-gzip") == 0);
    return encoding == NULL || request->body_is_gzip || strcasecmp(encoding, "identity") == 0;
}

static bool set_too_long(const struct http_request *request, struct error *err)
{
    size_t limit = request->service->options->body_bytes_max;
    if (request->head.length_known)
        return error_set_limit(err, "max-body", limit, "the body has %llu bytes, at most %zu are read",
                               (unsigned long long)request->head.body_bytes, limit);
    return error_set_limit(err, "max-body", limit, "the body has more than the %zu bytes that are read at most", limit);
}

/* Whether a request that is to compute may send its body. */
static bool may_compute(struct http_request *request, struct error *err)
{
    const struct head *head = &request->head;
    if (!check_key(request, err) || !admission_while_serving(request->service, err))
        return false;
    if (connection_is_overflow(request->connection->watch))
        return admission_refuse_overflow(request->service, err);
    if (!read_encoding(request))
        return error_set(err, ERROR_UNSUPPORTED_MEDIA, "content encoding %.40s is not read here; send gzip, or none",
                         head->content_encoding);
    if (head->length_known && head->body_bytes > request->service->options->body_bytes_max)
        return set_too_long(request, err);
    return true;
}

/* Counts the request among the work that the daemon waits for before it ends, or no longer. */
static void count_work(struct http_request *request, bool admitted)
{
    if (admitted && !request->admitted)
        (void)atomic_fetch_add(&request->service->work_count, 1);
    if (!admitted && request->admitted)
        (void)atomic_fetch_sub(&request->service->work_count, 1);
    request->admitted = admitted;
}

/* Counts the request before it looks whether the daemon drains: so either the daemon sees that there is work, or the request is
 * refused. */
static enum MHD_Result admit(struct http_request *request)
{
    struct error err = {0};
    count_work(request, true);
    if (!may_compute(request, &err)) {
        count_work(request, false);
        api_problem(&err, NULL, &request->call);
        return err.code == ERROR_TOO_LARGE ? reply_now(request) : reply_early(request);
    }
    const struct head *head = &request->head;
    size_t body_bytes_max = request->service->options->body_bytes_max;
    body_init(&request->body, &request->service->budget, head->length_known ? (size_t)head->body_bytes : body_bytes_max,
              head->length_known);
    request->stage = HTTP_REQUEST_COLLECT;
    return MHD_YES;
}

static enum MHD_Result follow_route(struct http_request *request)
{
    const struct route *route = request->route;
    if (route->protocol != NULL)
        return admit(request);
    if (route->file != NULL) {
        request->representation = static_representation_for(route->file, &request->head);
        static_answer(route->file, request->representation, &request->head, &request->call);
        request->varies_by_encoding = true;
        request->reply_is_gzip = request->representation == &route->file->gzip && request->call.reply.body_bytes > 0;
    } else {
        route->answer(request->service, &request->call);
    }
    return reply_early(request);
}

/* The head is complete. */
static enum MHD_Result read_head(struct http_request *request, const struct request_line *line)
{
    struct error err = {0};
    const char *allow = NULL;
    copy_truncated(line->method, request->method, sizeof request->method);
    request->work_item.deadline_ms = clock_ms() + http_request_timeout_ms(request);
    bool understood = head_read(request->mhd, line, request->target_bytes, &request->head, &err);
    request_id_take(request->head.request_id, request->id);
    trace_context_read(request->head.traceparent, &request->trace);
    if (!understood) {
        request->lingers = true; /* where its body ends is in doubt, so nothing after it can be a request */
        api_problem(&err, NULL, &request->call);
        if (err.code != ERROR_HEAD_TOO_LARGE || request->connection->tls != NULL)
            return reply_now(request);
        http_request_reply_and_close(request); /* libmicrohttpd may have no memory left for the reply's head */
        return MHD_NO;
    }
    switch (router_find(request->method, request->target, &request->service->files, &request->route, &allow, &err)) {
    case ROUTER_FOUND:
        return follow_route(request);
    case ROUTER_MOVED:
        request->call.reply = (struct api_reply){.status = MHD_HTTP_PERMANENT_REDIRECT};
        return reply_early(request);
    case ROUTER_OPTIONS:
        request->call.reply = (struct api_reply){.status = MHD_HTTP_NO_CONTENT, .allow = allow};
        return reply_early(request);
    case ROUTER_ERROR:
        api_problem(&err, allow, &request->call);
        return reply_early(request);
    }
    return MHD_NO;
}

/* ---- the body ---- */

/* Refuses in the middle of the body, where libmicrohttpd takes no reply. Under TLS the rest is read for it, for as long
 * as a request may take to arrive. */
static enum MHD_Result break_off(struct http_request *request, const struct error *err)
{
    body_done(&request->body);
    api_problem(err, NULL, &request->call);
    if (request->connection->tls != NULL) {
        request->stage = HTTP_REQUEST_DISCARD;
        return MHD_YES;
    }
    http_request_reply_and_close(request);
    return MHD_NO;
}

static enum MHD_Result collect(struct http_request *request, const char *data, size_t *data_bytes)
{
    struct error err = {0};
    size_t bytes = *data_bytes;
    *data_bytes = 0;
    request->received_bytes += bytes;
    if (clock_ms() >= arrives_until_ms(request)) {
        (void)error_set(&err, ERROR_TOO_SLOW, "the request took longer than %zu s to arrive",
                        request->service->options->request_timeout_s);
        return break_off(request, &err);
    }
    if (bytes > request->body.bytes_max - request->body.bytes) {
        (void)set_too_long(request, &err);
        return break_off(request, &err);
    }
    if (!body_append(&request->body, data, bytes, &err))
        return break_off(request, &err);
    return MHD_YES;
}

/* ---- computing ---- */

/* The reply is ready to be sent. */
static void computed(struct http_request *request)
{
    request->finished_ns = clock_ns();
    http_request_count_inference(request);
}

/* Lets the connection's thread go on with a suspended request, and touches it no more: it may be freed next. */
static void resume(struct http_request *request)
{
    computed(request);
    connection_enter(request->connection->watch, CONNECTION_SEND, clock_ms() + http_request_timeout_ms(request));
    MHD_resume_connection(request->mhd);
}

/* On a worker, or on the monitor where the request was stopped while it waited. A deferred request is no longer this thread's. */
static void run(struct work_item *work_item)
{
    struct http_request *request = (struct http_request *)work_item;
    struct service *service = request->service;
    size_t wanted_bytes;
    switch (http_request_run(request, &wanted_bytes)) {
    case HTTP_REQUEST_ANSWERED:
        resume(request);
        break;
    case HTTP_REQUEST_IS_LARGE:
        queue_push_again(&service->queue, work_item, false);
        break;
    case HTTP_REQUEST_WANTS_MEMORY:
        budget_wait(&service->budget, work_item, wanted_bytes);
        break;
    }
}

static void submit(struct http_request *request)
{
    struct error err = {0};
    MHD_suspend_connection(request->mhd);
    request->work_item.class = request->body.bytes <= WORK_SMALL_BODY_BYTES_MAX ? WORK_SMALL : WORK_LARGE;
    connection_work(request->connection->watch, &request->work_item, request->head.http_1_1);
    if (admission_enqueue(request->service, &request->work_item, &err))
        return;
    api_problem(&err, NULL, &request->call);
    resume(request);
}

/* All of the body has arrived. */
static enum MHD_Result answer(struct http_request *request)
{
    request->received_ns = clock_ns();
    if (http_request_run_at_once(request)) {
        computed(request);
        return http_request_reply(request);
    }
    /* Not suspended right here: libmicrohttpd would read from the socket first thing after the resume, and take the end of a
     * half-closed client's stream for a reason to close. Asked again, it no longer waits to read. */
    request->stage = HTTP_REQUEST_PARK;
    return MHD_YES;
}

enum MHD_Result http_request_step(struct http_request *request, const struct request_line *line, const char *data,
                                  size_t *data_bytes)
{
    request->piece_count++;
    switch (request->stage) {
    case HTTP_REQUEST_HEAD:
        return read_head(request, line);
    case HTTP_REQUEST_COLLECT:
        if (*data_bytes > 0)
            return collect(request, data, data_bytes);
        return answer(request);
    case HTTP_REQUEST_PARK:
        request->stage = HTTP_REQUEST_WORK;
        submit(request);
        return MHD_YES;
    case HTTP_REQUEST_DISCARD:
        request->received_bytes += *data_bytes;
        if (*data_bytes == 0)
            return http_request_reply(request);
        *data_bytes = 0;
        return MHD_YES;
    case HTTP_REQUEST_WORK:
        return http_request_reply(request);
    }
    return MHD_NO;
}

/* ---- the end ---- */

static const char *how_it_ended(const struct http_request *request, enum MHD_RequestTerminationCode how, bool too_slow)
{
    if (request->no_memory)
        return "no memory";
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

static void free_request(struct monitor_garbage *garbage)
{
    struct http_request *request = (struct http_request *)((char *)garbage - offsetof(struct http_request, garbage));
    struct service *service = request->service;
    body_done(&request->body);
    api_call_done(&request->call);
    gzip_done(&request->gzip);
    budget_release_grant(&service->budget, &request->work_item);
    count_work(request, false);
    free(request);
    (void)atomic_fetch_sub(&service->request_count, 1);
}

/* Logs and frees; from here on the connection has no request. */
static void finish(struct http_request *request, unsigned status, const char *end)
{
    struct service *service = request->service;
    http_request_log(request, status, end);
    if (request->lingers)
        http_connection_linger(request->connection);
    http_connection_enter_idle(request->connection);
    request->connection->request = NULL;
    if (request->body.capacity_bytes + request->work_item.grant.bytes <= HTTP_REQUEST_FREED_AT_ONCE_BYTES_MAX) {
        free_request(&request->garbage);
        return;
    }
    body_recycle(&request->body); /* the client's next one may arrive before the monitor frees this */
    request->garbage.free = free_request;
    monitor_free_later(&service->monitor, &request->garbage);
}

/* How much of the client's stream was this request; 0 where its chunks make that unknown. */
static uint64_t request_bytes(const struct http_request *request)
{
    const union MHD_ConnectionInfo *head = MHD_get_connection_info(request->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return head == NULL || request->head.transfer_encoding != NULL ? 0 : head->header_size + request->received_bytes;
}

void http_request_end(struct http_request *request, enum MHD_RequestTerminationCode how)
{
    struct http_connection *connection = request->connection;
    /* libmicrohttpd itself replies to what is no HTTP. */
    const union MHD_ConnectionInfo *replied = MHD_get_connection_info(request->mhd, MHD_CONNECTION_INFO_HTTP_STATUS);
    bool too_slow = http_connection_was_cut(connection);
    if (too_slow && !request->replied && replied == NULL && connection->tls == NULL)
        http_request_bypass_slow(request);
    unsigned status = request->replied ? (unsigned)request->call.reply.status : replied != NULL ? replied->http_status : 0;
    const char *end = how_it_ended(request, how, too_slow);
    if (replied != NULL && !request->replied && !too_slow) {
        request->lingers = true;
        end = "ok";
    }
    connection->closes |= how != MHD_REQUEST_TERMINATED_COMPLETED_OK;
    http_connection_account(connection, request_bytes(request));
    finish(request, status, end);
}

void http_request_abandon(struct http_connection *connection, struct MHD_Connection *mhd)
{
    bool too_slow = http_connection_was_cut(connection);
    struct http_request *request = connection->request;
    if (request == NULL && http_connection_has_stray_bytes(connection))
        request = http_request_new(connection, mhd, "");
    if (request == NULL)
        return;
    if (connection->tls == NULL && too_slow)
        http_request_bypass_slow(request);
    else if (connection->tls == NULL)
        http_request_bypass_dropped(request);
    finish(request, request->replied ? (unsigned)request->call.reply.status : 0,
           too_slow           ? "too slow"
           : request->replied ? "ok"
                              : "dropped");
}
