#include "core/attention/mask.h"

#include <math.h>

/* Offsets and windows may be anything an int64_t holds: what lies past its ends is as far away as the ends are. */
static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t int64_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t int64_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t attention_position(const struct attention_plan *plan, size_t b, size_t i)
{
    const int64_t *offsets = plan->params->query_offsets;
    return add_saturating(offsets == NULL ? 0 : offsets[b], (int64_t)i);
}

void attention_visible(const struct attention_plan *plan, size_t b, size_t i, size_t *ret_begin, size_t *ret_end)
{
    const struct attention_params *params = plan->params;
    int64_t position = attention_position(plan, b, i);
    int64_t begin = 0;
    int64_t end = (int64_t)(params->key_lengths == NULL ? plan->Tk : params->key_lengths[b]);
    if (params->causal)
        end = int64_min(end, add_saturating(position, 1));
    if (params->window_right >= 0)
        end = int64_min(end, add_saturating(add_saturating(position, params->window_right), 1));
    if (params->window_left >= 0)
        begin = int64_max(begin, add_saturating(position, -params->window_left));
    if (end < 0)
        end = 0;
    *ret_begin = begin < end ? (size_t)begin : (size_t)end;
    *ret_end = (size_t)end;
}

bool attention_masked(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j)
{
    size_t begin, end;
    attention_visible(plan, b, i, &begin, &end);
    if (j < begin || j >= end)
        return true;
    const struct tensor *mask = &plan->params->mask;
    if (mask->data == NULL)
        return false;
    const char *row = tensor_row(mask, b, h, i);
    ptrdiff_t at = (ptrdiff_t)j * mask->stride[3];
    switch (mask->dtype) {
    case DTYPE_BOOL:
        return ((const unsigned char *)row)[at] == 0;
    case DTYPE_F32:
        return ((const float *)row)[at] == -INFINITY;
    case DTYPE_F64:
        return ((const double *)row)[at] == -(double)INFINITY;
    }
    return false;
}
