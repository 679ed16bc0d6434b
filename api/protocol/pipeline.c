/* pipeline.c: decode, cost, read, compute, encode: pipeline_run tells it whole. */
#include "api/protocol/pipeline.h"

#include "api/json/array_check.h"
#include "api/json/document.h"
#include "api/request/plan_resolve.h"
#include "core/size.h"

/* What a request may allocate before its cost is known: two documents at most, one of them copied, and what decoding them
 * needs. */
static size_t decode_cost(void)
{
    return size_add(size_multiply(3, document_cost()),
                    arena_cost(PIPELINE_READ_BYTES_MAX) + arena_cost(sizeof(struct request)) + arena_cost(sizeof(struct plan)) +
                        arena_cost(sizeof(struct evaluation)) + arena_cost(sizeof(struct extract)));
}

/* From body to plan: nothing here grows with the tensors. */
static struct evaluation *decode(const struct pipeline *pipeline, const struct api_request *sent, struct arena *arena,
                                 struct extract *extract, struct error *err)
{
    struct request *request = arena_alloc(arena, sizeof *request, err);
    struct plan *plan = arena_alloc(arena, sizeof *plan, err);
    struct evaluation *evaluation = arena_alloc(arena, sizeof *evaluation, err);
    if (request == NULL || plan == NULL || evaluation == NULL)
        return NULL;
    if (!pipeline->read(sent, arena, extract, request, err) || !plan_resolve(request, plan, err))
        return NULL;
    *evaluation = (struct evaluation){.plan = plan, .extract = extract};
    return evaluation;
}

/* Computes what the plan costs, has the limits grant it, and allocates it. */
static bool allocate(const struct pipeline *pipeline, struct evaluation *evaluation, const struct api_limits *limits,
                     const struct executor *executor, struct api_call *call, struct error *err)
{
    size_t reply_bytes_max = pipeline->write_bytes_max(evaluation->plan);
    struct evaluation_memory costs = {0}, memory = {.arena = &call->arena};
    if (!evaluation_allocate(evaluation, executor, reply_bytes_max, &costs, err))
        return false;
    const struct api_cost cost = {.memory_bytes = costs.cost_bytes, .products = plan_products(evaluation->plan)};
    if (!protocol_reserve(limits, &cost, call, err))
        return false;
    *evaluation = (struct evaluation){.plan = evaluation->plan, .extract = evaluation->extract};
    return evaluation_allocate(evaluation, executor, reply_bytes_max, &memory, err);
}

/* A request with its numbers in memory. An error on the way is checked against the arrays, one of which may have caused it. */
static struct evaluation *read_request(const struct pipeline *pipeline, const struct api_request *sent,
                                       const struct api_limits *limits, const struct executor *executor, struct api_call *call,
                                       struct error *err)
{
    struct extract *extract = arena_alloc(&call->arena, sizeof *extract, err);
    if (extract == NULL)
        return NULL;
    *extract = (struct extract){0}; /* until the text is scanned */
    struct evaluation *evaluation = decode(pipeline, sent, &call->arena, extract, err);
    if (evaluation != NULL && allocate(pipeline, evaluation, limits, executor, call, err) &&
        evaluation_read(evaluation, executor, err))
        return evaluation;
    array_check_explain_text(extract, &call->arena, executor, err);
    return NULL;
}

bool pipeline_run(const struct pipeline *pipeline, const struct api_request *sent, const struct api_limits *limits,
                  const struct executor *executor, struct api_call *call, struct error *err)
{
    double since_ms = protocol_now_ms();
    call->arena.cap_bytes += decode_cost();
    struct evaluation *evaluation = read_request(pipeline, sent, limits, executor, call, err);
    call->timings.parse_ms = protocol_lap_ms(&since_ms);
    if (evaluation == NULL)
        return false;
    bool computed = evaluation_compute(evaluation, &call->arena, executor, err);
    call->timings.compute_ms = protocol_lap_ms(&since_ms);
    if (!computed)
        return false;
    bool written = pipeline->write(evaluation, executor, &call->reply, err);
    call->timings.encode_ms = protocol_lap_ms(&since_ms);
    return written;
}
