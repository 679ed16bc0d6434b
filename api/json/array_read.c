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

/* An array's text ends with its ']', and extract_scan saw to it that this one matches its '['. So whatever stops at a ']'
 * outside of strings needs no look at the end of the text, as long as each ']' that is passed closes a '[' that was. */
static inline const char *space_end(const char *at)
{
    while (token_is_space(*at))
        at++;
    return at;
}

/* Element `i` of a row, which is none of the usual: a non-finite form, else a fault (NULL). */
static const char *read_odd(struct array_reader *reading, size_t i, const char *at, void *ret)
{
    const size_t rank = reading->array->rank;
    double value;
    reading->index[rank - 1] = i;
    if (reading->dtype != DTYPE_BOOL) {
        const char *after = token_non_finite(at, reading->end, &value);
        if (after != NULL) {
            if (reading->dtype == DTYPE_F32)
                *(float *)ret = (float)value;
            else
                *(double *)ret = value;
            return after;
        }
        if (number_read_f64(at, reading->end, &value) != NULL) {
            (void)array_error_overflow(reading, rank, at);
            return NULL;
        }
    }
    (void)array_error_element(reading, rank, at);
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
static inline const char *read_element(struct array_reader *reading, enum dtype dtype, size_t i, const char *at, void *ret)
{
    const char *after;
    switch (dtype) {
    case DTYPE_F32:
        after = number_read_f32(at, reading->end, ret);
        if (after != NULL && fabsf(*(float *)ret) <= FLT_MAX)
            return after;
        break;
    case DTYPE_F64:
        after = number_read_f64(at, reading->end, ret);
        if (after != NULL && fabs(*(double *)ret) <= DBL_MAX)
            return after;
        break;
    case DTYPE_BOOL:
        after = read_bool(at, reading->end, ret);
        if (after != NULL)
            return after;
        break;
    }
    return read_odd(reading, i, at, ret);
}

/* After a number that number_batch_read_f32 leaves, so many are read one by one: where one has an exponent, others will have. */
#define ONE_BY_ONE 8

/* Reads elements [first, last) of a row of `count` to `ret`, from behind the '[' or ',' before them on. Returns the first byte after the
 * ',' or ']' behind them, or NULL with the error set. */
static inline __attribute__((always_inline)) const char *read_row(struct array_reader *reading, enum dtype dtype, size_t count,
                                                                  size_t first, size_t last, const char *at, void *ret)
{
    const size_t wanted = last - first, left = count - first; /* in the row, from `first` on, as i counts */
    size_t fast_from = 0;
    for (size_t i = 0; i < wanted; i++) {
        if (dtype == DTYPE_F32 && i >= fast_from) {
            i += number_batch_read_f32(&at, reading->end, size_min(wanted, left - 1) - i, (float *)ret + i);
            if (i == wanted)
                break;
            fast_from = i + ONE_BY_ONE;
        }
        at = read_element(reading, dtype, first + i, space_end(at), (char *)ret + i * dtype_bytes(dtype));
        if (at == NULL)
            return NULL;
        at = space_end(at);
        if (*at != (i + 1 < left ? ',' : ']')) {
            reading->index[reading->array->rank - 1] = first + i;
            (void)array_error_after(reading, reading->array->rank, at);
            return NULL;
        }
        at++;
    }
    if (count > 0)
        return at;
    at = space_end(at);
    if (*at == ']')
        return at + 1;
    (void)array_error_not_empty(reading, reading->array->rank, at);
    return NULL;
}

/* One loop for each dtype. */
static const char *read_row_of(struct array_reader *reading, size_t first, size_t last, const char *at, void *ret)
{
    const size_t count = reading->array->shape[reading->array->rank - 1];
    switch (reading->dtype) {
    case DTYPE_F32:
        return read_row(reading, DTYPE_F32, count, first, last, at, ret);
    case DTYPE_F64:
        return read_row(reading, DTYPE_F64, count, first, last, at, ret);
    case DTYPE_BOOL:
        return read_row(reading, DTYPE_BOOL, count, first, last, at, ret);
    }
    return NULL;
}

/* Opens arrays from `*depth` on until a row's elements follow. */
static bool read_down(struct array_reader *reading, size_t *depth, const char **at)
{
    for (; *depth < reading->array->rank; (*depth)++) {
        *at = space_end(*at);
        if (**at != '[')
            return array_error_element(reading, *depth, *at);
        (*at)++;
        reading->index[*depth] = 0;
    }
    return true;
}

/* Closes arrays until one goes on with an element, or all are closed. */
static bool read_up(struct array_reader *reading, size_t *depth, const char **at)
{
    for ((*depth)--; *depth > 0; (*depth)--) {
        const size_t axis = *depth - 1;
        const bool last = reading->index[axis] + 1 == reading->array->shape[axis];
        *at = space_end(*at);
        if (**at != (last ? ']' : ','))
            return array_error_after(reading, *depth, *at);
        (*at)++;
        if (!last) {
            reading->index[axis]++;
            return true;
        }
    }
    return true;
}

/* Where element `first` stands along each axis. Returns how many arrays are open before it, behind the comma between it and the
 * element before. */
static size_t unravel(struct array_reader *reading, size_t first)
{
    const struct json_array_text *array = reading->array;
    size_t depth = first == 0 ? 0 : array->rank;
    for (size_t axis = array->rank; axis-- > 0 && first > 0;) {
        /* cppcheck-suppress zerodivcond ; an array that has an element has no axis of 0 */
        reading->index[axis] = first % array->shape[axis];
        first /= array->shape[axis];
        if (reading->index[axis] == 0 && depth == axis + 1)
            depth--;
    }
    return depth;
}

const char *array_read_elements(struct array_reader *reading, size_t first, size_t last, const char *at, void *ret_data)
{
    const struct json_array_text *array = reading->array;
    const size_t row_count = array->shape[array->rank - 1], element_bytes = dtype_bytes(reading->dtype);
    const bool to_end = last == shape_count(array->rank, array->shape);
    size_t depth = unravel(reading, first);
    size_t next = first, in_row = depth == array->rank ? reading->index[depth - 1] : 0;
    char *to = ret_data;
    do {
        if (!read_down(reading, &depth, &at))
            return NULL;
        const size_t row_last = size_min(row_count, in_row + (last - next));
        at = read_row_of(reading, in_row, row_last, at, to);
        if (at == NULL)
            return NULL;
        next += row_last - in_row;
        to += (row_last - in_row) * element_bytes;
        in_row = 0;
        if (row_last < row_count)
            return at;
        if (!read_up(reading, &depth, &at))
            return NULL;
    } while (depth > 0 && (to_end || next < last));
    return at;
}

bool array_read(const struct extract *extract, const struct json_array_text *array, enum dtype dtype, const char *pointer,
                void *ret_data, struct error *err)
{
    assert(array->rank >= 1 && array->rank <= TENSOR_RANK_MAX);
    struct array_reader reading;
    array_reader_init(&reading, extract, array, dtype, pointer, err);
    const char *at = array_read_elements(&reading, 0, shape_count(array->rank, array->shape), reading.first, ret_data);
    assert(at == NULL || at == reading.end);
    return at != NULL;
}
