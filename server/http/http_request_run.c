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

/* Grants api the memory of its call, or has it end the call: for a worker of large work, or until the memory is free. */
static bool reserve(void *context, const struct api_cost *cost, struct error *err)
{
    struct deferral *deferral = context;
    struct work_item *work_item = &deferral->request->work_item;
    (void)err;
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

/* Compresses the reply where the client accepts that and memory for it is free now. */
static void deflate_reply(struct http_request *request, const struct executor *executor)
{
    struct api_reply *reply = &request->call.reply;
    struct service *service = request->service;
    enum options_gzip wanted = service->options->gzip;
    bool json = strcmp(reply->content_type, "application/json") == 0;
    request->varies_by_encoding = wanted == OPTIONS_GZIP_ALL || (wanted == OPTIONS_GZIP_JSON && json);
    if (!request->varies_by_encoding || response_body_bytes(reply) < GZIP_REPLY_BYTES_MIN || !accepts_gzip(request))
        return;
    if (budget_grant_now(&service->budget, &request->work_item, gzip_cost(reply, executor)))
        request->reply_is_gzip = gzip_deflate(reply, executor, &request->gzip);
}

static enum http_request_outcome compute(struct http_request *request, size_t *ret_wanted_bytes)
{
    struct deferral deferral = {.request = request, .outcome = HTTP_REQUEST_ANSWERED};
    struct api_call *call = &request->call;
    struct pool_use use = {.pool = &request->service->pool, .work_item = &request->work_item};
    const struct executor executor = pool_executor(&use);
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
    api_compute(request->route->protocol, &sent, &limits, &executor, call);
    if (deferral.outcome != HTTP_REQUEST_ANSWERED) {
        *ret_wanted_bytes = deferral.wanted_bytes;
        api_call_done(call);
        return deferral.outcome;
    }
    int64_t computed_ns = clock_ns();
    deflate_reply(request, &executor);
    call->timings.parse_ms += (double)(inflated_ns - request->begun_ns) / 1e6;
    call->timings.encode_ms += (double)(clock_ns() - computed_ns) / 1e6;
    request->computed = true;
    return HTTP_REQUEST_ANSWERED;
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
        outcome = compute(request, ret_wanted_bytes);
    return outcome;
}
