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
#include "core/tensor.h"

#define SOURCE_POINTER_BYTES_MAX 64
#define SOURCE_AXIS_MAX ((size_t)INT32_MAX) /* longest axis; BLAS counts in int */

enum source_kind {
    SOURCE_ABSENT = 0,
    SOURCE_ARRAY, /* numbers or booleans in the body's text */
    SOURCE_DRAWN, /* a shape alone */
};

struct source {
    enum source_kind kind;
    char pointer[SOURCE_POINTER_BYTES_MAX];       /* to the field */
    char array_pointer[SOURCE_POINTER_BYTES_MAX]; /* to its array: the field or its "data" */
    const struct lift_array *array;               /* SOURCE_ARRAY */
    enum wire wire; /* what the numbers are rounded to once they are read; WIRE_F64: nothing */
    size_t rank;
    size_t shape[TENSOR_RANK_MAX];
};

/* The lifted array that a value of the envelope stands for; NULL where it stands for none. */
const struct lift_array *source_lifted(const struct lift *lift, const json_t *value);

/* Decodes the value of the field at `pointer`. */
bool source_decode(const struct lift *lift, const json_t *value, const char *pointer, struct source *ret, struct error *err)
    __attribute__((warn_unused_result));

/* The same for a shape and data that stand apart; `data` NULL: to be drawn. */
bool source_decode_parts(const struct lift *lift, const json_t *shape, const json_t *data, const char *pointer,
                         struct source *ret, struct error *err) __attribute__((warn_unused_result));

/* True where the source holds booleans. */
bool source_is_bool(const struct source *source);

/* Reads a SOURCE_ARRAY into `ret`, contiguous, of the source's shape. */
bool source_read(const struct lift *lift, const struct source *source, const struct tensor *ret, struct error *err)
    __attribute__((warn_unused_result));

/* Reads a flat array of at most count_max integers, each in [min, max]. */
bool source_integers(const struct lift *lift, const json_t *value, const char *pointer, size_t count_max, int64_t min,
                     int64_t max, int64_t *ret, size_t *ret_count, struct error *err) __attribute__((warn_unused_result));

#endif
