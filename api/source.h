/* source.h: where a tensor of a request comes from, before its numbers are read.
 *
 * Forms    nested arrays; {"shape": [..], "data": flat or nested}; {"shape": [..]}, to be drawn from the seed
 * Memory   borrows the lift; allocates nothing but the caller's arrays.
 * Fails    invalid, malformed, too_large; with a pointer to the place. */
#ifndef ATTND_API_SOURCE_H
#define ATTND_API_SOURCE_H

#include <jansson.h>
#include <stdint.h>

#include "api/lift.h"
#include "api/wire.h"
#include "core/executor.h"
#include "core/tensor.h"

#define SOURCE_POINTER_BYTES_MAX 64
#define SOURCE_AXIS_MAX ((size_t)INT32_MAX) /* longest axis; BLAS counts in int */

enum source_kind {
    SOURCE_ABSENT = 0,
    SOURCE_ARRAY, /* numbers or booleans in the body's text */
    SOURCE_BYTES, /* numbers in the body as they lie in memory, little endian */
    SOURCE_DRAWN, /* a shape alone */
};

/* What a field may hold, for the words of an error. */
enum source_content {
    SOURCE_NUMBERS,
    SOURCE_NUMBERS_OR_BOOLS,
};

struct source {
    enum source_kind kind;
    const char *name;                             /* in the words of the face; NULL: as the pointer has it. Static */
    char pointer[SOURCE_POINTER_BYTES_MAX];       /* to the field */
    char array_pointer[SOURCE_POINTER_BYTES_MAX]; /* to its array: the field or its "data" */
    const struct lift_array *array;               /* SOURCE_ARRAY */
    const void *bytes;                            /* SOURCE_BYTES: the tensor's numbers, maybe not aligned */
    enum wire wire; /* SOURCE_BYTES: their format. Else what the numbers are rounded to once they are read; WIRE_F64: nothing */
    size_t rank;
    size_t shape[TENSOR_RANK_MAX];
};

/* The lifted array that a value of the envelope stands for; NULL where it stands for none. */
const struct lift_array *source_lifted(const struct lift *lift, const json_t *value);

/* Decodes the value of the field at `pointer`. */
bool source_decode(const struct lift *lift, const json_t *value, const char *pointer, enum source_content content,
                   struct source *ret, struct error *err) __attribute__((warn_unused_result));

/* The same for a shape and data that stand apart; `data` NULL: to be drawn. */
bool source_decode_parts(const struct lift *lift, const json_t *shape, const json_t *data, const char *pointer,
                         enum source_content content, struct source *ret, struct error *err)
    __attribute__((warn_unused_result));

/* True where its numbers are in the body. */
static inline bool source_is_given(const struct source *source)
{
    return source->kind == SOURCE_ARRAY || source->kind == SOURCE_BYTES;
}

/* True where the source holds booleans. */
bool source_is_bool(const struct source *source);

/* True where no element says whether the source holds numbers or booleans. */
bool source_is_empty(const struct source *source);

/* A source of bytes, whose shape the caller has checked to fit them. Fails for an axis that is too long. */
bool source_of_bytes(const char *pointer, enum wire wire, size_t rank, const size_t *shape, const void *bytes,
                     struct source *ret, struct error *err) __attribute__((warn_unused_result));

/* The source's bytes, where a tensor of `dtype` can be them as they lie; else NULL. */
const void *source_in_place(const struct source *source, enum dtype dtype);

/* The JSON Pointer of the element at `index`, row-major, where nested arrays of the source's shape would have it. Returns ret. */
const char *source_place(const struct source *source, size_t index, char ret[ERROR_POINTER_BYTES_MAX]);

/* Reads an array or bytes into `ret`, contiguous, of the source's shape; large ones spread over the executor, which may be NULL.
 * Fails   also invalid: a finite number overflows what it becomes; deadline: the executor was stopped. */
bool source_read(const struct lift *lift, const struct source *source, const struct executor *executor,
                 const struct tensor *ret, struct error *err) __attribute__((warn_unused_result));

/* Reads a flat array of at most count_max integers, each in [min, max]. */
bool source_integers(const struct lift *lift, const json_t *value, const char *pointer, size_t count_max, int64_t min,
                     int64_t max, int64_t *ret, size_t *ret_count, struct error *err) __attribute__((warn_unused_result));

#endif
