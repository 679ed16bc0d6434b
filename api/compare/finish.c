#include "api/compare/finish.h"

#include <math.h>
#include <string.h>

#define LN_2 0.693147180559945309417

static void round_row(enum element_type type, double *row, size_t count)
{
    const struct tensor t = tensor_contiguous(row, DTYPE_F64, 1, &count);
    element_round(type, &t);
}

/* ---- scores ---- */

/* What a causal mask of the variant's own leaves a query to see. */
struct causal_row {
    int64_t last;   /* keys up to it, by index; CAUSAL_STRICT: by position */
    int64_t prefix; /* and keys at positions before it, as asked */
};

static struct causal_row causal_row(const struct variant *variant, size_t b, size_t i)
{
    const enum deviation_causal causal = variant->deviation.causal;
    const struct attention_params *params = &variant->evaluation.params, *asked = &variant->base->evaluation.params;
    const struct attention_sequence all = {0, variant->plan.Tq, 0, variant->plan.Tk}, *sequence = &all;
    size_t item = b;
    if (params->sequences != NULL) {
        for (item = 0; i >= params->sequences[item].first_query + params->sequences[item].queries;)
            item++;
        sequence = &params->sequences[item];
    }
    int64_t last = (int64_t)(sequence->first_key + i - sequence->first_query);
    if (causal == CAUSAL_FROM_BOTTOM_RIGHT)
        last += (int64_t)sequence->keys - (int64_t)sequence->queries;
    if (causal == CAUSAL_STRICT)
        last = position_add(positions_at(&params->query_positions, b, i), -1);
    return (struct causal_row){last, asked->prefix_lengths != NULL ? asked->prefix_lengths[item] : INT64_MIN};
}

static bool causal_masks(const struct variant *variant, const struct causal_row *row, size_t b, size_t i, size_t j)
{
    const struct attention_params *asked = &variant->base->evaluation.params;
    const struct token_ids *spans = &asked->query_spans;
    const int64_t position = positions_at(&variant->evaluation.params.key_positions, b, j);
    if ((variant->deviation.causal == CAUSAL_STRICT ? position : (int64_t)j) <= row->last || position < row->prefix)
        return false;
    return spans->ids == NULL || token_id(spans, b, i) < 0 || token_id(spans, b, i) != token_id(&asked->key_spans, b, j);
}

static bool padding_masks(const struct variant *variant, size_t b, size_t j)
{
    const size_t *lengths = variant->base->evaluation.key_lengths;
    return lengths != NULL && j < variant->plan.Tk - lengths[b];
}

/* What the product of query i of item b is multiplied with. */
static double scale_of(const struct variant *variant, size_t b, size_t i)
{
    const struct attention_params *params = &variant->evaluation.params;
    double own = params->query_scales == NULL ? 1 : params->query_scales[b * params->query_scale_stride + i];
    return variant->plan.scale * own;
}

/* The scores as they would be had the product and its scaled value been stored in the narrower format. */
static void round_products(const struct variant *variant, double scale, const double *scores, double *masked, double *scratch)
{
    const enum element_type type = variant->deviation.round_scores;
    const size_t Tk = variant->plan.Tk;
    for (size_t j = 0; j < Tk; j++)
        scratch[j] = scale != 0 ? scores[j] / scale : 0;
    round_row(type, scratch, Tk);
    for (size_t j = 0; j < Tk; j++)
        scratch[j] *= scale;
    round_row(type, scratch, Tk);
    for (size_t j = 0; j < Tk; j++)
        if (masked[j] > -(double)INFINITY)
            masked[j] += isfinite(scratch[j]) && isfinite(masked[j]) ? scratch[j] - scores[j] : scratch[j];
    round_row(type, masked, Tk);
}

void finish_scores(struct slice *slice, const struct variant *variant, size_t first, size_t count)
{
    const struct plan *plan = &variant->plan;
    const struct deviation *d = &variant->deviation;
    const bool causal = d->causal != CAUSAL_AS_ASKED;
    for (size_t row = 0; row < plan->B * plan->H * count; row++) {
        const size_t b = row / count / plan->H, i = first + row % count;
        const double *scores = slice->buffers[RESULT_SCORES] + row * plan->Tk;
        double *masked = slice->buffers[RESULT_MASKED_SCORES] + row * plan->Tk;
        const struct causal_row seen = causal ? causal_row(variant, b, i) : (struct causal_row){0};
        for (size_t j = 0; j < plan->Tk && (causal || d->left_padded); j++)
            if ((causal && causal_masks(variant, &seen, b, i, j)) || (d->left_padded && padding_masks(variant, b, j)))
                masked[j] = -(double)INFINITY;
        if (d->round_scores != ELEMENT_F64)
            round_products(variant, scale_of(variant, b, i), scores, masked, slice->buffers[RESULT_WEIGHTS] + row * plan->Tk);
        for (size_t j = 0; j < plan->Tk && d->softcap_last; j++)
            masked[j] = d->softcap * tanh(masked[j] / d->softcap);
    }
}

