#include "api/request/evaluation_norm.h"

#include "core/norm.h"
#include "core/size.h"

static const struct tensor_input *weights_of(const struct evaluation *evaluation, size_t which)
{
    const struct qk_norm_request *norm = &evaluation->plan->request->qk_norm;
    return which == 0 ? &norm->query_weights : &norm->key_weights;
}

bool evaluation_norm_allocate(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
{
    for (size_t i = 0; i < 2; i++) {
        const struct tensor_input *weights = weights_of(evaluation, i);
        size_t bytes = size_multiply(shape_count(weights->rank, weights->shape), sizeof(double));
        if (weights->kind != TENSOR_INPUT_ABSENT && (evaluation->norm_weights[i] = evaluation_take(memory, bytes, err)) == NULL)
            return false;
    }
    return true;
}

bool evaluation_norm_read(struct evaluation *evaluation, struct error *err)
{
    for (size_t i = 0; i < 2; i++)
        if (!evaluation_read_finite(evaluation, weights_of(evaluation, i), evaluation->norm_weights[i], err))
            return false;
    return true;
}

void evaluation_norm_apply(const struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct qk_norm_request *request = &plan->request->qk_norm;
    struct norm norm = {.l2 = request->l2, .eps = request->eps};
    struct tensor key =
        plan_heads_view(plan, plan->layout, evaluation->results[RESULT_KEY].data, plan->Hkv, plan->Tnew, plan->D);
    if (request->query) {
        norm.all_heads = plan->norm_all_heads[0];
        norm.weights = evaluation->norm_weights[0];
        norm_apply(&norm, &evaluation->params.query);
    }
    if (request->key) {
        norm.all_heads = plan->norm_all_heads[1];
        norm.weights = evaluation->norm_weights[1];
        norm_apply(&norm, &key);
    }
}
