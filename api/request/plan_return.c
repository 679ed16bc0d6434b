#include "api/request/plan_return.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/size.h"

/* What a result that is asked for needs. */
static bool resolve_need(const struct plan *plan, enum request_result which, bool has, const char *need, struct error *err)
{
    char place[TENSOR_INPUT_POINTER_BYTES_MAX];
    if (has || !plan->request->results[which])
        return true;
    (void)snprintf(place, sizeof place, "/return/%zu", plan->request->result_places[which]);
    return error_set_at(err, ERROR_INVALID, place, "%s needs %s", request_result_names[which], need);
}

static bool resolve_reductions(const struct plan *plan, struct error *err)
{
    const int64_t *pool = plan->request->pool;
    if (!resolve_need(plan, RESULT_TOP_KEYS, plan->request->top > 0,
                      "top: how many keys of each row, the largest weight first, as \"top\": 8", err) ||
        !resolve_need(plan, RESULT_POOLED_WEIGHTS, pool[0] > 0,
                      "pool: how many rows and columns to bring the weights to, as \"pool\": [64, 64]", err))
        return false;
    size_t rows_max = size_max(plan->Tq, 1), columns_max = size_max(plan->Tk, 1);
    if ((size_t)pool[0] > rows_max || (size_t)pool[1] > columns_max)
        return error_set_at(err, ERROR_INVALID, "/pool",
                            "[%" PRId64 ", %" PRId64 "], where at most [%zu, %zu] is expected: one cell a query and a key",
                            pool[0], pool[1], rows_max, columns_max);
    return true;
}

/* A range of `count` numbers, or all of them. */
static bool resolve_range(bool has, const int64_t range[2], size_t count, const char *pointer, const char *what,
                          size_t *ret_first, size_t *ret_count, struct error *err)
{
    *ret_first = has ? (size_t)range[0] : 0;
    *ret_count = has ? (size_t)(range[1] - range[0]) : count;
    if (!has || (size_t)range[1] <= count)
        return true;
    return error_set_at(err, ERROR_INVALID, pointer, "[%" PRId64 ", %" PRId64 "], where the request has %zu %s", range[0],
                        range[1], count, what);
}

static bool resolve_heads(struct plan *plan, struct error *err)
{
    const struct request_select *select = &plan->request->select;
    plan->stored_heads = select->has_heads ? select->head_count : plan->H;
    if (select->has_heads && !plan->has_heads)
        return error_set_at(err, ERROR_INVALID, "/select/heads",
                            "the request has no head axis: num_heads, or tensors of rank 4, would give it one");
    for (size_t i = 0; i < select->head_count; i++) {
        char place[TENSOR_INPUT_POINTER_BYTES_MAX];
        (void)snprintf(place, sizeof place, "/select/heads/%zu", i);
        if ((size_t)select->heads[i] >= plan->H)
            return error_set_at(err, ERROR_INVALID, place, "%" PRId32 ", where the request has %zu head%s, counted from 0",
                                select->heads[i], plan->H, error_s(plan->H));
        for (size_t other = 0; other < i; other++)
            if (select->heads[other] == select->heads[i])
                return error_set_at(err, ERROR_INVALID, place, "head %" PRId32 " is selected twice", select->heads[i]);
    }
    return true;
}

bool plan_return_resolve(struct plan *plan, struct error *err)
{
    const struct request_select *select = &plan->request->select;
    return resolve_reductions(plan, err) && resolve_heads(plan, err) &&
           resolve_range(select->has_queries, select->queries, plan->Tq, "/select/queries", "queries", &plan->first_query,
                         &plan->stored_queries, err) &&
           resolve_range(select->has_keys, select->keys, plan->Tk, "/select/keys", "keys", &plan->first_key, &plan->stored_keys,
                         err);
}
