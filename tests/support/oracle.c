#include "tests/support/oracle.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/view.h"

/* One call's inputs, read once into row-major doubles. */
struct inputs {
    const struct attention_params *params;
    size_t B, H, Hkv, Tq, Tk, D, Dv;
    double *query, *key, *value;
    double *mask; /* [B,H,Tq,Tk] of the additive kind, else NULL */
    double *bias; /* the same, or NULL */
};

static void inputs_init(struct inputs *in, const struct attention_params *params)
{
    in->params = params;
    in->B = params->query.shape[0];
    in->H = params->query.shape[1];
    in->Hkv = params->key.shape[1];
    in->Tq = params->query.shape[2];
    in->Tk = params->key.shape[2];
    in->D = params->query.shape[3];
    in->Dv = params->value.shape[3];
    in->query = view_values(&params->query);
    in->key = view_values(&params->key);
    in->value = view_values(&params->value);
    bool additive = params->mask.data && params->mask.dtype != DTYPE_BOOL;
    in->mask = additive ? view_values(&params->mask) : NULL;
    in->bias = params->bias.data ? view_values(&params->bias) : NULL;
}

static void inputs_done(struct inputs *in)
{
    free(in->query);
    free(in->key);
    free(in->value);
    free(in->mask);
    free(in->bias);
}

static int64_t position_of(const struct positions *positions, size_t b, size_t i)
{
    if (positions->given)
        return positions->given[b * positions->item_stride + i];
    return (positions->first ? positions->first[b] : 0) + (int64_t)i;
}

/* How far the key lies before the query. */
static int64_t distance_behind(const struct attention_params *params, size_t b, size_t i, size_t j)
{
    return position_of(&params->query_positions, b, i) - position_of(&params->key_positions, b, j);
}

static bool is_padding(const struct attention_params *params, size_t b, size_t i)
{
    return (params->query_lengths && i >= params->query_lengths[b]) ||
           (params->query_segments.ids && params->query_segments.ids[b * params->query_segments.item_stride + i] < 0);
}

/* The packed sequence that query i is in; the item where none are packed. */
static size_t sequence_of(const struct attention_params *params, size_t b, size_t i)
{
    for (size_t s = 0; s < params->sequence_count; s++)
        if (i >= params->sequences[s].first_query && i < params->sequences[s].first_query + params->sequences[s].queries)
            return s;
    return b;
}

static bool share_id(const struct token_ids *query, const struct token_ids *key, size_t b, size_t i, size_t j)
{
    int64_t id = query->ids[b * query->item_stride + i];
    return id >= 0 && id == key->ids[b * key->item_stride + j];
}

bool oracle_extends_causal(const struct attention_params *params, size_t b, size_t i, size_t j)
{
    if (params->prefix_lengths && position_of(&params->key_positions, b, j) < params->prefix_lengths[sequence_of(params, b, i)])
        return true;
    return params->query_spans.ids && share_id(&params->query_spans, &params->key_spans, b, i, j);
}

static bool causal_bans(const struct attention_params *params, size_t b, size_t i, size_t j)
{
    return params->causal && position_of(&params->key_positions, b, j) > position_of(&params->query_positions, b, i) &&
           !oracle_extends_causal(params, b, i, j);
}

static bool window_bans(const struct attention_params *params, size_t b, size_t i, size_t j)
{
    int64_t behind = distance_behind(params, b, i, j);
    if (params->num_sink_tokens > 0 && position_of(&params->key_positions, b, j) < params->num_sink_tokens)
        return false;
    return (params->window_left >= 0 && behind > params->window_left) ||
           (params->window_right >= 0 && -behind > params->window_right);
}

/* Sequences, segments and chunks. */
static bool part_bans(const struct attention_params *params, size_t b, size_t i, size_t j)
{
    if (params->sequences) {
        const struct attention_sequence *s = &params->sequences[sequence_of(params, b, i)];
        if (j < s->first_key || j >= s->first_key + s->keys)
            return true;
    }
    if (params->query_segments.ids && !share_id(&params->query_segments, &params->key_segments, b, i, j))
        return true;
    double n = (double)params->chunk_size;
    return params->chunk_size > 0 && floor((double)position_of(&params->query_positions, b, i) / n) !=
                                         floor((double)position_of(&params->key_positions, b, j) / n);
}

