#include "api/request/tensor_input.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/array_check.h"
#include "api/json/array_read_parallel.h"
#include "api/json/document.h"
#include "core/size.h"

#define INTEGERS_MAX 16 /* in a list that is read on the stack */

static void set_pointer(char ret[TENSOR_INPUT_POINTER_BYTES_MAX], const char *pointer)
{
    size_t length = strnlen(pointer, TENSOR_INPUT_POINTER_BYTES_MAX - 1);
    memcpy(ret, pointer, length);
    ret[length] = '\0';
}

bool tensor_input_may_be(enum tensor_input_content content, enum element_type element_type)
{
    if (content == TENSOR_INPUT_INTEGERS)
        return element_is_integer(element_type);
    return element_is_float(element_type) || (element_type == ELEMENT_BOOL && content == TENSOR_INPUT_NUMBERS_OR_BOOLS);
}

bool tensor_input_is_bool(const struct tensor_input *input)
{
    if (input->kind == TENSOR_INPUT_BYTES)
        return input->element_type == ELEMENT_BOOL;
    return input->kind == TENSOR_INPUT_ARRAY && input->array->kind == JSON_ARRAY_BOOLS;
}

bool tensor_input_is_empty(const struct tensor_input *input)
{
    return shape_count(input->rank, input->shape) == 0;
}

static bool is_shape(const char *pointer)
{
    const char *last = strrchr(pointer, '/');
    return last != NULL && strcmp(last, "/shape") == 0;
}

bool tensor_input_integers(const struct extract *extract, const json_t *value, const char *pointer, size_t count_max,
                           int64_t min, int64_t max, int64_t *ret, size_t *ret_count, struct error *err)
{
    const struct json_array_text *array = document_array(extract, value);
    if (array == NULL || array->rank != 1 || array->kind == JSON_ARRAY_BOOLS)
        return document_refuse(extract, value, pointer, "a flat array of integers", err);
    size_t count = array->shape[0];
    if (count > count_max || count > INTEGERS_MAX)
        return error_set_at(err, ERROR_INVALID, pointer, "%zu integers, where at most %zu are expected", count,
                            size_min(count_max, INTEGERS_MAX));
    double numbers[INTEGERS_MAX];
    if (!array_read(extract, array, DTYPE_I64, pointer, numbers, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!(numbers[i] >= (double)min && numbers[i] <= (double)max) || numbers[i] != floor(numbers[i])) {
            char place[ERROR_POINTER_BYTES_MAX], text[TOKEN_QUOTE_BYTES_MAX];
            (void)snprintf(place, sizeof place, "%s/%zu", pointer, i);
            return error_set_at(err, ERROR_INVALID, place, "%s, where an integer from %" PRId64 " to %" PRId64 " is expected%s",
                                array_quote(extract, array, i, text), min, max,
                                numbers[i] == -1 && is_shape(pointer) ? " (no axis follows from the others: send its length)"
                                                                      : "");
        }
        ret[i] = (int64_t)numbers[i];
    }
    *ret_count = count;
    return true;
}

/* No axis may be longer than BLAS can count, even if another is 0. */
static bool check_axes(struct tensor_input *input, struct error *err)
{
    for (size_t axis = 0; axis < input->rank; axis++) {
        if (input->shape[axis] <= TENSOR_INPUT_AXIS_MAX)
            continue;
        char shape[SHAPE_TEXT_BYTES_MAX];
        (void)error_set_limit(err, "axis-length", TENSOR_INPUT_AXIS_MAX, "shape %s: an axis may have at most %zu elements",
                              shape_text(input->rank, input->shape, shape, sizeof shape), TENSOR_INPUT_AXIS_MAX);
        (void)snprintf(err->pointer, sizeof err->pointer, "%s", input->pointer);
        return false;
    }
    return true;
}

