/* attention.c: from a request's bytes to a reply's, whatever its face. The whole of it stands in attention_reply. */
#include <string.h>
#include <strings.h>
#include <time.h>

#include "api/api.h"
#include "api/envelope.h"
#include "api/face.h"
#include "api/infer.h"
#include "api/infer_reply.h"
#include "api/problem.h"
#include "core/blas.h"
#include "core/size.h"

void api_init(void)
{
    blas_init();
    json_object_seed(0); /* jansson's hash, drawn once here rather than by two threads at once */
}

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* JSON comes as JSON, as what `curl -d` calls a form, as text, or with no type at all; a body that says it is something else is
 * not guessed at. */
static bool check_media(const char *content_type, struct error *err)
{
    static const char *const json_types[] = {"application/json", "application/x-www-form-urlencoded", "text/json", "text/plain",
                                             "application/octet-stream"};
    if (content_type == NULL || content_type[0] == '\0')
        return true;
    size_t length = strcspn(content_type, "; \t");
    for (size_t i = 0; i < sizeof json_types / sizeof json_types[0]; i++)
        if (strlen(json_types[i]) == length && strncasecmp(content_type, json_types[i], length) == 0)
            return true;
    if (length > 5 && strncasecmp(content_type + length - 5, "+json", 5) == 0)
        return true;
    return error_set(err, ERROR_UNSUPPORTED_MEDIA, "content type %.100s is not read here; send application/json", content_type);
}

/* What a request may take before its cost is known: the envelope and what decoding it needs. */
static size_t decode_cost(void)
{
    return size_add(lift_scan_cost(), arena_cost(sizeof(struct request)) + arena_cost(sizeof(struct plan)) +
                                          arena_cost(sizeof(struct job)) +
                                          arena_cost(sizeof(struct infer)) + arena_cost(LIFT_ENVELOPE_BYTES_MAX));
}

/* Body to plan: nothing here grows with the tensors. */
static struct plan *decode(const struct face *face, const struct api_request *request, struct lift *lift, struct arena *arena,
                           struct error *err)
{
    struct request *decoded = arena_alloc(arena, sizeof *decoded, err);
    struct plan *plan = arena_alloc(arena, sizeof *plan, err);
    json_t *envelope = NULL;
    bool done = decoded != NULL && plan != NULL && check_media(request->content_type, err) &&
                lift_scan(request->body_bytes == 0 ? "" : request->body, request->body_bytes, arena, lift, err) && envelope_parse(lift, &envelope, err) &&
                face->decode(lift, envelope, arena, decoded, err) && plan_resolve(decoded, plan, err);
    json_decref(envelope);
    return done ? plan : NULL;
}

/* Computes what the plan will take, has the limits agree to it, and takes it. */
static bool take_memory(const struct face *face, struct job *job, const struct api_limits *limits, const struct executor *executor, struct api_call *call,
                        struct error *err)
{
    size_t text_bytes = face->reply_bytes_max(job->plan);
    struct job_memory costs = {0}, memory = {.arena = &call->arena};
    if (!job_lay_out(job, executor, text_bytes, &costs, err))
        return false;
    if (costs.cost_bytes > limits->request_memory_bytes_max)
        return error_set_limit(err, "max-request-memory", limits->request_memory_bytes_max,
                               "the shapes ask for %zu%s bytes of memory, where a request may take %zu", costs.cost_bytes,
                               costs.cost_bytes == SIZE_MAX ? " or more" : "", limits->request_memory_bytes_max);
    if (limits->reserve != NULL && !limits->reserve(limits->reserve_context, costs.cost_bytes, err))
        return false;
    call->reserved_bytes = costs.cost_bytes;
    call->arena.cap_bytes += costs.cost_bytes;
    *job = (struct job){.plan = job->plan, .lift = job->lift};
    return job_lay_out(job, executor, text_bytes, &memory, err);
}

/* A request's life in this room: decode, cost, read, compute, encode. */
static bool attention_reply(const struct face *face, const struct api_request *request, const struct api_limits *limits,
                            const struct executor *executor, struct api_call *call, struct error *err)
{
    double started_ms = now_ms();
    struct lift lift;
    const struct plan *plan = decode(face, request, &lift, &call->arena, err);
    struct job *job = plan == NULL ? NULL : arena_alloc(&call->arena, sizeof *job, err);
    if (job == NULL)
        return false;
    *job = (struct job){.plan = plan, .lift = &lift};
    if (!take_memory(face, job, limits, executor, call, err) || !job_read(job, err))
        return false;
    double read_ms = now_ms();
    if (!job_compute(job, &call->arena, executor, err))
        return false;
    double computed_ms = now_ms();
    call->reply = (struct api_reply){.status = 200, .content_type = "application/json", .body = job->text};
    call->reply.body_bytes = face->write_reply(job);
    call->timings = (struct api_timings){read_ms - started_ms, computed_ms - read_ms, now_ms() - computed_ms};
    return true;
}

static void compute(enum api_face which, const struct api_request *request, const struct api_limits *limits,
                    const struct executor *executor, struct api_call *call)
{
    const struct face *face = which == API_INFER ? &face_infer : &face_attention;
    struct error err;
    error_init(&err);
    *call = (struct api_call){.face = which};
    arena_init(&call->arena, decode_cost());
    if (!attention_reply(face, request, limits, executor, call, &err))
        api_problem(&err, NULL, call);
}

void api_attention(const struct api_request *request, const struct api_limits *limits, const struct executor *executor,
                   struct api_call *call)
{
    compute(API_ATTENTION, request, limits, executor, call);
}

void api_infer(const struct api_request *request, const struct api_limits *limits, const struct executor *executor,
               struct api_call *call)
{
    compute(API_INFER, request, limits, executor, call);
}

void api_problem(const struct error *err, const char *allow, struct api_call *call)
{
    bool infer = call->face == API_INFER;
    call->reply = (struct api_reply){
        .status = problem_status(err->code),
        .content_type = infer ? "application/json" : "application/problem+json",
        .body = call->problem,
        .body_bytes = infer ? infer_write_error(err, call->problem, sizeof call->problem)
                            : problem_write(err, call->problem, sizeof call->problem),
        .allow = allow,
        .retry_after_s = problem_retry_after_s(err->code),
        .error = err->code,
    };
}

void api_call_done(struct api_call *call)
{
    arena_done(&call->arena);
}
