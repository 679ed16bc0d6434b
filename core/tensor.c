#include "core/tensor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/size.h"

struct tensor tensor_contiguous(void *data, enum dtype dtype, size_t rank, const size_t *shape)
{
    assert(rank <= TENSOR_RANK_MAX);
    struct tensor t = {.data = data, .dtype = dtype, .rank = rank};
    size_t stride = 1;
    for (size_t axis = rank; axis-- > 0;) {
        t.shape[axis] = shape[axis];
        t.stride[axis] = (ptrdiff_t)stride;
        stride = size_multiply(stride, size_max(shape[axis], 1));
    }
    return t;
}

size_t shape_count(size_t rank, const size_t *shape)
{
    size_t count = 1;
    for (size_t axis = 0; axis < rank; axis++) {
        if (shape[axis] == 0)
            return 0;
        count = size_multiply(count, shape[axis]);
    }
    return count;
}

size_t tensor_count(const struct tensor *t)
{
    return shape_count(t->rank, t->shape);
}

bool tensor_is_contiguous(const struct tensor *t)
{
    if (tensor_count(t) == 0)
        return true;
    size_t stride = 1;
    for (size_t axis = t->rank; axis-- > 0;) {
        if (t->shape[axis] != 1 && t->stride[axis] != (ptrdiff_t)stride)
            return false;
        stride *= t->shape[axis];
    }
    return true;
}

bool tensor_broadcast(const struct tensor *t, size_t rank, const size_t *shape, struct tensor *ret)
{
    if (t->rank > rank || rank > TENSOR_RANK_MAX)
        return false;
    struct tensor view = {.data = t->data, .dtype = t->dtype, .rank = rank};
    size_t missing = rank - t->rank;
    for (size_t axis = 0; axis < rank; axis++) {
        view.shape[axis] = shape[axis];
        if (axis < missing)
            continue;
        size_t own = t->shape[axis - missing];
        if (own != shape[axis] && own != 1)
            return false;
        view.stride[axis] = own == shape[axis] ? t->stride[axis - missing] : 0;
    }
    *ret = view;
    return true;
}

/* One row of `count` elements of `bytes` each. */
static void row_copy(const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride, size_t count, size_t bytes)
{
    if (from_stride == 1 && to_stride == 1) {
        memcpy(to, from, count * bytes);
        return;
    }
    for (ptrdiff_t d = 0; d < (ptrdiff_t)count; d++)
        memcpy(to + d * to_stride * (ptrdiff_t)bytes, from + d * from_stride * (ptrdiff_t)bytes, bytes);
}

void tensor_copy(const struct tensor *from, const struct tensor *to)
{
    assert(from->rank == 4 && to->rank == 4 && from->dtype == to->dtype);
    if (tensor_count(from) == 0)
        return;
    for (size_t i = 0; i < from->shape[0]; i++)
        for (size_t j = 0; j < from->shape[1]; j++)
            for (size_t k = 0; k < from->shape[2]; k++)
                row_copy(tensor_row(from, i, j, k), from->stride[3], tensor_row(to, i, j, k), to->stride[3], from->shape[3],
                         dtype_bytes(from->dtype));
}

char *shape_text(size_t rank, const size_t *shape, char *text, size_t text_bytes)
{
    size_t used = 0;
    for (size_t axis = 0; axis < rank && used < text_bytes; axis++)
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%zu", axis == 0 ? "[" : ", ", shape[axis]);
    if (used < text_bytes)
        (void)snprintf(text + used, text_bytes - used, rank == 0 ? "[]" : "]");
    return text;
}
