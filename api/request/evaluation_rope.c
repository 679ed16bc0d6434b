#include "api/request/evaluation_rope.h"

#include <math.h>

#include "core/rope.h"
#include "core/size.h"

/* Positions (axes,B,T): as given, or all items at the same. */
static bool allocate_positions(const struct plan *plan, struct evaluation_memory *memory, enum rope_tensor given, size_t tokens,
                               struct tensor *ret, struct error *err)
{
    const struct tensor_input *input = &plan->request->rope.tensors[given];
    const size_t shape[3] = {plan->rope.axes, plan->B, tokens};
    bool shared = input->rank == 2;
    *ret = tensor_contiguous(NULL, DTYPE_F64, 3, shape);
    ret->stride[1] = shared ? 0 : (ptrdiff_t)tokens;
    ret->stride[0] = (ptrdiff_t)(shared ? tokens : size_multiply(plan->B, tokens));
    size_t count = size_multiply(size_multiply(plan->rope.axes, tokens), shared ? 1 : plan->B);
    ret->data = evaluation_take(memory, size_multiply(count, sizeof(double)), err);
    return ret->data != NULL;
}

static bool allocate_doubles(struct evaluation_memory *memory, size_t count, double **ret, struct error *err)
{
    *ret = evaluation_take(memory, size_multiply(count, sizeof **ret), err);
    return *ret != NULL;
}

bool evaluation_rope_allocate(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    struct evaluation_rope *rope = &evaluation->rope;
    size_t pairs = plan->rope.dims / 2;
    size_t table = size_multiply(plan->rope.table_rows, pairs);
    if (pairs == 0)
        return true;
    if (plan->rope.scaling.type == ROPE_LONGROPE && (!allocate_doubles(memory, pairs, &rope->short_factors, err) ||
                                                     !allocate_doubles(memory, pairs, &rope->long_factors, err)))
        return false;
    if (!plan->rope.tables &&
        (!allocate_doubles(memory, size_multiply(plan->rope.frequency_sets, pairs), &rope->frequencies, err) ||
         !allocate_doubles(memory, plan->rope.frequency_sets, &rope->lengths, err)))
        return false;
    if (plan->rope.tables &&
        (!allocate_doubles(memory, table, &rope->cosines, err) || !allocate_doubles(memory, table, &rope->sines, err)))
        return false;
    if (plan->rope.axes > 1 && (rope->axes = evaluation_take(memory, pairs, err)) == NULL)
        return false;
    return allocate_positions(plan, memory, ROPE_QUERY_POSITIONS, plan->Tq, &rope->query_positions, err) &&
           allocate_positions(plan, memory, ROPE_KEY_POSITIONS, plan->Tnew, &rope->key_positions, err);
}

/* ---- positions ---- */

