#include "server/request.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "api/media.h"
#include "server/clock.h"
#include "server/daemon.h"
#include "server/response.h"

/* A refused body up to this size is read and dropped, and the connection lives on; a larger one ends the connection. */
#define REQUEST_DISCARD_BYTES_MAX ((uint64_t)64 * 1024)

/* The least a client must read a second, over the whole of a reply. */
#define REQUEST_SEND_BYTES_PER_S_MIN 65536

/* Requests that hold more than this are freed by the monitor. */
#define REQUEST_FREED_AT_ONCE_BYTES_MAX ((size_t)4 << 20)

#define REQUEST_ID_RANDOM_BYTES 16

static int64_t timeout_ms(const struct http_request *request)
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

static void request_run(struct job *job);

struct http_request *request_born(struct daemon *daemon, struct MHD_Connection *mhd, const char *target)
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
    request->job.run = request_run;
    request->born_ns = clock_ns();
    draw_id(request->id);
    (void)snprintf(request->target, sizeof request->target, "%s", target);
    connection_enter(request->connection, CONNECTION_RECEIVE, request->born_ns / 1000000 + timeout_ms(request));
    return request;
}

static enum MHD_Result hand_over_reply(struct http_request *request)
{
    int64_t reading_ms = (int64_t)(response_body_bytes(&request->call.reply) * 1000 / REQUEST_SEND_BYTES_PER_S_MIN);
    request->finished_ns = request->finished_ns != 0 ? request->finished_ns : clock_ns();
    connection_enter(request->connection, CONNECTION_SEND, clock_ms() + timeout_ms(request) + reading_ms);
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

static bool read_encoding(const char *encoding, bool *ret_gzip)
{
    *ret_gzip = encoding != NULL && (strcasecmp(encoding, "gzip") == 0 || strcasecmp(encoding, "x-gzip") == 0);
    return encoding == NULL || *ret_gzip || strcasecmp(encoding, "identity") == 0;
}

/* Whether a request that is to compute may send its body; whether that is to be inflated. */
static bool admit(const struct http_request *request, bool *ret_inflate, struct error *err)
{
    const struct head *head = &request->head;
    if (!check_key(request, err))
        return false;
    if (daemon_is_draining(request->daemon))
        return error_set(err, ERROR_BUSY, "the daemon is shutting down");
    if (!read_encoding(head->content_encoding, ret_inflate))
        return error_set(err, ERROR_UNSUPPORTED_MEDIA, "content encoding %.40s is not read here; send gzip, or none",
                         head->content_encoding);
    if (head->length_known && head->body_bytes > request->daemon->options->body_bytes_max)
        return set_too_long(request, err);
    return true;
}

/* The head is complete. */
static enum MHD_Result read_head(struct http_request *request, const char *method, const char *version)
{
    struct error err = {0};
    const char *allow = NULL;
    (void)snprintf(request->method, sizeof request->method, "%s", method);
    request->call.face = router_face(request->target);
    request->job.deadline_ms = clock_ms() + timeout_ms(request);
    bool understood = head_read(request->mhd, version, &request->head, &err);
    take_id(request->head.request_id, request->id);
    if (!understood) {
        /* Where its body ends is in doubt, so nothing after it can be a request. */
        api_problem(&err, NULL, &request->call);
        return answer_now(request);
    }
    switch (router_find(request->method, request->target, &request->route, &allow, &err)) {
    case ROUTER_ERROR:
        return refuse(request, &err, allow);
    case ROUTER_OPTIONS:
        request->call.reply = (struct api_reply){.status = MHD_HTTP_NO_CONTENT, .allow = allow};
        return answer_early(request);
    case ROUTER_FOUND:
        break;
    }
    if (request->route->answer != NULL) {
        request->route->answer(request->daemon, &request->call);
        return answer_early(request);
    }
    if (!admit(request, &request->inflate, &err)) {
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
    if (clock_ms() >= request->born_ns / 1000000 + timeout_ms(request)) {
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

static bool reserve(void *context, size_t bytes, struct error *err)
{
    struct http_request *request = context;
    return budget_grant(&request->daemon->budget, &request->grant, bytes, &request->job, err);
}

/* Counted before the reply goes out: who has read it finds it in the statistics. */
static void count_inference(struct http_request *request)
{
    const struct api_timings *timings = &request->call.timings;
    if (request->route->compute != api_infer)
        return;
    int64_t whole_ns = request->finished_ns - request->received_ns;
    const int64_t ns[STATISTICS_PARTS] = {
        [STATISTICS_SUCCESS] = whole_ns,
        [STATISTICS_FAIL] = whole_ns,
        [STATISTICS_QUEUE] = request->begun_ns - request->received_ns,
        [STATISTICS_COMPUTE_INPUT] = (int64_t)(timings->parse_ms * 1e6),
        [STATISTICS_COMPUTE_INFER] = (int64_t)(timings->compute_ms * 1e6),
        [STATISTICS_COMPUTE_OUTPUT] = (int64_t)(timings->encode_ms * 1e6),
    };
    statistics_add(&request->daemon->statistics, request->call.reply.error == ERROR_NONE, ns);
}

/* Lets the sockets' thread go on with a suspended request. The last touch of whoever had it: it may be freed next. */
static void resume(struct http_request *request)
{
    request->finished_ns = clock_ns();
    count_inference(request);
    connection_enter(request->connection, CONNECTION_SEND, clock_ms() + timeout_ms(request));
    MHD_resume_connection(request->mhd);
}

/* The body as the client had it before it compressed it. */
static bool inflate_body(struct http_request *request, struct error *err)
{
    struct body inflated;
    if (!request->inflate)
        return true;
    body_init(&inflated, &request->daemon->budget, request->daemon->options->body_bytes_max);
    bool done = gzip_inflate(request->body.data, request->body.bytes, &request->job, &inflated, err);
    body_done(&request->body);
    request->body = inflated;
    return done;
}

/* Compresses the reply where the client takes that, and memory for it is free now. */
static void deflate_reply(struct http_request *request, const struct executor *executor)
{
    struct api_reply *reply = &request->call.reply;
    struct daemon *daemon = request->daemon;
    enum options_gzip wanted = daemon->options->gzip;
    bool json = strcmp(reply->content_type, "application/json") == 0;
    request->may_vary = wanted == OPTIONS_GZIP_ALL || (wanted == OPTIONS_GZIP_JSON && json);
    if (!request->may_vary || response_body_bytes(reply) < GZIP_REPLY_BYTES_MIN ||
        !media_accepts(request->head.accept_encoding, "gzip", "identity"))
        return;
    if (budget_grant_now(&daemon->budget, &request->grant, gzip_cost(reply, executor)))
        request->deflated = gzip_deflate(reply, executor, &request->gzip);
}

static void compute(struct http_request *request)
{
    struct error err = {0};
    struct api_call *call = &request->call;
    struct pool_job use = {.pool = &request->daemon->pool, .job = &request->job};
    const struct executor executor = pool_executor(&use);
    const struct api_limits limits = {
        .request_memory_bytes_max = request->daemon->options->request_memory_bytes_max,
        .reserve = reserve,
        .reserve_context = request,
    };
    if (!inflate_body(request, &err)) {
        api_problem(&err, NULL, call);
        return;
    }
    int64_t inflated_ns = clock_ns();
    const struct api_request sent = {
        .content_type = request->head.content_type,
        .accept = request->head.accept,
        .json_length = request->head.json_length,
        .body = request->body.data,
        .body_bytes = request->body.bytes,
    };
    request->route->compute(&sent, &limits, &executor, call);
    int64_t computed_ns = clock_ns();
    deflate_reply(request, &executor);
    call->timings.parse_ms += (double)(inflated_ns - request->begun_ns) / 1e6;
    call->timings.encode_ms += (double)(clock_ns() - computed_ns) / 1e6;
    request->computed = true;
}

/* On a worker, or on the monitor where the job was stopped in the queue. */
static void request_run(struct job *job)
{
    struct http_request *request = (struct http_request *)job;
    request->begun_ns = clock_ns();
    if (job_stopped(job)) {
        struct error err = {0};
        (void)error_set(&err, ERROR_DEADLINE, "the request waited in the queue until its time, %zu s, had passed",
                        request->daemon->options->request_timeout_s);
        api_problem(&err, NULL, &request->call);
    } else {
        compute(request);
    }
    resume(request);
}

static enum MHD_Result submit(struct http_request *request)
{
    MHD_suspend_connection(request->mhd);
    connection_work(request->connection, &request->job, request->head.http_1_1);
    if (!queue_push(&request->daemon->queue, &request->job)) {
        struct error err = {0};
        (void)error_set(&err, ERROR_BUSY, "the queue is full: %zu requests wait already",
                        request->daemon->options->queue_jobs_max);
        api_problem(&err, NULL, &request->call);
        resume(request);
    }
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
        return submit(request);
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

/* Tells a client that was too slow why its connection ends, where that can still be told. */
static void reply_too_slow(struct http_request *request)
{
    struct error err = {0};
    const struct options *options = request->daemon->options;
    (void)error_set(&err, ERROR_TOO_SLOW, "the request did not arrive within %zu s, or not a byte of it came for %zu s",
                    options->request_timeout_s, options->idle_timeout_s);
    api_problem(&err, NULL, &request->call);
    response_write(request);
    request->lingers = true;
}

static const char *how_it_ended(const struct http_request *request, enum MHD_RequestTerminationCode how, bool too_slow)
{
    if (too_slow)
        return "too slow";
    if (job_why_stopped(&request->job) == JOB_CLIENT_GONE)
        return "client gone";
    if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK || (request->replied && request->lingers))
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

static void log_it(struct http_request *request, unsigned status, const char *end)
{
    int64_t now_ns = clock_ns();
    const struct api_timings *timings = &request->call.timings;
    request->target[strcspn(request->target, "?")] = '\0'; /* queries are not logged: they may hold what is private */
    log_request(request->daemon->log, &(struct log_request){
                                          .method = request->method,
                                          .path = request->target,
                                          .id = request->id,
                                          .status = status,
                                          .bytes_in = request->received_bytes,
                                          .bytes_out = sent_bytes(request),
                                          .receive_ms = ms_between(request->born_ns, request->received_ns),
                                          .queue_ms = ms_between(request->received_ns, request->begun_ns),
                                          .parse_ms = timings->parse_ms,
                                          .compute_ms = timings->compute_ms,
                                          .encode_ms = timings->encode_ms,
                                          .send_ms = ms_between(request->finished_ns, now_ns),
                                          .total_ms = ms_between(request->born_ns, now_ns),
                                          .end = end,
                                      });
}

static void request_free(struct monitor_garbage *garbage)
{
    struct http_request *request = (struct http_request *)((char *)garbage - offsetof(struct http_request, garbage));
    struct daemon *daemon = request->daemon;
    body_done(&request->body);
    api_call_done(&request->call);
    gzip_done(&request->gzip);
    budget_return_grant(&daemon->budget, &request->grant);
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
    log_it(request, status, end);
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
    request->garbage.free = request_free;
    monitor_free_later(&daemon->monitor, &request->garbage);
}
