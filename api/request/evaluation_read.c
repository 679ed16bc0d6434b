/* evaluation_read.c: what the body holds: tensors, integers and numbers a head. */
#include "api/request/evaluation.h"

#include <math.h>

#include "api/request/evaluation_bias.h"
#include "api/request/evaluation_norm.h"
#include "api/request/evaluation_rope.h"
#include "core/alibi.h"

static bool refuse_nonfinite(const struct tensor_input *input, size_t index, double given, struct error *err)
{
    char place[ERROR_POINTER_BYTES_MAX];
    (void)tensor_input_place(input, index, place);
    if (isfinite(given))
        return error_set_at(err, ERROR_INVALID, place, "%.9g overflows float32", given);
    return error_set_at(err, ERROR_INVALID, place, "%s, where a finite number is expected",
                        isnan(given) ? "NaN"
                        : given > 0  ? "Infinity"
                                     : "-Infinity");
}

bool evaluation_read_finite(const struct evaluation *evaluation, const struct tensor_input *input, double *ret,
                            struct error *err)
{
    struct tensor reals = tensor_contiguous(ret, DTYPE_F64, input->rank, input->shape);
    if (input->kind == TENSOR_INPUT_ABSENT)
        return true;
    if (!tensor_input_load(evaluation->extract, input, NULL, &reals, err))
        return false;
    for (size_t i = 0; i < tensor_count(&reals); i++) {
        double given = ret[i];
        ret[i] = evaluation->plan->dtype == DTYPE_F32 ? (double)(float)given : given;
        if (!isfinite(ret[i]))
            return refuse_nonfinite(input, i, given, err);
    }
    return true;
}

bool evaluation_read(struct evaluation *evaluation, const struct executor *executor, struct error *err)
{
    const struct request *request = evaluation->plan->request;
    for (size_t i = 0; i < REQUEST_TENSORS; i++)
        if (tensor_input_is_given(&request->tensors[i]) &&
            !tensor_input_load(evaluation->extract, &request->tensors[i], executor,
                               evaluation_tensor(evaluation, (enum request_tensor)i), err))
            return false;
    for (size_t i = 0; i < PROJECTIONS; i++) {
        const struct tensor_input *weight = &request->weights[i], *bias = &request->biases[i];
        if (tensor_input_is_given(weight) &&
            !tensor_input_load(evaluation->extract, weight, executor, &evaluation->weights[i], err))
            return false;
        if (tensor_input_is_given(bias) && !tensor_input_load(evaluation->extract, bias, executor, &evaluation->biases[i], err))
            return false;
    }
    evaluation_resolve_mask(evaluation);
    evaluation_resolve_selection(evaluation);
    if (request->alibi && request->alibi_slopes.kind == TENSOR_INPUT_ABSENT)
        alibi_slopes(evaluation->plan->H, evaluation->plan->dtype, evaluation->alibi_slopes);
    if (!evaluation_read_integers(evaluation, executor, err))
        return false;
    if (!evaluation_resolve_positions(evaluation, err) || !evaluation_rope_read(evaluation, err) ||
        !evaluation_norm_read(evaluation, err))
        return false;
    return evaluation_bias_read(evaluation, err) &&
           evaluation_read_finite(evaluation, &request->alibi_slopes, evaluation->alibi_slopes, err) &&
           evaluation_read_finite(evaluation, &request->sinks, evaluation->sinks, err);
}