/* Integers on three axes. */
static bool read_axis_positions(const struct evaluation *evaluation, enum rope_tensor which, const struct tensor *positions,
                                struct error *err)
{
    const struct tensor_input *input = &evaluation->plan->request->rope.tensors[which];
    const int64_t max = (int64_t)ROPE_ANGLE_MAX;
    double *values = positions->data;
    size_t count = shape_count(input->rank, input->shape);
    if (!tensor_input_load_integers(evaluation->extract, input, NULL, values, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!(fabs(values[i]) <= ROPE_ANGLE_MAX) || values[i] != floor(values[i]))
            return tensor_input_refuse_integer(evaluation->extract, input, i, "", -max, max, "", err);
    return true;
}

/* Where the tokens of queries or of new keys stand, from `first` on, as everything else counts. */
static bool set_positions(const struct evaluation *evaluation, const struct positions *from, enum request_integers list,
                          size_t first, const struct tensor *positions, struct error *err)
{
    size_t tokens = positions->shape[2];
    for (size_t b = 0; b < positions->shape[1]; b++) {
        double *row = (double *)positions->data + b * tokens;
        for (size_t t = 0; t < tokens; t++) {
            char place[ERROR_POINTER_BYTES_MAX] = "/query_offset";
            row[t] = (double)positions_at(from, b, first + t);
            if (fabs(row[t]) <= ROPE_ANGLE_MAX)
                continue;
            if (from->given != NULL)
                (void)tensor_input_place(&evaluation->plan->request->integers[list].list, b * from->item_stride + first + t,
                                         place);
            return error_set_at(err, ERROR_INVALID, place,
                                "position %.0f: rope rotates up to position 2147483648 from 0, past which its angles are not "
                                "accurate",
                                row[t]);
        }
    }
    return true;
}

/* With tables by token: the row of each token. */
static void set_rows(const struct plan *plan, const struct tensor *positions)
{
    size_t tokens = positions->shape[2];
    bool shared = plan->rope.table_rows == tokens;
    for (size_t b = 0; b < positions->shape[1]; b++)
        for (size_t t = 0; t < tokens; t++)
            ((double *)positions->data)[b * tokens + t] = (double)((shared ? 0 : b * tokens) + t);
}

/* Pair i's axis: one section after the other, or interleaved. */
static void set_axes(const struct plan *plan, unsigned char *ret)
{
    const struct rope_request *rope = &plan->request->rope;
    for (size_t i = 0; i < plan->rope.dims / 2; i++) {
        int64_t pair = (int64_t)i, axis = pair % ROPE_AXES;
        if (rope->interleaved_axes)
            ret[i] = (unsigned char)(pair < ROPE_AXES * rope->section[axis] ? axis : 0);
        else
            ret[i] = pair < rope->section[0] ? 0 : pair < rope->section[0] + rope->section[1] ? 1 : 2;
    }
}

static bool read_positions(struct evaluation *evaluation, struct error *err)
{
    struct evaluation_rope *rope = &evaluation->rope;
    if (rope->axes != NULL) {
        set_axes(evaluation->plan, rope->axes);
        return read_axis_positions(evaluation, ROPE_QUERY_POSITIONS, &rope->query_positions, err) &&
               read_axis_positions(evaluation, ROPE_KEY_POSITIONS, &rope->key_positions, err);
    }
    if (evaluation->plan->rope.by_token) {
        set_rows(evaluation->plan, &rope->query_positions);
        set_rows(evaluation->plan, &rope->key_positions);
        return true;
    }
    return set_positions(evaluation, &evaluation->params.query_positions, INTEGERS_QUERY_POSITIONS, 0, &rope->query_positions,
                         err) &&
           set_positions(evaluation, &evaluation->params.key_positions, INTEGERS_KEY_POSITIONS, evaluation->plan->Tpast,
                         &rope->key_positions, err);
}

static double position_at(const struct tensor *positions, size_t axis, size_t item, size_t token)
{
    ptrdiff_t at = (ptrdiff_t)axis * positions->stride[0] + (ptrdiff_t)item * positions->stride[1] + (ptrdiff_t)token;
    return ((const double *)positions->data)[at];
}

/* The smallest and the largest position of an item on any axis, among its queries and its new keys. */
struct reach {
    double smallest, largest;
};

static void extend(struct reach *reach, const struct tensor *positions, size_t item, size_t tokens)
{
    for (size_t axis = 0; axis < positions->shape[0]; axis++) {
        for (size_t t = 0; t < tokens; t++) {
            double position = position_at(positions, axis, item, t);
            reach->smallest = fmin(reach->smallest, position);
            reach->largest = fmax(reach->largest, position);
        }
    }
}

static struct reach reach_of(const struct evaluation *evaluation, size_t item)
{
    struct reach reach = {0, 0};
    extend(&reach, &evaluation->rope.query_positions, item, evaluation->plan->Tq);
    extend(&reach, &evaluation->rope.key_positions, item, evaluation->plan->Tnew);
    return reach;
}

/* One more than the largest position of an item, padding left out. */
static double length_of(const struct evaluation *evaluation, size_t item)
{
    const struct plan *plan = evaluation->plan;
    size_t queries = evaluation->query_lengths == NULL ? plan->Tq : evaluation->query_lengths[item];
    size_t keys = evaluation->key_lengths == NULL ? plan->Tk : evaluation->key_lengths[item];
    struct reach reach = {0, 0};
    extend(&reach, &evaluation->rope.query_positions, item, queries);
    extend(&reach, &evaluation->rope.key_positions, item, keys - size_min(keys, plan->Tpast));
    return reach.largest + 1;
}

/* ---- frequencies and tables ---- */

static bool read_numbers(const struct evaluation *evaluation, enum rope_tensor which, bool positive, double *ret,
                         struct error *err)
{
    const struct tensor_input *input = &evaluation->plan->request->rope.tensors[which];
    struct tensor reals = tensor_contiguous(ret, DTYPE_F64, input->rank, input->shape);
    size_t count = shape_count(input->rank, input->shape);
    bool narrow = evaluation->plan->dtype == DTYPE_F32 && (which == ROPE_COS || which == ROPE_SIN);
    if (!tensor_input_load(evaluation->extract, input, NULL, &reals, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        char place[ERROR_POINTER_BYTES_MAX];
        if (narrow && isfinite(ret[i]) && !isfinite((float)ret[i])) /* what it rotates would be infinite */
            return error_set_at(err, ERROR_INVALID, tensor_input_place(input, i, place),
                                "%.9g overflows float32: send a smaller one, or compute in float64", ret[i]);
        if (!isfinite(ret[i]) || (positive && !(ret[i] > 0)))
            return error_set_at(err, ERROR_INVALID, tensor_input_place(input, i, place),
                                "%.9g, where a finite number%s is expected", ret[i], positive ? " above 0" : "");
    }
    return true;
}

static void compute_frequencies(struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    struct rope_scaling scaling = plan->rope.scaling;
    scaling.short_factors = evaluation->rope.short_factors;
    scaling.long_factors = evaluation->rope.long_factors;
    for (size_t set = 0; set < plan->rope.frequency_sets; set++) {
        double length = plan->request->rope.has_length       ? (double)plan->request->rope.length
                        : rope_scaling_uses_length(&scaling) ? length_of(evaluation, set)
                                                             : 0;
        evaluation->rope.lengths[set] = length;
        rope_scaling_frequencies(&scaling, plan->rope.base, plan->rope.dims, length,
                                 evaluation->rope.frequencies + set * (plan->rope.dims / 2));
    }
}

static bool read_frequencies(struct evaluation *evaluation, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    if (plan->request->rope.tensors[ROPE_FREQUENCIES].kind != TENSOR_INPUT_ABSENT)
        return read_numbers(evaluation, ROPE_FREQUENCIES, false, evaluation->rope.frequencies, err);
    if (plan->rope.scaling.type == ROPE_LONGROPE &&
        (!read_numbers(evaluation, ROPE_SHORT_FACTOR, true, evaluation->rope.short_factors, err) ||
         !read_numbers(evaluation, ROPE_LONG_FACTOR, true, evaluation->rope.long_factors, err)))
        return false;
    compute_frequencies(evaluation);
    return true;
}

static bool check_tables(const struct evaluation *evaluation, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    size_t rows = plan->rope.table_rows;
    bool no_tokens = plan->Tq == 0 && plan->Tnew == 0;
    for (size_t b = 0; b < plan->B && !no_tokens; b++) {
        struct reach reach = reach_of(evaluation, b);
        if (reach.smallest < 0 || reach.largest >= (double)rows)
            return error_set_at(err, ERROR_INVALID, "/rope/cos",
                                "tables of %zu row%s, one a position from 0 on, and item %zu has a token at position %.0f",
                                rows, error_s(rows), b, reach.smallest < 0 ? reach.smallest : reach.largest);
    }
    return true;
}

/* Rotations beyond ROPE_ANGLE_MAX would not be accurate, even where positions are near 0. */
static bool check_angles(const struct evaluation *evaluation, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    const struct rope_request *request = &plan->request->rope;
    double farthest = 0, steepest = 0;
    for (size_t b = 0; b < plan->B; b++) {
        struct reach reach = reach_of(evaluation, b);
        farthest = fmax(farthest, fmax(-reach.smallest, reach.largest));
    }
    for (size_t i = 0; i < plan->rope.frequency_sets * (plan->rope.dims / 2); i++)
        steepest = fmax(steepest, fabs(evaluation->rope.frequencies[i]));
    if (farthest * steepest <= ROPE_ANGLE_MAX)
        return true;
    bool given = request->tensors[ROPE_FREQUENCIES].kind != TENSOR_INPUT_ABSENT;
    return error_set_at(err, ERROR_INVALID,
                        given                  ? "/rope/inverse_frequencies"
                        : request->has_scaling ? "/rope/scaling"
                                               : "/rope/base",
                        "frequencies up to %g rotate by up to %g radians, where up to 2147483648 are accurate%s", steepest,
                        farthest * steepest, given || request->has_scaling ? "" : ": a larger base");
}

bool evaluation_rope_read(struct evaluation *evaluation, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    struct evaluation_rope *rope = &evaluation->rope;
    if (plan->rope.dims == 0)
        return true;
    if (!read_positions(evaluation, err))
        return false;
    if (!plan->rope.tables)
        return read_frequencies(evaluation, err) && check_angles(evaluation, err);
    return read_numbers(evaluation, ROPE_COS, false, rope->cosines, err) &&
           read_numbers(evaluation, ROPE_SIN, false, rope->sines, err) && check_tables(evaluation, err);
}

void evaluation_rope_apply(const struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct evaluation_rope *numbers = &evaluation->rope;
    if (plan->rope.dims == 0)
        return;
    const struct rope rope = {.interleaved = plan->request->rope.style == ROPE_INTERLEAVED,
                              .dims = plan->rope.dims,
                              .frequencies = numbers->frequencies,
                              .frequencies_per_item = plan->rope.frequency_sets > 1,
                              .attention_factor = plan->rope.attention_factor,
                              .cosines = numbers->cosines,
                              .sines = numbers->sines,
                              .axes = numbers->axes};
    struct tensor key =
        plan_heads_view(plan, plan->layout, evaluation->results[RESULT_KEY].data, plan->Hkv, plan->Tnew, plan->D);
    if (numbers->query_positions.data != NULL)
        rope_apply(&rope, &evaluation->params.query, &numbers->query_positions);
    if (numbers->key_positions.data != NULL)
        rope_apply(&rope, &key, &numbers->key_positions);
}
