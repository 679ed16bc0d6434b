#include "tests/support/extracted.h"

#include <stdlib.h>
#include <string.h>

#include "core/size.h"
#include "tests/support/check.h"

bool extracted_init(struct extracted *extracted, const char *text, size_t text_bytes)
{
    extracted->text = malloc(size_max(text_bytes, 1));
    assert_non_null(extracted->text);
    memcpy(extracted->text, text, text_bytes);
    arena_init(&extracted->arena, extract_scan_cost());
    error_init(&extracted->err);
    return extract_scan(extracted->text, text_bytes, NULL, &extracted->arena, &extracted->extract, &extracted->err);
}

void extracted_done(struct extracted *extracted)
{
    free(extracted->text);
    arena_done(&extracted->arena);
}

void *extracted_read(struct extracted *extracted, size_t index, enum dtype dtype)
{
    assert_true(index < extracted->extract.array_count);
    const struct json_array_text *array = &extracted->extract.arrays[index];
    const size_t bytes = size_multiply(shape_count(array->rank, array->shape), dtype_bytes(dtype));
    void *data = malloc(size_max(bytes, 1));
    assert_non_null(data);
    if (array_read(&extracted->extract, array, dtype, "/x", data, &extracted->err)) {
        assert_int_equal(extracted->err.code, ERROR_NONE);
        return data;
    }
    assert_int_not_equal(extracted->err.code, ERROR_NONE);
    free(data);
    return NULL;
}
