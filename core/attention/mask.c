#include "core/attention/mask.h"

#include <math.h>

#include "core/attention/visible.h"

bool attention_masked(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j)
{
    const struct attention_row *row = attention_row_at(plan, b, i);
    unsigned char keep = 1;
    if (j < row->begin || j >= row->end)
        return true;
    if (row->by_key)
        attention_row_keeps(plan, b, i, j, 1, &keep);
    const struct tensor *mask = &plan->params->mask;
    if (keep == 0 || mask->data == NULL)
        return keep == 0;
    const char *mask_row = tensor_row(mask, b, h, i);
    ptrdiff_t at = (ptrdiff_t)j * mask->stride[3];
    switch (mask->dtype) {
    case DTYPE_BOOL:
        return ((const unsigned char *)mask_row)[at] == 0;
    case DTYPE_F32:
        return ((const float *)mask_row)[at] == -INFINITY;
    case DTYPE_F64:
        return ((const double *)mask_row)[at] == -(double)INFINITY;
    case DTYPE_I64: /* no mask is */
        break;
    }
    return false;
}
