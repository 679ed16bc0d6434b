/* The second half of request_oracle.h: caches, mask, attention, and the results in the reply's shapes. */
#include "tests/support/request_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/view.h"

#define MAGNITUDE_FREE 4.0 /* as attention_check.c: up to here a score's rounding does not show */

const char *const answer_names[ANSWER_COUNT] = {
    "output", "weights", "mean_weights", "scores", "capped_scores", "masked_scores", "lse",
    "query",  "key",     "value",        "x",      "context",       "present_key",   "present_value",
};

/* ---- what attention sees ---- */

/* Past and new tokens behind each other, heads first. */
static struct json_tensor concatenated(const struct request_answer *answer, const struct json_tensor *past,
                                       const struct json_tensor *newer, size_t width)
{
    const size_t Tpast = answer->Tpast, Tk = answer->Tk;
    struct json_tensor out = json_tensor_new(4, (const size_t[]){answer->B, answer->Hkv, Tk, width});
    json_tensor_weigh(&out);
    for (size_t k = 0; k < out.count; k++) {
        size_t d = k % width, t = k / width % Tk, head = k / width / Tk;
        bool is_past = t < Tpast;
        const struct json_tensor *from = is_past ? past : newer;
        size_t at = (head * (is_past ? Tpast : answer->Tnew) + (is_past ? t : t - Tpast)) * width + d;
        out.values[k] = from->values[at];
        out.magnitudes[k] = json_tensor_magnitude(from, at);
    }
    return out;
}

static struct tensor view_of(const struct json_tensor *json_tensor)
{
    return tensor_contiguous(json_tensor->values, DTYPE_F64, json_tensor->rank, json_tensor->shape);
}

/* The mask broadcast to the weights by NumPy's rules: [B,H,Tq,Tk], booleans as 0 (masked) and 1 in `ret_bools`, else numbers in
 * `ret_numbers`. */
static void spread_mask(const struct request_answer *answer, unsigned char *ret_bools, double *ret_numbers)
{
    const struct json_tensor *mask = &answer->mask;
    const size_t full[4] = {answer->B, answer->H, answer->Tq, answer->Tk};
    json_t *semantics = answer_field(answer, "mask_semantics");
    bool drops = semantics != NULL && strcmp(json_string_value(semantics), "drop") == 0;
    size_t axes[4] = {0}, rank = 0; /* of `full`, those that the weights have */
    for (size_t axis = 0; axis < 4; axis++)
        if (axis >= 2 || (axis == 0 ? answer->has_batch : answer->has_heads))
            axes[rank++] = axis;
    assert_true(mask->rank <= rank);
    for (size_t k = 0; k < full[0] * full[1] * full[2] * full[3]; k++) {
        const size_t index[4] = {k / full[3] / full[2] / full[1], k / full[3] / full[2] % full[1], k / full[3] % full[2],
                                 k % full[3]};
        size_t at = 0;
        for (size_t axis = 0; axis < mask->rank; axis++) {
            size_t own = index[axes[rank - mask->rank + axis]];
            at = at * mask->shape[axis] + (mask->shape[axis] == 1 ? 0 : own);
        }
        if (mask->is_bool)
            ret_bools[k] = (mask->values[at] != 0) != drops;
        else
            ret_numbers[k] = mask->values[at];
    }
}

static void set_mask(struct request_answer *answer, struct attention_params *params, void **ret_owned)
{
    const size_t shape[4] = {answer->B, answer->H, answer->Tq, answer->Tk};
    size_t count = shape[0] * shape[1] * shape[2] * shape[3];
    const struct json_tensor *mask = &answer->mask;
    *ret_owned = NULL;
    if (!mask->present)
        return;
    *ret_owned = test_alloc(count, sizeof(double));
    spread_mask(answer, *ret_owned, *ret_owned);
    params->mask = tensor_contiguous(*ret_owned, mask->is_bool ? DTYPE_BOOL : DTYPE_F64, 4, shape);
    bool one = false, bits = !mask->is_bool;
    for (size_t k = 0; k < mask->count; k++) {
        one |= mask->values[k] == 1;
        bits &= mask->values[k] == 0 || mask->values[k] == 1;
    }
    answer->mask_is_bits = bits && one;
}

