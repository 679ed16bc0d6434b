#include "tests/support/request_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/oracle.h"
#include "tests/support/view.h"

#define TOLERANCE_F32 2e-6
#define TOLERANCE_F64 2e-14
#define MAGNITUDE_FREE 4.0

const char *const answer_names[ANSWER_COUNT] = {
    "output",   "weights", "mean_weights",  "scores",         "capped_scores", "masked_scores", "lse",
    "key_sums", "entropy", "top_keys",      "pooled_weights", "query",         "key",           "value",
    "x",        "context", "value_context", "present_key",    "present_value",
};

double answer_bound(const struct request_answer *answer, double magnitude)
{
    return (answer->is_f32 ? TOLERANCE_F32 : TOLERANCE_F64) * fmax(1, magnitude / MAGNITUDE_FREE);
}

/* ---- what attention sees ---- */

/* The KV cache and the new tokens behind it, heads first. */
static struct json_tensor concatenated(const struct request_answer *answer, const struct json_tensor *past,
                                       const struct json_tensor *newer, size_t width)
{
    const size_t Tpast = answer->Tpast, Tk = answer->Tk;
    struct json_tensor out = json_tensor_new(4, (const size_t[]){answer->B, answer->Hkv, Tk, width});
    json_tensor_allow(&out);
    for (size_t k = 0; k < out.count; k++) {
        size_t d = k % width, t = k / width % Tk, head = k / width / Tk;
        bool is_past = t < Tpast;
        const struct json_tensor *from = is_past ? past : newer;
        size_t at = (head * (is_past ? Tpast : answer->Tnew) + (is_past ? t : t - Tpast)) * width + d;
        out.values[k] = from->values[at];
        out.allowed[k] = json_tensor_allowed(from, at);
    }
    return out;
}

static struct tensor view_of(const struct json_tensor *json_tensor)
{
    return tensor_contiguous(json_tensor->values, DTYPE_F64, json_tensor->rank, json_tensor->shape);
}

