/* evaluation_resolve.c: what follows from the numbers that were read: which way a mask means. */
#include "api/request/evaluation.h"

static enum mask_look look_of(const struct tensor *mask)
{
    double largest = 0, smallest = 0;
    size_t count = tensor_count(mask);
    for (size_t i = 0; i < count; i++) {
        double x = mask->dtype == DTYPE_F32 ? (double)((const float *)mask->data)[i] : ((const double *)mask->data)[i];
        if (!(x >= -1 && x <= INT32_MAX) || x != (double)(int32_t)x)
            return MASK_LOOKS_ADDITIVE;
        largest = x > largest ? x : largest;
        smallest = x < smallest ? x : smallest;
    }
    return largest > 1 ? MASK_LOOKS_SEGMENTS : largest == 1 && smallest == 0 ? MASK_LOOKS_BOOLEAN : MASK_LOOKS_ADDITIVE;
}

void evaluation_resolve_mask(struct evaluation *evaluation)
{
    struct tensor *mask = &evaluation->tensors[REQUEST_MASK];
    if (mask->data == NULL)
        return;
    if (mask->dtype != DTYPE_BOOL) {
        evaluation->mask_look = look_of(mask);
        return;
    }
    unsigned char *keeps = mask->data;
    size_t count = tensor_count(mask);
    for (size_t i = 0; evaluation->plan->request->mask_drops && i < count; i++)
        keeps[i] ^= 1;
}

void evaluation_resolve_selection(struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    if (evaluation->head_places == NULL)
        return;
    for (size_t h = 0; h < plan->H; h++)
        evaluation->head_places[h] = SIZE_MAX;
    for (size_t place = 0; place < plan->request->select.head_count; place++)
        evaluation->head_places[plan->request->select.heads[place]] = place;
}

size_t evaluation_result_parts(const struct evaluation *evaluation, struct result_part ret[RESULT_PARTS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < RESULTS; i++) {
        enum request_result which = (enum request_result)i;
        if (!evaluation->plan->request->results[i])
            continue;
        if (which == RESULT_TOP_KEYS)
            ret[count++] = (struct result_part){which, "indices", &evaluation->top_indices};
        ret[count++] = (struct result_part){which, which == RESULT_TOP_KEYS ? "weights" : NULL, &evaluation->results[i]};
    }
    return count;
}
