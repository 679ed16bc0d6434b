#include "api/source.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/envelope.h"
#include "api/lift_spread.h"
#include "core/size.h"

#define INTEGERS_MAX 16 /* of a short list that is read on the stack */

const struct lift_array *source_lifted(const struct lift *lift, const json_t *value)
{
    if (!json_is_array(value) || json_array_size(value) != 1 || !json_is_integer(json_array_get(value, 0)))
        return NULL;
    return &lift->arrays[json_integer_value(json_array_get(value, 0))];
}

bool source_is_bool(const struct source *source)
{
    if (source->kind == SOURCE_BYTES)
        return source->wire == WIRE_BOOL;
    return source->kind == SOURCE_ARRAY && source->array->kind == LIFT_BOOLS;
}

bool source_is_empty(const struct source *source)
{
    return shape_count(source->rank, source->shape) == 0;
}

bool source_integers(const struct lift *lift, const json_t *value, const char *pointer, size_t count_max, int64_t min,
                     int64_t max, int64_t *ret, size_t *ret_count, struct error *err)
{
    const struct lift_array *array = source_lifted(lift, value);
    if (array == NULL || array->rank != 1 || array->kind == LIFT_BOOLS)
        return envelope_refuse(lift, value, pointer, "a flat array of integers", err);
    size_t count = array->shape[0];
    if (count > count_max || count > INTEGERS_MAX)
        return error_set_at(err, ERROR_INVALID, pointer, "%zu integers, where at most %zu are expected", count,
                            size_min(count_max, INTEGERS_MAX));
    double numbers[INTEGERS_MAX];
    if (!lift_read(lift, array, DTYPE_F64, pointer, numbers, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!(numbers[i] >= (double)min && numbers[i] <= (double)max) || numbers[i] != floor(numbers[i])) {
            char place[ERROR_POINTER_BYTES_MAX];
            (void)snprintf(place, sizeof place, "%s/%zu", pointer, i);
            return error_set_at(err, ERROR_INVALID, place,
                                "%.17g, where an integer from %" PRId64 " to %" PRId64 " is expected", numbers[i], min, max);
        }
        ret[i] = (int64_t)numbers[i];
    }
    *ret_count = count;
    return true;
}

/* No axis may be longer than BLAS can count, whatever the other axes are. */
static bool check_axes(struct source *source, struct error *err)
{
    for (size_t axis = 0; axis < source->rank; axis++) {
        if (source->shape[axis] <= SOURCE_AXIS_MAX)
            continue;
        char shape[SHAPE_TEXT_BYTES_MAX];
        (void)error_set_limit(err, "axis-length", SOURCE_AXIS_MAX, "shape %s: an axis may have at most %zu elements",
                              shape_text(source->rank, source->shape, shape, sizeof shape), SOURCE_AXIS_MAX);
        (void)snprintf(err->pointer, sizeof err->pointer, "%s", source->pointer);
        return false;
    }
    return true;
}

/* The array of {"shape", "data"} is flat, or nested just as the shape says. */
static bool check_data(const struct source *source, struct error *err)
{
    const struct lift_array *array = source->array;
    size_t count = shape_count(source->rank, source->shape);
    if (array->rank == 1 && array->shape[0] == count)
        return true;
    if (array->rank == source->rank && memcmp(array->shape, source->shape, array->rank * sizeof array->shape[0]) == 0)
        return true;
    char given[SHAPE_TEXT_BYTES_MAX], held[SHAPE_TEXT_BYTES_MAX], needed[SIZE_TEXT_BYTES_MAX];
    return error_set_at(err, ERROR_INVALID, source->array_pointer,
                        "data of shape %s, where shape %s needs %s numbers, flat or nested as the shape says",
                        shape_text(array->rank, array->shape, held, sizeof held),
                        shape_text(source->rank, source->shape, given, sizeof given), size_text(count, needed));
}

static bool check_depth(const struct source *source, struct error *err)
{
    return source->array->rank <= TENSOR_RANK_MAX ||
           error_set_at(err, ERROR_INVALID, source->array_pointer, "an array of %zu dimensions, the most are %d",
                        source->array->rank, TENSOR_RANK_MAX);
}

