#include "api/request/evaluation_bias.h"

#include <math.h>
#include <stdlib.h>

#include "core/size.h"

static bool allocate_numbers(struct evaluation_memory *memory, const struct tensor_input *input, double **ret,
                             struct error *err)
{
    size_t bytes = size_multiply(shape_count(input->rank, input->shape), sizeof **ret);
    return input->kind == TENSOR_INPUT_ABSENT || (*ret = evaluation_take(memory, bytes, err)) != NULL;
}

bool evaluation_bias_allocate(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
{
    const struct request *request = evaluation->plan->request;
    const struct tensor_input *table = &request->relative_bias.table;
    size_t ranges_bytes = size_multiply(table->shape[0], sizeof *evaluation->relative_ranges);
    if (request->relative_bias.given && (evaluation->relative_ranges = evaluation_take(memory, ranges_bytes, err)) == NULL)
        return false;
    return allocate_numbers(memory, table, &evaluation->relative_table, err) &&
           allocate_numbers(memory, &request->query_scale, &evaluation->query_scales, err);
}

void evaluation_bias_set(struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    struct attention_params *params = &evaluation->params;
    void *bias = evaluation->tensors[REQUEST_BIAS].data;
    if (bias != NULL && !plan_pairs_view(plan, REQUEST_BIAS, bias, &params->bias))
        abort(); /* plan_resolve checked that it broadcasts */
    params->relative_bias.table = evaluation->relative_table;
    params->relative_bias.ranges = evaluation->relative_ranges;
    params->relative_bias.stride = plan->H;
    params->query_scales = evaluation->query_scales;
    params->query_scale_stride = plan->request->query_scale.rank > 1 ? plan->Tq : 0;
}

static bool check_bias(const struct evaluation *evaluation, struct error *err)
{
    const struct tensor *bias = &evaluation->tensors[REQUEST_BIAS];
    const struct tensor_input *input = &evaluation->plan->request->tensors[REQUEST_BIAS];
    size_t count = bias->data == NULL ? 0 : tensor_count(bias);
    for (size_t i = 0; i < count; i++) {
        double x = bias->dtype == DTYPE_F32 ? (double)((const float *)bias->data)[i] : ((const double *)bias->data)[i];
        char place[ERROR_POINTER_BYTES_MAX];
        if (isfinite(x))
            continue;
        return error_set_at(err, ERROR_INVALID, tensor_input_place(input, i, place), "%s, where a finite number is expected%s",
                            isnan(x) ? "NaN"
                            : x > 0  ? "Infinity"
                                     : "-Infinity",
                            x < 0 ? ": what a query may not see is -Infinity or false in mask" : "");
    }
    return true;
}

bool evaluation_bias_read(struct evaluation *evaluation, struct error *err)
{
    const struct request *request = evaluation->plan->request;
    const struct relative_bias_request *relative = &request->relative_bias;
    if (relative->given)
        evaluation->params.relative_bias.count = relative_bias_ranges(relative->table.shape[0], relative->bidirectional,
                                                                      relative->max_distance, evaluation->relative_ranges);
    return check_bias(evaluation, err) &&
           evaluation_read_finite(evaluation, &relative->table, evaluation->relative_table, err) &&
           evaluation_read_finite(evaluation, &request->query_scale, evaluation->query_scales, err);
}
