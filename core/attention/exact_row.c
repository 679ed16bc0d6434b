#include "core/attention/exact_row.h"

#include <math.h>

#include "core/attention/mask.h"
#include "core/attention/store.h"
#include "core/size.h"

#define COLUMN_CHUNK 64 /* output columns summed in one pass over the keys */

static double element(const struct tensor *t, const void *row, size_t j)
{
    ptrdiff_t at = (ptrdiff_t)j * t->stride[3];
    return t->dtype == DTYPE_F32 ? (double)((const float *)row)[at] : ((const double *)row)[at];
}

double exact_score(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j)
{
    const struct attention_params *params = plan->params;
    const void *q = tensor_row(&params->query, b, h, i);
    const void *k = tensor_row(&params->key, b, h / (plan->H / plan->Hkv), j);
    double dot = 0;
    for (size_t d = 0; d < plan->D; d++)
        dot += element(&params->query, q, d) * element(&params->key, k, d);
    double own = params->query_scales == NULL ? 1 : params->query_scales[b * params->query_scale_stride + i];
    return params->scale * own * dot;
}

double exact_capped_score(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j, double score)
{
    const struct attention_params *params = plan->params;
    double cap = params->softcap;
    if (params->bias.data != NULL)
        score += element(&params->bias, tensor_row(&params->bias, b, h, i), j);
    if (params->relative_bias.table != NULL)
        score += relative_bias_at(
            &params->relative_bias, h,
            position_difference(positions_at(&params->key_positions, b, j), positions_at(&params->query_positions, b, i)));
    return cap > 0 ? cap * tanh(score / cap) : score;
}

/* What softmax sees of key j, which is not masked. */
static double masked_score(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j)
{
    const struct attention_params *params = plan->params;
    double score = exact_capped_score(plan, b, h, i, j, exact_score(plan, b, h, i, j));
    if (params->mask.data != NULL && params->mask.dtype != DTYPE_BOOL)
        score += element(&params->mask, tensor_row(&params->mask, b, h, i), j);
    if (params->alibi_slopes != NULL)
        score -= params->alibi_slopes[h] * fabs((double)positions_at(&params->query_positions, b, i) -
                                                (double)positions_at(&params->key_positions, b, j));
    return score;
}

/* The largest score of the row, the sink's included. A NaN ends the search: it is the row's result. */
static double row_max(const struct attention_plan *plan, size_t b, size_t h, size_t i)
{
    double max = plan->params->sinks == NULL ? -(double)INFINITY : plan->params->sinks[h];
    for (size_t j = 0; j < plan->Tk && !isnan(max); j++) {
        if (attention_masked(plan, b, h, i, j))
            continue;
        double score = masked_score(plan, b, h, i, j);
        if (score > max || isnan(score))
            max = score;
    }
    return max;
}

static double row_sum(const struct attention_plan *plan, size_t b, size_t h, size_t i, double max)
{
    if (!isfinite(max)) /* a NaN, an infinity that is not masked, or nothing but -infinity: 0/0 */
        return (double)NAN;
    double sum = plan->params->sinks == NULL ? 0 : exp(plan->params->sinks[h] - max);
    for (size_t j = 0; j < plan->Tk; j++)
        if (!attention_masked(plan, b, h, i, j))
            sum += exp(masked_score(plan, b, h, i, j) - max);
    return sum;
}

static void row_write_output(const struct attention_plan *plan, size_t b, size_t h, size_t i, double max, double sum)
{
    const struct tensor *value = &plan->params->value;
    const struct tensor *output = &plan->results->output;
    size_t g = h / (plan->H / plan->Hkv);
    for (size_t first = 0; first < plan->Dv; first += COLUMN_CHUNK) {
        size_t columns = size_min(COLUMN_CHUNK, plan->Dv - first);
        double out[COLUMN_CHUNK] = {0};
        for (size_t j = 0; j < plan->Tk && !isnan(sum); j++) {
            if (attention_masked(plan, b, h, i, j))
                continue;
            double weight = exp(masked_score(plan, b, h, i, j) - max) / sum;
            const void *v = tensor_row(value, b, g, j);
            for (size_t d = 0; d < columns; d++)
                out[d] += weight * element(value, v, first + d);
        }
        for (size_t d = 0; d < columns; d++)
            attention_set(plan, output, tensor_row(output, b, h, i), (ptrdiff_t)(first + d) * output->stride[3],
                          isnan(sum) ? (double)NAN : out[d]);
    }
}