static bool mask_bans(const struct tensor *mask, size_t b, size_t h, size_t i, size_t j)
{
    if (!mask->data)
        return false;
    const void *at = view_at(mask, (const size_t[]){b, h, i, j});
    if (mask->dtype == DTYPE_BOOL)
        return *(const unsigned char *)at == 0;
    double added = mask->dtype == DTYPE_F32 ? (double)*(const float *)at : *(const double *)at;
    return isinf(added) && added < 0;
}

bool oracle_is_masked(const struct attention_params *params, size_t b, size_t h, size_t i, size_t j)
{
    return is_padding(params, b, i) || mask_bans(&params->mask, b, h, i, j) || causal_bans(params, b, i, j) ||
           window_bans(params, b, i, j) || part_bans(params, b, i, j) || (params->key_lengths && j >= params->key_lengths[b]);
}

/* The row of the table that the offset, key position - query position, goes by: the range that it lies in. */
static size_t bucket_of(const struct relative_bias *bias, int64_t offset)
{
    size_t found = 0;
    for (size_t k = 0; k < bias->count; k++)
        if (bias->ranges[k].start <= offset)
            found = bias->ranges[k].bucket;
    return found;
}

/* What is added before the softcap; its magnitude, too. */
static double biases_of(const struct inputs *in, size_t b, size_t h, size_t i, size_t j, double *magnitude)
{
    const struct attention_params *params = in->params;
    const struct relative_bias *relative = &params->relative_bias;
    double sum = 0;
    if (in->bias)
        sum = in->bias[((b * in->H + h) * in->Tq + i) * in->Tk + j];
    *magnitude += fabs(sum);
    if (relative->table) {
        double added = relative->table[bucket_of(relative, -distance_behind(params, b, i, j)) * relative->stride + h];
        *magnitude += fabs(added);
        sum += added;
    }
    return sum;
}

/* The score of one query and one key through all stages before the softmax. */
static void score_pair(const struct inputs *in, struct oracle_results *ret, size_t b, size_t h, size_t i, size_t j)
{
    const struct attention_params *params = in->params;
    size_t row = (b * in->H + h) * in->Tq + i, pair = row * in->Tk + j;
    size_t g = h / (in->H / in->Hkv);
    const double *q = in->query + row * in->D;
    const double *k = in->key + ((b * in->Hkv + g) * in->Tk + j) * in->D;
    double dot = 0, absolute = 0;
    for (size_t d = 0; d < in->D; d++) {
        dot += q[d] * k[d];
        absolute += fabs(q[d] * k[d]);
    }
    double scale = params->scale;
    if (params->query_scales)
        scale *= params->query_scales[b * params->query_scale_stride + i];
    double score = scale * dot;
    double magnitude = fabs(scale) * absolute;
    ret->scores[pair] = score;
    score += biases_of(in, b, h, i, j, &magnitude);
    ret->pair_magnitudes[pair] = magnitude;
    if (params->softcap > 0)
        score = params->softcap * tanh(score / params->softcap);
    ret->capped_scores[pair] = score;
    if (in->mask) {
        score += in->mask[pair];
        magnitude += fabs(in->mask[pair]);
    }
    if (params->alibi_slopes) {
        double bias = -params->alibi_slopes[h] * fabs((double)distance_behind(params, b, i, j));
        score += bias;
        magnitude += fabs(bias);
    }
    ret->masked[pair] = oracle_is_masked(params, b, h, i, j);
    ret->masked_scores[pair] = ret->masked[pair] ? -INFINITY : score;
    if (!ret->masked[pair])
        ret->magnitudes[row] = fmax(ret->magnitudes[row], magnitude);
}

