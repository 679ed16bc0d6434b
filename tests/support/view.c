#include "tests/support/view.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LEAD_ELEMENTS_MAX 3
#define PADDING_ELEMENTS_MAX 3

void *test_alloc(size_t count, size_t element_bytes)
{
    void *memory = calloc(count ? count : 1, element_bytes);
    if (!memory)
        abort();
    return memory;
}

/* Takes a block whose element `first` is the view's element [0, 0, ...]. */
static void pool_add(struct view_pool *pool, struct tensor *view, size_t element_count, size_t first)
{
    assert(pool->count < VIEW_COUNT_MAX);
    size_t bytes = element_count * dtype_bytes(view->dtype);
    unsigned char *block = test_alloc(bytes, 1);
    memset(block, VIEW_GAP_BYTE, bytes);
    pool->blocks[pool->count] = block;
    pool->block_bytes[pool->count++] = bytes;
    view->data = block + first * dtype_bytes(view->dtype);
}

static size_t element_count(size_t rank, const size_t *shape)
{
    size_t count = 1;
    for (size_t axis = 0; axis < rank; axis++)
        count *= shape[axis];
    return count;
}

struct tensor view_contiguous(struct view_pool *pool, enum dtype dtype, size_t rank, const size_t *shape)
{
    struct tensor view = {.dtype = dtype, .rank = rank};
    ptrdiff_t stride = 1;
    for (size_t axis = rank; axis-- > 0;) {
        view.shape[axis] = shape[axis];
        view.stride[axis] = stride;
        stride *= (ptrdiff_t)shape[axis];
    }
    pool_add(pool, &view, element_count(rank, shape), 0);
    return view;
}

static void draw_order(struct draw *draw, size_t rank, size_t *ret_order)
{
    for (size_t k = 0; k < rank; k++)
        ret_order[k] = k;
    for (size_t k = rank; k-- > 1;) {
        size_t other = draw_size(draw, 0, k), kept = ret_order[k];
        ret_order[k] = ret_order[other];
        ret_order[other] = kept;
    }
}

struct tensor view_drawn(struct view_pool *pool, enum dtype dtype, size_t rank, const size_t *shape, struct draw *draw,
                         size_t repeatable)
{
    struct tensor view = {.dtype = dtype, .rank = rank};
    size_t order[TENSOR_RANK_MAX];
    draw_order(draw, rank, order);
    size_t extent = 1; /* elements that the axes so far span, the next axis' smallest stride */
    size_t last = 0;   /* offset of the farthest element */
    size_t first = draw_size(draw, 0, LEAD_ELEMENTS_MAX);
    size_t lead = first;
    for (size_t k = rank; k-- > 0;) {
        size_t axis = order[k];
        view.shape[axis] = shape[axis];
        if (axis < repeatable && draw_chance(draw, 0.1))
            continue;
        size_t stride = extent * (draw_chance(draw, 0.2) ? 2 : 1);
        size_t reach = shape[axis] > 0 ? (shape[axis] - 1) * stride : 0;
        bool backwards = draw_chance(draw, 0.2);
        view.stride[axis] = backwards ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
        if (backwards)
            first += reach;
        last += reach;
        extent = stride * (shape[axis] > 0 ? shape[axis] : 1);
        if (draw_chance(draw, 0.2))
            extent += draw_size(draw, 1, PADDING_ELEMENTS_MAX);
    }
    bool empty = element_count(rank, shape) == 0;
    pool_add(pool, &view, empty ? 0 : lead + last + 1, empty ? 0 : first);
    return view;
}

void view_pool_done(struct view_pool *pool)
{
    for (size_t k = 0; k < pool->count; k++)
        free(pool->blocks[k]);
    pool->count = 0;
}

void *view_at(const struct tensor *view, const size_t *index)
{
    ptrdiff_t offset = 0;
    for (size_t axis = 0; axis < view->rank; axis++)
        offset += (ptrdiff_t)index[axis] * view->stride[axis];
    return (unsigned char *)view->data + offset * (ptrdiff_t)dtype_bytes(view->dtype);
}

/* Steps a row-major index on by one element. */
static void index_advance(const struct tensor *view, size_t *index)
{
    for (size_t axis = view->rank; axis-- > 0;) {
        if (++index[axis] < view->shape[axis])
            return;
        index[axis] = 0;
    }
}

static double value_at(enum dtype dtype, const void *at)
{
    switch (dtype) {
    case DTYPE_F32:
        return (double)*(const float *)at;
    case DTYPE_F64:
        return *(const double *)at;
    case DTYPE_I64:
        return (double)*(const int64_t *)at;
    case DTYPE_BOOL:
        break;
    }
    return *(const unsigned char *)at;
}

double *view_values(const struct tensor *view)
{
    const size_t count = element_count(view->rank, view->shape), last = view->rank - 1;
    const size_t row = view->rank > 0 ? view->shape[last] : 1;
    const ptrdiff_t step = view->rank > 0 ? view->stride[last] * (ptrdiff_t)dtype_bytes(view->dtype) : 0;
    double *values = test_alloc(count, sizeof *values);
    size_t index[TENSOR_RANK_MAX] = {0};
    for (size_t k = 0; k < count; k += row) {
        const unsigned char *at = view_at(view, index);
        for (size_t j = 0; j < row; j++, index_advance(view, index))
            values[k + j] = value_at(view->dtype, at + (ptrdiff_t)j * step);
    }
    return values;
}

static void store_one(const struct tensor *view, const size_t *index, double value)
{
    void *at = view_at(view, index);
    if (view->dtype == DTYPE_F32)
        *(float *)at = (float)value;
    else if (view->dtype == DTYPE_F64)
        *(double *)at = value;
    else
        *(unsigned char *)at = value != 0;
}

void view_store(const struct tensor *view, const double *values)
{
    size_t count = element_count(view->rank, view->shape);
    size_t index[TENSOR_RANK_MAX] = {0};
    for (size_t k = 0; k < count; k++, index_advance(view, index))
        store_one(view, index, values[k]);
}

void view_store_normal(const struct tensor *view, struct draw *draw)
{
    size_t count = element_count(view->rank, view->shape);
    size_t index[TENSOR_RANK_MAX] = {0};
    for (size_t k = 0; k < count; k++, index_advance(view, index))
        store_one(view, index, draw_normal(draw));
}

struct tensor view_slice(const struct tensor *view, size_t axis, size_t first, size_t length)
{
    assert(axis < view->rank && first + length <= view->shape[axis]);
    struct tensor slice = *view;
    slice.shape[axis] = length;
    size_t index[TENSOR_RANK_MAX] = {0};
    index[axis] = length > 0 ? first : 0;
    slice.data = view_at(view, index);
    return slice;
}

bool view_gaps_untouched(struct view_pool *pool, const struct tensor *view)
{
    size_t count = element_count(view->rank, view->shape);
    size_t index[TENSOR_RANK_MAX] = {0};
    for (size_t k = 0; k < count; k++, index_advance(view, index))
        memset(view_at(view, index), VIEW_GAP_BYTE, dtype_bytes(view->dtype));
    for (size_t k = 0; k < pool->count; k++) {
        uintptr_t begin = (uintptr_t)pool->blocks[k], at = (uintptr_t)view->data;
        if (at < begin || at >= begin + pool->block_bytes[k])
            continue;
        for (size_t byte = 0; byte < pool->block_bytes[k]; byte++) {
            if (pool->blocks[k][byte] != VIEW_GAP_BYTE)
                return false;
        }
    }
    return true;
}
