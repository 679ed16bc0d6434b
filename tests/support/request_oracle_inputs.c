/* request_oracle_inputs.c: from a request's JSON to query, key and value by head. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/request_oracle_rope.h"
#include "tests/support/torch_random.h"
#include "tests/support/view.h"

static const char *const layer_names[LAYER_COUNT] = {"key", "query", "value", "output"};

json_t *answer_field(const struct request_answer *answer, const char *name)
{
    json_t *value = json_object_get(answer->request, name);
    return json_is_null(value) ? NULL : value;
}

static size_t size_field(const struct request_answer *answer, const char *name, size_t otherwise)
{
    json_t *value = answer_field(answer, name);
    return value == NULL ? otherwise : (size_t)json_number_value(value);
}

struct json_tensor answer_reorder(const struct json_tensor *in, const size_t bhtd[4], bool from_tokens_first,
                                  bool to_tokens_first)
{
    const size_t B = bhtd[0], H = bhtd[1], T = bhtd[2], D = bhtd[3];
    const size_t shape[4] = {B, to_tokens_first ? T : H, to_tokens_first ? H : T, D};
    assert_true(in->count == B * H * T * D);
    struct json_tensor out = json_tensor_new(4, shape);
    json_tensor_allow(&out);
    for (size_t b = 0; b < B; b++) {
        for (size_t h = 0; h < H; h++) {
            for (size_t t = 0; t < T; t++) {
                size_t heads_first = ((b * H + h) * T + t) * D, tokens_first = ((b * T + t) * H + h) * D;
                size_t from = from_tokens_first ? tokens_first : heads_first;
                size_t to = to_tokens_first ? tokens_first : heads_first;
                for (size_t d = 0; d < D; d++) {
                    out.values[to + d] = in->values[from + d];
                    out.allowed[to + d] = json_tensor_allowed(in, from + d);
                }
            }
        }
    }
    return out;
}

struct json_tensor answer_layer(const struct request_answer *answer, const struct json_tensor *x, enum answer_layer layer)
{
    const struct json_tensor *weight = &answer->weight[layer], *bias = &answer->bias[layer];
    const size_t O = weight->shape[0], C = weight->shape[1];
    size_t shape[JSON_TENSOR_RANK_MAX];
    assert_true(x->rank > 0 && x->shape[x->rank - 1] == C);
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = O;
    struct json_tensor out = json_tensor_new(x->rank, shape);
    json_tensor_allow(&out);
    for (size_t k = 0; k < out.count; k++) {
        size_t token = k / O, o = k % O;
        double sum = bias->present ? bias->values[o] : 0, magnitude = fabs(sum), allowed = 0;
        for (size_t c = 0; c < C; c++) {
            double w = weight->values[o * C + c], term = x->values[token * C + c] * w;
            sum += term;
            magnitude += fabs(term);
            allowed += json_tensor_allowed(x, token * C + c) * fabs(w);
        }
        out.values[k] = sum;
        out.allowed[k] = answer_bound(answer, magnitude) + allowed;
    }
    return out;
}

/* ---- draws ---- */

static void note_draw(struct request_answer *answer, const char *name)
{
    answer->draws[answer->draw_count++] = name;
}

static void draw_tensor(struct request_answer *answer, struct torch_random *random, struct json_tensor *json_tensor,
                        const char *name)
{
    if (!json_tensor->present || json_tensor->has_data)
        return;
    torch_random_normal(random, json_tensor->count, json_tensor->values);
    note_draw(answer, name);
}

static void draw_layer(struct request_answer *answer, struct torch_random *random, enum answer_layer layer, size_t out,
                       size_t in)
{
    static const char *const names[LAYER_COUNT] = {"projection.key", "projection.query", "projection.value",
                                                   "projection.output"};
    struct json_tensor *weight = &answer->weight[layer];
    if (!weight->present)
        *weight = json_tensor_new(2, (const size_t[]){out, in});
    else if (weight->has_data)
        return;
    torch_random_linear(random, weight->shape[0], weight->shape[1], weight->values);
    note_draw(answer, names[layer]);
}

