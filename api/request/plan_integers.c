#include "api/request/plan_integers.h"

#include <inttypes.h>
#include <stdio.h>

int64_t plan_integers_max(const struct plan *plan, enum request_integers which)
{
    bool queries = which == INTEGERS_QUERY_LENGTHS || which == INTEGERS_QUERY_BOUNDARIES;
    bool keys = which == INTEGERS_KEY_LENGTHS || which == INTEGERS_KEY_BOUNDARIES;
    return queries ? (int64_t)plan->Tq : keys ? (int64_t)plan->Tk : REQUEST_POSITION_MAX;
}

const char *plan_integers_bound(enum request_integers which)
{
    bool queries = which == INTEGERS_QUERY_LENGTHS || which == INTEGERS_QUERY_BOUNDARIES;
    bool keys = which == INTEGERS_KEY_LENGTHS || which == INTEGERS_KEY_BOUNDARIES;
    return queries ? ", the number of queries," : keys ? ", the number of keys," : "";
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

static bool check_per_token(const struct plan *plan, enum request_integers which, struct error *err)
{
    const struct tensor_input *list = &plan->request->integers[which].list;
    bool queries = request_integers_fields[which].axis == INTEGERS_PER_QUERY;
    size_t tokens = queries ? plan->Tq : plan->Tk;
    bool shared = list->rank == 1 && list->shape[0] == tokens;
    bool each = plan->has_batch && list->rank == 2 && list->shape[0] == plan->B && list->shape[1] == tokens;
    char shape[SHAPE_TEXT_BYTES_MAX], batched[SHAPE_TEXT_BYTES_MAX] = "";
    if (shared || each)
        return true;
    if (plan->has_batch)
        (void)snprintf(batched, sizeof batched, " or [%zu, %zu]", plan->B, tokens);
    return error_set_at(err, ERROR_INVALID, list->pointer, "shape %s, where [%zu]%s is expected: one integer per %s",
                        shape_text(list->rank, list->shape, shape, sizeof shape), tokens, batched,
                        queries           ? "query"
                        : plan->Tpast > 0 ? "key, those of the past included"
                                          : "key");
}

/* Packed sequences stand for items. */
static bool check_per_item(const struct plan *plan, enum request_integers which, const char *pointer, struct error *err)
{
    const struct integers_input *input = &plan->request->integers[which];
    bool one = request_integers_fields[which].axis == INTEGERS_ONE_OR_PER_ITEM;
    size_t items = plan->sequence_count > 0 ? plan->sequence_count : plan->B;
    char shape[SHAPE_TEXT_BYTES_MAX];
    if (!input->is_list && plan->has_batch && !one)
        return error_set_at(err, ERROR_INVALID, pointer,
                            "one integer, where an array of one integer per item of the batch is expected");
    if (!input->is_list)
        return check_value(plan, which, pointer, err);
    if (!plan->has_batch && plan->sequence_count == 0)
        return error_set_at(err, ERROR_INVALID, pointer,
                            "an array, where one integer is expected since there is no batch axis");
    return (input->list.rank == 1 && input->list.shape[0] == items) ||
           error_set_at(err, ERROR_INVALID, input->list.pointer, "shape %s, where [%zu] is expected: one integer %s",
                        shape_text(input->list.rank, input->list.shape, shape, sizeof shape), items,
                        plan->sequence_count > 0 ? "per sequence" : "per item of the batch");
}

/* One list for queries and keys needs as many of one as of the other. */
static bool check_shared(const struct plan *plan, enum request_integers which, struct error *err)
{
    const char *name = request_integers_fields[which].name;
    return plan->Tq == plan->Tk || error_set_at(err, ERROR_INVALID, plan->request->integers[which - 1].list.pointer,
                                                "one list for %zu quer%s and %zu key%s: send one of each, as %s with \"query\" "
                                                "and \"key\"",
                                                plan->Tq, error_ies(plan->Tq), plan->Tk, error_s(plan->Tk), name);
}

static bool check(const struct plan *plan, enum request_integers which, struct error *err)
{
    const struct integers_input *input = &plan->request->integers[which];
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
    (void)snprintf(pointer, sizeof pointer, "/%s", request_integers_fields[which].name);
    if (input->shared)
        return check_shared(plan, which, err);
    switch (request_integers_fields[which].axis) {
    case INTEGERS_PER_QUERY:
    case INTEGERS_PER_KEY:
        return check_per_token(plan, which, err);
    case INTEGERS_PER_ITEM:
    case INTEGERS_ONE_OR_PER_ITEM:
        return check_per_item(plan, which, pointer, err);
    case INTEGERS_BOUNDARIES:
        break;
    }
    return true;
}

/* How many sequences are packed, and that nothing is given that speaks of items or of tokens without a sequence. */
static bool resolve_boundaries(struct plan *plan, struct error *err)
{
    static const enum request_integers others[] = {INTEGERS_QUERY_LENGTHS, INTEGERS_KEY_LENGTHS, INTEGERS_QUERY_POSITIONS,
                                                   INTEGERS_KEY_POSITIONS};
    const struct request *request = plan->request;
    const struct integers_input *query = &request->integers[INTEGERS_QUERY_BOUNDARIES], *key = query + 1;
    const struct tensor_input *list = &query->list;
    if (!query->given)
        return true;
    if (plan->has_batch)
        return error_set_at(
            err, ERROR_INVALID, "/cu_seqlens",
            "sequences are packed along one axis of tokens, and the request has a batch axis: send [T, D], or [T, "
            "H, D] with layout \"thd\"");
    if (request->tensors[REQUEST_PAST_KEY].kind != TENSOR_INPUT_ABSENT)
        return error_set_at(err, ERROR_INVALID, "/past_key",
                            "a cache is of items, and sequences are packed: leave one of them out");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (request->integers[others[i]].given)
            return error_set_at(err, ERROR_INVALID, "/cu_seqlens",
                                "%s and cu_seqlens both say which tokens there are, or where they stand: leave one out",
                                request_integers_fields[others[i]].name);
    for (const struct tensor_input *each = list; each != NULL; each = each == list && !key->shared ? &key->list : NULL) {
        char shape[SHAPE_TEXT_BYTES_MAX];
        if (each->rank != 1 || each->shape[0] == 0)
            return error_set_at(err, ERROR_INVALID, each->pointer,
                                "shape %s, where a list of integers from 0 to the number of tokens is expected",
                                shape_text(each->rank, each->shape, shape, sizeof shape));
        if (each->shape[0] != list->shape[0])
            return error_set_at(err, ERROR_INVALID, each->pointer, "%zu sequence%s of keys, and %zu of queries",
                                each->shape[0] - 1, error_s(each->shape[0] - 1), list->shape[0] - 1);
    }
    plan->sequence_count = list->shape[0] - 1;
    return plan->sequence_count > 0 || (plan->Tq == 0 && plan->Tk == 0) ||
           error_set_at(err, ERROR_INVALID, list->pointer, "no sequence, and there are tokens: one sequence of all is [0, %zu]",
                        plan->Tq);
}

bool plan_integers_resolve(struct plan *plan, struct error *err)
{
    if (!resolve_boundaries(plan, err))
        return false;
    for (size_t i = 0; i < REQUEST_INTEGERS; i++)
        if (plan->request->integers[i].given && !check(plan, (enum request_integers)i, err))
            return false;
    return true;
}
