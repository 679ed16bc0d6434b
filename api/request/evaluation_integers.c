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
    char item[40] = "";
    double real;
    memcpy(&real, &integers[at], sizeof real);
    if (!(real >= (double)min && real <= (double)max) || real != floor(real)) {
        if (request_integers_fields[which].axis <= INTEGERS_ONE_OR_PER_ITEM)
            (void)snprintf(item, sizeof item, " for item %zu", at);
        return tensor_input_refuse_integer(evaluation->extract, list, at, item, min, max, plan_integers_bound(which), err);
    }
    integers[at] = (int64_t)real;
    return true;
}

bool evaluation_read_integers(struct evaluation *evaluation, const struct executor *executor, struct error *err)
{
    for (size_t i = 0; i < REQUEST_INTEGERS; i++) {
        const struct integers_input *input = &evaluation->plan->request->integers[i];
        int64_t *integers = evaluation->integers[i];
        if (!input->given || !input->is_list || input->shared)
            continue;
        if (!tensor_input_load_integers(evaluation->extract, &input->list, executor, (double *)(void *)integers, err))
            return false;
        size_t count = shape_count(input->list.rank, input->list.shape);
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

/* Positions or ids that the request lists, one a token. */
static const int64_t *list_of(const struct evaluation *evaluation, enum request_integers which, size_t tokens,
                              size_t *ret_item_stride)
{
    const struct integers_input *input = &evaluation->plan->request->integers[which];
    const struct integers_input *list = input->shared ? input - 1 : input;
    *ret_item_stride = list->list.rank > 1 ? tokens : 0;
    return !input->given ? NULL : evaluation->integers[input->shared ? which - 1 : which];
}

void evaluation_set_rules(struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    struct attention_params *params = &evaluation->params;
    struct positions *query = &params->query_positions, *key = &params->key_positions;
    *query = (struct positions){.first = evaluation->query_offsets};
    *key = (struct positions){0};
    query->given = list_of(evaluation, INTEGERS_QUERY_POSITIONS, plan->Tq, &query->item_stride);
    key->given = list_of(evaluation, INTEGERS_KEY_POSITIONS, plan->Tk, &key->item_stride);
    const struct {
        enum request_integers which;
        size_t tokens;
        struct token_ids *ids;
    } lists[] = {
        {INTEGERS_QUERY_SEGMENTS, plan->Tq, &params->query_segments},
        {INTEGERS_KEY_SEGMENTS, plan->Tk, &params->key_segments},
        {INTEGERS_QUERY_SPANS, plan->Tq, &params->query_spans},
        {INTEGERS_KEY_SPANS, plan->Tk, &params->key_spans},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        lists[i].ids->ids = list_of(evaluation, lists[i].which, lists[i].tokens, &lists[i].ids->item_stride);
    params->chunk_size = plan->request->chunk_size;
    params->num_sink_tokens = plan->request->num_sink_tokens;
    params->prefix_lengths = evaluation->prefix_lengths;
    params->sequences = evaluation->sequences;
    params->sequence_count = plan->sequence_count;
    if (plan->sequence_count > 0) {
        query->given = evaluation->packed_positions[0];
        key->given = evaluation->packed_positions[1];
    }
}

/* The s-th boundary and the next, checked: they do not decrease, and go from 0 to `tokens`. */
static bool read_boundaries(const struct evaluation *evaluation, enum request_integers which, size_t s, size_t tokens,
                            size_t *ret_first, size_t *ret_count, struct error *err)
{
    const struct integers_input *input = &evaluation->plan->request->integers[which];
    const struct tensor_input *list = input->shared ? &input[-1].list : &input->list;
    const int64_t *boundaries = evaluation->integers[input->shared ? which - 1 : which];
    size_t last = evaluation->plan->sequence_count;
    char place[ERROR_POINTER_BYTES_MAX];
    if (s == 0 && boundaries[0] != 0)
        return error_set_at(err, ERROR_INVALID, tensor_input_place(list, 0, place),
                            "%" PRId64
                            ", where the first sequence begins at 0 (of lengths send the running sums: [0, 2, 5] for 2 and 3)",
                            boundaries[0]);
    if (boundaries[s + 1] < boundaries[s])
        return error_set_at(err, ERROR_INVALID, tensor_input_place(list, s + 1, place),
                            "%" PRId64 " after %" PRId64 ": a sequence ends before it begins", boundaries[s + 1],
                            boundaries[s]);
    if (s + 1 == last && (size_t)boundaries[last] != tokens)
        return error_set_at(err, ERROR_INVALID, tensor_input_place(list, last, place),
                            "%" PRId64 ", where the last sequence ends at %zu%s", boundaries[last], tokens,
                            which == INTEGERS_KEY_BOUNDARIES ? ", the number of keys" : ", the number of queries");
    *ret_first = (size_t)boundaries[s];
    *ret_count = (size_t)(boundaries[s + 1] - boundaries[s]);
    return true;
}

/* Where the first query of a packed sequence stands. */
static bool sequence_offset(const struct evaluation *evaluation, size_t s, int64_t *ret, struct error *err)
{
    const struct request *request = evaluation->plan->request;
    const struct attention_sequence *sequence = &evaluation->sequences[s];
    *ret = of_item(evaluation, INTEGERS_QUERY_OFFSET, s, 0);
    if (request->causal == CAUSAL_BOTTOM_RIGHT)
        *ret = (int64_t)sequence->keys - (int64_t)sequence->queries;
    bool resolved = request->causal != CAUSAL_TRUE || request->integers[INTEGERS_QUERY_OFFSET].given;
    return resolved || sequence->queries == sequence->keys ||
           error_set_at(
               err, ERROR_INVALID, "/causal",
               "sequence %zu has %zu quer%s and %zu key%s: say \"top_left\" or \"bottom_right\", which hold within each "
               "sequence, or give query_offset",
               s, sequence->queries, error_ies(sequence->queries), sequence->keys, error_s(sequence->keys));
}

static bool resolve_sequences(struct evaluation *evaluation, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    for (size_t s = 0; s < plan->sequence_count; s++) {
        struct attention_sequence *sequence = &evaluation->sequences[s];
        if (!read_boundaries(evaluation, INTEGERS_QUERY_BOUNDARIES, s, plan->Tq, &sequence->first_query, &sequence->queries,
                             err) ||
            !read_boundaries(evaluation, INTEGERS_KEY_BOUNDARIES, s, plan->Tk, &sequence->first_key, &sequence->keys, err) ||
            !sequence_offset(evaluation, s, &evaluation->query_offsets[s], err))
            return false;
        for (size_t i = 0; i < sequence->queries; i++)
            evaluation->packed_positions[0][sequence->first_query + i] = evaluation->query_offsets[s] + (int64_t)i;
        for (size_t j = 0; j < sequence->keys; j++)
            evaluation->packed_positions[1][sequence->first_key + j] = (int64_t)j;
    }
    return true;
}

static void resolve_items(struct evaluation *evaluation)
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
}

bool evaluation_resolve_positions(struct evaluation *evaluation, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    size_t items = plan->sequence_count > 0 ? plan->sequence_count : plan->B;
    for (size_t s = 0; s < items && evaluation->prefix_lengths != NULL; s++)
        evaluation->prefix_lengths[s] = of_item(evaluation, INTEGERS_PREFIX_LENGTH, s, 0);
    if (plan->sequence_count > 0)
        return resolve_sequences(evaluation, err);
    resolve_items(evaluation);
    return true;
}