static void draw_layers(struct request_answer *answer, struct torch_random *random)
{
    const struct json_tensor *from = answer->context.present ? &answer->context : &answer->x;
    const struct json_tensor *values_from = answer->value_context.present ? &answer->value_context : from;
    size_t C = answer->x.shape[answer->x.rank - 1], S = from->shape[from->rank - 1];
    draw_layer(answer, random, LAYER_KEY, answer->Hkv * answer->D, S);
    draw_layer(answer, random, LAYER_QUERY, answer->H * answer->D, C);
    draw_layer(answer, random, LAYER_VALUE, answer->Hkv * answer->Dv, values_from->shape[values_from->rank - 1]);
    if (answer->weight[LAYER_OUTPUT].present)
        draw_layer(answer, random, LAYER_OUTPUT, 0, 0);
}

/* ---- tokens and projections ---- */

static void read_layers(struct request_answer *answer, json_t *projection)
{
    for (size_t layer = 0; layer < LAYER_COUNT; layer++) {
        json_t *json = json_object_get(projection, layer_names[layer]);
        json_t *weight = json_object_get(json, "weight"), *bias = json_object_get(json, "bias");
        bool parts = weight != NULL || bias != NULL;
        answer->weight[layer] = json_tensor_read(parts ? weight : json, answer->is_f32);
        answer->bias[layer] = json_tensor_read(bias, answer->is_f32);
    }
}

/* The head size: given, or what a weight implies. */
static void find_head_size(struct request_answer *answer)
{
    const struct json_tensor *weight = answer->weight;
    answer->D = size_field(answer, "head_size", 0);
    if (answer_field(answer, "head_size") == NULL && weight[LAYER_QUERY].present)
        answer->D = weight[LAYER_QUERY].shape[0] / answer->H;
    else if (answer_field(answer, "head_size") == NULL)
        answer->D = weight[LAYER_KEY].shape[0] / answer->Hkv;
    answer->Dv = weight[LAYER_VALUE].present ? weight[LAYER_VALUE].shape[0] / answer->Hkv : answer->D;
}

static struct json_tensor tokens_of(struct request_answer *answer, const struct json_tensor *from, enum answer_layer layer,
                                    bool identity, size_t heads, size_t width)
{
    struct json_tensor none = {0};
    struct json_tensor flat = identity ? none : answer_layer(answer, from, layer);
    const size_t bhtd[4] = {answer->B, heads, from->shape[from->rank - 2], width};
    struct json_tensor out = answer_reorder(identity ? from : &flat, bhtd, true, false);
    json_tensor_done(&flat);
    return out;
}

static void inputs_of_tokens(struct request_answer *answer, struct torch_random *random)
{
    json_t *projection = answer_field(answer, "projection");
    bool identity = json_is_string(projection);
    const struct json_tensor *x = &answer->x, *from = answer->context.present ? &answer->context : x;
    const struct json_tensor *values_from = answer->value_context.present ? &answer->value_context : from;
    answer->has_batch = x->rank == 3;
    answer->has_heads = answer_field(answer, "num_heads") != NULL;
    answer->H = size_field(answer, "num_heads", 1);
    answer->Hkv = size_field(answer, "num_kv_heads", answer->H);
    answer->B = answer->has_batch ? x->shape[0] : 1;
    answer->Tq = x->shape[x->rank - 2];
    answer->Tnew = from->shape[from->rank - 2];
    answer->tokens_first = true;
    if (identity) {
        answer->D = x->shape[x->rank - 1] / answer->H;
        answer->Dv = values_from->shape[x->rank - 1] / answer->Hkv;
    } else {
        read_layers(answer, projection);
        find_head_size(answer);
        draw_layers(answer, random);
    }
    answer->query = tokens_of(answer, x, LAYER_QUERY, identity, answer->H, answer->D);
    answer->key = tokens_of(answer, from, LAYER_KEY, identity, answer->Hkv, answer->D);
    answer->value = tokens_of(answer, values_from, LAYER_VALUE, identity, answer->Hkv, answer->Dv);
}

