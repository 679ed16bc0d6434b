#include "tests/support/json_tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/view.h"

struct json_tensor json_tensor_new(size_t rank, const size_t *shape)
{
    assert_true(rank <= JSON_TENSOR_RANK_MAX);
    struct json_tensor json_tensor = {.present = true, .has_data = true, .rank = rank, .count = 1};
    for (size_t axis = 0; axis < rank; axis++) {
        json_tensor.shape[axis] = shape[axis];
        json_tensor.count *= shape[axis];
    }
    json_tensor.values = test_alloc(json_tensor.count, sizeof *json_tensor.values);
    return json_tensor;
}

/* The shape along the first elements. */
static size_t nested_shape(const json_t *json, size_t shape[JSON_TENSOR_RANK_MAX])
{
    size_t rank = 0;
    for (; json_is_array(json); json = json_array_get(json, 0)) {
        if (rank == JSON_TENSOR_RANK_MAX)
            fail_msg("an array of more than %d axes", JSON_TENSOR_RANK_MAX);
        shape[rank++] = json_array_size(json);
    }
    return rank;
}

static double number_of(const json_t *json)
{
    if (json_is_string(json)) {
        char *end;
        double x = strtod(json_string_value(json), &end);
        if (*end != '\0' || isfinite(x))
            fail_msg("\"%s\" is no number", json_string_value(json));
        return x;
    }
    if (!json_is_number(json) && !json_is_boolean(json))
        fail_msg("a number was expected");
    return json_is_boolean(json) ? json_is_true(json) : json_number_value(json);
}

static void fill(struct json_tensor *json_tensor, const json_t *json, size_t axis, size_t *next, bool narrow)
{
    if (axis == json_tensor->rank) {
        double x = number_of(json);
        json_tensor->is_bool = json_is_boolean(json);
        json_tensor->values[(*next)++] = narrow ? (double)(float)x : x;
        return;
    }
    if (!json_is_array(json) || json_array_size(json) != json_tensor->shape[axis])
        fail_msg("ragged: %zu elements on axis %zu where %zu were expected", json_array_size(json), axis,
                 json_tensor->shape[axis]);
    for (size_t i = 0; i < json_tensor->shape[axis]; i++)
        fill(json_tensor, json_array_get(json, i), axis + 1, next, narrow);
}

struct json_tensor json_tensor_read(const json_t *json, bool narrow)
{
    size_t shape[JSON_TENSOR_RANK_MAX], next = 0;
    if (json == NULL || json_is_null(json))
        return (struct json_tensor){0};
    const json_t *data = json;
    size_t rank;
    if (json_is_object(json)) {
        const json_t *axes = json_object_get(json, "shape");
        rank = json_array_size(axes);
        for (size_t axis = 0; axis < rank; axis++)
            shape[axis] = (size_t)number_of(json_array_get(axes, axis));
        data = json_object_get(json, "data");
        if (json_is_null(data))
            data = NULL;
    } else {
        rank = nested_shape(json, shape);
    }
    struct json_tensor json_tensor = json_tensor_new(rank, shape);
    json_tensor.has_data = data != NULL;
    size_t data_shape[JSON_TENSOR_RANK_MAX];
    if (data != NULL && nested_shape(data, data_shape) == 1 && data_shape[0] == json_tensor.count) { /* flat */
        struct json_tensor flat = json_tensor_new(1, data_shape);
        fill(&flat, data, 0, &next, narrow);
        memcpy(json_tensor.values, flat.values, json_tensor.count * sizeof *json_tensor.values);
        json_tensor.is_bool = flat.is_bool;
        json_tensor_done(&flat);
    } else if (data != NULL) {
        fill(&json_tensor, data, 0, &next, narrow);
    }
    return json_tensor;
}

void json_tensor_allow(struct json_tensor *json_tensor)
{
    if (json_tensor->allowed == NULL)
        json_tensor->allowed = test_alloc(json_tensor->count, sizeof *json_tensor->allowed);
}

double json_tensor_allowed(const struct json_tensor *json_tensor, size_t k)
{
    return json_tensor->allowed != NULL ? json_tensor->allowed[k] : 0;
}

void json_tensor_done(struct json_tensor *json_tensor)
{
    free(json_tensor->values);
    free(json_tensor->allowed);
    *json_tensor = (struct json_tensor){0};
}
