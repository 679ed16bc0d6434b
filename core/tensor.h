/* tensor.h: a strided view of numbers owned elsewhere.
 *
 *   element [i0, i1, ...] is at data + dtype_bytes * (i0 * stride[0] + i1 * stride[1] + ...)
 *
 * Strides are in elements and may be 0 (an axis broadcast) or negative. A view with data NULL is absent. */
#ifndef ATTND_CORE_TENSOR_H
#define ATTND_CORE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>

#define TENSOR_RANK_MAX 8

enum dtype {
    DTYPE_F32,
    DTYPE_F64,
    DTYPE_BOOL, /* one byte an element, 0 or 1 */
    DTYPE_I64,  /* of results that are indices */
};

struct tensor {
    void *data; /* borrowed */
    enum dtype dtype;
    size_t rank;
    size_t shape[TENSOR_RANK_MAX];
    ptrdiff_t stride[TENSOR_RANK_MAX]; /* in elements */
};

static inline size_t dtype_bytes(enum dtype dtype)
{
    return dtype == DTYPE_F64 || dtype == DTYPE_I64 ? 8 : dtype == DTYPE_F32 ? sizeof(float) : 1;
}

/* A row-major view: the last axis has stride 1. */
struct tensor tensor_contiguous(void *data, enum dtype dtype, size_t rank, const size_t *shape);

/* Product of the shape; SIZE_MAX where it overflows. 1 for rank 0. */
size_t tensor_count(const struct tensor *t);
size_t shape_count(size_t rank, const size_t *shape);

bool tensor_is_contiguous(const struct tensor *t);

/* Views `t` with `shape` under NumPy's broadcasting rules (axes of 1 and missing leading axes repeat, stride 0).
 * Returns false, *ret untouched, where the shapes do not fit. */
bool tensor_broadcast(const struct tensor *t, size_t rank, const size_t *shape, struct tensor *ret)
    __attribute__((warn_unused_result));

/* The element [i, j, k, 0] of a view, a pointer into its data: a row where the last axis is the row's. */
static inline void *tensor_row(const struct tensor *t, size_t i, size_t j, size_t k)
{
    ptrdiff_t at = (ptrdiff_t)i * t->stride[0] + (ptrdiff_t)j * t->stride[1] + (ptrdiff_t)k * t->stride[2];
    return (char *)t->data + at * (ptrdiff_t)dtype_bytes(t->dtype);
}

/* Sets the element at `at`, in elements from `row`, of a float32 or float64 view. */
static inline void tensor_set_real(const struct tensor *t, void *row, ptrdiff_t at, double x)
{
    if (t->dtype == DTYPE_F32)
        ((float *)row)[at] = (float)x;
    else
        ((double *)row)[at] = x;
}

/* Copies a (B,H,T,D) view's elements to another of the same shape and dtype. */
void tensor_copy(const struct tensor *from, const struct tensor *to);

/* Writes "[2, 3, 4]" to `text`, cut at `text_bytes`. Returns text. */
#define SHAPE_TEXT_BYTES_MAX 200
char *shape_text(size_t rank, const size_t *shape, char *text, size_t text_bytes);

#endif
