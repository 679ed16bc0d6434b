#include "api/json/extract.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "api/json/array_error.h"
#include "api/json/token.h"
#include "api/number/batch.h"
#include "api/number/read.h"
#include "core/size.h"

/* An array's text ends with its ']', and extract_scan checked that this one matches its '['. So what stops at a ']' outside of
 * strings need not check for the end of the text, as long as it has opened every array that it closes. */
static inline const char *space_end(const char *at)
{
    while (token_is_space(*at))
        at++;
    return at;
}

/* Element `i` of a row that the readers of numbers and booleans refuse: a non-finite form, or an error (NULL). */
static const char *read_special(struct array_reader *reader, size_t i, const char *at, void *ret)
{
    const size_t rank = reader->array->rank;
    double value;
    reader->index[rank - 1] = i;
    if (reader->dtype != DTYPE_BOOL) {
        const char *after = token_non_finite(at, reader->end, &value);
        if (after != NULL) {
            if (reader->dtype == DTYPE_F32)
                *(float *)ret = (float)value;
            else
                *(double *)ret = value;
            return after;
        }
        if (number_read_f64(at, reader->end, &value) != NULL) {
            (void)array_error_overflow(reader, rank, at);
            return NULL;
        }
    }
    (void)array_error_element(reader, rank, at);
    return NULL;
}

static inline const char *read_bool(const char *at, const char *end, uint8_t *ret)
{
    if (end - at < (ptrdiff_t)sizeof "true") /* with the ']' */
        return NULL;
    bool is_true = memcmp(at, "true", 4) == 0;
    bool is_false = memcmp(at, "fals", 4) == 0 && at[4] == 'e';
    *ret = is_true;
    return (is_true | is_false) ? at + 4 + is_false : NULL;
}

/* Returns the first byte after a row's element `i` at `at`, or NULL with the error set. */
static inline const char *read_element(struct array_reader *reader, enum dtype dtype, size_t i, const char *at, void *ret)
{
    const char *after;
    switch (dtype) {
    case DTYPE_F32:
        after = number_read_f32(at, reader->end, ret);
        if (after != NULL && fabsf(*(float *)ret) <= FLT_MAX)
            return after;
        break;
    case DTYPE_F64:
        after = number_read_f64(at, reader->end, ret);
        if (after != NULL && fabs(*(double *)ret) <= DBL_MAX)
            return after;
        break;
    case DTYPE_I64:
        after = number_read_f64(at, reader->end, ret);
        if (after != NULL)
            return after;
        break;
    case DTYPE_BOOL:
        after = read_bool(at, reader->end, ret);
        if (after != NULL)
            return after;
        break;
    }
    return read_special(reader, i, at, ret);
}

/* After a number that batch.h leaves, this many are read one by one: where one has an exponent, others do too. */
#define ONE_BY_ONE 8

/* Reads elements [first, last) of a row of `count` to `ret`, starting after the '[' or ',' before them. Returns the first byte
 * after the ',' or ']' that follows them, or NULL with the error set. */
static inline __attribute__((always_inline)) const char *read_row(struct array_reader *reader, enum dtype dtype, size_t count,
                                                                  size_t first, size_t last, const char *at, void *ret)
{
    const size_t wanted = last - first, left = count - first; /* in the row, from `first` on, as i counts */
    size_t fast_from = 0;
    for (size_t i = 0; i < wanted; i++) {
        if (dtype != DTYPE_BOOL && i >= fast_from) {
            const size_t rest = size_min(wanted, left - 1) - i;
            i += dtype == DTYPE_F32 ? number_batch_read_f32(&at, reader->end, rest, (float *)ret + i)
                                    : number_batch_read_f64(&at, reader->end, rest, (double *)ret + i);
            if (i == wanted)
                break;
            fast_from = i + ONE_BY_ONE;
        }
        at = read_element(reader, dtype, first + i, space_end(at), (char *)ret + i * dtype_bytes(dtype));
        if (at == NULL)
            return NULL;
        at = space_end(at);
        if (*at != (i + 1 < left ? ',' : ']')) {
            reader->index[reader->array->rank - 1] = first + i;
            (void)array_error_after(reader, reader->array->rank, at);
            return NULL;
        }
        at++;
    }
    if (count > 0)
        return at;
    at = space_end(at);
    if (*at == ']')
        return at + 1;
    (void)array_error_not_empty(reader, reader->array->rank, at);
    return NULL;
}

