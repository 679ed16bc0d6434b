#include "api/request/plan_integers.h"

#include <inttypes.h>
#include <stdio.h>

const char *plan_integers_bound(enum request_integers which)
{
    return which == INTEGERS_QUERY_LENGTHS ? ", the number of queries,"
           : which == INTEGERS_KEY_LENGTHS ? ", the number of keys,"
                                           : "";
}

int64_t plan_integers_max(const struct plan *plan, enum request_integers which)
{
    return which == INTEGERS_QUERY_LENGTHS ? (int64_t)plan->Tq
           : which == INTEGERS_KEY_LENGTHS ? (int64_t)plan->Tk
                                           : REQUEST_POSITION_MAX;
}

static bool is_per_token(enum integers_axis axis)
{
    return axis == INTEGERS_PER_QUERY || axis == INTEGERS_PER_KEY;
}

static bool check_value(const struct plan *plan, enum request_integers which, const char *pointer, struct error *err)
{
    int64_t value = plan->request->integers[which].value, min = request_integers_fields[which].min;
    int64_t max = plan_integers_max(plan, which);
    if (value >= min && value <= max)
        return true;
    return error_set_at(err, ERROR_INVALID, pointer,
                        "%" PRId64 ", where an integer from %" PRId64 " to %" PRId64 "%s is expected", value, min, max,
                        plan_integers_bound(which));
}

static bool check_per_token(const struct plan *plan, const struct tensor_input *list, enum integers_axis axis,
                            struct error *err)
{
    size_t tokens = axis == INTEGERS_PER_QUERY ? plan->Tq : plan->Tk;
    bool shared = list->rank == 1 && list->shape[0] == tokens;
    bool each = plan->has_batch && list->rank == 2 && list->shape[0] == plan->B && list->shape[1] == tokens;
    char shape[SHAPE_TEXT_BYTES_MAX], batched[SHAPE_TEXT_BYTES_MAX] = "";
    if (shared || each)
        return true;
    if (plan->has_batch)
        (void)snprintf(batched, sizeof batched, " or [%zu, %zu]", plan->B, tokens);
    return error_set_at(err, ERROR_INVALID, list->pointer, "shape %s, where [%zu]%s is expected: one integer a %s",
                        shape_text(list->rank, list->shape, shape, sizeof shape), tokens, batched,
                        axis == INTEGERS_PER_QUERY ? "query"
                        : plan->Tpast > 0          ? "key, those of the past included"
                                                   : "key");
}

static bool check_per_item(const struct plan *plan, enum request_integers which, const char *pointer, struct error *err)
{
    const struct integers_input *input = &plan->request->integers[which];
    bool one = request_integers_fields[which].axis == INTEGERS_ONE_OR_PER_ITEM;
    char shape[SHAPE_TEXT_BYTES_MAX];
    if (!input->is_list && plan->has_batch && !one)
        return error_set_at(err, ERROR_INVALID, pointer,
                            "one integer, where an array of one integer an item of the batch is expected");
    if (!input->is_list)
        return check_value(plan, which, pointer, err);
    if (!plan->has_batch)
        return error_set_at(err, ERROR_INVALID, pointer,
                            "an array, where one integer is expected since there is no batch axis");
    return (input->list.rank == 1 && input->list.shape[0] == plan->B) ||
           error_set_at(err, ERROR_INVALID, input->list.pointer,
                        "shape %s, where [%zu] is expected: one integer an item of the batch",
                        shape_text(input->list.rank, input->list.shape, shape, sizeof shape), plan->B);
}

bool plan_integers_resolve(struct plan *plan, struct error *err)
{
    for (size_t i = 0; i < REQUEST_INTEGERS; i++) {
        enum request_integers which = (enum request_integers)i;
        enum integers_axis axis = request_integers_fields[i].axis;
        const struct integers_input *input = &plan->request->integers[i];
        char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
        if (!input->given)
            continue;
        (void)snprintf(pointer, sizeof pointer, "/%s", request_integers_fields[i].name);
        if (!(is_per_token(axis) ? check_per_token(plan, &input->list, axis, err) : check_per_item(plan, which, pointer, err)))
            return false;
    }
    return true;
}
