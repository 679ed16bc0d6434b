/* evaluation_compute.c: drawing, projections, norms, rotation, the cache, attention, and the output projection. */
#include "api/request/evaluation.h"

#include <string.h>

#include "api/request/evaluation_norm.h"
#include "api/request/evaluation_rope.h"
#include "api/request/kv_cache.h"
#include "core/projection.h"
#include "core/random.h"

/* Draws in the order that the seed defines: x, context, value_context, key, query, value, then projections. A request that draws
 * anything has a seed. */
static void draw(struct evaluation *evaluation, const struct executor *executor)
{
    const struct plan *plan = evaluation->plan;
    const struct request *request = plan->request;
    struct random random;
    if (!request->has_seed)
        return;
    random_init(&random, request->seed);
    for (size_t i = REQUEST_X; i <= REQUEST_VALUE; i++)
        if (request->tensors[i].kind == TENSOR_INPUT_DRAWN)
            random_normal(&random, evaluation_tensor(evaluation, (enum request_tensor)i), executor);
    for (size_t i = 0; i < PROJECTIONS; i++)
        if (plan_projects(plan, (enum request_projection)i) && !tensor_input_is_given(&request->weights[i]))
            random_linear(&random, &evaluation->weights[i]);
}

/* A (B,T,C) view of tokens that may lack their batch axis. */
static struct tensor batched(void *data, enum dtype dtype, size_t B, size_t T, size_t C)
{
    const size_t shape[3] = {B, T, C};
    return tensor_contiguous(data, dtype, 3, shape);
}

static bool project(struct evaluation *evaluation, enum request_projection which, void *from, size_t tokens, void *to,
                    const struct executor *executor, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    if (!plan_projects(plan, which))
        return true;
    struct tensor x = batched(from, plan->dtype, plan->B, tokens, plan->weight_shape[which][1]);
    struct tensor out = batched(to, plan->dtype, plan->B, tokens, plan->weight_shape[which][0]);
    return projection_apply(&x, &evaluation->weights[which], &evaluation->biases[which], plan->request->row_invariant, executor,
                            &out, err);
}

/* Tokens to query, key and value. */
static bool project_tokens(struct evaluation *evaluation, const struct executor *executor, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    void *x = evaluation->tensors[REQUEST_X].data;
    void *from = evaluation->tensors[plan_source(plan, PROJECTION_KEY)].data;
    void *values_from = evaluation->tensors[plan_source(plan, PROJECTION_VALUE)].data;
    struct tensor *query = &evaluation->results[RESULT_QUERY], *key = &evaluation->results[RESULT_KEY],
                  *value = &evaluation->results[RESULT_VALUE];
    if (plan->request->identity && query->data != x) { /* they will be rotated, the tokens not */
        memcpy(query->data, x, tensor_count(query) * dtype_bytes(plan->dtype));
        memcpy(key->data, from, tensor_count(key) * dtype_bytes(plan->dtype));
    }
    return project(evaluation, PROJECTION_KEY, from, plan->Tnew, key->data, executor, err) &&
           project(evaluation, PROJECTION_QUERY, x, plan->Tq, query->data, executor, err) &&
           project(evaluation, PROJECTION_VALUE, values_from, plan->Tnew, value->data, executor, err);
}

/* Queries and new keys as attention uses them; those of the past are so already. */
static void change_inputs(const struct evaluation *evaluation)
{
    const struct request *request = evaluation->plan->request;
    if (request->has_qk_norm && !request->qk_norm.after_rope)
        evaluation_norm_apply(evaluation);
    evaluation_rope_apply(evaluation);
    if (request->has_qk_norm && request->qk_norm.after_rope)
        evaluation_norm_apply(evaluation);
}

static bool attention_wanted(const struct evaluation *evaluation)
{
    for (size_t i = RESULT_OUTPUT; i <= RESULT_POOLED_WEIGHTS; i++)
        if (evaluation->results[i].data != NULL)
            return true;
    return false;
}

bool evaluation_compute(struct evaluation *evaluation, struct arena *arena, const struct executor *executor, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    draw(evaluation, executor);
    if (plan->from_tokens && !project_tokens(evaluation, executor, err))
        return false;
    change_inputs(evaluation);
    kv_cache_concatenate(evaluation);
    if (executor_stopped(executor))
        return executor_set_stopped(err);
    if (attention_wanted(evaluation) && !attention_compute(&evaluation->params, &evaluation->attention, arena, executor, err))
        return false;
    return evaluation->heads_output.data == NULL || project(evaluation, PROJECTION_OUTPUT, evaluation->heads_output.data,
                                                            plan->Tq, evaluation->results[RESULT_OUTPUT].data, executor, err);
}