/* The array of {"shape", "data"} is flat, or nested exactly as the shape says. */
static bool check_data(const struct tensor_input *input, struct error *err)
{
    const struct json_array_text *array = input->array;
    size_t count = shape_count(input->rank, input->shape);
    if (array->rank == 1 && array->shape[0] == count)
        return true;
    if (array->rank == input->rank && memcmp(array->shape, input->shape, array->rank * sizeof array->shape[0]) == 0)
        return true;
    char given[SHAPE_TEXT_BYTES_MAX], held[SHAPE_TEXT_BYTES_MAX], needed[SIZE_TEXT_BYTES_MAX];
    return error_set_at(err, ERROR_INVALID, input->array_pointer,
                        "data of shape %s, where shape %s needs %s number%s, flat or nested as the shape says",
                        shape_text(array->rank, array->shape, held, sizeof held),
                        shape_text(input->rank, input->shape, given, sizeof given), size_text(count, needed), error_s(count));
}

static bool check_depth(const struct tensor_input *input, struct error *err)
{
    return input->array->rank <= TENSOR_RANK_MAX ||
           error_set_at(err, ERROR_INVALID, input->array_pointer, "an array of %zu dimensions, the most are %d",
                        input->array->rank, TENSOR_RANK_MAX);
}

static bool decode_shape(const struct extract *extract, const json_t *value, struct tensor_input *ret, struct error *err)
{
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX + sizeof "/shape"];
    (void)snprintf(pointer, sizeof pointer, "%s/shape", ret->pointer);
    if (value == NULL)
        return error_set_at(
            err, ERROR_INVALID, ret->pointer,
            "an object without \"shape\", where nested arrays or {\"shape\": [..], \"data\": [..]} are expected");
    int64_t shape[TENSOR_RANK_MAX];
    if (!tensor_input_integers(extract, value, pointer, TENSOR_RANK_MAX, 0, INT64_C(1) << 53, shape, &ret->rank, err))
        return false;
    for (size_t axis = 0; axis < ret->rank; axis++)
        ret->shape[axis] = (size_t)shape[axis];
    return check_axes(ret, err);
}

/* For a value that is not an array to be read. In nested arrays the first element is why. */
static bool refuse_value(const struct extract *extract, const json_t *value, const char *pointer,
                         enum tensor_input_content content, const char *expected, struct error *err)
{
    if (!json_is_array(value))
        return document_refuse(extract, value, pointer, expected, err);
    char place[ERROR_POINTER_BYTES_MAX];
    size_t used = (size_t)snprintf(place, sizeof place, "%s", pointer);
    for (; json_is_array(value) && used < sizeof place; value = json_array_get(value, 0))
        used += (size_t)snprintf(place + used, sizeof place - used, "/0");
    bool bools = content == TENSOR_INPUT_NUMBERS_OR_BOOLS;
    const char *element = bools ? "a number or a boolean" : "a number";
    if (json_is_string(value))
        element = bools ? "a number, a boolean or \"NaN\", \"Infinity\" or \"-Infinity\""
                        : "a number or \"NaN\", \"Infinity\" or \"-Infinity\"";
    return document_refuse(extract, value, place, element, err);
}

bool tensor_input_read_parts(const struct extract *extract, const json_t *shape, const json_t *data, const char *pointer,
                             enum tensor_input_content content, struct tensor_input *ret, struct error *err)
{
    *ret = (struct tensor_input){0};
    set_pointer(ret->pointer, pointer);
    if (!decode_shape(extract, shape, ret, err))
        return false;
    (void)snprintf(ret->array_pointer, sizeof ret->array_pointer, "%.*s/data", TENSOR_INPUT_POINTER_BYTES_MAX - 6, pointer);
    if (data == NULL) {
        ret->kind = TENSOR_INPUT_DRAWN;
        return true;
    }
    ret->kind = TENSOR_INPUT_ARRAY;
    ret->array = document_array(extract, data);
    if (ret->array == NULL)
        return refuse_value(
            extract, data, ret->array_pointer, content,
            content == TENSOR_INPUT_NUMBERS_OR_BOOLS ? "an array of numbers or booleans" : "an array of numbers", err);
    return check_depth(ret, err) && check_data(ret, err);
}

