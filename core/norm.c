#include "core/norm.h"

#include <assert.h>
#include <math.h>

static double get(const struct tensor *t, const void *row, size_t d)
{
    ptrdiff_t at = (ptrdiff_t)d * t->stride[3];
    return t->dtype == DTYPE_F32 ? (double)((const float *)row)[at] : ((const double *)row)[at];
}

static void set(const struct tensor *t, void *row, size_t d, double x)
{
    ptrdiff_t at = (ptrdiff_t)d * t->stride[3];
    if (t->dtype == DTYPE_F32)
        ((float *)row)[at] = (float)x;
    else
        ((double *)row)[at] = x;
}

/* The heads [first, end) of a token, as one vector. */
static void normalize(const struct norm *norm, const struct tensor *t, size_t item, size_t first, size_t end, size_t token)
{
    size_t D = t->shape[3];
    double squares = 0;
    for (size_t h = first; h < end; h++) {
        const void *row = tensor_row(t, item, h, token);
        for (size_t d = 0; d < D; d++)
            squares += get(t, row, d) * get(t, row, d);
    }
    double length = sqrt((norm->l2 ? squares : squares / (double)((end - first) * D)) + norm->eps);
    for (size_t h = first; h < end; h++) {
        void *row = tensor_row(t, item, h, token);
        const double *weights = norm->weights == NULL ? NULL : norm->weights + (norm->all_heads ? h * D : 0);
        for (size_t d = 0; d < D; d++)
            set(t, row, d, get(t, row, d) / length * (weights == NULL ? 1 : weights[d]));
    }
}

void norm_apply(const struct norm *norm, const struct tensor *t)
{
    assert(t->rank == 4);
    size_t step = norm->all_heads ? t->shape[1] : 1;
    if (tensor_count(t) == 0)
        return;
    for (size_t item = 0; item < t->shape[0]; item++)
        for (size_t token = 0; token < t->shape[2]; token++)
            for (size_t h = 0; h < t->shape[1]; h += step)
                normalize(norm, t, item, h, h + step, token);
}
