#include "tests/lifted.h"

#include <stdlib.h>
#include <string.h>

#include "core/size.h"
#include "tests/check.h"

bool lifted_init(struct lifted *lifted, const char *text, size_t text_bytes)
{
    lifted->text = malloc(size_max(text_bytes, 1));
    assert_non_null(lifted->text);
    memcpy(lifted->text, text, text_bytes);
    arena_init(&lifted->arena, lift_scan_cost());
    error_init(&lifted->err);
    return lift_scan(lifted->text, text_bytes, NULL, &lifted->arena, &lifted->lift, &lifted->err);
}

void lifted_done(struct lifted *lifted)
{
    free(lifted->text);
    arena_done(&lifted->arena);
}

void *lifted_read(struct lifted *lifted, size_t index, enum dtype dtype)
{
    assert_true(index < lifted->lift.array_count);
    const struct lift_array *array = &lifted->lift.arrays[index];
    const size_t bytes = size_multiply(shape_count(array->rank, array->shape), dtype_bytes(dtype));
    void *data = malloc(size_max(bytes, 1));
    assert_non_null(data);
    if (lift_read(&lifted->lift, array, dtype, "/x", data, &lifted->err)) {
        assert_int_equal(lifted->err.code, ERROR_NONE);
        return data;
    }
    assert_int_not_equal(lifted->err.code, ERROR_NONE);
    free(data);
    return NULL;
}