/* A dtype, as replies in the flat format have, decides nothing, but must not be wrong. Without data any is right. */
static bool check_dtype(const struct extract *extract, const json_t *dtype, enum tensor_input_content content,
                        const struct tensor_input *input, struct error *err)
{
    enum dtype other = content == TENSOR_INPUT_INTEGERS ? DTYPE_I64 : DTYPE_BOOL;
    const char *const names[] = {element_dtype_name(DTYPE_F32), element_dtype_name(DTYPE_F64), element_dtype_name(other), NULL};
    size_t choice = 0;
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX + sizeof "/dtype"];
    (void)snprintf(pointer, sizeof pointer, "%s/dtype", input->pointer);
    if (dtype == NULL)
        return true;
    if (!document_choice(extract, dtype, pointer, names, &choice, err))
        return false;
    bool is_bool = choice == 2 && other == DTYPE_BOOL;
    return tensor_input_is_empty(input) || is_bool == tensor_input_is_bool(input) ||
           error_set_at(err, ERROR_INVALID, pointer, "\"%s\", where the data are %s", names[choice],
                        is_bool ? "numbers" : "booleans");
}

static bool decode_object(const struct extract *extract, const json_t *object, const char *pointer,
                          enum tensor_input_content content, struct tensor_input *ret, struct error *err)
{
    static const char *const names[] = {"shape", "data", "dtype", NULL};
    return document_known(object, pointer, names, err) &&
           tensor_input_read_parts(extract, document_member(object, "shape"), document_member(object, "data"), pointer, content,
                                   ret, err) &&
           check_dtype(extract, document_member(object, "dtype"), content, ret, err);
}

bool tensor_input_read(const struct extract *extract, const json_t *value, const char *pointer,
                       enum tensor_input_content content, struct tensor_input *ret, struct error *err)
{
    if (json_is_object(value))
        return decode_object(extract, value, pointer, content, ret, err);
    *ret = (struct tensor_input){.kind = TENSOR_INPUT_ARRAY};
    set_pointer(ret->pointer, pointer);
    set_pointer(ret->array_pointer, pointer);
    ret->array = document_array(extract, value);
    if (ret->array == NULL)
        return refuse_value(extract, value, pointer, content,
                            content == TENSOR_INPUT_NUMBERS_OR_BOOLS
                                ? "nested arrays of numbers or booleans, or {\"shape\": [..], \"data\": [..]},"
                                : "nested arrays of numbers or {\"shape\": [..], \"data\": [..]}",
                            err);
    if (!check_depth(ret, err))
        return false;
    ret->rank = ret->array->rank;
    memcpy(ret->shape, ret->array->shape, sizeof ret->shape);
    return check_axes(ret, err);
}

bool tensor_input_of_bytes(const char *pointer, enum element_type element_type, size_t rank, const size_t *shape,
                           const void *bytes, struct tensor_input *ret, struct error *err)
{
    *ret = (struct tensor_input){.kind = TENSOR_INPUT_BYTES, .bytes = bytes, .element_type = element_type, .rank = rank};
    set_pointer(ret->pointer, pointer);
    set_pointer(ret->array_pointer, pointer);
    memcpy(ret->shape, shape, rank * sizeof *shape);
    return check_axes(ret, err);
}

const void *tensor_input_in_place(const struct tensor_input *input, enum dtype dtype)
{
    bool same = input->element_type == element_of_dtype(dtype) && dtype != DTYPE_BOOL; /* booleans are copied to be 0 or 1 */
    bool aligned = (uintptr_t)input->bytes % dtype_bytes(dtype) == 0;
    return input->kind == TENSOR_INPUT_BYTES && same && aligned ? input->bytes : NULL;
}

const char *tensor_input_place(const struct tensor_input *input, size_t index, char ret[ERROR_POINTER_BYTES_MAX])
{
    const bool in_text = input->kind == TENSOR_INPUT_ARRAY; /* its array may be flat, whatever the shape */
    const size_t rank = in_text ? input->array->rank : input->rank;
    const size_t *shape = in_text ? input->array->shape : input->shape;
    size_t below = shape_count(rank, shape);
    int written = snprintf(ret, ERROR_POINTER_BYTES_MAX, "%s", input->array_pointer);
    for (size_t axis = 0; axis < rank && written >= 0 && written < ERROR_POINTER_BYTES_MAX; axis++) {
        below /= shape[axis];
        written += snprintf(ret + written, (size_t)(ERROR_POINTER_BYTES_MAX - written), "/%zu", index / below);
        index %= below;
    }
    return ret;
}