/* Softmax over the keys that are not masked, a sink in the denominator. Returns how many keys those are. */
static size_t soften_row(const struct inputs *in, struct oracle_results *ret, size_t b, size_t h, size_t i)
{
    const double *sinks = is_padding(in->params, b, i) ? NULL : in->params->sinks;
    size_t row = (b * in->H + h) * in->Tq + i, visible_count = 0;
    const double *s = ret->masked_scores + row * in->Tk;
    const bool *masked = ret->masked + row * in->Tk;
    double *w = ret->weights + row * in->Tk;
    double largest = sinks ? sinks[h] : -INFINITY;
    for (size_t j = 0; j < in->Tk; j++) {
        if (!masked[j]) {
            visible_count++;
            largest = fmax(largest, s[j]);
        }
    }
    long double denominator = sinks ? exp(sinks[h] - largest) : 0; /* of thousands of terms, whose sum rounds as often */
    for (size_t j = 0; j < in->Tk; j++) {
        if (!masked[j])
            denominator += w[j] = exp(s[j] - largest);
    }
    for (size_t j = 0; j < in->Tk && visible_count > 0; j++) {
        if (!masked[j])
            w[j] = (double)(w[j] / denominator);
    }
    if (visible_count > 0 || sinks)
        ret->lse[row] = largest + log((double)denominator);
    else
        ret->lse[row] = -INFINITY;
    return visible_count;
}

static void mix_values(const struct inputs *in, struct oracle_results *ret, size_t b, size_t h, size_t i)
{
    size_t row = (b * in->H + h) * in->Tq + i, g = h / (in->H / in->Hkv);
    double *out = ret->output + row * in->Dv;
    for (size_t j = 0; j < in->Tk; j++) {
        if (ret->masked[row * in->Tk + j])
            continue;
        double w = ret->weights[row * in->Tk + j];
        const double *v = in->value + ((b * in->Hkv + g) * in->Tk + j) * in->Dv;
        for (size_t e = 0; e < in->Dv; e++)
            out[e] += w * v[e];
    }
}

/* -sum w*ln(w), and each weight to its key's sum. */
static void reduce_row(const struct inputs *in, struct oracle_results *ret, size_t row)
{
    const double *w = ret->weights + row * in->Tk;
    for (size_t j = 0; j < in->Tk; j++) {
        ret->entropy[row] -= w[j] == 0 ? 0 : w[j] * log(w[j]);
        ret->key_sums[row / in->Tq * in->Tk + j] += w[j];
    }
}

static void compute_row(const struct inputs *in, struct oracle_results *ret, size_t b, size_t h, size_t i)
{
    size_t row = (b * in->H + h) * in->Tq + i;
    ret->magnitudes[row] = in->params->sinks ? fabs(in->params->sinks[h]) : 0;
    for (size_t j = 0; j < in->Tk; j++)
        score_pair(in, ret, b, h, i, j);
    if (soften_row(in, ret, b, h, i) == 0 && !is_padding(in->params, b, i))
        ret->masked_row_count++;
    for (size_t j = 0; j < in->Tk; j++)
        ret->mean_weights[(b * in->Tq + i) * in->Tk + j] += ret->weights[row * in->Tk + j] / (double)in->H;
    mix_values(in, ret, b, h, i);
    reduce_row(in, ret, row);
}

void oracle_attention(const struct attention_params *params, struct oracle_results *ret)
{
    struct inputs in;
    inputs_init(&in, params);
    size_t rows = in.B * in.H * in.Tq, pairs = rows * in.Tk;
    *ret = (struct oracle_results){
        .output = test_alloc(rows * in.Dv, sizeof(double)),
        .weights = test_alloc(pairs, sizeof(double)),
        .mean_weights = test_alloc(in.B * in.Tq * in.Tk, sizeof(double)),
        .scores = test_alloc(pairs, sizeof(double)),
        .capped_scores = test_alloc(pairs, sizeof(double)),
        .masked_scores = test_alloc(pairs, sizeof(double)),
        .masked = test_alloc(pairs, sizeof(bool)),
        .lse = test_alloc(rows, sizeof(double)),
        .entropy = test_alloc(rows, sizeof(double)),
        .key_sums = test_alloc(in.B * in.H * in.Tk, sizeof(double)),
        .magnitudes = test_alloc(rows, sizeof(double)),
        .pair_magnitudes = test_alloc(pairs, sizeof(double)),
    };
    for (size_t b = 0; b < in.B; b++) {
        for (size_t h = 0; h < in.H; h++) {
            for (size_t i = 0; i < in.Tq; i++)
                compute_row(&in, ret, b, h, i);
        }
    }
    inputs_done(&in);
}