/* ---- query, key and value as given ---- */

/* Puts a tensor as given in order by head; returns its tokens and width in *ret_tokens, *ret_width. */
static void split_heads(const struct request_answer *answer, struct json_tensor *json_tensor, size_t heads, size_t *ret_tokens,
                        size_t *ret_width)
{
    if (!json_tensor->present)
        return;
    size_t tokens = json_tensor->shape[answer->thd ? 0 : answer->rank4 && answer->tokens_first ? 1 : json_tensor->rank - 2];
    size_t width = json_tensor->shape[json_tensor->rank - 1] / (answer->rank4 ? 1 : heads);
    const size_t bhtd[4] = {answer->B, heads, tokens, width};
    struct json_tensor by_head = answer_reorder(json_tensor, bhtd, answer->tokens_first, false);
    json_tensor_done(json_tensor);
    *json_tensor = by_head;
    *ret_tokens = tokens;
    *ret_width = width;
}

static void inputs_of_tensors(struct request_answer *answer)
{
    json_t *layout = answer_field(answer, "layout");
    const struct json_tensor *query = &answer->query;
    answer->thd = layout != NULL && strcmp(json_string_value(layout), "thd") == 0;
    answer->rank4 = query->rank == 4 || answer->thd;
    answer->tokens_first = !answer->rank4 || (layout != NULL && strcmp(json_string_value(layout), "bhtd") != 0);
    answer->has_batch = query->rank > 2 && !answer->thd;
    answer->has_heads = answer->rank4 || answer_field(answer, "num_heads") != NULL;
    answer->B = answer->has_batch ? query->shape[0] : 1;
    size_t heads_axis = answer->tokens_first && !answer->thd ? 2 : 1;
    answer->H = answer->rank4 ? query->shape[heads_axis] : size_field(answer, "num_heads", 1);
    answer->Hkv = answer->rank4 ? answer->key.shape[heads_axis] : size_field(answer, "num_kv_heads", answer->H);
    size_t unused;
    split_heads(answer, &answer->query, answer->H, &answer->Tq, &answer->D);
    split_heads(answer, &answer->key, answer->Hkv, &answer->Tnew, &answer->D);
    split_heads(answer, &answer->value, answer->Hkv, &unused, &answer->Dv);
    split_heads(answer, &answer->past_key, answer->Hkv, &answer->Tpast, &unused);
    split_heads(answer, &answer->past_value, answer->Hkv, &unused, &unused);
}

/* ---- positions ---- */

/* [B,tokens]: as the request lists them, for each item or for all, or counted from `first`, one an item. New. */
static int64_t *positions_of(const struct request_answer *answer, const char *name, size_t tokens, const int64_t *first)
{
    struct json_tensor list = json_tensor_read(answer_field(answer, name), false);
    int64_t *ret = test_alloc(answer->B * tokens, sizeof *ret);
    for (size_t k = 0; k < answer->B * tokens; k++)
        ret[k] = list.present ? (int64_t)list.values[list.rank == 2 ? k : k % tokens]
                              : (first == NULL ? 0 : first[k / tokens]) + (int64_t)(k % tokens);
    json_tensor_done(&list);
    return ret;
}

