/* compare.c: POST /attention/compare: a request, what other code made of it, and which convention makes the difference. */
#include <string.h>

#include "api/compare/compare_case.h"
#include "api/compare/compare_read.h"
#include "api/compare/compare_write.h"
#include "api/json/array_check.h"
#include "api/json/document.h"
#include "api/protocol/media_type.h"
#include "api/protocol/problem.h"
#include "api/protocol/safetensors.h"
#include "api/request/plan_resolve.h"
#include "core/size.h"

/* How much a search computes, in evaluations of the request: what decides whether it counts as a small request. */
#define SEARCH_EVALUATIONS 64
#define SEARCH_EVALUATIONS_OF_PAIRS 1024

static bool accepts(const struct api_request *sent, struct error *err)
{
    return api_protocol_attention.accepts(sent, err);
}

/* A call, from its body to its reply. */
struct call {
    struct comparison *comparison;
    struct plan *plan;
    struct source *source;
    struct search *search;
    char *reply_buffer;
};

/* From body to plan: nothing here grows with the tensors. */
static bool decode(const struct api_request *sent, struct arena *arena, struct call *ret, struct error *err)
{
    *ret = (struct call){
        .comparison = arena_alloc(arena, sizeof *ret->comparison, err),
        .plan = arena_alloc(arena, sizeof *ret->plan, err),
        .source = arena_alloc(arena, sizeof *ret->source, err),
        .search = arena_alloc(arena, sizeof *ret->search, err),
        .reply_buffer = arena_alloc(arena, COMPARE_REPLY_BYTES_MAX, err),
    };
    if (err->code != ERROR_NONE || !compare_read(sent, arena, ret->comparison, err))
        return false;
    struct request *request = &ret->comparison->request;
    request->dtype = DTYPE_F64; /* what is compared is the convention, not our rounding */
    request->row_invariant = false;
    memset(request->results, 0, sizeof request->results);
    request->select = (struct request_select){0};
    if (!plan_resolve(request, ret->plan, err))
        return compare_request_error(ret->comparison, err);
    return expected_resolve(&ret->comparison->expected, ret->plan, err);
}

static size_t decode_cost(void)
{
    return compare_read_cost() + arena_cost(sizeof(struct comparison)) + arena_cost(sizeof(struct plan)) +
           arena_cost(sizeof(struct source)) + arena_cost(sizeof(struct search)) + arena_cost(COMPARE_REPLY_BYTES_MAX);
}

/* Has the limits grant what the search needs, and reads what the body holds. */
static bool read_tensors(const struct call *c, const struct api_limits *limits, const struct executor *executor,
                         struct api_call *call, struct error *err)
{
    struct comparison *comparison = c->comparison;
    const size_t evaluations = comparison->pairs ? SEARCH_EVALUATIONS_OF_PAIRS : SEARCH_EVALUATIONS;
    const struct api_cost cost = {
        .memory_bytes = size_add(size_add(size_add(expected_cost(&comparison->expected), source_cost(c->plan)),
                                          comparison->is_case ? compare_case_cost() : 0),
                                 search_cost(c->plan, comparison->extract, executor)),
        .products = size_multiply(evaluations, plan_products(c->plan)),
    };
    if (!protocol_reserve(limits, &cost, call, err) ||
        !expected_read(&comparison->expected, comparison->extract, &call->arena, executor, err))
        return false;
    return source_read(c->source, &comparison->request, c->plan, comparison->extract, &call->arena, executor, err) ||
           compare_request_error(comparison, err);
}

static bool search(const struct call *c, const struct executor *executor, struct arena *arena, struct error *err)
{
    struct comparison *comparison = c->comparison;
    *c->search = (struct search){
        .source = c->source,
        .expected = &comparison->expected,
        .executor = executor,
        .variant_bytes = variant_memory_bytes(c->plan, comparison->extract, executor),
        .pairs = comparison->pairs,
    };
    memcpy(c->search->only, comparison->only, sizeof c->search->only);
    return search_run(c->search, arena, err);
}

static bool write_reply(const struct call *c, const struct api_request *sent, struct arena *arena, struct api_reply *ret,
                        struct error *err)
{
    const struct api_chunk comparison = {c->reply_buffer, compare_write(c->comparison, c->search, c->reply_buffer)};
    *ret = (struct api_reply){.status = 200, .content_type = "application/json", .verdict = c->search->verdict};
    if (c->comparison->is_case && c->comparison->is_binary)
        return compare_case_binary(sent, &comparison, arena, ret, err);
    if (c->comparison->is_case)
        return compare_case_text(sent, &comparison, arena, ret, err);
    ret->body = comparison.data;
    ret->body_bytes = comparison.bytes;
    return true;
}

static bool answer(const struct api_request *sent, const struct api_limits *limits, const struct executor *executor,
                   struct api_call *call, struct error *err)
{
    struct call c;
    double since_ms = protocol_now_ms();
    call->arena.cap_bytes += decode_cost();
    bool read = decode(sent, &call->arena, &c, err) && read_tensors(&c, limits, executor, call, err);
    call->timings.parse_ms = protocol_lap_ms(&since_ms);
    if (!read) {
        if (c.comparison != NULL)
            array_check_explain_text(c.comparison->extract, &call->arena, executor, err);
        return false;
    }
    bool found = search(&c, executor, &call->arena, err);
    call->timings.compute_ms = protocol_lap_ms(&since_ms);
    if (!found)
        return false;
    bool written = write_reply(&c, sent, &call->arena, &call->reply, err);
    call->timings.encode_ms = protocol_lap_ms(&since_ms);
    return written;
}

const struct api_protocol api_protocol_compare = {
    .name = "/attention/compare",
    .accepts = accepts,
    .answer = answer,
    .error_type = "application/problem+json",
    .write_error = problem_write,
};
