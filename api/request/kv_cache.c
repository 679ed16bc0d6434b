#include "api/request/kv_cache.h"

/* `present` is a (B,Hkv,Tk,width) view; `past` NULL: there is none. */
static void concatenate(const struct evaluation *evaluation, const struct tensor *present, void *past, void *fresh)
{
    const struct plan *plan = evaluation->plan;
    size_t width = present->shape[3];
    struct tensor old_part = *present, new_part = *present;
    old_part.shape[2] = plan->Tpast;
    new_part.shape[2] = plan->Tnew;
    new_part.data = tensor_row(present, 0, 0, plan->Tpast);
    struct tensor old_tokens = plan_heads_view(plan, plan->cache_layout, past, plan->Hkv, plan->Tpast, width);
    struct tensor new_tokens = plan_heads_view(plan, plan->layout, fresh, plan->Hkv, plan->Tnew, width);
    if (past != NULL)
        tensor_copy(&old_tokens, &old_part);
    tensor_copy(&new_tokens, &new_part);
}

void kv_cache_concatenate(struct evaluation *evaluation)
{
    if (!plan_concatenates(evaluation->plan))
        return;
    concatenate(evaluation, &evaluation->params.key, evaluation->tensors[REQUEST_PAST_KEY].data,
                evaluation->results[RESULT_KEY].data);
    concatenate(evaluation, &evaluation->params.value, evaluation->tensors[REQUEST_PAST_VALUE].data,
                evaluation->results[RESULT_VALUE].data);
}