/* ---- softmax ---- */

void finish_columns(struct slice *slice, struct variant *variant, size_t count)
{
    const struct plan *plan = &variant->plan;
    for (size_t row = 0; row < plan->B * plan->H * count; row++) {
        const double *masked = slice->buffers[RESULT_MASKED_SCORES] + row * plan->Tk;
        double *max = variant->column_max + row / count * plan->Tk, *sum = variant->column_sum + row / count * plan->Tk;
        for (size_t j = 0; j < plan->Tk; j++) {
            if (masked[j] == -(double)INFINITY)
                continue;
            double larger = fmax(max[j], masked[j]);
            sum[j] = sum[j] * exp(max[j] - larger) + exp(masked[j] - larger);
            max[j] = larger;
        }
    }
}

/* Over the queries: head `head` of all items' heads. */
static void softmax_over_queries(const struct variant *variant, size_t head, const double *masked, double *ret)
{
    const struct plan *plan = &variant->plan;
    const double *max = variant->column_max + head * plan->Tk, *sum = variant->column_sum + head * plan->Tk;
    const double unseen = variant->deviation.softmax_uniform_columns ? 1 / (double)plan->Tq : (double)NAN;
    for (size_t j = 0; j < plan->Tk; j++)
        ret[j] = sum[j] > 0 ? exp(masked[j] - max[j]) / sum[j] : unseen;
}

static void softmax_missing(const struct plan *plan, const double *masked, double *ret)
{
    for (size_t j = 0; j < plan->Tk; j++)
        ret[j] = masked[j] == -(double)INFINITY ? 0 : masked[j];
}

/* The logarithm of the sum of exponentials, the sink's with them; -infinity where there are none. */
static double log_sum(const double *scores, size_t count, const double *sink)
{
    double max = sink != NULL ? *sink : -(double)INFINITY, sum = 0;
    for (size_t j = 0; j < count; j++)
        max = isnan(scores[j]) || isnan(max) ? (double)NAN : fmax(max, scores[j]);
    if (!isfinite(max))
        return max > 0 ? (double)NAN : max;
    for (size_t j = 0; j < count; j++)
        sum += exp(scores[j] - max);
    return max + log(sum + (sink != NULL ? exp(*sink - max) : 0));
}

/* Whether query i of an item is padding. One of a negative segment is a row with every key masked to code that has a mask for it. */
static bool is_padding(const struct variant *variant, size_t b, size_t i)
{
    const struct attention_params *params = &variant->evaluation.params;
    const struct deviation *d = &variant->deviation;
    const bool masks_rows = d->masked_rows != MASKED_ROWS_ZERO || d->softmax == SOFTMAX_OVER_QUERIES;
    return (params->query_lengths != NULL && i >= params->query_lengths[b]) ||
           (params->query_segments.ids != NULL && !masks_rows && token_id(&params->query_segments, b, i) < 0);
}

static bool all_masked(const double *scores, size_t count)
{
    for (size_t j = 0; j < count; j++)
        if (scores[j] != -(double)INFINITY)
            return false;
    return true;
}

/* Over the keys. */
static void softmax(const struct variant *variant, const double *masked, double lse, double *ret)
{
    static const double unseen[] = {[MASKED_ROWS_ZERO] = 0, [MASKED_ROWS_MEAN] = 1, [MASKED_ROWS_NAN] = (double)NAN};
    const size_t Tk = variant->plan.Tk;
    const enum deviation_masked_rows rows = variant->deviation.masked_rows;
    bool none = all_masked(masked, Tk);
    const double everywhere = unseen[rows] / (double)(rows == MASKED_ROWS_MEAN ? Tk : 1);
    for (size_t j = 0; j < Tk; j++)
        ret[j] = none ? everywhere : masked[j] == -(double)INFINITY ? 0 : exp(masked[j] - lse); /* 0 in a row of NaN, too */
}

/* ---- rows ---- */

static double finished_lse(const struct slice *slice, const struct variant *variant, size_t row, double lse, double *scratch)
{
    const struct plan *plan = &variant->plan;
    const struct deviation *d = &variant->deviation;
    const double *sinks = variant->evaluation.params.sinks;
    const double *scores = slice->buffers[RESULT_SCORES] + row * plan->Tk;
    const double *masked = slice->buffers[RESULT_MASKED_SCORES] + row * plan->Tk;
    const double scale = scale_of(variant, row / slice->count / plan->H, slice->first + row % slice->count);
    if (d->lse_unscaled && scale != 0) {
        for (size_t j = 0; j < plan->Tk; j++)
            scratch[j] = isfinite(masked[j]) ? masked[j] - scores[j] + scores[j] / scale : masked[j];
        lse = log_sum(scratch, plan->Tk, sinks != NULL ? &sinks[row / slice->count % plan->H] : NULL);
    }
    if (variant->evaluation.params.lse_base_2)
        lse /= LN_2;
    return d->lse_factor != 0 ? d->lse_factor * lse : lse;
}

