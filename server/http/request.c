#include "server/http/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "server/http/daemon.h"
#include "server/http/response.h"
#include "server/work/clock.h"

/* A refused body up to this size is read and dropped, and the connection lives on; a larger one ends the connection. */
#define REQUEST_DISCARD_BYTES_MAX ((uint64_t)64 * 1024)

/* The least a client must read a second, over the whole of a reply. */
#define REQUEST_SEND_BYTES_PER_S_MIN 65536

#define REQUEST_ID_RANDOM_BYTES 16

int64_t request_timeout_ms(const struct http_request *request)
{
    return (int64_t)request->daemon->options->request_timeout_s * 1000;
}

static void draw_id(char id[REQUEST_ID_BYTES_MAX + 1])
{
    unsigned char random[REQUEST_ID_RANDOM_BYTES] = {0};
    int64_t now_ns = clock_ns();
    if (getrandom(random, sizeof random, 0) < 0)
        memcpy(random, &now_ns, sizeof now_ns); /* a system without a generator: an id need not be secret */
    for (size_t i = 0; i < sizeof random; i++)
        (void)snprintf(id + 2 * i, 3, "%02x", random[i]);
}

/* Takes the client's own id where it can neither be mistaken for two words nor break a line. */
static void take_id(const char *sent, char id[REQUEST_ID_BYTES_MAX + 1])
{
    size_t length = sent != NULL ? strlen(sent) : 0;
    if (length == 0 || length > REQUEST_ID_BYTES_MAX)
        return;
    for (size_t i = 0; i < length; i++)
        if (sent[i] <= ' ' || sent[i] >= 0x7f || sent[i] == '"' || sent[i] == '\'' || sent[i] == '`')
            return;
    memcpy(id, sent, length + 1);
}

struct http_request *request_new(struct daemon *daemon, struct MHD_Connection *mhd, const char *target)
{
    const union MHD_ConnectionInfo *context = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (context == NULL || context->socket_context == NULL)
        return NULL;
    struct http_request *request = calloc(1, sizeof *request);
    if (request == NULL)
        return NULL;
    (void)atomic_fetch_add(&daemon->request_count, 1);
    request->daemon = daemon;
    request->mhd = mhd;
    request->connection = context->socket_context;
    request->work_item.run = request_run;
    request->started_ns = clock_ns();
    draw_id(request->id);
    (void)snprintf(request->target, sizeof request->target, "%s", target);
    request->call.protocol = router_protocol(request->target);
    connection_enter(request->connection, CONNECTION_RECEIVE, request->started_ns / 1000000 + request_timeout_ms(request));
    return request;
}

static enum MHD_Result hand_over_reply(struct http_request *request)
{
    int64_t reading_ms = (int64_t)(response_body_bytes(&request->call.reply) * 1000 / REQUEST_SEND_BYTES_PER_S_MIN);
    request->finished_ns = request->finished_ns != 0 ? request->finished_ns : clock_ns();
    connection_enter(request->connection, CONNECTION_SEND, clock_ms() + request_timeout_ms(request) + reading_ms);
    return response_queue(request) ? MHD_YES : MHD_NO;
}

/* The reply goes out before the body is read, and the connection ends. */
static enum MHD_Result answer_now(struct http_request *request)
{
    request->lingers = request->head.has_body;
    return hand_over_reply(request);
}

/* The reply is ready before the body is. */
static enum MHD_Result answer_early(struct http_request *request)
{
    const struct head *head = &request->head;
    bool small = head->length_known && head->body_bytes <= REQUEST_DISCARD_BYTES_MAX;
    if (!head->has_body || (small && !head->expects_continue)) {
        request->stage = REQUEST_DISCARD;
        return MHD_YES;
    }
    return answer_now(request);
}

static enum MHD_Result refuse(struct http_request *request, const struct error *err, const char *allow)
{
    api_problem(err, allow, &request->call);
    return answer_early(request);
}

static bool check_key(const struct http_request *request, struct error *err)
{
    const struct keys *keys = &request->daemon->keys;
    const char *key;
    if (keys->count == 0)
        return true;
    if (!head_key(&request->head, &key))
        return error_set(err, ERROR_UNAUTHORIZED, "a key is needed here: Authorization: Bearer KEY, or X-API-Key: KEY");
    if (!keys_match(keys, key))
        return error_set(err, ERROR_UNAUTHORIZED, "the key is not one of those that may compute here");
    return true;
}

static bool set_too_long(const struct http_request *request, struct error *err)
{
    size_t limit = request->daemon->options->body_bytes_max;
    if (request->head.length_known)
        return error_set_limit(err, "max-body", limit, "the body has %llu bytes, at most %zu are read",
                               (unsigned long long)request->head.body_bytes, limit);
    return error_set_limit(err, "max-body", limit, "the body has more than the %zu bytes that are read at most", limit);
}

bool request_set_taken(const struct http_request *request, struct error *err)
{
    return error_set(err, ERROR_BUSY, "%zu connections are open already, as many as --max-connections allows",
                     request->daemon->options->connections_max);
}

void request_count_work(struct http_request *request, bool admitted)
{
    if (admitted && !request->admitted)
        (void)atomic_fetch_add(&request->daemon->work_count, 1);
    if (!admitted && request->admitted)
        (void)atomic_fetch_sub(&request->daemon->work_count, 1);
    request->admitted = admitted;
}