/* Numbers one a head; the slopes of the paper where alibi is true. New, NULL where absent. */
static double *per_head(const struct request_answer *answer, const char *name)
{
    json_t *json = answer_field(answer, name);
    double *ret = test_alloc(answer->H, sizeof *ret);
    if (json == NULL || json_is_false(json)) {
        free(ret);
        return NULL;
    }
    if (json_is_true(json)) {
        size_t power = 1, other = 0;
        while (power * 2 <= answer->H)
            power *= 2;
        for (size_t h = 0; h < answer->H; h++)
            ret[h] = h < power ? pow(2, -8.0 * (double)(h + 1) / (double)power)
                               : pow(2, -8.0 * (double)(2 * other++ + 1) / (double)(2 * power));
        return ret;
    }
    struct json_tensor given = json_tensor_read(json, answer->narrow);
    assert_true(given.count == answer->H);
    memcpy(ret, given.values, answer->H * sizeof *ret);
    json_tensor_done(&given);
    return ret;
}

static double number_field(const struct request_answer *answer, const char *name, double otherwise)
{
    json_t *json = answer_field(answer, name);
    return json == NULL ? otherwise : json_number_value(json);
}

/* ---- results ---- */

/* Scores' magnitudes, |scale| * sum |q||k| with the projections' errors in it: [B,H,Tq,Tk] into `ret_pairs`; and the largest of
 * a row's visible keys, with mask, slope and sink, [B,H,Tq] into `ret_rows`: never below 1. */
static void weigh_scores(const struct request_answer *answer, const struct attention_params *params,
                         const struct oracle_results *oracle, double *ret_pairs, double *ret_rows)
{
    const size_t H = answer->H, Tq = answer->Tq, Tk = answer->Tk, D = answer->D;
    for (size_t row = 0; row < answer->B * H * Tq; row++) {
        size_t i = row % Tq, h = row / Tq % H, b = row / Tq / H, g = h / (H / answer->Hkv);
        ret_rows[row] = fmax(1, oracle->magnitudes[row] / MAGNITUDE_FREE);
        for (size_t j = 0; j < Tk; j++) {
            double sum = 0;
            for (size_t d = 0; d < D; d++)
                sum += json_tensor_magnitude(&answer->query, row * D + d) *
                       json_tensor_magnitude(&answer->present_key, ((b * answer->Hkv + g) * Tk + j) * D + d);
            double magnitude = fmax(1, fabs(answer->scale) * sum / MAGNITUDE_FREE);
            ret_pairs[row * Tk + j] = magnitude;
            if (!oracle_is_masked(params, b, h, i, j))
                ret_rows[row] = fmax(ret_rows[row], magnitude + oracle->magnitudes[row] / MAGNITUDE_FREE);
        }
    }
}

/* A result of the reply; its magnitudes are the caller's to change. */
static void set_result(struct request_answer *answer, enum answer_name name, size_t rank, const size_t *shape,
                       const double *values)
{
    struct json_tensor *result = &answer->results[name];
    *result = json_tensor_new(rank, shape);
    memcpy(result->values, values, result->count * sizeof(double));
    json_tensor_weigh(result);
}

/* [B?, H?, Tq, last?], with the rows' or the pairs' magnitudes. */
static void set_stage(struct request_answer *answer, enum answer_name name, bool heads, size_t last, const double *values,
                      const double *magnitudes, size_t elements_each)
{
    size_t shape[4], rank = 0;
    if (answer->has_batch)
        shape[rank++] = answer->B;
    if (heads && answer->has_heads)
        shape[rank++] = answer->H;
    shape[rank++] = answer->Tq;
    if (last != SIZE_MAX)
        shape[rank++] = last;
    set_result(answer, name, rank, shape, values);
    struct json_tensor *result = &answer->results[name];
    for (size_t k = 0; k < result->count; k++)
        result->magnitudes[k] = magnitudes[k / elements_each];
}

