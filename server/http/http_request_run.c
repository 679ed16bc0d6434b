#include "server/http/http_request_run.h"

#include <string.h>

#include "api/protocol/media_type.h"
#include "core/size.h"
#include "server/http/admission.h"
#include "server/http/response.h"
#include "server/work/clock.h"
#include "server/work/pool.h"

/* Why api_compute ends without a reply. */
struct deferral {
    struct http_request *request;
    bool at_once;
    enum http_request_outcome outcome;
    size_t wanted_bytes;
};

static bool accepts_gzip(const struct http_request *request)
{
    return request->service->options->gzip != OPTIONS_GZIP_OFF &&
           media_type_accepts(request->head.accept_encoding, "gzip", "identity");
}

/* Compressing a byte takes several times as long as writing it. */
static bool is_small(const struct http_request *request, const struct api_cost *cost)
{
    size_t memory_bytes_max = WORK_SMALL_MEMORY_BYTES_MAX / (accepts_gzip(request) ? 4 : 1);
    return cost->products <= WORK_SMALL_PRODUCTS_MAX && cost->memory_bytes <= memory_bytes_max;
}

static bool is_for_at_once(const struct api_cost *cost)
{
    size_t part_bytes = WORK_AT_ONCE_THREAD_BYTES / size_max(http_connection_count(), 1);
    return cost->products <= WORK_AT_ONCE_PRODUCTS_MAX &&
           cost->memory_bytes <= size_min(part_bytes, WORK_AT_ONCE_MEMORY_BYTES_MAX);
}

/* Grants api the memory of its call, or has it end the call: for a worker of large work, or until the memory is free. */
static bool reserve(void *context, const struct api_cost *cost, struct error *err)
{
    struct deferral *deferral = context;
    struct work_item *work_item = &deferral->request->work_item;
    (void)err;
    if (deferral->at_once && !is_for_at_once(cost)) {
        deferral->outcome = HTTP_REQUEST_IS_LARGE;
        return false;
    }
    if (work_item->class == WORK_SMALL && !is_small(deferral->request, cost)) {
        work_item->class = WORK_LARGE;
        deferral->outcome = HTTP_REQUEST_IS_LARGE;
        return false;
    }
    if (work_item->grant.bytes >= cost->memory_bytes) /* waited for */
        return true;
    if (budget_grant_now(&deferral->request->service->budget, work_item, cost->memory_bytes))
        return true;
    deferral->outcome = HTTP_REQUEST_WANTS_MEMORY;
    deferral->wanted_bytes = cost->memory_bytes;
    return false;
}

/* A small body stays as it is if it turns out large, for a worker of large work to begin anew. */
static enum http_request_outcome inflate_small(struct http_request *request, struct error *err)
{
    struct body inflated;
    struct service *service = request->service;
    size_t bytes_max = size_min(service->options->body_bytes_max, WORK_SMALL_BODY_BYTES_MAX);
    body_init(&inflated, &service->budget, bytes_max, false);
    bool done = gzip_inflate(request->body.data, request->body.bytes, &request->work_item, &inflated, err);
    if (!done && err->code == ERROR_TOO_LARGE && bytes_max < service->options->body_bytes_max) {
        body_done(&inflated);
        error_init(err);
        request->work_item.class = WORK_LARGE;
        return HTTP_REQUEST_IS_LARGE;
    }
    body_done(&request->body);
    request->body = inflated;
    return HTTP_REQUEST_ANSWERED;
}

/* Meanwhile the compressed body counts as a grant, so that the inflated one may be as large as any body. */
static void inflate_large(struct http_request *request, struct error *err)
{
    struct body inflated;
    struct service *service = request->service;
    size_t limit_bytes = service->options->body_bytes_max;
    size_t left_bytes = service->budget.pools[WORK_LARGE].total_bytes - request->body.share.bytes;
    body_init(&inflated, &service->budget, size_min(limit_bytes, left_bytes), false);
    budget_body_to_grant(&service->budget, &request->body.share, &request->work_item);
    bool done = gzip_inflate(request->body.data, request->body.bytes, &request->work_item, &inflated, err);
    if (!done && err->code == ERROR_TOO_LARGE && left_bytes < limit_bytes) {
        error_init(err);
        (void)error_set_limit(err, "memory", service->options->memory_bytes_max,
                              "the body, %zu bytes compressed, does not fit into the memory beside what it inflates to",
                              request->body.bytes);
    }
    body_done(&request->body);
    budget_release_grant(&service->budget, &request->work_item);
    request->body = inflated;
}