/* A finite number never becomes an infinity: that would silently mask a key, or turn a row into NaN. */
static bool read_bytes(const struct tensor_input *input, const struct tensor *ret, struct error *err)
{
    if (ret->data == input->bytes)
        return true;
    char place[ERROR_POINTER_BYTES_MAX];
    size_t overflowed = element_read(input->element_type, input->bytes, ret);
    if (overflowed == tensor_count(ret))
        return true;
    return error_set_at(err, ERROR_INVALID, tensor_input_place(input, overflowed, place),
                        "%.9g overflows %s: send -Infinity or Infinity itself where that is meant, or compute in float64 "
                        "(\"precision\": \"float64\"; under /v2 \"softmax_precision\": 11)",
                        element_number(input->element_type, input->bytes, overflowed), element_dtype_name(ret->dtype));
}

/* Rounds what was read from a text to the element type that the request announced. */
static bool round_read(const struct tensor_input *input, const struct tensor *ret, struct error *err)
{
    char place[ERROR_POINTER_BYTES_MAX];
    if (ret->dtype == DTYPE_BOOL)
        return true;
    size_t overflowed = element_overflow(input->element_type, ret);
    if (overflowed == tensor_count(ret)) {
        element_round(input->element_type, ret);
        return true;
    }
    double number = element_number(element_of_dtype(ret->dtype), ret->data, overflowed);
    return error_set_at(err, ERROR_INVALID, tensor_input_place(input, overflowed, place),
                        "%.9g overflows %s, the datatype: send \"-Infinity\" or \"Infinity\" where that is meant, or a wider "
                        "datatype",
                        number, element_names[ELEMENT_NAMES_PLAIN][input->element_type]);
}

bool tensor_input_load(const struct extract *extract, const struct tensor_input *input, const struct executor *executor,
                       const struct tensor *ret, struct error *err)
{
    if (input->kind == TENSOR_INPUT_BYTES)
        return read_bytes(input, ret, err);
    return array_read_parallel(extract, input->array, ret->dtype, input->array_pointer, executor, ret->data, err) &&
           round_read(input, ret, err);
}

bool tensor_input_load_integers(const struct extract *extract, const struct tensor_input *input,
                                const struct executor *executor, double *ret, struct error *err)
{
    if (input->kind != TENSOR_INPUT_BYTES)
        return array_read_parallel(extract, input->array, DTYPE_I64, input->array_pointer, executor, ret, err);
    const struct tensor reals = tensor_contiguous(ret, DTYPE_F64, input->rank, input->shape);
    return read_bytes(input, &reals, err);
}

/* As the request has it: int64 has more digits than a double. */
static void quote_integer(const struct extract *extract, const struct tensor_input *input, size_t index,
                          char text[TOKEN_QUOTE_BYTES_MAX])
{
    if (input->kind != TENSOR_INPUT_BYTES)
        (void)array_quote(extract, input->array, index, text);
    else
        (void)snprintf(text, TOKEN_QUOTE_BYTES_MAX, "%" PRId64, element_integer(input->element_type, input->bytes, index));
}

bool tensor_input_refuse_integer(const struct extract *extract, const struct tensor_input *input, size_t index, const char *of,
                                 int64_t min, int64_t max, const char *bound, struct error *err)
{
    char place[ERROR_POINTER_BYTES_MAX], text[TOKEN_QUOTE_BYTES_MAX];
    quote_integer(extract, input, index, text);
    return error_set_at(err, ERROR_INVALID, tensor_input_place(input, index, place),
                        "%s%s, where an integer from %" PRId64 " to %" PRId64 "%s is expected", text, of, min, max, bound);
}
