/* tensor_input.h: where a tensor of a request comes from, before its numbers are read.
 *
 * Forms    nested arrays; {"shape": [..], "data": flat or nested}; {"shape": [..]}, to be drawn from the seed
 * Memory   borrows the extract; allocates nothing but the caller's arrays.
 * Fails    invalid, malformed, too_large; with a pointer to the place. */
#ifndef ATTND_API_REQUEST_TENSOR_INPUT_H
#define ATTND_API_REQUEST_TENSOR_INPUT_H

#include <jansson.h>
#include <stdint.h>

#include "api/json/extract.h"
#include "api/number/element_type.h"
#include "core/executor.h"
#include "core/tensor.h"

#define TENSOR_INPUT_POINTER_BYTES_MAX 64
#define TENSOR_INPUT_AXIS_MAX ((size_t)INT32_MAX) /* longest axis; BLAS counts in int */

enum tensor_input_kind {
    TENSOR_INPUT_ABSENT = 0,
    TENSOR_INPUT_ARRAY, /* numbers or booleans in the body's text */
    TENSOR_INPUT_BYTES, /* binary numbers in the body, little endian */
    TENSOR_INPUT_DRAWN, /* only a shape */
};

/* What a field may hold. */
enum tensor_input_content {
    TENSOR_INPUT_NUMBERS,
    TENSOR_INPUT_NUMBERS_OR_BOOLS,
    TENSOR_INPUT_INTEGERS, /* in a text numbers; that they are whole is checked when they are read */
};

struct tensor_input {
    enum tensor_input_kind kind;
    const char *name;                                   /* as the protocol calls it; NULL: as the pointer does. Static */
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];       /* to the field */
    char array_pointer[TENSOR_INPUT_POINTER_BYTES_MAX]; /* to its array: the field or its "data" */
    const struct json_array_text *array;                /* TENSOR_INPUT_ARRAY */
    const void *bytes;                                  /* TENSOR_INPUT_BYTES: the tensor's numbers, maybe not aligned */
    enum element_type element_type; /* of the bytes; in a text, what numbers are rounded to (ELEMENT_F64: they are not) */
    size_t rank;
    size_t shape[TENSOR_RANK_MAX];
};

/* True where a field of such content may have the element type. */
bool tensor_input_may_be(enum tensor_input_content content, enum element_type element_type);

/* Decodes the value of the field at `pointer`. */
bool tensor_input_read(const struct extract *extract, const json_t *value, const char *pointer,
                       enum tensor_input_content content, struct tensor_input *ret, struct error *err)
    __attribute__((warn_unused_result));

/* The same for a shape and data in two values; `data` NULL: to be drawn. */
bool tensor_input_read_parts(const struct extract *extract, const json_t *shape, const json_t *data, const char *pointer,
                             enum tensor_input_content content, struct tensor_input *ret, struct error *err)
    __attribute__((warn_unused_result));

/* True where its numbers are in the body. */
static inline bool tensor_input_is_given(const struct tensor_input *input)
{
    return input->kind == TENSOR_INPUT_ARRAY || input->kind == TENSOR_INPUT_BYTES;
}

/* True where it holds booleans. */
bool tensor_input_is_bool(const struct tensor_input *input);

/* True where it has no elements, and so holds neither numbers nor booleans. */
bool tensor_input_is_empty(const struct tensor_input *input);

/* An input of bytes, whose number the caller has checked against the shape. Fails for an axis that is too long. */
bool tensor_input_of_bytes(const char *pointer, enum element_type element_type, size_t rank, const size_t *shape,
                           const void *bytes, struct tensor_input *ret, struct error *err) __attribute__((warn_unused_result));

/* The input's bytes, where a tensor of `dtype` can use them in place; else NULL. */
const void *tensor_input_in_place(const struct tensor_input *input, enum dtype dtype);

/* The JSON Pointer that the element at `index`, row-major, has in nested arrays of the input's shape. Returns ret. */
const char *tensor_input_place(const struct tensor_input *input, size_t index, char ret[ERROR_POINTER_BYTES_MAX]);

/* Reads an array or bytes into `ret`, contiguous, of the input's shape; large arrays in parallel on the executor, which may be
 * NULL.
 * Fails   also invalid: a finite number overflows what it becomes; deadline: the executor was stopped. */
bool tensor_input_load(const struct extract *extract, const struct tensor_input *input, const struct executor *executor,
                       const struct tensor *ret, struct error *err) __attribute__((warn_unused_result));

/* The same into doubles, for an input of integers: what is too large for a double is infinite. The caller checks each number, and
 * refuses one with tensor_input_refuse_integer. */
bool tensor_input_load_integers(const struct extract *extract, const struct tensor_input *input,
                                const struct executor *executor, double *ret, struct error *err)
    __attribute__((warn_unused_result));

/* Says that the number at `index` is no integer from min to max; `of` and `bound` go behind the number and the range. Returns
 * false. */
bool tensor_input_refuse_integer(const struct extract *extract, const struct tensor_input *input, size_t index, const char *of,
                                 int64_t min, int64_t max, const char *bound, struct error *err);

/* Reads a flat array of at most count_max integers, each in [min, max]. */
bool tensor_input_integers(const struct extract *extract, const json_t *value, const char *pointer, size_t count_max,
                           int64_t min, int64_t max, int64_t *ret, size_t *ret_count, struct error *err)
    __attribute__((warn_unused_result));

#endif