/* Packed sequences, in each of which positions begin anew. */
static void find_sequences(struct request_answer *answer, const char *corner, const struct json_tensor *offsets)
{
    json_t *json = answer_field(answer, "cu_seqlens"), *query = json_object_get(json, "query"),
           *key = json_object_get(json, "key");
    struct json_tensor queries = json_tensor_read(query != NULL ? query : json, false);
    struct json_tensor keys = json_tensor_read(key != NULL ? key : json, false);
    if (answer_field(answer, "query_offset") == NULL || offsets->present)
        answer->query_offset = 0;
    answer->sequence_count = queries.count - 1;
    answer->sequences = test_alloc(answer->sequence_count, sizeof *answer->sequences);
    answer->sequence_offsets = test_alloc(answer->sequence_count, sizeof *answer->sequence_offsets);
    answer->query_positions = test_alloc(answer->Tq, sizeof *answer->query_positions);
    answer->key_positions = test_alloc(answer->Tk, sizeof *answer->key_positions);
    for (size_t s = 0; s < answer->sequence_count; s++) {
        size_t first_query = (size_t)queries.values[s], end_query = (size_t)queries.values[s + 1];
        size_t first_key = (size_t)keys.values[s], end_key = (size_t)keys.values[s + 1];
        answer->sequences[s] =
            (struct attention_sequence){first_query, end_query - first_query, first_key, end_key - first_key};
        int64_t offset = offsets->present ? (int64_t)offsets->values[s] : answer->query_offset;
        if (strcmp(corner, "bottom_right") == 0)
            offset = (int64_t)(end_key - first_key) - (int64_t)(end_query - first_query);
        answer->sequence_offsets[s] = offset;
        for (size_t i = first_query; i < end_query; i++)
            answer->query_positions[i] = offset + (int64_t)(i - first_query);
        for (size_t j = first_key; j < end_key; j++)
            answer->key_positions[j] = (int64_t)(j - first_key);
    }
    json_tensor_done(&queries);
    json_tensor_done(&keys);
}

static void find_positions(struct request_answer *answer)
{
    json_t *offset = answer_field(answer, "query_offset"), *causal = answer_field(answer, "causal");
    const char *corner = json_is_string(causal) ? json_string_value(causal) : "";
    int64_t *first = test_alloc(answer->B, sizeof *first);
    answer->Tk = answer->Tpast + answer->Tnew;
    answer->query_offset = (int64_t)answer->Tpast;
    if (json_is_number(offset))
        answer->query_offset = (int64_t)json_number_value(offset);
    else if (strcmp(corner, "top_left") == 0)
        answer->query_offset = 0;
    else if (strcmp(corner, "bottom_right") == 0)
        answer->query_offset = (int64_t)answer->Tk - (int64_t)answer->Tq;
    struct json_tensor offsets = json_tensor_read(json_is_number(offset) ? NULL : offset, false);
    if (answer_field(answer, "cu_seqlens") != NULL) {
        find_sequences(answer, corner, &offsets);
        json_tensor_done(&offsets);
        free(first);
        return;
    }
    for (size_t b = 0; b < answer->B; b++)
        first[b] = offsets.present ? (int64_t)offsets.values[b] : answer->query_offset;
    answer->query_positions = positions_of(answer, "query_positions", answer->Tq, first);
    answer->key_positions = positions_of(answer, "key_positions", answer->Tk, NULL);
    json_tensor_done(&offsets);
    free(first);
}

#define INPUT_COUNT 8

void answer_inputs(struct request_answer *answer)
{
    struct json_tensor *const json_tensors[INPUT_COUNT] = {&answer->x,        &answer->context,   &answer->value_context,
                                                           &answer->key,      &answer->query,     &answer->value,
                                                           &answer->past_key, &answer->past_value};
    static const char *const names[INPUT_COUNT] = {"x",     "context", "value_context", "key",
                                                   "query", "value",   "past_key",      "past_value"};
    json_t *seed = answer_field(answer, "seed");
    struct torch_random random;
    torch_random_init(&random, json_is_integer(seed) ? (uint64_t)json_integer_value(seed) : (uint64_t)json_number_value(seed));
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        *json_tensors[i] = json_tensor_read(answer_field(answer, names[i]), answer->is_f32);
        draw_tensor(answer, &random, json_tensors[i], names[i]);
    }
    if (answer->x.present)
        inputs_of_tokens(answer, &random);
    else
        inputs_of_tensors(answer);
    find_positions(answer);
    answer_change_inputs(answer);
}