/* One loop for each dtype. */
static const char *read_row_of(struct array_reader *reader, size_t first, size_t last, const char *at, void *ret)
{
    const size_t count = reader->array->shape[reader->array->rank - 1];
    switch (reader->dtype) {
    case DTYPE_F32:
        return read_row(reader, DTYPE_F32, count, first, last, at, ret);
    case DTYPE_F64:
        return read_row(reader, DTYPE_F64, count, first, last, at, ret);
    case DTYPE_BOOL:
        return read_row(reader, DTYPE_BOOL, count, first, last, at, ret);
    case DTYPE_I64:
        return read_row(reader, DTYPE_I64, count, first, last, at, ret);
    }
    return NULL;
}

/* Opens arrays, of which *depth are open already, until a row's elements follow. */
static bool read_down(struct array_reader *reader, size_t *depth, const char **at)
{
    for (; *depth < reader->array->rank; (*depth)++) {
        *at = space_end(*at);
        if (**at != '[')
            return array_error_element(reader, *depth, *at);
        (*at)++;
        reader->index[*depth] = 0;
    }
    return true;
}

/* Closes arrays until one continues with another element, or all are closed. */
static bool read_up(struct array_reader *reader, size_t *depth, const char **at)
{
    for ((*depth)--; *depth > 0; (*depth)--) {
        const size_t axis = *depth - 1;
        const bool last = reader->index[axis] + 1 == reader->array->shape[axis];
        *at = space_end(*at);
        if (**at != (last ? ']' : ','))
            return array_error_after(reader, *depth, *at);
        (*at)++;
        if (!last) {
            reader->index[axis]++;
            return true;
        }
    }
    return true;
}

/* The index of element `first` along each axis. Returns how many arrays are open after the comma before it. */
static size_t unravel(struct array_reader *reader, size_t first)
{
    const struct json_array_text *array = reader->array;
    size_t depth = first == 0 ? 0 : array->rank;
    for (size_t axis = array->rank; axis-- > 0 && first > 0;) {
        /* cppcheck-suppress zerodivcond ; an array with elements has no axis of 0 */
        reader->index[axis] = first % array->shape[axis];
        first /= array->shape[axis];
        if (reader->index[axis] == 0 && depth == axis + 1)
            depth--;
    }
    return depth;
}

const char *array_read_elements(struct array_reader *reader, size_t first, size_t last, const char *at, void *ret_data)
{
    const struct json_array_text *array = reader->array;
    const size_t row_count = array->shape[array->rank - 1], element_bytes = dtype_bytes(reader->dtype);
    const bool to_end = last == shape_count(array->rank, array->shape);
    size_t depth = unravel(reader, first);
    size_t next = first, in_row = depth == array->rank ? reader->index[depth - 1] : 0;
    char *to = ret_data;
    do {
        if (!read_down(reader, &depth, &at))
            return NULL;
        const size_t row_last = size_min(row_count, in_row + (last - next));
        at = read_row_of(reader, in_row, row_last, at, to);
        if (at == NULL)
            return NULL;
        next += row_last - in_row;
        to += (row_last - in_row) * element_bytes;
        in_row = 0;
        if (row_last < row_count)
            return at;
        if (!read_up(reader, &depth, &at))
            return NULL;
    } while (depth > 0 && (to_end || next < last));
    return at;
}

bool array_read(const struct extract *extract, const struct json_array_text *array, enum dtype dtype, const char *pointer,
                void *ret_data, struct error *err)
{
    assert(array->rank >= 1 && array->rank <= TENSOR_RANK_MAX);
    struct array_reader reader;
    array_reader_init(&reader, extract, array, dtype, pointer, err);
    const char *at = array_read_elements(&reader, 0, shape_count(array->rank, array->shape), reader.first, ret_data);
    assert(at == NULL || at == reader.end);
    return at != NULL;
}
