/* tensor_write.h: contiguous float32, float64 and int64 tensors as JSON arrays: whole, or any range of their elements, so that several
 * threads can write one tensor. */
#ifndef ATTND_API_JSON_TENSOR_WRITE_H
#define ATTND_API_JSON_TENSOR_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/tensor.h"

struct number_style {
    enum dtype digits; /* how many each number needs: fewer where a float64 tensor was rounded to float32 */
    bool flat;         /* one array, whatever the shape */
    int decimals;      /* >= 0: rounds what is no integer */
};

/* Writes elements [first, last) with the brackets and commas before each, and the closing brackets after the tensor's last.
 * Returns the end. A tensor without elements is written whole. */
char *tensor_write(const struct tensor *t, struct number_style style, size_t first, size_t last, char *at);

/* The most that the elements before `first` can take: where the text from `first` on may begin; with `first` = the number of
 * elements, the size of the whole. Each range that is written needs TENSOR_WRITE_SLACK_BYTES more. SIZE_MAX on overflow. */
size_t tensor_write_offset(enum dtype dtype, size_t rank, const size_t *shape, struct number_style style, size_t first);
#define TENSOR_WRITE_SLACK_BYTES 64

#endif
