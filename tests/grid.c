#include "tests/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/view.h"

struct grid grid_new(size_t rank, const size_t *shape)
{
    assert_true(rank <= GRID_RANK_MAX);
    struct grid grid = {.present = true, .has_data = true, .rank = rank, .count = 1};
    for (size_t axis = 0; axis < rank; axis++) {
        grid.shape[axis] = shape[axis];
        grid.count *= shape[axis];
    }
    grid.values = test_alloc(grid.count, sizeof *grid.values);
    return grid;
}

/* The shape along the first elements. */
static size_t nested_shape(const json_t *json, size_t shape[GRID_RANK_MAX])
{
    size_t rank = 0;
    for (; json_is_array(json); json = json_array_get(json, 0)) {
        if (rank == GRID_RANK_MAX)
            fail_msg("an array of more than %d axes", GRID_RANK_MAX);
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

static void fill(struct grid *grid, const json_t *json, size_t axis, size_t *next, bool narrow)
{
    if (axis == grid->rank) {
        double x = number_of(json);
        grid->is_bool = json_is_boolean(json);
        grid->values[(*next)++] = narrow ? (double)(float)x : x;
        return;
    }
    if (!json_is_array(json) || json_array_size(json) != grid->shape[axis])
        fail_msg("ragged: %zu elements on axis %zu where %zu were expected", json_array_size(json), axis, grid->shape[axis]);
    for (size_t i = 0; i < grid->shape[axis]; i++)
        fill(grid, json_array_get(json, i), axis + 1, next, narrow);
}

struct grid grid_read(const json_t *json, bool narrow)
{
    size_t shape[GRID_RANK_MAX], next = 0;
    if (json == NULL || json_is_null(json))
        return (struct grid){0};
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
    struct grid grid = grid_new(rank, shape);
    grid.has_data = data != NULL;
    size_t data_shape[GRID_RANK_MAX];
    if (data != NULL && nested_shape(data, data_shape) == 1 && data_shape[0] == grid.count) { /* flat */
        struct grid flat = grid_new(1, data_shape);
        fill(&flat, data, 0, &next, narrow);
        memcpy(grid.values, flat.values, grid.count * sizeof *grid.values);
        grid.is_bool = flat.is_bool;
        grid_done(&flat);
    } else if (data != NULL) {
        fill(&grid, data, 0, &next, narrow);
    }
    return grid;
}

void grid_weigh(struct grid *grid)
{
    if (grid->magnitudes != NULL)
        return;
    grid->magnitudes = test_alloc(grid->count, sizeof *grid->magnitudes);
    for (size_t k = 0; k < grid->count; k++)
        grid->magnitudes[k] = fabs(grid->values[k]);
}

double grid_magnitude(const struct grid *grid, size_t k)
{
    return grid->magnitudes != NULL ? grid->magnitudes[k] : fabs(grid->values[k]);
}

void grid_done(struct grid *grid)
{
    free(grid->values);
    free(grid->magnitudes);
    *grid = (struct grid){0};
}