static void row_write_weights(const struct attention_plan *plan, size_t b, size_t h, size_t i, double max, double sum,
                              void *ret_weights)
{
    const struct tensor *masked_scores = &plan->results->masked_scores;
    bool stage = masked_scores->data != NULL && attention_row_selected(plan, h, i);
    for (size_t place = 0; place < plan->selection.key_count; place++) {
        size_t j = plan->selection.key_first + place;
        bool masked = attention_masked(plan, b, h, i, j);
        double score = masked ? -(double)INFINITY : masked_score(plan, b, h, i, j);
        if (stage)
            attention_set(plan, masked_scores, attention_selected_row(plan, masked_scores, b, h, i),
                          (ptrdiff_t)place * masked_scores->stride[3], score);
        double weight = masked ? 0 : exp(score - max) / sum;
        if (ret_weights == NULL)
            continue;
        if (plan->weights_dtype == DTYPE_F32)
            ((float *)ret_weights)[place] = attention_to_f32(plan, weight);
        else
            ((double *)ret_weights)[place] = weight;
    }
}

double exact_weight(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j, double max, double sum)
{
    return attention_masked(plan, b, h, i, j) ? 0 : exp(masked_score(plan, b, h, i, j) - max) / sum;
}

static void row_write_entropy(const struct attention_plan *plan, size_t b, size_t h, size_t i, double max, double sum)
{
    const struct tensor *t = &plan->results->entropy;
    double entropy = isnan(sum) ? sum : 0;
    for (size_t j = 0; j < plan->Tk && !isnan(sum); j++) {
        double weight = exact_weight(plan, b, h, i, j, max, sum);
        if (weight > 0)
            entropy -= weight * log(weight);
    }
    tensor_set_real(t, tensor_row(t, b, h, i), 0, entropy);
}

/* Of a row that is NaN all visible keys are ties. */
static void row_write_top(const struct attention_plan *plan, size_t b, size_t h, size_t i, double max, double sum,
                          struct top_keys *top)
{
    top->count = 0;
    for (size_t j = 0; j < plan->Tk && !(isnan(sum) && top->count == top->capacity); j++)
        if (!attention_masked(plan, b, h, i, j))
            top_keys_insert(top, isnan(sum) ? 0 : masked_score(plan, b, h, i, j), j);
    top_keys_store(plan, b, h, i, top, max, sum);
}

void exact_row_output(const struct attention_plan *plan, size_t b, size_t h, size_t i)
{
    double max = row_max(plan, b, h, i);
    row_write_output(plan, b, h, i, max, row_sum(plan, b, h, i, max));
}

void exact_row(const struct attention_plan *plan, size_t b, size_t h, size_t i, void *ret_weights, struct top_keys *top)
{
    double max = row_max(plan, b, h, i);
    double sum = row_sum(plan, b, h, i, max);
    if (plan->results->output.data != NULL)
        row_write_output(plan, b, h, i, max, sum);
    if (ret_weights != NULL || plan->results->masked_scores.data != NULL)
        row_write_weights(plan, b, h, i, max, sum, ret_weights);
    if (plan->results->entropy.data != NULL)
        row_write_entropy(plan, b, h, i, max, sum);
    if (plan->top > 0)
        row_write_top(plan, b, h, i, max, sum, top);
    if (plan->row_norms != NULL)
        plan->row_norms[(b * plan->H + h) * plan->Tq + i] = (struct attention_row_norm){max, sum, ROW_EXACT};
    const struct tensor *lse = &plan->results->lse;
    if (lse->data != NULL)
        tensor_set_real(lse, tensor_row(lse, b, h, i), 0, attention_lse(plan, max, sum));
}