static void set_mean(struct request_answer *answer, const double *values, const double *rows)
{
    const size_t H = answer->H, Tq = answer->Tq, Tk = answer->Tk;
    double *largest = test_alloc(answer->B * Tq, sizeof *largest);
    for (size_t k = 0; k < answer->B * Tq; k++)
        for (size_t h = 0; h < H; h++)
            largest[k] = fmax(largest[k], rows[(k / Tq * H + h) * Tq + k % Tq]);
    set_stage(answer, ANSWER_MEAN_WEIGHTS, false, Tk, values, largest, Tk);
    free(largest);
}

/* Tokens, from heads first to the reply's order and rank. */
static void set_tokens(struct request_answer *answer, enum answer_name name, const struct json_tensor *from)
{
    const size_t *n = from->shape;
    struct json_tensor out = answer_reorder(from, n, false, answer->tokens_first);
    if (!answer->rank4) {
        const size_t shape[3] = {n[0], n[2], n[1] * n[3]};
        out.rank = answer->has_batch ? 3 : 2;
        memcpy(out.shape, answer->has_batch ? shape : shape + 1, out.rank * sizeof *shape);
    }
    for (size_t k = 0; k < out.count; k++)
        out.magnitudes[k] = fmax(1, out.magnitudes[k]);
    answer->results[name] = out;
}

/* An output's rounding grows with the largest value and the row's scores; an output projection adds its own. */
static void set_output(struct request_answer *answer, const double *values, const double *rows)
{
    struct json_tensor heads = json_tensor_new(4, (const size_t[]){answer->B, answer->H, answer->Tq, answer->Dv});
    double value_magnitude = 0;
    for (size_t k = 0; k < answer->present_value.count; k++)
        value_magnitude = fmax(value_magnitude, json_tensor_magnitude(&answer->present_value, k));
    json_tensor_weigh(&heads);
    memcpy(heads.values, values, heads.count * sizeof *values);
    for (size_t k = 0; k < heads.count; k++)
        heads.magnitudes[k] = fmax(value_magnitude * rows[k / answer->Dv], 1e-30);
    set_tokens(answer, ANSWER_OUTPUT, &heads);
    json_tensor_done(&heads);
    struct json_tensor *output = &answer->results[ANSWER_OUTPUT];
    if (!answer->weight[LAYER_OUTPUT].present)
        return;
    struct json_tensor projected = answer_layer(output, &answer->weight[LAYER_OUTPUT], &answer->bias[LAYER_OUTPUT]);
    json_tensor_done(output);
    *output = projected;
}

static void set_results(struct request_answer *answer, const struct attention_params *params,
                        const struct oracle_results *oracle)
{
    const size_t rows_count = answer->B * answer->H * answer->Tq, Tk = answer->Tk;
    double *pairs = test_alloc(rows_count * Tk, sizeof *pairs), *rows = test_alloc(rows_count, sizeof *rows);
    weigh_scores(answer, params, oracle, pairs, rows);
    set_stage(answer, ANSWER_WEIGHTS, true, Tk, oracle->weights, rows, Tk);
    set_stage(answer, ANSWER_SCORES, true, Tk, oracle->scores, pairs, 1);
    set_stage(answer, ANSWER_CAPPED_SCORES, true, Tk, oracle->capped_scores, pairs, 1);
    set_stage(answer, ANSWER_MASKED_SCORES, true, Tk, oracle->masked_scores, rows, Tk);
    set_stage(answer, ANSWER_LSE, true, SIZE_MAX, oracle->lse, rows, 1);
    set_mean(answer, oracle->mean_weights, rows);
    set_output(answer, oracle->output, rows);
    set_tokens(answer, ANSWER_QUERY, &answer->query);
    set_tokens(answer, ANSWER_KEY, &answer->key);
    set_tokens(answer, ANSWER_VALUE, &answer->value);
    set_tokens(answer, ANSWER_PRESENT_KEY, &answer->present_key);
    set_tokens(answer, ANSWER_PRESENT_VALUE, &answer->present_value);
    if (answer->x.present)
        set_result(answer, ANSWER_X, answer->x.rank, answer->x.shape, answer->x.values);
    if (answer->context.present)
        set_result(answer, ANSWER_CONTEXT, answer->context.rank, answer->context.shape, answer->context.values);
    answer->masked_row_count = oracle->masked_row_count;
    free(pairs);
    free(rows);
}