/* The mask broadcast to the weights: [B,H,Tq,Tk], booleans as 0 (masked) and 1 in `ret_bools`, else numbers in `ret_numbers`. */
static void broadcast_mask(const struct request_answer *answer, unsigned char *ret_bools, double *ret_numbers)
{
    const struct json_tensor *mask = &answer->mask;
    json_t *semantics = answer_field(answer, "mask_semantics");
    bool drops = semantics != NULL && strcmp(json_string_value(semantics), "drop") == 0;
    for (size_t k = 0; k < answer->B * answer->H * answer->Tq * answer->Tk; k++) {
        size_t at = answer_broadcast_at(answer, mask, k);
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
    broadcast_mask(answer, *ret_owned, *ret_owned);
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
    struct json_tensor given = json_tensor_read(json, answer->is_f32);
    assert_true(given.count == answer->H);
    memcpy(ret, given.values, answer->H * sizeof *ret);
    json_tensor_done(&given);
    return ret;
}

static bool has_text(const struct request_answer *answer, const char *name, const char *text)
{
    json_t *json = answer_field(answer, name);
    return json != NULL && strcmp(json_string_value(json), text) == 0;
}

static double number_field(const struct request_answer *answer, const char *name, double otherwise)
{
    json_t *json = answer_field(answer, name);
    return json == NULL ? otherwise : json_number_value(json);
}

/* ---- results ---- */

static double largest_finite(const struct json_tensor *json_tensor)
{
    double largest = 0;
    for (size_t k = 0; k < json_tensor->count; k++)
        if (isfinite(json_tensor->values[k]))
            largest = fmax(largest, fabs(json_tensor->values[k]));
    return largest;
}

static struct json_tensor *set_result(struct request_answer *answer, enum answer_name name, size_t rank, const size_t *shape,
                                      const double *values)
{
    struct json_tensor *result = &answer->results[name];
    *result = json_tensor_new(rank, shape);
    memcpy(result->values, values, result->count * sizeof(double));
    return result;
}

/* [B?, H?, Tq, last?]; `magnitudes` has an entry for every `elements_each` numbers. */
static void set_stage(struct request_answer *answer, enum answer_name name, const double *values, size_t last,
                      const double *magnitudes, size_t elements_each)
{
    size_t shape[4], rank = 0;
    if (answer->has_batch)
        shape[rank++] = answer->B;
    if (answer->has_heads && name != ANSWER_MEAN_WEIGHTS)
        shape[rank++] = answer->H;
    shape[rank++] = answer->Tq;
    if (name != ANSWER_LSE)
        shape[rank++] = last;
    struct json_tensor *result = set_result(answer, name, rank, shape, values);
    json_tensor_allow(result);
    for (size_t k = 0; k < result->count; k++)
        result->allowed[k] = answer_bound(answer, magnitudes[k / elements_each]) + answer->score_blur;
}

/* The largest magnitude over the heads, for each query of each item. New. */
static double *query_magnitudes(const struct request_answer *answer, const double *rows)
{
    const size_t H = answer->H, Tq = answer->Tq;
    double *largest = test_alloc(answer->B * Tq, sizeof *largest);
    for (size_t k = 0; k < answer->B * Tq; k++)
        for (size_t h = 0; h < H; h++)
            largest[k] = fmax(largest[k], rows[(k / Tq * H + h) * Tq + k % Tq]);
    return largest;
}

static void set_stages(struct request_answer *answer, const struct oracle_results *oracle)
{
    const size_t Tk = answer->Tk;
    double *of_queries = query_magnitudes(answer, oracle->magnitudes);
    set_stage(answer, ANSWER_WEIGHTS, oracle->weights, Tk, oracle->magnitudes, Tk);
    set_stage(answer, ANSWER_MEAN_WEIGHTS, oracle->mean_weights, Tk, of_queries, Tk);
    set_stage(answer, ANSWER_SCORES, oracle->scores, Tk, oracle->pair_magnitudes, 1);
    set_stage(answer, ANSWER_CAPPED_SCORES, oracle->capped_scores, Tk, oracle->pair_magnitudes, 1);
    set_stage(answer, ANSWER_MASKED_SCORES, oracle->masked_scores, Tk, oracle->magnitudes, Tk);
    double *logs = test_alloc(answer->B * answer->H * answer->Tq, sizeof *logs);
    for (size_t k = 0; k < answer->B * answer->H * answer->Tq; k++)
        logs[k] = oracle->lse[k] / (has_text(answer, "lse_base", "2") ? log(2) : 1);
    set_stage(answer, ANSWER_LSE, logs, 1, oracle->magnitudes, 1);
    free(logs);
    free(of_queries);
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
    if (answer->thd) {
        out.rank = 3;
        memmove(out.shape, out.shape + 1, 3 * sizeof *out.shape);
    }
    answer->results[name] = out;
}

/* The heads' output, and the output projection of it where there is one. */
static void set_output(struct request_answer *answer, const struct oracle_results *oracle,
                       const struct request_deviation *deviation)
{
    struct json_tensor heads = json_tensor_new(4, (const size_t[]){answer->B, answer->H, answer->Tq, answer->Dv});
    double largest_value = largest_finite(&answer->present_value);
    json_tensor_allow(&heads);
    memcpy(heads.values, oracle->output, heads.count * sizeof *heads.values);
    if (deviation->change_output != NULL)
        deviation->change_output(deviation->context, answer, heads.values);
    for (size_t k = 0; k < heads.count; k++)
        heads.allowed[k] = largest_value * (answer_bound(answer, oracle->magnitudes[k / answer->Dv]) + 2 * answer->score_blur);
    set_tokens(answer, ANSWER_OUTPUT, &heads);
    json_tensor_done(&heads);
    struct json_tensor *output = &answer->results[ANSWER_OUTPUT];
    if (!answer->weight[LAYER_OUTPUT].present)
        return;
    struct json_tensor projected = answer_layer(answer, output, LAYER_OUTPUT);
    json_tensor_done(output);
    *output = projected;
}

static void set_results(struct request_answer *answer, const struct oracle_results *oracle,
                        const struct request_deviation *deviation)
{
    set_output(answer, oracle, deviation);
    set_stages(answer, oracle);
    set_tokens(answer, ANSWER_QUERY, &answer->query);
    set_tokens(answer, ANSWER_KEY, &answer->key);
    set_tokens(answer, ANSWER_VALUE, &answer->value);
    set_tokens(answer, ANSWER_PRESENT_KEY, &answer->present_key);
    set_tokens(answer, ANSWER_PRESENT_VALUE, &answer->present_value);
    if (answer->x.present)
        (void)set_result(answer, ANSWER_X, answer->x.rank, answer->x.shape, answer->x.values);
    if (answer->context.present)
        (void)set_result(answer, ANSWER_CONTEXT, answer->context.rank, answer->context.shape, answer->context.values);
    if (answer->value_context.present)
        (void)set_result(answer, ANSWER_VALUE_CONTEXT, answer->value_context.rank, answer->value_context.shape,
                         answer->value_context.values);
    answer->masked_row_count = oracle->masked_row_count;
}

/* How many tokens of each item are none of padding. New. */
static size_t *token_counts(const struct request_answer *answer, const char *name, size_t tokens)
{
    struct json_tensor lengths = json_tensor_read(answer_field(answer, name), false);
    size_t *ret = test_alloc(answer->B, sizeof *ret);
    for (size_t b = 0; b < answer->B; b++)
        ret[b] = lengths.present ? (size_t)lengths.values[b] : tokens;
    json_tensor_done(&lengths);
    return ret;
}

/* Integers that the rules count by, each [B,tokens] or one an item or sequence. */
struct rules {
    int64_t *segments[2], *spans[2], *prefix; /* owned; NULL: none */
};

/* [B,tokens] of one list for all items or of one each, for queries and keys or for one of them. New; NULL where absent. */
static int64_t *ids_of(const struct request_answer *answer, const char *name, const char *part, size_t tokens)
{
    json_t *json = answer_field(answer, name), *own = json_object_get(json, part);
    struct json_tensor list = json_tensor_read(own != NULL ? own : json, false);
    int64_t *ret = list.present ? test_alloc(answer->B * tokens, sizeof *ret) : NULL;
    for (size_t k = 0; ret != NULL && k < answer->B * tokens; k++)
        ret[k] = (int64_t)list.values[list.rank == 2 ? k : k % tokens];
    json_tensor_done(&list);
    return ret;
}

static struct rules rules_of(const struct request_answer *answer)
{
    json_t *prefix = answer_field(answer, "prefix_length");
    struct json_tensor lengths = json_tensor_read(json_is_number(prefix) ? NULL : prefix, false);
    size_t items = answer->sequences != NULL ? answer->sequence_count : answer->B;
    struct rules rules = {
        .segments = {ids_of(answer, "segment_ids", "query", answer->Tq), ids_of(answer, "segment_ids", "key", answer->Tk)},
        .spans = {ids_of(answer, "span_ids", "query", answer->Tq), ids_of(answer, "span_ids", "key", answer->Tk)},
        .prefix = prefix != NULL ? test_alloc(items, sizeof *rules.prefix) : NULL,
    };
    for (size_t k = 0; prefix != NULL && k < items; k++)
        rules.prefix[k] = (int64_t)(lengths.present ? lengths.values[k] : json_number_value(prefix));
    json_tensor_done(&lengths);
    return rules;
}

static void set_rules(const struct request_answer *answer, const struct rules *rules, struct attention_params *params)
{
    params->query_segments = (struct token_ids){rules->segments[0], answer->Tq};
    params->key_segments = (struct token_ids){rules->segments[1], answer->Tk};
    params->query_spans = (struct token_ids){rules->spans[0], answer->Tq};
    params->key_spans = (struct token_ids){rules->spans[1], answer->Tk};
    params->prefix_lengths = rules->prefix;
    params->chunk_size = (int64_t)number_field(answer, "chunk_size", 0);
    params->num_sink_tokens = (int64_t)number_field(answer, "num_sink_tokens", 0);
    params->sequences = answer->sequences;
    params->sequence_count = answer->sequence_count;
}

static void rules_done(struct rules *rules)
{
    for (size_t k = 0; k < 2; k++) {
        free(rules->segments[k]);
        free(rules->spans[k]);
    }
    free(rules->prefix);
}

/* Everything behind the inputs. */
static void answer_results(struct request_answer *answer, const struct request_deviation *deviation)
{
    answer->mask = json_tensor_read(answer_field(answer, "mask"), answer->is_f32);
    if (deviation->change_inputs != NULL)
        deviation->change_inputs(deviation->context, answer);
    answer->present_key = concatenated(answer, &answer->past_key, &answer->key, answer->D);
    answer->present_value = concatenated(answer, &answer->past_value, &answer->value, answer->Dv);
    answer->scale = number_field(answer, "scale", 1 / sqrt((double)answer->D));
    struct json_tensor window = json_tensor_read(answer_field(answer, "window"), false);
    size_t *query_ends = token_counts(answer, "query_lengths", answer->Tq),
           *key_ends = token_counts(answer, "key_lengths", answer->Tk);
    json_t *causal = answer_field(answer, "causal");
    double *query_scales = answer_query_scales(answer), *bias = answer_bias(answer), largest_scale = fabs(answer->scale);
    for (size_t k = 0; query_scales != NULL && k < answer->B * answer->Tq; k++)
        largest_scale = fmax(largest_scale, fabs(answer->scale * query_scales[k]));
    answer->score_blur =
        largest_scale * (double)answer->D *
        (largest_finite(&answer->query) * answer->key_blur + largest_finite(&answer->key) * answer->query_blur);
    struct attention_params params = {
        .query = view_of(&answer->query),
        .key = view_of(&answer->present_key),
        .value = view_of(&answer->present_value),
        .scale = answer->scale,
        .softcap = number_field(answer, "softcap", 0),
        .causal = causal != NULL && !json_is_false(causal),
        .window_left = window.present ? (int64_t)window.values[0] : -1,
        .window_right = window.present ? (int64_t)window.values[1] : -1,
        .query_positions = {.given = answer->query_positions, .item_stride = answer->Tq},
        .key_positions = {.given = answer->key_positions, .item_stride = answer->Tk},
        .query_lengths = query_ends,
        .key_lengths = key_ends,
        .query_scales = query_scales,
        .query_scale_stride = answer->Tq,
        .alibi_slopes = per_head(answer, "alibi"),
        .sinks = per_head(answer, "sinks"),
    };
    struct rules rules = rules_of(answer);
    set_rules(answer, &rules, &params);
    void *mask;
    set_mask(answer, &params, &mask);
    if (bias != NULL)
        params.bias = tensor_contiguous(bias, DTYPE_F64, 4, (const size_t[]){answer->B, answer->H, answer->Tq, answer->Tk});
    struct oracle_results oracle;
    if (deviation->attend != NULL)
        deviation->attend(deviation->context, &params, &oracle);
    else
        oracle_attention(&params, &oracle);
    set_results(answer, &oracle, deviation);
    answer_reductions(answer, &params, &oracle);
    answer_select(answer);
    oracle_results_done(&oracle);
    json_tensor_done(&window);
    rules_done(&rules);
    free(query_ends);
    free(key_ends);
    free((void *)params.alibi_slopes);
    free((void *)params.sinks);
    free(mask);
    free(bias);
    free(query_scales);
}

void request_answer_init(struct request_answer *ret, json_t *request)
{
    request_answer_deviating(ret, request, &(struct request_deviation){0});
}

void request_answer_deviating(struct request_answer *ret, json_t *request, const struct request_deviation *deviation)
{
    json_t *precision = json_object_get(request, "precision");
    bool is_f32 = !json_is_string(precision) || strcmp(json_string_value(precision), "float64") != 0;
    *ret = (struct request_answer){.request = request, .is_f32 = is_f32};
    answer_inputs(ret);
    answer_results(ret, deviation);
}

void request_answer_done(struct request_answer *answer)
{
    free(answer->query_positions);
    free(answer->key_positions);
    free(answer->sequences);
    free(answer->sequence_offsets);
    struct json_tensor *const tensors[] = {&answer->x,    &answer->context,     &answer->value_context, &answer->query,
                                           &answer->key,  &answer->value,       &answer->past_key,      &answer->past_value,
                                           &answer->mask, &answer->present_key, &answer->present_value};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        json_tensor_done(tensors[i]);
    for (size_t i = 0; i < LAYER_COUNT; i++) {
        json_tensor_done(&answer->weight[i]);
        json_tensor_done(&answer->bias[i]);
    }
    for (size_t i = 0; i < ANSWER_COUNT; i++)
        json_tensor_done(&answer->results[i]);
    json_tensor_done(&answer->top_indices);
    free(answer->masked_scores);
}