static void finish_value(const struct slice *slice, const struct variant *variant, size_t row, size_t count, double *out)
{
    const struct plan *plan = &variant->plan;
    const struct tensor *value = &variant->evaluation.params.value;
    const size_t b = row / count / plan->H, h = row / count % plan->H;
    const size_t g = variant->deviation.heads_tiled ? h % plan->Hkv : h / (plan->H / plan->Hkv);
    const double *weights = slice->buffers[RESULT_WEIGHTS] + row * plan->Tk;
    memset(out, 0, plan->Dv * sizeof *out);
    for (size_t j = 0; j < plan->Tk; j++) {
        const double *v = tensor_row(value, b, g, j);
        const double weight = weights[j];
        if (weight == 0)
            continue;
        for (size_t d = 0; d < plan->Dv && value->stride[3] == 1; d++)
            out[d] += weight * v[d];
        for (size_t d = 0; d < plan->Dv && value->stride[3] != 1; d++)
            out[d] += weight * v[(ptrdiff_t)d * value->stride[3]];
    }
    if (variant->deviation.round_output != ELEMENT_F64)
        round_row(variant->deviation.round_output, out, plan->Dv);
}

/* A query that is padding. */
static void pad_row(struct slice *slice, const struct plan *plan, size_t row)
{
    memset(slice->buffers[RESULT_WEIGHTS] + row * plan->Tk, 0, plan->Tk * sizeof(double));
    if (slice->wanted[RESULT_LSE])
        slice->buffers[RESULT_LSE][row] = -(double)INFINITY;
    if (slice->wanted[RESULT_OUTPUT])
        memset(slice->buffers[RESULT_OUTPUT] + row * plan->Dv, 0, plan->Dv * sizeof(double));
}

static void finish_row(struct slice *slice, const struct variant *variant, size_t row, size_t count)
{
    const struct plan *plan = &variant->plan;
    const struct deviation *d = &variant->deviation;
    const double *masked = slice->buffers[RESULT_MASKED_SCORES] + row * plan->Tk;
    const double *sinks = variant->evaluation.params.sinks;
    double *weights = slice->buffers[RESULT_WEIGHTS] + row * plan->Tk;
    double lse = log_sum(masked, plan->Tk, sinks != NULL ? &sinks[row / count % plan->H] : NULL);
    if (slice->wanted[RESULT_LSE])
        slice->buffers[RESULT_LSE][row] = finished_lse(slice, variant, row, lse, weights);
    if (d->softmax == SOFTMAX_OVER_QUERIES)
        softmax_over_queries(variant, row / count, masked, weights);
    else if (d->softmax == SOFTMAX_MISSING)
        softmax_missing(plan, masked, weights);
    else
        softmax(variant, masked, lse, weights);
    if (d->round_weights != ELEMENT_F64)
        round_row(d->round_weights, weights, plan->Tk);
    if (slice->wanted[RESULT_OUTPUT])
        finish_value(slice, variant, row, count, slice->buffers[RESULT_OUTPUT] + row * plan->Dv);
}

void finish_mean(struct slice *slice, const struct variant *variant, size_t count)
{
    const struct plan *plan = &variant->plan;
    const size_t token = count * plan->Tk; /* numbers of a head */
    const double *weights = slice->buffers[RESULT_WEIGHTS];
    double *mean = slice->buffers[RESULT_MEAN_WEIGHTS];
    for (size_t k = 0; k < plan->B * token; k++) {
        double sum = 0;
        for (size_t h = 0; h < plan->H; h++)
            sum += weights[(k / token * plan->H + h) * token + k % token];
        mean[k] = sum / (double)plan->H;
    }
}

void finish_rows(struct slice *slice, const struct variant *variant, size_t first, size_t count)
{
    slice->first = first;
    slice->count = count;
    finish_scores(slice, variant, first, count);
    for (size_t row = 0; row < variant->plan.B * variant->plan.H * count; row++) {
        if (is_padding(variant, row / count / variant->plan.H, first + row % count))
            pad_row(slice, &variant->plan, row);
        else
            finish_row(slice, variant, row, count);
    }
    if (slice->wanted[RESULT_MEAN_WEIGHTS])
        finish_mean(slice, variant, count);
}
