#include "api/request/plan_norm.h"

#include "core/size.h"

/* [D], or [heads*D] for a norm over all heads together. */
static bool resolve_weights(const struct plan *plan, const struct tensor_input *weights, size_t heads, bool *ret_all_heads,
                            struct error *err)
{
    char shape[SHAPE_TEXT_BYTES_MAX];
    size_t all = size_multiply(heads, plan->D);
    *ret_all_heads = false;
    if (weights->kind == TENSOR_INPUT_ABSENT || (weights->rank == 1 && weights->shape[0] == plan->D))
        return true;
    *ret_all_heads = true;
    if (weights->rank == 1 && weights->shape[0] == all)
        return true;
    return error_set_at(
        err, ERROR_INVALID, weights->pointer,
        "shape %s, where [%zu] is expected, one weight a dimension of a head, or [%zu], of %zu head%s normalised "
        "together",
        shape_text(weights->rank, weights->shape, shape, sizeof shape), plan->D, all, heads, error_s(heads));
}

bool plan_norm_resolve(struct plan *plan, struct error *err)
{
    const struct qk_norm_request *norm = &plan->request->qk_norm;
    const struct tensor_input *stray =
        norm->query_weights.kind != TENSOR_INPUT_ABSENT ? &norm->query_weights : &norm->key_weights;
    if (!plan->request->has_qk_norm && stray->kind != TENSOR_INPUT_ABSENT) /* tensors of a safetensors file */
        return error_set_at(err, ERROR_INVALID, stray->pointer,
                            "weights for the field qk_norm, which is not there: send at least \"qk_norm\": {}");
    if (!plan->request->has_qk_norm)
        return true;
    if (!norm->query && !norm->key)
        return error_set_at(err, ERROR_INVALID, "/qk_norm",
                            "neither query nor key is to be normalised: send true or weights for one or both");
    return resolve_weights(plan, &norm->query_weights, plan->H, &plan->norm_all_heads[0], err) &&
           resolve_weights(plan, &norm->key_weights, plan->Hkv, &plan->norm_all_heads[1], err);
}