/* The body as it was before the client compressed it. */
static enum http_request_outcome inflate_body(struct http_request *request, struct error *err)
{
    enum http_request_outcome outcome = HTTP_REQUEST_ANSWERED;
    if (!request->body_is_gzip)
        return outcome;
    if (request->work_item.class == WORK_SMALL)
        outcome = inflate_small(request, err);
    else
        inflate_large(request, err);
    request->body_is_gzip = outcome != HTTP_REQUEST_ANSWERED;
    return outcome;
}

/* Whether the reply is to be compressed. */
static bool wants_gzip(struct http_request *request)
{
    const struct api_reply *reply = &request->call.reply;
    enum options_gzip wanted = request->service->options->gzip;
    bool json = strcmp(reply->content_type, "application/json") == 0;
    request->varies_by_encoding = wanted == OPTIONS_GZIP_ALL || (wanted == OPTIONS_GZIP_JSON && json);
    return request->varies_by_encoding && response_body_bytes(reply) >= GZIP_REPLY_BYTES_MIN && accepts_gzip(request);
}

/* Compresses the reply where memory for it is free now. */
static void deflate_reply(struct http_request *request, const struct executor *executor)
{
    struct api_reply *reply = &request->call.reply;
    struct service *service = request->service;
    if (budget_grant_now(&service->budget, &request->work_item, gzip_cost(reply, executor)))
        request->reply_is_gzip = gzip_deflate(reply, executor, &request->gzip);
}

static enum http_request_outcome compute_by(const struct executor *executor, struct http_request *request, bool at_once,
                                            size_t *ret_wanted_bytes)
{
    struct deferral deferral = {.request = request, .at_once = at_once, .outcome = HTTP_REQUEST_ANSWERED};
    struct api_call *call = &request->call;
    const struct api_limits limits = {
        .request_memory_bytes_max = request->service->options->request_memory_bytes_max,
        .reserve = reserve,
        .reserve_context = &deferral,
    };
    int64_t inflated_ns = clock_ns();
    const struct api_request sent = {
        .content_type = request->head.content_type,
        .accept = request->head.accept,
        .json_length = request->head.json_length,
        .body = request->body.data,
        .body_bytes = request->body.bytes,
    };
    api_compute(request->route->protocol, &sent, &limits, executor, call);
    bool gzip = deferral.outcome == HTTP_REQUEST_ANSWERED && wants_gzip(request);
    if (gzip && at_once) /* compressing takes longer than all that was done until here */
        deferral.outcome = HTTP_REQUEST_IS_LARGE;
    if (deferral.outcome != HTTP_REQUEST_ANSWERED) {
        *ret_wanted_bytes = deferral.wanted_bytes;
        api_call_done(call);
        return deferral.outcome;
    }
    int64_t computed_ns = clock_ns();
    if (gzip)
        deflate_reply(request, executor);
    call->timings.parse_ms += (double)(inflated_ns - request->begun_ns) / 1e6;
    call->timings.encode_ms += (double)(clock_ns() - computed_ns) / 1e6;
    request->computed = true;
    return HTTP_REQUEST_ANSWERED;
}

static enum http_request_outcome compute(struct http_request *request, bool at_once, size_t *ret_wanted_bytes)
{
    struct pool_use use = {.pool = &request->service->pool, .work_item = &request->work_item};
    const struct executor executor = pool_enter(&use);
    enum http_request_outcome outcome = compute_by(&executor, request, at_once, ret_wanted_bytes);
    pool_leave(&use);
    return outcome;
}

enum http_request_outcome http_request_run(struct http_request *request, size_t *ret_wanted_bytes)
{
    enum http_request_outcome outcome = HTTP_REQUEST_ANSWERED;
    struct error err = {0};
    request->begun_ns = clock_ns();
    if (admission_in_time(request->service, &request->work_item, &err))
        outcome = inflate_body(request, &err);
    if (err.code != ERROR_NONE)
        api_problem(&err, NULL, &request->call);
    else if (outcome == HTTP_REQUEST_ANSWERED)
        outcome = compute(request, false, ret_wanted_bytes);
    return outcome;
}

bool http_request_run_at_once(struct http_request *request)
{
    size_t wanted_bytes;
    if (request->body_is_gzip || request->body.bytes > WORK_AT_ONCE_BODY_BYTES_MAX)
        return false;
    request->begun_ns = clock_ns();
    if (compute(request, true, &wanted_bytes) == HTTP_REQUEST_ANSWERED)
        return true;
    budget_release_grant(&request->service->budget, &request->work_item);
    return false;
}
