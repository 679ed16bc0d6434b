/* api.c: from a request's bytes to a reply's, whatever the protocol: `compute` tells it whole. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/api.h"
#include "api/json/array_check.h"
#include "api/json/document.h"
#include "api/json/document_memory.h"
#include "api/protocol/problem.h"
#include "api/request/evaluation.h"
#include "api/request/plan_resolve.h"
#include "core/blas.h"
#include "core/kernels/kernels.h"
#include "core/size.h"

void api_init(void)
{
    blas_init();
    document_memory_init();
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

/* What a request may allocate before its cost is known: two documents at most, one of them copied, and what decoding them needs. */
static size_t decode_cost(void)
{
    return size_add(size_multiply(3, document_cost()),
                    arena_cost(PROTOCOL_READ_BYTES_MAX) + arena_cost(sizeof(struct request)) + arena_cost(sizeof(struct plan)) +
                        arena_cost(sizeof(struct evaluation)) + arena_cost(sizeof(struct extract)));
}

/* From body to plan: nothing here grows with the tensors. */
static struct evaluation *decode(const struct api_request *sent, struct api_call *call, struct extract *extract,
                                 struct error *err)
{
    struct arena *arena = &call->arena;
    struct request *request = arena_alloc(arena, sizeof *request, err);
    struct plan *plan = arena_alloc(arena, sizeof *plan, err);
    struct evaluation *evaluation = arena_alloc(arena, sizeof *evaluation, err);
    if (request == NULL || plan == NULL || evaluation == NULL)
        return NULL;
    if (!call->protocol->read(sent, arena, extract, request, err) || !plan_resolve(request, plan, err))
        return NULL;
    *evaluation = (struct evaluation){.plan = plan, .extract = extract};
    return evaluation;
}

/* Computes what the plan costs, has the limits grant it, and allocates it. */
static bool reserve_memory(struct evaluation *evaluation, const struct api_limits *limits, const struct executor *executor,
                           struct api_call *call, struct error *err)
{
    size_t reply_bytes_max = call->protocol->write_bytes_max(evaluation->plan);
    struct evaluation_memory costs = {0}, memory = {.arena = &call->arena};
    if (!evaluation_allocate(evaluation, executor, reply_bytes_max, &costs, err))
        return false;
    char cost_text[SIZE_TEXT_BYTES_MAX];
    if (costs.cost_bytes > limits->request_memory_bytes_max)
        return error_set_limit(err, "max-request-memory", limits->request_memory_bytes_max,
                               "the shapes ask for %s bytes of memory, where a request may take %zu",
                               size_text(costs.cost_bytes, cost_text), limits->request_memory_bytes_max);
    const struct api_cost cost = {.memory_bytes = costs.cost_bytes, .products = plan_products(evaluation->plan)};
    if (limits->reserve != NULL && !limits->reserve(limits->reserve_context, &cost, err))
        return false;
    call->reserved_bytes = costs.cost_bytes;
    call->arena.cap_bytes += costs.cost_bytes;
    *evaluation = (struct evaluation){.plan = evaluation->plan, .extract = evaluation->extract};
    return evaluation_allocate(evaluation, executor, reply_bytes_max, &memory, err);
}

/* A request with its numbers in memory. An error on the way is checked against the arrays, one of which may have caused it. */
static struct evaluation *read_request(const struct api_request *sent, const struct api_limits *limits,
                                       const struct executor *executor, struct api_call *call, struct error *err)
{
    struct extract *extract = arena_alloc(&call->arena, sizeof *extract, err);
    if (extract == NULL || !call->protocol->accepts(sent, err))
        return NULL;
    *extract = (struct extract){0}; /* until the text is scanned */
    struct evaluation *evaluation = decode(sent, call, extract, err);
    if (evaluation != NULL && reserve_memory(evaluation, limits, executor, call, err) &&
        evaluation_read(evaluation, executor, err))
        return evaluation;
    if (err->code == ERROR_NONE) /* deferred */
        return NULL;
    struct error unused;
    json_t *document = NULL;
    error_init(&unused);
    if (extract->text != NULL && document_parse(extract, &call->arena, &document, &unused))
        array_check_explain(extract, document, executor, err);
    document_done(document);
    return NULL;
}

/* A request's life in this layer: decode, cost, read, compute, encode. */
static bool compute(const struct api_request *sent, const struct api_limits *limits, const struct executor *executor,
                    struct api_call *call, struct error *err)
{
    double started_ms = now_ms();
    struct evaluation *evaluation = read_request(sent, limits, executor, call, err);
    double read_ms = now_ms();
    call->timings.parse_ms = read_ms - started_ms;
    if (evaluation == NULL)
        return false;
    bool computed = evaluation_compute(evaluation, &call->arena, executor, err);
    double computed_ms = now_ms();
    call->timings.compute_ms = computed_ms - read_ms;
    if (!computed)
        return false;
    bool written = call->protocol->write(evaluation, executor, &call->reply, err);
    call->timings.encode_ms = now_ms() - computed_ms;
    return written;
}

void api_compute(const struct api_protocol *protocol, const struct api_request *request, const struct api_limits *limits,
                 const struct executor *executor, struct api_call *call)
{
    struct api_request sent = *request;
    struct error err;
    error_init(&err);
    if (sent.body_bytes == 0)
        sent.body = "";
    *call = (struct api_call){.protocol = protocol};
    arena_init(&call->arena, decode_cost());
    if (!compute(&sent, limits, executor, call, &err) && err.code != ERROR_NONE)
        api_problem(&err, NULL, call);
}

void api_problem(const struct error *err, const char *allow, struct api_call *call)
{
    call->reply = (struct api_reply){
        .status = problem_status(err->code),
        .content_type = call->protocol->error_type,
        .body = call->problem,
        .body_bytes = call->protocol->write_error(err, call->problem, sizeof call->problem),
        .allow = allow,
        .retry_after_s = problem_retry_after_s(err->code),
        .error = err->code,
    };
}

void api_call_done(struct api_call *call)
{
    arena_done(&call->arena);
}
