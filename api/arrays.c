#include "api/arrays.h"

#include <stdio.h>

#include "api/envelope.h"
#include "api/source.h"

/* Each array of a value, in the order of the text. As deep as the scan lets a text be: LIFT_DEPTH_MAX. */
static bool check(const struct lift *lift, const json_t *value, const char *pointer, const struct executor *executor,
                  struct error *err)
{
    const struct lift_array *array = source_lifted(lift, value);
    if (array != NULL)
        return executor_stopped(executor) || lift_check(lift, array, pointer, err);
    char place[ERROR_POINTER_BYTES_MAX];
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)value, name, member)
    {
        pointer_append(pointer, name, place, sizeof place);
        if (!check(lift, member, place, executor, err))
            return false;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        (void)snprintf(place, sizeof place, "%.*s/%zu", ERROR_POINTER_BYTES_MAX - 24, pointer, i);
        if (!check(lift, json_array_get(value, i), place, executor, err))
            return false;
    }
    return true;
}

void arrays_explain(const struct lift *lift, const json_t *envelope, const struct executor *executor, struct error *err)
{
    struct error found;
    error_init(&found);
    bool may_explain = err->code == ERROR_INVALID || err->code == ERROR_TOO_LARGE;
    if (may_explain && !check(lift, envelope, "", executor, &found))
        *err = found;
}
