/* attention.c: from a request's bytes to a reply's, whatever its face. The whole of it stands in attention_reply. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/api.h"
#include "api/arrays.h"
#include "api/envelope.h"
#include "api/face.h"
#include "api/infer_reply.h"
#include "api/json_room.h"
#include "api/media.h"
#include "api/problem.h"
#include "api/safetensors.h"
#include "core/blas.h"
#include "core/kernels.h"
#include "core/size.h"

void api_init(void)
{
    blas_init();
    json_room_init();
    json_object_seed(0); /* jansson's hash, drawn once here rather than by two threads at once */
}

bool api_use_kernel(const char *name, struct error *err)
{
    char names[64] = "";
    if (kernels_choose(name))
        return true;
    for (size_t i = 0; kernels_at(i) != NULL; i++) {
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", kernels_at(i)->name);
    }
    return error_set(err, ERROR_INVALID, "no kernel \"%.20s\"; this processor runs %s", name, names);
}

const char *api_kernel(void)
{
    return kernels_in_use()->name;
}

const char *api_blas(void)
{
    return blas_name();
}

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static bool check_media(enum api_face face, const struct api_request *sent, struct error *err)
{
    if (face == API_ATTENTION && media_is(sent->content_type, SAFETENSORS_TYPE))
        return true;
    if (!media_may_be_json(sent->content_type))
        return error_set(err, ERROR_UNSUPPORTED_MEDIA, "content type %.100s is not read here; send application/json%s",
                         sent->content_type, face == API_ATTENTION ? " or " SAFETENSORS_TYPE : "");
    if (face == API_ATTENTION && safetensors_resembles(sent->body, sent->body_bytes))
        return error_set(
            err, ERROR_UNSUPPORTED_MEDIA,
            "the body looks like a safetensors file, and is to be read as JSON: send it with Content-Type: " SAFETENSORS_TYPE);
    return true;
}

/* What a request may take before its cost is known: two envelopes at the most and one of them once more, and what decoding them
 * needs. */
static size_t decode_cost(void)
{
    return size_add(size_multiply(3, envelope_cost()), arena_cost(FACE_DECODE_BYTES_MAX) + arena_cost(sizeof(struct request)) +
                                                           arena_cost(sizeof(struct plan)) + arena_cost(sizeof(struct job)) +
                                                           arena_cost(sizeof(struct lift)));
}

/* Body to plan: nothing here grows with the tensors. */
static struct job *decode(const struct face *face, const struct api_request *sent, struct arena *arena, struct lift *lift,
                          struct error *err)
{
    struct request *request = arena_alloc(arena, sizeof *request, err);
    struct plan *plan = arena_alloc(arena, sizeof *plan, err);
    struct job *job = arena_alloc(arena, sizeof *job, err);
    if (request == NULL || plan == NULL || job == NULL)
        return NULL;
    if (!face->decode(sent, arena, lift, request, err) || !plan_resolve(request, plan, err))
        return NULL;
    *job = (struct job){.plan = plan, .lift = lift};
    return job;
}

/* Computes what the plan will take, has the limits agree to it, and takes it. */
static bool take_memory(const struct face *face, struct job *job, const struct api_limits *limits,
                        const struct executor *executor, struct api_call *call, struct error *err)
{
    size_t text_bytes = face->reply_bytes_max(job->plan);
    struct job_memory costs = {0}, memory = {.arena = &call->arena};
    if (!job_lay_out(job, executor, text_bytes, &costs, err))
        return false;
    char cost[SIZE_TEXT_BYTES_MAX];
    if (costs.cost_bytes > limits->request_memory_bytes_max)
        return error_set_limit(err, "max-request-memory", limits->request_memory_bytes_max,
                               "the shapes ask for %s bytes of memory, where a request may take %zu",
                               size_text(costs.cost_bytes, cost), limits->request_memory_bytes_max);
    if (limits->reserve != NULL && !limits->reserve(limits->reserve_context, costs.cost_bytes, err))
        return false;
    call->reserved_bytes = costs.cost_bytes;
    call->arena.cap_bytes += costs.cost_bytes;
    *job = (struct job){.plan = job->plan, .lift = job->lift};
    return job_lay_out(job, executor, text_bytes, &memory, err);
}

/* The numbers in memory, ready to be computed with. An error on the way there is held against the arrays, which it may come of. */
static struct job *read_request(const struct face *face, const struct api_request *sent, const struct api_limits *limits,
                                const struct executor *executor, struct api_call *call, struct error *err)
{
    struct lift *lift = arena_alloc(&call->arena, sizeof *lift, err);
    if (lift == NULL || !check_media(call->face, sent, err))
        return NULL;
    *lift = (struct lift){0}; /* until the text is scanned */
    struct job *job = decode(face, sent, &call->arena, lift, err);
    if (job != NULL && take_memory(face, job, limits, executor, call, err) && job_read(job, executor, err))
        return job;
    struct error unused;
    json_t *envelope = NULL;
    error_init(&unused);
    if (lift->text != NULL && envelope_parse(lift, &call->arena, &envelope, &unused))
        arrays_explain(lift, envelope, executor, err);
    envelope_done(envelope);
    return NULL;
}

/* A request's life in this room: decode, cost, read, compute, encode. */
static bool attention_reply(const struct face *face, const struct api_request *sent, const struct api_limits *limits,
                            const struct executor *executor, struct api_call *call, struct error *err)
{
    double started_ms = now_ms();
    struct job *job = read_request(face, sent, limits, executor, call, err);
    double read_ms = now_ms();
    call->timings.parse_ms = read_ms - started_ms;
    if (job == NULL)
        return false;
    bool computed = job_compute(job, &call->arena, executor, err);
    double computed_ms = now_ms();
    call->timings.compute_ms = computed_ms - read_ms;
    if (!computed)
        return false;
    bool written = face->write_reply(job, executor, &call->reply, err);
    call->timings.encode_ms = now_ms() - computed_ms;
    return written;
}

static void compute(enum api_face which, const struct api_request *request, const struct api_limits *limits,
                    const struct executor *executor, struct api_call *call)
{
    const struct face *face = which == API_INFER ? &face_infer : &face_attention;
    struct api_request sent = *request;
    struct error err;
    error_init(&err);
    if (sent.body_bytes == 0)
        sent.body = "";
    *call = (struct api_call){.face = which};
    arena_init(&call->arena, decode_cost());
    if (!attention_reply(face, &sent, limits, executor, call, &err))
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