void answer_results(struct request_answer *answer)
{
    answer->present_key = concatenated(answer, &answer->past_key, &answer->key, answer->D);
    answer->present_value = concatenated(answer, &answer->past_value, &answer->value, answer->Dv);
    answer->mask = json_tensor_read(answer_field(answer, "mask"), answer->narrow);
    answer->scale = number_field(answer, "scale", 1 / sqrt((double)answer->D));
    struct json_tensor window = json_tensor_read(answer_field(answer, "window"), false);
    struct json_tensor lengths = json_tensor_read(answer_field(answer, "key_lengths"), false);
    json_t *causal = answer_field(answer, "causal");
    int64_t *offsets = test_alloc(answer->B, sizeof *offsets);
    size_t *ends = test_alloc(answer->B, sizeof *ends);
    for (size_t b = 0; b < answer->B; b++) {
        offsets[b] = answer->query_offset;
        ends[b] = lengths.present ? (size_t)lengths.values[b] : answer->Tk;
    }
    struct attention_params params = {
        .query = view_of(&answer->query),
        .key = view_of(&answer->present_key),
        .value = view_of(&answer->present_value),
        .scale = answer->scale,
        .softcap = number_field(answer, "softcap", 0),
        .causal = causal != NULL && !json_is_false(causal),
        .window_left = window.present ? (int64_t)window.values[0] : -1,
        .window_right = window.present ? (int64_t)window.values[1] : -1,
        .query_offsets = offsets,
        .key_lengths = ends,
        .alibi_slopes = per_head(answer, "alibi"),
        .sinks = per_head(answer, "sinks"),
    };
    void *mask;
    set_mask(answer, &params, &mask);
    struct oracle_results oracle;
    oracle_attention(&params, &oracle);
    set_results(answer, &params, &oracle);
    oracle_results_done(&oracle);
    json_tensor_done(&window);
    json_tensor_done(&lengths);
    free(offsets);
    free(ends);
    free((void *)params.alibi_slopes);
    free((void *)params.sinks);
    free(mask);
}

void request_answer_init(struct request_answer *ret, json_t *request)
{
    json_t *precision = json_object_get(request, "precision");
    bool narrow = !json_is_string(precision) || strcmp(json_string_value(precision), "float64") != 0;
    *ret = (struct request_answer){.request = request, .narrow = narrow};
    answer_inputs(ret);
    answer_results(ret);
}

#define GRID_COUNT 10

void request_answer_done(struct request_answer *answer)
{
    struct json_tensor *const json_tensors[GRID_COUNT] = {
        &answer->x,        &answer->context,    &answer->query, &answer->key,         &answer->value,
        &answer->past_key, &answer->past_value, &answer->mask,  &answer->present_key, &answer->present_value};
    for (size_t i = 0; i < GRID_COUNT; i++)
        json_tensor_done(json_tensors[i]);
    for (size_t i = 0; i < LAYER_COUNT; i++) {
        json_tensor_done(&answer->weight[i]);
        json_tensor_done(&answer->bias[i]);
    }
    for (size_t i = 0; i < ANSWER_COUNT; i++)
        json_tensor_done(&answer->results[i]);
}