/* Returns false for a content encoding that is not read here. */
static bool read_encoding(struct http_request *request)
{
    const char *encoding = request->head.content_encoding;
    request->inflate = encoding != NULL && (strcasecmp(encoding, "gzip") == 0 || strcasecmp(encoding, "x-gzip") == 0);
    return encoding == NULL || request->inflate || strcasecmp(encoding, "identity") == 0;
}

/* Whether a request that is to compute may send its body. */
static bool may_compute(struct http_request *request, struct error *err)
{
    const struct head *head = &request->head;
    if (!check_key(request, err))
        return false;
    if (daemon_is_draining(request->daemon))
        return error_set(err, ERROR_BUSY, "the daemon is shutting down");
    if (connection_is_overflow(request->connection))
        return request_set_taken(request, err);
    if (!read_encoding(request))
        return error_set(err, ERROR_UNSUPPORTED_MEDIA, "content encoding %.40s is not read here; send gzip, or none",
                         head->content_encoding);
    if (head->length_known && head->body_bytes > request->daemon->options->body_bytes_max)
        return set_too_long(request, err);
    return true;
}

/* Counted before the daemon is asked whether it drains: so either it sees that there is work, or the request is refused. */
static bool admit(struct http_request *request, struct error *err)
{
    request_count_work(request, true);
    request_count_work(request, may_compute(request, err));
    return request->admitted;
}

/* The head is complete. */
static enum MHD_Result read_head(struct http_request *request, const char *method, const char *version)
{
    struct error err = {0};
    const char *allow = NULL;
    (void)snprintf(request->method, sizeof request->method, "%s", method);
    request->work_item.deadline_ms = clock_ms() + request_timeout_ms(request);
    bool understood = head_read(request->mhd, version, &request->head, &err);
    take_id(request->head.request_id, request->id);
    if (!understood) {
        /* Where its body ends is in doubt, so nothing after it can be a request. */
        api_problem(&err, NULL, &request->call);
        return answer_now(request);
    }
    switch (router_find(request->method, request->target, &request->daemon->files, &request->route, &allow, &err)) {
    case ROUTER_ERROR:
        return refuse(request, &err, allow);
    case ROUTER_OPTIONS:
        request->call.reply = (struct api_reply){.status = MHD_HTTP_NO_CONTENT, .allow = allow};
        return answer_early(request);
    case ROUTER_FOUND:
        break;
    }
    if (request->route->file != NULL) {
        request->form = static_representation_for(request->route->file, &request->head);
        static_answer(request->route->file, request->form, &request->head, &request->call);
        request->may_vary = true;
        request->deflated = request->form == &request->route->file->gzip && request->call.reply.body_bytes > 0;
        return answer_early(request);
    }
    if (request->route->answer != NULL) {
        request->route->answer(request->daemon, &request->call);
        return answer_early(request);
    }
    if (!admit(request, &err)) {
        api_problem(&err, NULL, &request->call);
        return err.code == ERROR_TOO_LARGE ? answer_now(request) : answer_early(request);
    }
    size_t body_bytes_max = request->daemon->options->body_bytes_max;
    body_init(&request->body, &request->daemon->budget,
              request->head.length_known ? (size_t)request->head.body_bytes : body_bytes_max);
    request->stage = REQUEST_COLLECT;
    return MHD_YES;
}

/* Refuses in the middle of the body, where libmicrohttpd takes no reply. Under TLS the rest is read for it, for as long
 * as a request may take to arrive. */
static enum MHD_Result break_off(struct http_request *request, const struct error *err)
{
    body_done(&request->body);
    api_problem(err, NULL, &request->call);
    if (request->connection->tls) {
        request->stage = REQUEST_DISCARD;
        return MHD_YES;
    }
    request->finished_ns = clock_ns();
    response_write(request);
    request->lingers = true;
    return MHD_NO;
}

static enum MHD_Result collect(struct http_request *request, const char *data, size_t *data_bytes)
{
    struct error err = {0};
    size_t bytes = *data_bytes;
    *data_bytes = 0;
    request->received_bytes += bytes;
    if (clock_ms() >= request->started_ns / 1000000 + request_timeout_ms(request)) {
        (void)error_set(&err, ERROR_TOO_SLOW, "the request took longer than %zu s to arrive",
                        request->daemon->options->request_timeout_s);
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

enum MHD_Result request_step(struct http_request *request, const char *method, const char *version, const char *data,
                             size_t *data_bytes)
{
    switch (request->stage) {
    case REQUEST_HEAD:
        return read_head(request, method, version);
    case REQUEST_COLLECT:
        if (*data_bytes > 0)
            return collect(request, data, data_bytes);
        /* Not suspended right here: libmicrohttpd would read from the socket first thing after the resume, and take the
         * end of a half-closed client's stream for a reason to close. Asked again, it no longer waits to read. */
        request->received_ns = clock_ns();
        request->stage = REQUEST_PARK;
        return MHD_YES;
    case REQUEST_PARK:
        request->stage = REQUEST_WORK;
        request_submit(request);
        return MHD_YES;
    case REQUEST_DISCARD:
        request->received_bytes += *data_bytes;
        if (*data_bytes == 0)
            return hand_over_reply(request);
        *data_bytes = 0;
        return MHD_YES;
    case REQUEST_WORK:
        return hand_over_reply(request);
    }
    return MHD_NO;
}