static bool decode_shape(const struct lift *lift, const json_t *value, struct source *ret, struct error *err)
{
    char pointer[SOURCE_POINTER_BYTES_MAX + sizeof "/shape"];
    (void)snprintf(pointer, sizeof pointer, "%s/shape", ret->pointer);
    if (value == NULL)
        return error_set_at(
            err, ERROR_INVALID, ret->pointer,
            "an object without \"shape\", where nested arrays or {\"shape\": [..], \"data\": [..]} are expected");
    int64_t shape[TENSOR_RANK_MAX];
    if (!source_integers(lift, value, pointer, TENSOR_RANK_MAX, 0, INT64_C(1) << 53, shape, &ret->rank, err))
        return false;
    for (size_t axis = 0; axis < ret->rank; axis++)
        ret->shape[axis] = (size_t)shape[axis];
    return check_axes(ret, err);
}

/* What is no array to be read. Of nested arrays it is the first element that makes them none. */
static bool refuse_value(const struct lift *lift, const json_t *value, const char *pointer, enum source_content content,
                         const char *expected, struct error *err)
{
    if (!json_is_array(value))
        return envelope_refuse(lift, value, pointer, expected, err);
    char place[ERROR_POINTER_BYTES_MAX];
    size_t used = (size_t)snprintf(place, sizeof place, "%s", pointer);
    for (; json_is_array(value) && used < sizeof place; value = json_array_get(value, 0))
        used += (size_t)snprintf(place + used, sizeof place - used, "/0");
    const char *element = content == SOURCE_NUMBERS ? "a number" : "a number or a boolean";
    if (json_is_string(value))
        element = content == SOURCE_NUMBERS ? "a number or \"NaN\", \"Infinity\" or \"-Infinity\""
                                            : "a number, a boolean or \"NaN\", \"Infinity\" or \"-Infinity\"";
    return envelope_refuse(lift, value, place, element, err);
}

bool source_decode_parts(const struct lift *lift, const json_t *shape, const json_t *data, const char *pointer,
                         enum source_content content, struct source *ret, struct error *err)
{
    *ret = (struct source){0};
    (void)snprintf(ret->pointer, sizeof ret->pointer, "%s", pointer);
    if (!decode_shape(lift, shape, ret, err))
        return false;
    (void)snprintf(ret->array_pointer, sizeof ret->array_pointer, "%.*s/data", SOURCE_POINTER_BYTES_MAX - 6, pointer);
    if (data == NULL) {
        ret->kind = SOURCE_DRAWN;
        return true;
    }
    ret->kind = SOURCE_ARRAY;
    ret->array = source_lifted(lift, data);
    if (ret->array == NULL)
        return refuse_value(lift, data, ret->array_pointer, content,
                            content == SOURCE_NUMBERS ? "an array of numbers" : "an array of numbers or booleans", err);
    return check_depth(ret, err) && check_data(ret, err);
}

/* A dtype, which replies in the flat format have, decides nothing; but it may not be wrong. Of no data any is right. */
static bool check_dtype(const struct lift *lift, const json_t *dtype, const struct source *source, struct error *err)
{
    static const char *const names[] = {"float32", "float64", "bool", NULL};
    size_t choice = 0;
    char pointer[SOURCE_POINTER_BYTES_MAX + sizeof "/dtype"];
    (void)snprintf(pointer, sizeof pointer, "%s/dtype", source->pointer);
    if (dtype == NULL)
        return true;
    if (!envelope_choice(lift, dtype, pointer, names, &choice, err))
        return false;
    bool is_bool = strcmp(names[choice], "bool") == 0;
    return source_is_empty(source) || is_bool == source_is_bool(source) ||
           error_set_at(err, ERROR_INVALID, pointer, "\"%s\", where the data are %s", names[choice],
                        is_bool ? "numbers" : "booleans");
}

static bool decode_object(const struct lift *lift, const json_t *object, const char *pointer, enum source_content content,
                          struct source *ret, struct error *err)
{
    static const char *const names[] = {"shape", "data", "dtype", NULL};
    return envelope_known(object, pointer, names, err) &&
           source_decode_parts(lift, envelope_member(object, "shape"), envelope_member(object, "data"), pointer, content, ret,
                               err) &&
           check_dtype(lift, envelope_member(object, "dtype"), ret, err);
}

