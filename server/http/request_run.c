#include <string.h>

#include "api/protocol/media_type.h"
#include "core/size.h"
#include "server/http/daemon.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/work/clock.h"
#include "server/work/pool.h"

static bool reserve(void *context, size_t bytes, struct error *err)
{
    struct http_request *request = context;
    return budget_grant(&request->daemon->budget, &request->grant, bytes, &request->work_item, err);
}

/* Counted before the reply goes out: who has read it finds it in the statistics. */
static void count_inference(struct http_request *request)
{
    const struct api_timings *timings = &request->call.timings;
    int64_t whole_ns = request->finished_ns - request->received_ns;
    const int64_t ns[STATISTICS_PARTS] = {
        [STATISTICS_SUCCESS] = whole_ns,
        [STATISTICS_FAIL] = whole_ns,
        [STATISTICS_QUEUE] = request->begun_ns - request->received_ns,
        [STATISTICS_COMPUTE_INPUT] = (int64_t)(timings->parse_ms * 1e6),
        [STATISTICS_COMPUTE_INFER] = (int64_t)(timings->compute_ms * 1e6),
        [STATISTICS_COMPUTE_OUTPUT] = (int64_t)(timings->encode_ms * 1e6),
    };
    struct statistics *statistics = &request->daemon->statistics[api_protocol_index(request->route->protocol)];
    statistics_add(statistics, request->call.reply.error == ERROR_NONE, ns);
}

/* Lets the sockets' thread go on with a suspended request. The last touch of whoever had it: it may be freed next. */
static void resume(struct http_request *request)
{
    request->finished_ns = clock_ns();
    count_inference(request);
    connection_enter(request->connection, CONNECTION_SEND, clock_ms() + request_timeout_ms(request));
    MHD_resume_connection(request->mhd);
}

/* The body as the client had it before it compressed it. */
static bool inflate_body(struct http_request *request, struct error *err)
{
    struct body inflated;
    struct daemon *daemon = request->daemon;
    if (!request->inflate)
        return true;
    size_t beside_bytes =
        daemon->budget.bodies_bytes_max - request->body.room_bytes; /* what fits once nobody else has a body */
    body_init(&inflated, &daemon->budget, size_min(daemon->options->body_bytes_max, beside_bytes));
    bool done = gzip_inflate(request->body.data, request->body.bytes, &request->work_item, &inflated, err);
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
        !media_type_accepts(request->head.accept_encoding, "gzip", "identity"))
        return;
    if (budget_grant_now(&daemon->budget, &request->grant, gzip_cost(reply, executor)))
        request->deflated = gzip_deflate(reply, executor, &request->gzip);
}

static void compute(struct http_request *request)
{
    struct error err = {0};
    struct api_call *call = &request->call;
    struct pool_use use = {.pool = &request->daemon->pool, .work_item = &request->work_item};
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
    api_compute(request->route->protocol, &sent, &limits, &executor, call);
    int64_t computed_ns = clock_ns();
    deflate_reply(request, &executor);
    call->timings.parse_ms += (double)(inflated_ns - request->begun_ns) / 1e6;
    call->timings.encode_ms += (double)(clock_ns() - computed_ns) / 1e6;
    request->computed = true;
}

/* On a worker, or on the monitor where the job was stopped in the queue. */
void request_run(struct work_item *work_item)
{
    struct http_request *request = (struct http_request *)work_item;
    request->begun_ns = clock_ns();
    if (work_item_stopped(work_item)) {
        struct error err = {0};
        (void)error_set(&err, ERROR_DEADLINE, "the request waited in the queue until its time, %zu s, had passed",
                        request->daemon->options->request_timeout_s);
        api_problem(&err, NULL, &request->call);
    } else {
        compute(request);
    }
    resume(request);
}

void request_submit(struct http_request *request)
{
    MHD_suspend_connection(request->mhd);
    connection_work(request->connection, &request->work_item, request->head.http_1_1);
    if (!queue_push(&request->daemon->queue, &request->work_item)) {
        struct error err = {0};
        (void)error_set(&err, ERROR_BUSY, "the queue is full: %zu requests wait already",
                        request->daemon->options->queue_items_max);
        api_problem(&err, NULL, &request->call);
        resume(request);
    }
}
