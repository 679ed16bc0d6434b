/* tensor_write.h: contiguous float32 and float64 tensors as JSON arrays: whole, or any run of their elements, so that several
 * threads can write one tensor, each a piece of its text. */
#ifndef ATTND_API_JSON_TENSOR_WRITE_H
#define ATTND_API_JSON_TENSOR_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/tensor.h"

struct number_style {
    enum dtype digits; /* that each number needs: fewer for a float64 tensor that was rounded to float32 */
    bool flat;         /* one array, whatever the shape */
    int decimals;      /* >= 0: rounds */
};

/* Writes what stands for elements [first, last): they, and the brackets and commas before each; behind the last of all elements
 * the closing brackets, too. Returns the end. A tensor without elements is written whole. */
char *tensor_write(const struct tensor *t, struct number_style style, size_t first, size_t last, char *at);

/* Where the room for elements from `first` on begins, as the room for those before it ends at the most; of `first` = the number of
 * elements, what all need. Each piece needs TENSOR_WRITE_SLACK_BYTES more. SIZE_MAX where it overflows. */
size_t tensor_write_offset(enum dtype dtype, size_t rank, const size_t *shape, struct number_style style, size_t first);
#define TENSOR_WRITE_SLACK_BYTES 64

#endif
