/* evaluation_integers.c: fields of integers: their numbers, and where queries and keys stand. */
#include "api/request/evaluation.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "api/request/plan_integers.h"
#include "core/size.h"

/* They are read as doubles, in the same memory. */
_Static_assert(sizeof(double) == sizeof(int64_t), "a double takes the place of an integer");

static bool convert(const struct evaluation *evaluation, enum request_integers which, size_t at, int64_t *integers,
                    struct error *err)
{
    const struct tensor_input *list = &evaluation->plan->request->integers[which].list;
    int64_t min = request_integers_fields[which].min, max = plan_integers_max(evaluation->plan, which);
    char place[ERROR_POINTER_BYTES_MAX], item[40] = "";
    double real;
    memcpy(&real, &integers[at], sizeof real);
    if (!(real >= (double)min && real <= (double)max) || real != floor(real)) {
        if (request_integers_fields[which].axis <= INTEGERS_ONE_OR_PER_ITEM)
            (void)snprintf(item, sizeof item, " for item %zu", at);
        return error_set_at(err, ERROR_INVALID, tensor_input_place(list, at, place),
                            "%.17g%s, where an integer from %" PRId64 " to %" PRId64 "%s is expected", real, item, min, max,
                            plan_integers_bound(which));
    }
    integers[at] = (int64_t)real;
    return true;
}

bool evaluation_read_integers(struct evaluation *evaluation, const struct executor *executor, struct error *err)
{
    for (size_t i = 0; i < REQUEST_INTEGERS; i++) {
        const struct integers_input *input = &evaluation->plan->request->integers[i];
        int64_t *integers = evaluation->integers[i];
        if (!input->given || !input->is_list)
            continue;
        struct tensor reals = tensor_contiguous(integers, DTYPE_F64, input->list.rank, input->list.shape);
        if (!tensor_input_load(evaluation->extract, &input->list, executor, &reals, err))
            return false;
        size_t count = tensor_count(&reals);
        for (size_t at = 0; at < count; at++)
            if (!convert(evaluation, (enum request_integers)i, at, integers, err))
                return false;
    }
    return true;
}

/* The field's integer for an item; `otherwise` where it is not given. */
static int64_t of_item(const struct evaluation *evaluation, enum request_integers which, size_t b, int64_t otherwise)
{
    const struct integers_input *input = &evaluation->plan->request->integers[which];
    return !input->given ? otherwise : input->is_list ? evaluation->integers[which][b] : input->value;
}

/* Positions that the request lists, in place of `first`. */
static void list_positions(const struct evaluation *evaluation, enum request_integers which, size_t tokens,
                           struct positions *ret)
{
    const struct integers_input *input = &evaluation->plan->request->integers[which];
    if (!input->given)
        return;
    ret->given = evaluation->integers[which];
    ret->item_stride = input->list.rank > 1 ? tokens : 0;
}

void evaluation_resolve_positions(struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct tensor_input *mask = &plan->request->tensors[REQUEST_MASK];
    for (size_t b = 0; b < plan->B; b++) {
        int64_t length = of_item(evaluation, INTEGERS_KEY_LENGTHS, b, (int64_t)plan->Tk);
        evaluation->query_offsets[b] = plan->request->offset_from_lengths
                                           ? length - (int64_t)plan->Tq
                                           : of_item(evaluation, INTEGERS_QUERY_OFFSET, b, plan->query_offset);
        if (plan->request->mask_ends_early && mask->kind != TENSOR_INPUT_ABSENT && mask->rank > 0)
            length = (int64_t)size_min((size_t)length, mask->shape[mask->rank - 1]);
        if (evaluation->key_lengths != NULL)
            evaluation->key_lengths[b] = (size_t)length;
        if (evaluation->query_lengths != NULL)
            evaluation->query_lengths[b] = (size_t)of_item(evaluation, INTEGERS_QUERY_LENGTHS, b, (int64_t)plan->Tq);
    }
    evaluation->params.query_positions = (struct positions){.first = evaluation->query_offsets};
    evaluation->params.key_positions = (struct positions){0};
    list_positions(evaluation, INTEGERS_QUERY_POSITIONS, plan->Tq, &evaluation->params.query_positions);
    list_positions(evaluation, INTEGERS_KEY_POSITIONS, plan->Tk, &evaluation->params.key_positions);
}
