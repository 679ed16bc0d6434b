#include "api/request/plan_results.h"

#include <string.h>

#include "core/size.h"

static void result_set(struct plan *plan, enum request_result which, const size_t *shape, size_t rank)
{
    plan->results[which].rank = rank;
    memcpy(plan->results[which].shape, shape, rank * sizeof *shape);
}

/* [B?, heads?, rest...]: the batch and head axes as far as the request has them. */
static struct plan_result per_head(const struct plan *plan, size_t heads, const size_t *rest, size_t rest_rank)
{
    struct plan_result ret = {0};
    if (plan->has_batch)
        ret.shape[ret.rank++] = plan->B;
    if (plan->has_heads)
        ret.shape[ret.rank++] = heads;
    for (size_t i = 0; i < rest_rank; i++)
        ret.shape[ret.rank++] = rest[i];
    return ret;
}

static void result_per_head(struct plan *plan, enum request_result which, const size_t *rest, size_t rest_rank)
{
    plan->results[which] = per_head(plan, plan->H, rest, rest_rank);
}

/* A number for each query and key that is stored, of each head or their mean. */
static void results_of_pairs(struct plan *plan)
{
    static const enum request_result stages[] = {RESULT_WEIGHTS, RESULT_SCORES, RESULT_CAPPED_SCORES, RESULT_MASKED_SCORES};
    const size_t rows_keys[2] = {plan->Tq, plan->Tk}, stored[2] = {plan->stored_queries, plan->stored_keys};
    const size_t mean[3] = {plan->B, stored[0], stored[1]};
    plan->pairs = per_head(plan, plan->H, rows_keys, 2);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        plan->results[stages[i]] = per_head(plan, plan->stored_heads, stored, 2);
    result_set(plan, RESULT_MEAN_WEIGHTS, plan->has_batch ? mean : mean + 1, plan->has_batch ? 3 : 2);
}

/* Tokens in the order that query, key and value have in the request. */
static void result_tokens(struct plan *plan, enum request_result which, size_t heads, size_t tokens, size_t width)
{
    bool cache = which == RESULT_PRESENT_KEY || which == RESULT_PRESENT_VALUE;
    if (plan->head_axis || (cache && plan->request->cache_heads_first)) {
        bool heads_first = (cache ? plan->cache_layout : plan->layout) == PLAN_HEADS_FIRST;
        const size_t shape[4] = {plan->B, heads_first ? heads : tokens, heads_first ? tokens : heads, width};
        result_set(plan, which, plan->has_batch ? shape : shape + 1, plan->has_batch ? 4 : 3);
        return;
    }
    const size_t shape[3] = {plan->B, tokens, size_multiply(heads, width)};
    result_set(plan, which, plan->has_batch ? shape : shape + 1, plan->has_batch ? 3 : 2);
}

void plan_results_resolve(struct plan *plan)
{
    const struct tensor_input *tensors = plan->request->tensors;
    results_of_pairs(plan);
    result_per_head(plan, RESULT_LSE, &plan->Tq, 1);
    const size_t row_top[2] = {plan->Tq, (size_t)plan->request->top};
    const size_t pool[2] = {(size_t)plan->request->pool[0], (size_t)plan->request->pool[1]};
    result_per_head(plan, RESULT_KEY_SUMS, &plan->Tk, 1);
    result_per_head(plan, RESULT_ENTROPY, &plan->Tq, 1);
    result_per_head(plan, RESULT_TOP_KEYS, row_top, 2);
    result_per_head(plan, RESULT_POOLED_WEIGHTS, pool, 2);
    result_tokens(plan, RESULT_QUERY, plan->H, plan->Tq, plan->D);
    result_tokens(plan, RESULT_KEY, plan->Hkv, plan->Tnew, plan->D);
    result_tokens(plan, RESULT_VALUE, plan->Hkv, plan->Tnew, plan->Dv);
    result_tokens(plan, RESULT_PRESENT_KEY, plan->Hkv, plan->Tk, plan->D);
    result_tokens(plan, RESULT_PRESENT_VALUE, plan->Hkv, plan->Tk, plan->Dv);
    if (plan_projects(plan, PROJECTION_OUTPUT))
        result_tokens(plan, RESULT_OUTPUT, 1, plan->Tq, plan->weight_shape[PROJECTION_OUTPUT][0]);
    else
        result_tokens(plan, RESULT_OUTPUT, plan->H, plan->Tq, plan->Dv);
    if (plan->from_tokens)
        result_set(plan, RESULT_X, tensors[REQUEST_X].shape, tensors[REQUEST_X].rank);
    if (tensors[REQUEST_CONTEXT].kind != TENSOR_INPUT_ABSENT)
        result_set(plan, RESULT_CONTEXT, tensors[REQUEST_CONTEXT].shape, tensors[REQUEST_CONTEXT].rank);
    if (tensors[REQUEST_VALUE_CONTEXT].kind != TENSOR_INPUT_ABSENT)
        result_set(plan, RESULT_VALUE_CONTEXT, tensors[REQUEST_VALUE_CONTEXT].shape, tensors[REQUEST_VALUE_CONTEXT].rank);
}