/* The visible keys with the largest scores, ties by index; of a row that is NaN all are ties. */
static void top_of_row(const struct attention_params *params, size_t top, struct oracle_results *results, size_t row)
{
    const size_t Tk = params->key.shape[2];
    const double *w = results->weights + row * Tk, *s = results->masked_scores + row * Tk;
    bool *taken = test_alloc(Tk, sizeof *taken), is_nan = false;
    for (size_t j = 0; j < Tk; j++) {
        taken[j] = results->masked[row * Tk + j];
        is_nan |= isnan(w[j]);
    }
    for (size_t place = 0; place < top; place++) {
        size_t best = Tk;
        for (size_t j = 0; j < Tk; j++)
            if (!taken[j] && (best == Tk || (!is_nan && s[j] > s[best])))
                best = j;
        results->top_indices[row * top + place] = best == Tk ? -1 : (double)best;
        results->top_weights[row * top + place] = best == Tk ? 0 : w[best];
        if (best < Tk)
            taken[best] = true;
    }
    free(taken);
}

/* Cell (row, column) of [m,n]: block i covers rows floor(i*Tq/m) to floor((i+1)*Tq/m) - 1, columns likewise. */
static double pooled_cell(const double *weights, size_t Tq, size_t Tk, size_t m, size_t n, bool largest, size_t cell)
{
    size_t row = cell / n, column = cell % n, count = 0;
    double sum = 0, max = 0;
    for (size_t i = row * Tq / m; i < (row + 1) * Tq / m; i++) {
        for (size_t j = column * Tk / n; j < (column + 1) * Tk / n; j++, count++) {
            double w = weights[i * Tk + j];
            sum += w;
            max = isnan(w) || w > max ? w : max;
        }
    }
    return largest ? max : sum / (double)(count > 0 ? count : 1);
}

void oracle_reduce(const struct attention_params *params, size_t top, size_t m, size_t n, bool largest,
                   struct oracle_results *results)
{
    size_t heads = params->query.shape[0] * params->query.shape[1], Tq = params->query.shape[2], Tk = params->key.shape[2];
    results->top_indices = test_alloc(heads * Tq * top, sizeof(double));
    results->top_weights = test_alloc(heads * Tq * top, sizeof(double));
    results->pooled_weights = test_alloc(heads * m * n, sizeof(double));
    for (size_t row = 0; row < heads * Tq; row++)
        top_of_row(params, top, results, row);
    for (size_t k = 0; k < heads * m * n; k++)
        results->pooled_weights[k] = pooled_cell(results->weights + k / (m * n) * Tq * Tk, Tq, Tk, m, n, largest, k % (m * n));
}

void oracle_results_done(struct oracle_results *results)
{
    free(results->output);
    free(results->weights);
    free(results->mean_weights);
    free(results->scores);
    free(results->capped_scores);
    free(results->masked_scores);
    free(results->masked);
    free(results->lse);
    free(results->entropy);
    free(results->key_sums);
    free(results->top_indices);
    free(results->top_weights);
    free(results->pooled_weights);
    free(results->magnitudes);
    free(results->pair_magnitudes);
}

void oracle_projection(const struct tensor *x, const struct tensor *weight, const struct tensor *bias, double *ret,
                       double *ret_magnitudes)
{
    size_t token_count = x->shape[0] * x->shape[1], C = weight->shape[1], O = weight->shape[0];
    double *tokens = view_values(x), *w = view_values(weight);
    double *b = bias && bias->data ? view_values(bias) : test_alloc(O, sizeof *b);
    for (size_t t = 0; t < token_count; t++) {
        for (size_t o = 0; o < O; o++) {
            double sum = b[o], magnitude = fabs(b[o]);
            for (size_t c = 0; c < C; c++) {
                sum += tokens[t * C + c] * w[o * C + c];
                magnitude += fabs(tokens[t * C + c] * w[o * C + c]);
            }
            ret[t * O + o] = sum;
            ret_magnitudes[t * O + o] = magnitude;
        }
    }
    free(tokens);
    free(w);
    free(b);
}
