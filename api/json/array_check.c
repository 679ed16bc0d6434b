#include "api/json/array_check.h"

#include <stdio.h>

#include "api/json/document.h"
#include "api/request/tensor_input.h"

/* Each array of a value, in the order of the text. As deep as the scan lets a text be: DOCUMENT_DEPTH_MAX. */
static bool check(const struct extract *extract, const json_t *value, const char *pointer, const struct executor *executor,
                  struct error *err)
{
    const struct json_array_text *array = tensor_input_array(extract, value);
    if (array != NULL)
        return executor_stopped(executor) || array_check(extract, array, pointer, err);
    char place[ERROR_POINTER_BYTES_MAX];
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)value, name, member)
    {
        pointer_append(pointer, name, place, sizeof place);
        if (!check(extract, member, place, executor, err))
            return false;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        (void)snprintf(place, sizeof place, "%.*s/%zu", ERROR_POINTER_BYTES_MAX - 24, pointer, i);
        if (!check(extract, json_array_get(value, i), place, executor, err))
            return false;
    }
    return true;
}

void document_explain(const struct extract *extract, const json_t *document, const struct executor *executor, struct error *err)
{
    struct error found;
    error_init(&found);
    bool may_explain = err->code == ERROR_INVALID || err->code == ERROR_TOO_LARGE;
    if (may_explain && !check(extract, document, "", executor, &found))
        *err = found;
}
