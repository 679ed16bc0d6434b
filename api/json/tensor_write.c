#include "api/json/tensor_write.h"

#include <stdint.h>
#include <string.h>

#include "api/number/batch.h"
#include "api/number/write.h"
#include "core/size.h"

#define INTEGER_BYTES_MAX 20 /* -9223372036854775808 */

_Static_assert(TENSOR_WRITE_SLACK_BYTES >= NUMBER_F64_BYTES_MAX + 3 * TENSOR_RANK_MAX,
               "what the last number may touch, and the brackets");

static char *put_f32(float x, int decimals, char *at)
{
    return decimals < 0 ? number_write_f32(x, at) : number_write_f32_rounded(x, decimals, at);
}

/* batch.h puts a comma before each number: the first one overwrites the byte there for a moment. */
static char *put_row_f32(const float *x, size_t count, char *at)
{
    char before = at[-1];
    char *end = number_batch_write_f32(x, count, at - 1);
    at[-1] = before;
    return end;
}

static char *put_row_f64(const double *x, size_t count, char *at)
{
    char before = at[-1];
    char *end = number_batch_write_f64(x, count, at - 1);
    at[-1] = before;
    return end;
}

static char *put_f64(double x, int decimals, char *at)
{
    return decimals < 0 ? number_write_f64(x, at) : number_write_f64_rounded(x, decimals, at);
}

static char *put_i64(int64_t x, char *at)
{
    char digits[INTEGER_BYTES_MAX];
    size_t count = 0;
    uint64_t left = x < 0 ? -(uint64_t)x : (uint64_t)x;
    if (x < 0)
        *at++ = '-';
    do {
        digits[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

/* After the bracket or comma that is there already. */
static char *put_row(const struct tensor *t, struct number_style style, size_t first, size_t count, char *at)
{
    if (t->dtype == DTYPE_F32 && style.decimals < 0)
        return put_row_f32((const float *)t->data + first, count, at);
    if (t->dtype == DTYPE_F64 && style.digits == DTYPE_F64 && style.decimals < 0)
        return put_row_f64((const double *)t->data + first, count, at);
    for (size_t i = 0; i < count; i++) {
        if (t->dtype == DTYPE_I64)
            at = put_i64(((const int64_t *)t->data)[first + i], at);
        else if (t->dtype == DTYPE_F32)
            at = put_f32(((const float *)t->data)[first + i], style.decimals, at);
        else if (style.digits == DTYPE_F32)
            at = put_f32((float)((const double *)t->data)[first + i], style.decimals, at);
        else
            at = put_f64(((const double *)t->data)[first + i], style.decimals, at);
        *at++ = ',';
    }
    return at - 1;
}

static char *put_brackets(char bracket, size_t count, char *at)
{
    memset(at, bracket, count);
    return at + count;
}

/* What comes before element `i`, the first of its row or of the range. */
static char *put_before(size_t rank, const size_t *shape, size_t i, char *at)
{
    size_t ended = 0, elements = 1;
    if (i == 0)
        return put_brackets('[', rank, at);
    for (; ended + 1 < rank; ended++) {
        elements *= shape[rank - 1 - ended];
        if (i % elements != 0)
            break;
    }
    at = put_brackets(']', ended, at);
    *at++ = ',';
    return put_brackets('[', ended, at);
}

/* Only brackets. */
static char *put_empty(size_t rank, const size_t *shape, char *at)
{
    *at++ = '[';
    for (size_t i = 0; rank > 1 && i < shape[0]; i++) {
        if (i > 0)
            *at++ = ',';
        at = put_empty(rank - 1, shape + 1, at);
    }
    *at++ = ']';
    return at;
}

char *tensor_write(const struct tensor *t, struct number_style style, size_t first, size_t last, char *at)
{
    const size_t count = tensor_count(t), rank = style.flat ? 1 : t->rank;
    const size_t *shape = style.flat ? &count : t->shape;
    if (count == 0)
        return put_empty(rank, shape, at);
    const size_t row = shape[rank - 1];
    for (size_t i = first; i < last;) {
        size_t row_last = size_min(last, i - i % row + row);
        at = put_before(rank, shape, i, at);
        at = put_row(t, style, i, row_last - i, at);
        i = row_last;
    }
    return last == count ? put_brackets(']', rank, at) : at;
}

size_t tensor_write_offset(enum dtype dtype, size_t rank, const size_t *shape, struct number_style style, size_t first)
{
    size_t number = dtype == DTYPE_F32 ? NUMBER_F32_TEXT_BYTES_MAX : NUMBER_F64_TEXT_BYTES_MAX, elements = 1;
    if (dtype == DTYPE_I64)
        number = INTEGER_BYTES_MAX;
    else if (style.decimals >= 0)
        number = dtype == DTYPE_F32 ? NUMBER_F32_BYTES_MAX : NUMBER_F64_BYTES_MAX;
    size_t bytes = size_multiply(first, number + 1); /* and a comma */
    if (shape_count(rank, shape) == 0)               /* two brackets and a comma an array */
        for (size_t axis = 0; axis < rank && !style.flat; axis++)
            bytes = size_add(bytes, size_multiply(3, shape_count(axis, shape)));
    else
        for (size_t axis = rank; axis-- > 1 && !style.flat;) { /* two brackets where an array begins */
            elements = size_multiply(elements, shape[axis]);
            bytes = size_add(bytes, size_multiply(2, size_pieces(first, elements)));
        }
    return bytes;
}
