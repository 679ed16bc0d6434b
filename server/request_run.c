#include "server/clock.h"
#include "server/daemon.h"
#include "server/pool.h"
#include "server/request.h"

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
    connection_enter(request->connection, CONNECTION_SEND, clock_ms() + request_timeout_ms(request));
    MHD_resume_connection(request->mhd);
}

/* On a worker, or on the monitor where the job was stopped in the queue. */
void request_run(struct job *job)
{
    struct http_request *request = (struct http_request *)job;
    request->begun_ns = clock_ns();
    if (job_stopped(job)) {
        struct error err = {0};
        (void)error_set(&err, ERROR_DEADLINE, "the request waited in the queue until its time, %zu s, had passed",
                        request->daemon->options->request_timeout_s);
        api_problem(&err, NULL, &request->call);
    } else {
        struct pool_job use = {.pool = &request->daemon->pool, .job = job};
        const struct executor executor = pool_executor(&use);
        const struct api_limits limits = {
            .request_memory_bytes_max = request->daemon->options->request_memory_bytes_max,
            .reserve = reserve,
            .reserve_context = request,
        };
        const struct api_request sent = {
            .content_type = request->head.content_type,
            .accept = request->head.accept,
            .json_length = request->head.json_length,
            .body = request->body.data,
            .body_bytes = request->body.bytes,
        };
        request->route->compute(&sent, &limits, &executor, &request->call);
        request->computed = true;
    }
    resume(request);
}

void request_submit(struct http_request *request)
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
}