bool source_decode(const struct lift *lift, const json_t *value, const char *pointer, enum source_content content,
                   struct source *ret, struct error *err)
{
    if (json_is_object(value))
        return decode_object(lift, value, pointer, content, ret, err);
    *ret = (struct source){.kind = SOURCE_ARRAY};
    (void)snprintf(ret->pointer, sizeof ret->pointer, "%s", pointer);
    (void)snprintf(ret->array_pointer, sizeof ret->array_pointer, "%s", pointer);
    ret->array = source_lifted(lift, value);
    if (ret->array == NULL)
        return refuse_value(lift, value, pointer, content,
                            content == SOURCE_NUMBERS
                                ? "nested arrays of numbers or {\"shape\": [..], \"data\": [..]}"
                                : "nested arrays of numbers or booleans, or {\"shape\": [..], \"data\": [..]},",
                            err);
    if (!check_depth(ret, err))
        return false;
    ret->rank = ret->array->rank;
    memcpy(ret->shape, ret->array->shape, sizeof ret->shape);
    return check_axes(ret, err);
}

bool source_of_bytes(const char *pointer, enum wire wire, size_t rank, const size_t *shape, const void *bytes,
                     struct source *ret, struct error *err)
{
    *ret = (struct source){.kind = SOURCE_BYTES, .bytes = bytes, .wire = wire, .rank = rank};
    (void)snprintf(ret->pointer, sizeof ret->pointer, "%s", pointer);
    (void)snprintf(ret->array_pointer, sizeof ret->array_pointer, "%s", pointer);
    memcpy(ret->shape, shape, rank * sizeof *shape);
    return check_axes(ret, err);
}

const void *source_in_place(const struct source *source, enum dtype dtype)
{
    bool same = (source->wire == WIRE_F32 && dtype == DTYPE_F32) || (source->wire == WIRE_F64 && dtype == DTYPE_F64);
    bool aligned = (uintptr_t)source->bytes % dtype_bytes(dtype) == 0;
    return source->kind == SOURCE_BYTES && same && aligned ? source->bytes : NULL;
}

const char *source_place(const struct source *source, size_t index, char ret[ERROR_POINTER_BYTES_MAX])
{
    const bool in_text = source->kind == SOURCE_ARRAY; /* whose array may be flat, whatever the shape beside it */
    const size_t rank = in_text ? source->array->rank : source->rank;
    const size_t *shape = in_text ? source->array->shape : source->shape;
    size_t below = shape_count(rank, shape);
    int written = snprintf(ret, ERROR_POINTER_BYTES_MAX, "%s", source->array_pointer);
    for (size_t axis = 0; axis < rank && written >= 0 && written < ERROR_POINTER_BYTES_MAX; axis++) {
        below /= shape[axis];
        written += snprintf(ret + written, (size_t)(ERROR_POINTER_BYTES_MAX - written), "/%zu", index / below);
        index %= below;
    }
    return ret;
}

/* A finite number is never made an infinity: that would ban a key, or make NaN of a row, without a word. */
static bool read_bytes(const struct source *source, const struct tensor *ret, struct error *err)
{
    if (ret->data == source->bytes)
        return true;
    char place[ERROR_POINTER_BYTES_MAX];
    size_t overflowed = wire_read(source->wire, source->bytes, ret);
    if (overflowed == tensor_count(ret))
        return true;
    return error_set_at(err, ERROR_INVALID, source_place(source, overflowed, place),
                        "%.9g overflows %s: send -Infinity or Infinity itself where that is meant, or compute in float64 "
                        "(\"precision\": \"float64\"; under /v2 \"softmax_precision\": 11)",
                        wire_number(source->wire, source->bytes, overflowed), dtype_name(ret->dtype));
}

/* Rounds what was read from a text to the format that the request announced. */
static bool round_read(const struct source *source, const struct tensor *ret, struct error *err)
{
    char place[ERROR_POINTER_BYTES_MAX];
    if (ret->dtype == DTYPE_BOOL)
        return true;
    size_t overflowed = wire_overflow(source->wire, ret);
    if (overflowed == tensor_count(ret)) {
        wire_round(source->wire, ret);
        return true;
    }
    double number = wire_number(ret->dtype == DTYPE_F32 ? WIRE_F32 : WIRE_F64, ret->data, overflowed);
    return error_set_at(err, ERROR_INVALID, source_place(source, overflowed, place),
                        "%.9g overflows %s, the datatype: send \"-Infinity\" or \"Infinity\" where that is meant, or a wider "
                        "datatype",
                        number, wire_name(source->wire));
}

bool source_read(const struct lift *lift, const struct source *source, const struct executor *executor,
                 const struct tensor *ret, struct error *err)
{
    if (source->kind == SOURCE_BYTES)
        return read_bytes(source, ret, err);
    return lift_read_spread(lift, source->array, ret->dtype, source->array_pointer, executor, ret->data, err) &&
           round_read(source, ret, err);
}
