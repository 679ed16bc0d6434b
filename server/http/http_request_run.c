#include "server/http/http_request_run.h"

#include <string.h>

#include "api/protocol/media_type.h"
#include "core/size.h"
#include "server/http/admission.h"
#include "server/http/response.h"
#include "server/work/clock.h"
#include "server/work/pool.h"

static bool reserve(void *context, size_t bytes, struct error *err)
{
    struct http_request *request = context;
    return budget_grant(&request->service->budget, &request->grant, bytes, &request->work_item, err);
}

/* The body as it was before the client compressed it. */
static bool inflate_body(struct http_request *request, struct error *err)
{
    struct body inflated;
    struct service *service = request->service;
    if (!request->body_is_gzip)
        return true;
    /* What fits once no other request has a body. */
    size_t beside_bytes = service->budget.bodies_bytes_max - request->body.room_bytes;
    body_init(&inflated, &service->budget, size_min(service->options->body_bytes_max, beside_bytes));
    bool done = gzip_inflate(request->body.data, request->body.bytes, &request->work_item, &inflated, err);
    body_done(&request->body);
    request->body = inflated;
    return done;
}

/* Compresses the reply where the client accepts that and memory for it is free now. */
static void deflate_reply(struct http_request *request, const struct executor *executor)
{
    struct api_reply *reply = &request->call.reply;
    struct service *service = request->service;
    enum options_gzip wanted = service->options->gzip;
    bool json = strcmp(reply->content_type, "application/json") == 0;
    request->varies_by_encoding = wanted == OPTIONS_GZIP_ALL || (wanted == OPTIONS_GZIP_JSON && json);
    if (!request->varies_by_encoding || response_body_bytes(reply) < GZIP_REPLY_BYTES_MIN ||
        !media_type_accepts(request->head.accept_encoding, "gzip", "identity"))
        return;
    if (budget_grant_now(&service->budget, &request->grant, gzip_cost(reply, executor)))
        request->reply_is_gzip = gzip_deflate(reply, executor, &request->gzip);
}

static void compute(struct http_request *request)
{
    struct api_call *call = &request->call;
    struct pool_use use = {.pool = &request->service->pool, .work_item = &request->work_item};
    const struct executor executor = pool_executor(&use);
    const struct api_limits limits = {
        .request_memory_bytes_max = request->service->options->request_memory_bytes_max,
        .reserve = reserve,
        .reserve_context = request,
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
    int64_t computed_ns = clock_ns();
    deflate_reply(request, &executor);
    call->timings.parse_ms += (double)(inflated_ns - request->begun_ns) / 1e6;
    call->timings.encode_ms += (double)(clock_ns() - computed_ns) / 1e6;
    request->computed = true;
}

void http_request_run(struct http_request *request)
{
    struct error err = {0};
    request->begun_ns = clock_ns();
    if (admission_in_time(request->service, &request->work_item, &err) && inflate_body(request, &err))
        compute(request);
    else
        api_problem(&err, NULL, &request->call);
}
