#include "server/http/http_request_log.h"

#include <string.h>

#include "server/http/response.h"
#include "server/telemetry/access_log.h"
#include "server/work/clock.h"
#include "server/work/sync.h"

static double ms_between(int64_t from_ns, int64_t to_ns)
{
    return from_ns == 0 || to_ns == 0 ? 0 : (double)(to_ns - from_ns) / 1e6;
}

/* As handed over; libmicrohttpd does not tell how much of an aborted reply went out. */
static uint64_t sent_bytes(const struct http_request *request)
{
    return request->replied && strcmp(request->method, "HEAD") != 0 ? response_body_bytes(&request->call.reply) : 0;
}

static void record_request(struct service *service, const struct api_protocol *protocol, const struct access_record *record)
{
    access_log_write(service->log, record);
    sync_lock(&service->mutex);
    metrics_add(&service->metrics, protocol, record);
    sync_unlock(&service->mutex);
}

void http_request_log(struct http_request *request, unsigned status, const char *end)
{
    int64_t now_ns = clock_ns();
    const struct api_timings *timings = &request->call.timings;
    request->target[strcspn(request->target, "?")] = '\0'; /* queries may hold secrets and are not logged */
    const struct access_record record = {
        .method = request->method,
        .path = request->target,
        .id = request->id,
        .trace_id = request->trace.trace_id,
        .parent_id = request->trace.parent_id,
        .span_id = request->trace.span_id,
        .status = status,
        .verdict = request->call.reply.verdict,
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
    record_request(request->service, request->route != NULL ? request->route->protocol : NULL, &record);
}

void http_request_log_refused(struct service *service, const char *method, const char *path)
{
    const struct access_record record = {
        .method = method,
        .path = path,
        .id = "",
        .status = MHD_HTTP_SERVICE_UNAVAILABLE,
        .end = "no memory",
    };
    record_request(service, NULL, &record);
}

void http_request_count_inference(struct http_request *request)
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
    struct statistics *statistics = &request->service->statistics[api_protocol_index(request->route->protocol)];
    statistics_add(statistics, request->call.reply.error == ERROR_NONE, ns);
}
