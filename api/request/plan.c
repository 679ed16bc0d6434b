#include "api/request/plan.h"

#include "core/size.h"

bool plan_projects(const struct plan *plan, enum request_projection which)
{
    if (!plan->from_tokens || plan->request->identity)
        return false;
    return which != PROJECTION_OUTPUT || plan->request->weights[which].kind != TENSOR_INPUT_ABSENT;
}

enum request_tensor plan_source(const struct plan *plan, enum request_projection which)
{
    const struct tensor_input *tensors = plan->request->tensors;
    if (which == PROJECTION_VALUE && tensors[REQUEST_VALUE_CONTEXT].kind != TENSOR_INPUT_ABSENT)
        return REQUEST_VALUE_CONTEXT;
    return which != PROJECTION_QUERY && tensors[REQUEST_CONTEXT].kind != TENSOR_INPUT_ABSENT ? REQUEST_CONTEXT : REQUEST_X;
}

size_t plan_products(const struct plan *plan)
{
    size_t scores = size_multiply(size_multiply(plan->B, plan->H), size_multiply(plan->Tq, plan->Tk));
    bool twice = plan->request->results[RESULT_KEY_SUMS] || plan->request->results[RESULT_POOLED_WEIGHTS];
    size_t products = size_multiply(scores, size_add(twice ? size_multiply(2, plan->D) : plan->D, plan->Dv));
    for (size_t i = 0; i < PROJECTIONS; i++) {
        enum request_projection which = (enum request_projection)i;
        size_t tokens = which == PROJECTION_QUERY || which == PROJECTION_OUTPUT ? plan->Tq : plan->Tnew;
        size_t weights = size_multiply(plan->weight_shape[i][0], plan->weight_shape[i][1]);
        if (plan_projects(plan, which))
            products = size_add(products, size_multiply(size_multiply(plan->B, tokens), weights));
    }
    return products;
}

struct tensor plan_heads_view(const struct plan *plan, enum plan_layout layout, void *data, size_t heads, size_t tokens,
                              size_t width)
{
    const size_t shape[4] = {plan->B, heads, tokens, width};
    struct tensor view = tensor_contiguous(data, plan->dtype, 4, shape);
    if (layout == PLAN_TOKENS_FIRST) {
        view.stride[1] = (ptrdiff_t)size_max(width, 1);
        view.stride[2] = (ptrdiff_t)(size_max(heads, 1) * size_max(width, 1));
    }
    return view;
}

bool plan_uses_positions(const struct plan *plan)
{
    const struct request *request = plan->request;
    bool turns = plan->rope.dims > 0 && plan->rope.axes == 1 && !plan->rope.by_token;
    return request->window_left >= 0 || request->window_right >= 0 || request->chunk_size > 0 || request->alibi ||
           request->relative_bias.given || turns;
}

bool plan_changes_inputs(const struct plan *plan)
{
    return plan->rope.dims > 0 || plan->request->has_qk_norm;
}

bool plan_concatenates(const struct plan *plan)
{
    return plan->request->tensors[REQUEST_PAST_KEY].kind != TENSOR_INPUT_ABSENT || plan->cache_layout != plan->layout;
}

bool plan_pairs_view(const struct plan *plan, enum request_tensor which, void *data, struct tensor *ret)
{
    const struct request *request = plan->request;
    const struct tensor_input *input = &request->tensors[which];
    struct tensor view =
        tensor_contiguous(data, tensor_input_is_bool(input) ? DTYPE_BOOL : plan->dtype, input->rank, input->shape);
    const struct plan_result *weights = &plan->pairs;
    /* Keys past an early end are masked by their number, never by reading the mask there. */
    bool ends_early = which == REQUEST_MASK && request->mask_ends_early;
    if (ends_early && input->rank > 0 && input->shape[input->rank - 1] <= plan->Tk)
        view.shape[input->rank - 1] = plan->Tk;
    struct tensor axes;
    if (!tensor_broadcast(&view, weights->rank, weights->shape, &axes))
        return false;
    /* Axes that the reply lacks have one element. */
    const size_t shape[4] = {plan->B, plan->H, plan->Tq, plan->Tk};
    *ret = tensor_contiguous(data, view.dtype, 4, shape);
    size_t axis = 0;
    ret->stride[0] = plan->has_batch ? axes.stride[axis++] : 0;
    ret->stride[1] = plan->has_heads ? axes.stride[axis++] : 0;
    ret->stride[2] = axes.stride[axis];
    ret->stride[3] = axes.stride[axis + 1];
    return true;
}
