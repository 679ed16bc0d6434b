#include "api/protocol/attention_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/document.h"
#include "api/json/writer.h"
#include "api/number/write.h"
#include "api/protocol/media_type.h"
#include "api/protocol/return_read.h"
#include "api/protocol/rope_read.h"

struct decoder;
typedef bool decode_function(const struct decoder *d, const json_t *value);

struct field {
    const char *name;
    decode_function *decode;
    enum request_tensor tensor;     /* of decode_tensor */
    enum request_integers integers; /* of decode_integers */
};

/* A field being decoded. */
struct decoder {
    const struct field *field;
    const struct extract *extract;
    struct request *request;
    struct attention_reply *reply;
    const char *pointer; /* to the field */
    struct error *err;
};

static bool decode_tensor(const struct decoder *d, const json_t *value)
{
    enum request_tensor which = d->field->tensor;
    return tensor_input_read(d->extract, value, d->pointer,
                             which == REQUEST_MASK ? TENSOR_INPUT_NUMBERS_OR_BOOLS : TENSOR_INPUT_NUMBERS,
                             &d->request->tensors[which], d->err);
}

/* W, or {"weight": W, "bias": b}. */
static bool decode_layer(const struct decoder *d, const json_t *value, enum request_projection which)
{
    static const char *const names[] = {"weight", "bias", NULL};
    struct request *request = d->request;
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX], member[TENSOR_INPUT_POINTER_BYTES_MAX + 8];
    (void)snprintf(pointer, sizeof pointer, "/projection/%s", request_projection_names[which]);
    if (!json_is_object(value) || document_member(value, "shape") != NULL)
        return tensor_input_read(d->extract, value, pointer, TENSOR_INPUT_NUMBERS, &request->weights[which], d->err);
    if (!document_known(value, pointer, names, d->err))
        return false;
    const json_t *weight = document_member(value, "weight");
    const json_t *bias = document_member(value, "bias");
    (void)snprintf(member, sizeof member, "%s/weight", pointer);
    if (weight != NULL &&
        !tensor_input_read(d->extract, weight, member, TENSOR_INPUT_NUMBERS, &request->weights[which], d->err))
        return false;
    (void)snprintf(member, sizeof member, "%s/bias", pointer);
    if (bias == NULL)
        return true;
    if (!tensor_input_read(d->extract, bias, member, TENSOR_INPUT_NUMBERS, &request->biases[which], d->err))
        return false;
    if (request->biases[which].kind == TENSOR_INPUT_DRAWN)
        return error_set_at(d->err, ERROR_INVALID, member,
                            "a bias is not drawn from the seed: give its numbers or leave it out");
    return true;
}

static bool decode_projection(const struct decoder *d, const json_t *value)
{
    struct request *request = d->request;
    request->has_projection = true;
    if (json_is_string(value) && strcmp(json_string_value(value), "identity") == 0) {
        request->identity = true;
        return true;
    }
    if (!json_is_object(value))
        return document_refuse(d->extract, value, d->pointer, "\"identity\" or an object of weights", d->err);
    if (!document_known(value, d->pointer, request_projection_names, d->err))
        return false;
    for (size_t i = 0; i < PROJECTIONS; i++) {
        const json_t *layer = document_member(value, request_projection_names[i]);
        if (layer != NULL && !decode_layer(d, layer, (enum request_projection)i))
            return false;
    }
    return true;
}

static bool decode_head_size(const struct decoder *d, const json_t *value)
{
    d->request->has_head_size = true;
    return document_integer(d->extract, value, d->pointer, 0, REQUEST_HEADS_MAX, &d->request->head_size, d->err);
}

static bool decode_num_heads(const struct decoder *d, const json_t *value)
{
    d->request->has_num_heads = true;
    return document_integer(d->extract, value, d->pointer, 1, REQUEST_HEADS_MAX, &d->request->num_heads, d->err);
}

static bool decode_num_kv_heads(const struct decoder *d, const json_t *value)
{
    d->request->has_num_kv_heads = true;
    return document_integer(d->extract, value, d->pointer, 1, REQUEST_HEADS_MAX, &d->request->num_kv_heads, d->err);
}

static bool decode_layout(const struct decoder *d, const json_t *value)
{
    size_t choice = 0;
    if (!document_choice(d->extract, value, d->pointer, request_layout_names, &choice, d->err))
        return false;
    d->request->layout = (enum request_layout)choice;
    return true;
}

static bool decode_causal(const struct decoder *d, const json_t *value)
{
    if (json_is_boolean(value)) {
        d->request->causal = json_is_true(value) ? CAUSAL_TRUE : CAUSAL_FALSE;
        return true;
    }
    for (enum request_causal i = CAUSAL_TOP_LEFT; json_is_string(value) && i < CAUSALS; i++) {
        if (strcmp(json_string_value(value), request_causal_names[i]) != 0)
            continue;
        d->request->causal = i;
        return true;
    }
    return document_refuse_choice(d->extract, value, d->pointer, "true, false, \"top_left\" or \"bottom_right\"",
                                  request_causal_names + CAUSAL_TOP_LEFT, d->err);
}

static bool decode_mask_semantics(const struct decoder *d, const json_t *value)
{
    static const char *const choices[] = {"keep", "drop", NULL};
    size_t choice = 0;
    if (!document_choice(d->extract, value, d->pointer, choices, &choice, d->err))
        return false;
    d->request->mask_drops = choice == 1;
    return true;
}

/* One integer, or an array of them. */
static bool decode_integers_of(const struct decoder *d, const json_t *value, enum request_integers which, const char *pointer)
{
    static const char *const expected[] = {
        [INTEGERS_PER_ITEM] = "one integer, or an array of one integer per item of the batch,",
        [INTEGERS_ONE_OR_PER_ITEM] = "one integer, or an array of one integer per item of the batch,",
        [INTEGERS_PER_QUERY] = "an array of one integer per query",
        [INTEGERS_PER_KEY] = "an array of one integer per key",
        [INTEGERS_BOUNDARIES] = "an array of integers, from 0 to the number of tokens,",
    };
    const struct integers_field *field = &request_integers_fields[which];
    struct integers_input *input = &d->request->integers[which];
    bool list = field->axis > INTEGERS_ONE_OR_PER_ITEM;
    input->given = true;
    if (json_is_number(value) && !list)
        return document_integer(d->extract, value, pointer, field->min, REQUEST_POSITION_MAX, &input->value, d->err);
    input->is_list = true;
    if (!json_is_object(value) && !json_is_array(value))
        return document_refuse(d->extract, value, pointer, expected[field->axis], d->err);
    if (!tensor_input_read(d->extract, value, pointer, TENSOR_INPUT_INTEGERS, &input->list, d->err))
        return false;
    if (input->list.kind == TENSOR_INPUT_DRAWN || tensor_input_is_bool(&input->list))
        return document_refuse(d->extract, value, pointer, list ? expected[field->axis] : "one integer per item of the batch",
                               d->err);
    return true;
}

static bool decode_integers(const struct decoder *d, const json_t *value)
{
    return decode_integers_of(d, value, d->field->integers, d->pointer);
}

/* One list for queries and keys, or {"query": .., "key": ..}. */
static bool decode_integers_pair(const struct decoder *d, const json_t *value)
{
    enum request_integers query = d->field->integers, key = query + 1;
    struct integers_input *integers = d->request->integers;
    if (!json_is_object(value) || json_object_get(value, "shape") != NULL) {
        integers[key] = (struct integers_input){.given = true, .is_list = true, .shared = true};
        return decode_integers_of(d, value, query, d->pointer);
    }
    static const char *const names[] = {"query", "key", NULL};
    if (!document_known(value, d->pointer, names, d->err))
        return false;
    for (size_t i = 0; i < 2; i++) {
        char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
        const json_t *part = document_member(value, names[i]);
        pointer_append(d->pointer, names[i], pointer, sizeof pointer);
        if (part == NULL)
            return error_set_at(d->err, ERROR_INVALID, d->pointer,
                                "an object without %s, where one list for queries and keys or {\"query\": .., \"key\": ..} is "
                                "expected",
                                names[i]);
        if (!decode_integers_of(d, part, i == 0 ? query : key, pointer))
            return false;
    }
    return true;
}

static bool decode_num_sink_tokens(const struct decoder *d, const json_t *value)
{
    return document_integer(d->extract, value, d->pointer, 0, REQUEST_POSITION_MAX, &d->request->num_sink_tokens, d->err);
}

static bool decode_chunk_size(const struct decoder *d, const json_t *value)
{
    return document_integer(d->extract, value, d->pointer, 1, REQUEST_POSITION_MAX, &d->request->chunk_size, d->err);
}

/* The second of two numbers is null, which stands for "no bound" elsewhere. */
static bool ends_in_null(const struct extract *extract, const struct json_array_text *array)
{
    return array->shape[0] == 2 && memmem(extract->text + array->offset_bytes, array->text_bytes, "null", 4) != NULL;
}

static bool decode_window(const struct decoder *d, const json_t *value)
{
    static const char expected[] = "[left, right], how many keys before and after the position stay visible (-1 for no bound),";
    const struct json_array_text *array = document_array(d->extract, value);
    int64_t window[2];
    size_t count = 0;
    if (array == NULL || array->rank != 1 || array->kind == JSON_ARRAY_BOOLS)
        return document_refuse(d->extract, value, d->pointer, expected, d->err);
    if (array->shape[0] > 2)
        return error_set_at(d->err, ERROR_INVALID, d->pointer, "%zu integers, where %s is expected", array->shape[0], expected);
    if (ends_in_null(d->extract, array))
        return error_set_at(d->err, ERROR_INVALID, "/window/1", "null, where an integer is expected: -1 for no bound");
    if (!tensor_input_integers(d->extract, value, d->pointer, 2, -1, REQUEST_POSITION_MAX, window, &count, d->err))
        return false;
    if (count != 2)
        return error_set_at(d->err, ERROR_INVALID, d->pointer, "an array of %zu, where %s is expected", count, expected);
    d->request->window_left = window[0];
    d->request->window_right = window[1];
    return true;
}

static bool decode_scale(const struct decoder *d, const json_t *value)
{
    d->request->has_scale = true;
    if (!json_is_number(value))
        return document_refuse(d->extract, value, d->pointer, "a finite number (leave scale out for 1/sqrt(D))", d->err);
    d->request->scale = json_number_value(value);
    return true;
}

static bool decode_softcap(const struct decoder *d, const json_t *value)
{
    if (!document_number(d->extract, value, d->pointer, &d->request->softcap, d->err))
        return false;
    if (!(d->request->softcap > 0))
        return document_refuse(d->extract, value, d->pointer, "a number above 0 (leave softcap out for none)", d->err);
    return true;
}

/* Numbers that are given, never drawn. */
static bool decode_numbers(const struct decoder *d, const json_t *value, const char *pointer, const char *expected,
                           struct tensor_input *ret)
{
    if (!json_is_object(value) && !json_is_array(value))
        return document_refuse(d->extract, value, pointer, expected, d->err);
    if (!tensor_input_read(d->extract, value, pointer, TENSOR_INPUT_NUMBERS, ret, d->err))
        return false;
    if (ret->kind == TENSOR_INPUT_DRAWN || tensor_input_is_bool(ret))
        return document_refuse(d->extract, value, pointer, expected, d->err);
    return true;
}

static bool decode_bias(const struct decoder *d, const json_t *value)
{
    const json_t *data = json_is_object(value) ? document_member(value, "data") : value;
    const struct json_array_text *array = document_array(d->extract, data);
    if (array != NULL && array->kind == JSON_ARRAY_BOOLS)
        return error_set_at(
            d->err, ERROR_INVALID, d->pointer,
            "booleans, where numbers are expected, which are added to the scores: what a query may see is mask");
    return decode_tensor(d, value);
}

static bool decode_relative_bias(const struct decoder *d, const json_t *value)
{
    static const char *const names[] = {"table", "bidirectional", "max_distance", NULL};
    struct relative_bias_request *bias = &d->request->relative_bias;
    if (!json_is_object(value))
        return document_refuse(d->extract, value, d->pointer,
                               "an object, as {\"table\": [[..], ..], \"bidirectional\": true, \"max_distance\": 128},",
                               d->err);
    if (!document_known(value, d->pointer, names, d->err))
        return false;
    const json_t *table = document_member(value, "table"), *both = document_member(value, "bidirectional");
    const json_t *distance = document_member(value, "max_distance");
    bias->given = true;
    bias->has_bidirectional = both != NULL;
    if (table != NULL && !decode_numbers(d, table, "/relative_bias/table",
                                         "an array of one row per bucket, of one number per head,", &bias->table))
        return false;
    if (both != NULL && !document_bool(d->extract, both, "/relative_bias/bidirectional", &bias->bidirectional, d->err))
        return false;
    return distance == NULL || document_integer(d->extract, distance, "/relative_bias/max_distance", 1, REQUEST_POSITION_MAX,
                                                &bias->max_distance, d->err);
}

static bool decode_query_scale(const struct decoder *d, const json_t *value)
{
    return decode_numbers(d, value, d->pointer, "an array of one factor per query (one number for all is scale)",
                          &d->request->query_scale);
}

static bool decode_alibi(const struct decoder *d, const json_t *value)
{
    if (json_is_boolean(value)) {
        d->request->alibi = json_is_true(value);
        return true;
    }
    d->request->alibi = true;
    return decode_numbers(d, value, d->pointer, "true, false or an array of one slope per query head",
                          &d->request->alibi_slopes);
}

static bool decode_sinks(const struct decoder *d, const json_t *value)
{
    return decode_numbers(d, value, d->pointer, "an array of one logit per query head", &d->request->sinks);
}

static bool decode_rope(const struct decoder *d, const json_t *value)
{
    return rope_read(d->extract, value, &d->request->rope, d->err);
}

/* true, false, or weights, which imply true. */
static bool decode_norm(const struct decoder *d, const json_t *value, const char *pointer, bool *ret,
                        struct tensor_input *ret_weights)
{
    static const char expected[] = "true, false or weights, one a dimension of a head or of all heads,";
    *ret = value != NULL && !json_is_false(value);
    if (value == NULL || json_is_boolean(value))
        return true;
    return decode_numbers(d, value, pointer, expected, ret_weights);
}

static bool decode_qk_norm(const struct decoder *d, const json_t *value)
{
    static const char *const names[] = {"query", "key", "type", "eps", "order", NULL};
    static const char *const types[] = {"rms", "l2", NULL}, *const orders[] = {"before_rope", "after_rope", NULL};
    struct qk_norm_request *norm = &d->request->qk_norm;
    if (!json_is_object(value))
        return document_refuse(d->extract, value, d->pointer, "an object, as {\"query\": true, \"key\": true}", d->err);
    if (!document_known(value, d->pointer, names, d->err))
        return false;
    const json_t *type = document_member(value, "type"), *order = document_member(value, "order");
    const json_t *eps = document_member(value, "eps");
    size_t type_choice = 0, order_choice = 0;
    d->request->has_qk_norm = true;
    norm->eps = 1e-6;
    if (!decode_norm(d, document_member(value, "query"), "/qk_norm/query", &norm->query, &norm->query_weights) ||
        !decode_norm(d, document_member(value, "key"), "/qk_norm/key", &norm->key, &norm->key_weights))
        return false;
    if (type != NULL && !document_choice(d->extract, type, "/qk_norm/type", types, &type_choice, d->err))
        return false;
    if (order != NULL && !document_choice(d->extract, order, "/qk_norm/order", orders, &order_choice, d->err))
        return false;
    norm->l2 = type_choice == 1;
    norm->after_rope = order_choice == 1;
    if (eps != NULL && !document_number(d->extract, eps, "/qk_norm/eps", &norm->eps, d->err))
        return false;
    return norm->eps >= 0 || document_refuse(d->extract, eps, "/qk_norm/eps", "a number from 0 on", d->err);
}

static bool decode_lse_base(const struct decoder *d, const json_t *value)
{
    static const char *const choices[] = {"e", "2", NULL};
    size_t choice = 0;
    if (!document_choice(d->extract, value, d->pointer, choices, &choice, d->err))
        return false;
    d->request->has_lse_base = true;
    d->request->lse_base_2 = choice == 1;
    return true;
}

static bool decode_seed(const struct decoder *d, const json_t *value)
{
    int64_t seed = 0;
    if (!document_integer(d->extract, value, d->pointer, 0, INT64_MAX, &seed, d->err))
        return false;
    d->request->has_seed = true;
    d->request->seed = (uint64_t)seed;
    return true;
}

static bool decode_precision(const struct decoder *d, const json_t *value)
{
    const char *const choices[] = {element_dtype_name(DTYPE_F32), element_dtype_name(DTYPE_F64), NULL};
    size_t choice = 0;
    if (!document_choice(d->extract, value, d->pointer, choices, &choice, d->err))
        return false;
    d->request->dtype = choice == 0 ? DTYPE_F32 : DTYPE_F64;
    return true;
}

static bool decode_numerics(const struct decoder *d, const json_t *value)
{
    static const char *const choices[] = {"default", "row_invariant", NULL};
    size_t choice = 0;
    if (!document_choice(d->extract, value, d->pointer, choices, &choice, d->err))
        return false;
    d->request->has_numerics = true;
    d->request->row_invariant = choice == 1;
    return true;
}

static bool decode_return(const struct decoder *d, const json_t *value)
{
    return return_read(d->extract, value, d->request, d->err);
}

static bool decode_top(const struct decoder *d, const json_t *value)
{
    return document_integer(d->extract, value, d->pointer, 1, REQUEST_TOP_MAX, &d->request->top, d->err);
}

static bool decode_pool(const struct decoder *d, const json_t *value)
{
    return return_read_pool(d->extract, value, d->request, d->err);
}

static bool decode_select(const struct decoder *d, const json_t *value)
{
    return return_read_select(d->extract, value, d->request, d->err);
}

static bool decode_pool_by(const struct decoder *d, const json_t *value)
{
    static const char *const choices[] = {"mean", "max", NULL};
    size_t choice = 0;
    if (!document_choice(d->extract, value, d->pointer, choices, &choice, d->err))
        return false;
    d->request->pool_max = choice == 1;
    return true;
}

static bool decode_format(const struct decoder *d, const json_t *value)
{
    static const char *const choices[] = {"nested", "flat", NULL};
    size_t choice = 0;
    if (!document_choice(d->extract, value, d->pointer, choices, &choice, d->err))
        return false;
    d->reply->flat = choice == 1;
    return true;
}

static bool decode_decimals(const struct decoder *d, const json_t *value)
{
    int64_t decimals = 0;
    if (!document_integer(d->extract, value, d->pointer, 0, NUMBER_DECIMALS_MAX, &decimals, d->err))
        return false;
    d->reply->decimals = (int)decimals;
    return true;
}

static bool decode_tokens(const struct decoder *d, const json_t *value)
{
    return tokens_read(d->extract, value, &d->reply->tokens, d->err);
}

/* In the order in which they are decoded. */
static const struct field fields[] = {
    {.name = "query", .decode = decode_tensor, .tensor = REQUEST_QUERY},
    {.name = "key", .decode = decode_tensor, .tensor = REQUEST_KEY},
    {.name = "value", .decode = decode_tensor, .tensor = REQUEST_VALUE},
    {.name = "past_key", .decode = decode_tensor, .tensor = REQUEST_PAST_KEY},
    {.name = "past_value", .decode = decode_tensor, .tensor = REQUEST_PAST_VALUE},
    {.name = "x", .decode = decode_tensor, .tensor = REQUEST_X},
    {.name = "context", .decode = decode_tensor, .tensor = REQUEST_CONTEXT},
    {.name = "value_context", .decode = decode_tensor, .tensor = REQUEST_VALUE_CONTEXT},
    {.name = "projection", .decode = decode_projection},
    {.name = "head_size", .decode = decode_head_size},
    {.name = "num_heads", .decode = decode_num_heads},
    {.name = "num_kv_heads", .decode = decode_num_kv_heads},
    {.name = "layout", .decode = decode_layout},
    {.name = "causal", .decode = decode_causal},
    {.name = "query_offset", .decode = decode_integers, .integers = INTEGERS_QUERY_OFFSET},
    {.name = "query_positions", .decode = decode_integers, .integers = INTEGERS_QUERY_POSITIONS},
    {.name = "key_positions", .decode = decode_integers, .integers = INTEGERS_KEY_POSITIONS},
    {.name = "query_lengths", .decode = decode_integers, .integers = INTEGERS_QUERY_LENGTHS},
    {.name = "segment_ids", .decode = decode_integers_pair, .integers = INTEGERS_QUERY_SEGMENTS},
    {.name = "cu_seqlens", .decode = decode_integers_pair, .integers = INTEGERS_QUERY_BOUNDARIES},
    {.name = "prefix_length", .decode = decode_integers, .integers = INTEGERS_PREFIX_LENGTH},
    {.name = "span_ids", .decode = decode_integers_pair, .integers = INTEGERS_QUERY_SPANS},
    {.name = "chunk_size", .decode = decode_chunk_size},
    {.name = "num_sink_tokens", .decode = decode_num_sink_tokens},
    {.name = "mask", .decode = decode_tensor, .tensor = REQUEST_MASK},
    {.name = "mask_semantics", .decode = decode_mask_semantics},
    {.name = "key_lengths", .decode = decode_integers, .integers = INTEGERS_KEY_LENGTHS},
    {.name = "window", .decode = decode_window},
    {.name = "scale", .decode = decode_scale},
    {.name = "query_scale", .decode = decode_query_scale},
    {.name = "bias", .decode = decode_bias, .tensor = REQUEST_BIAS},
    {.name = "relative_bias", .decode = decode_relative_bias},
    {.name = "softcap", .decode = decode_softcap},
    {.name = "alibi", .decode = decode_alibi},
    {.name = "rope", .decode = decode_rope},
    {.name = "qk_norm", .decode = decode_qk_norm},
    {.name = "sinks", .decode = decode_sinks},
    {.name = "lse_base", .decode = decode_lse_base},
    {.name = "seed", .decode = decode_seed},
    {.name = "precision", .decode = decode_precision},
    {.name = "numerics", .decode = decode_numerics},
    {.name = "return", .decode = decode_return},
    {.name = "top", .decode = decode_top},
    {.name = "pool", .decode = decode_pool},
    {.name = "pool_by", .decode = decode_pool_by},
    {.name = "select", .decode = decode_select},
    {.name = "format", .decode = decode_format},
    {.name = "decimals", .decode = decode_decimals},
    {.name = "tokens", .decode = decode_tokens},
};
#define FIELDS (sizeof fields / sizeof fields[0])

_Static_assert(FIELDS <= ATTENTION_FIELDS_MAX, "their names fit");

void attention_field_names(const char *ret[ATTENTION_FIELDS_MAX + 1])
{
    for (size_t i = 0; i < FIELDS; i++)
        ret[i] = fields[i].name;
    ret[FIELDS] = NULL;
}

bool attention_read_fields(const struct extract *extract, const json_t *document, struct request *ret,
                           struct attention_reply *ret_reply, struct error *err)
{
    const char *names[ATTENTION_FIELDS_MAX + 1];
    attention_field_names(names);
    request_init(ret);
    *ret_reply = (struct attention_reply){.decimals = -1};
    ret->reply = ret_reply;
    ret->results[RESULT_OUTPUT] = true;
    ret->results[RESULT_WEIGHTS] = true;
    if (!json_is_object(document))
        return document_refuse(extract, document, "", "an object with the fields of a request, {\"query\": .., ..},", err);
    if (json_is_array(json_object_get(document, "inputs")))
        return error_set_at(
            err, ERROR_INVALID, "/inputs",
            "the body looks like one of the Open Inference Protocol: send it to /v2/models/attention/infer; here query, "
            "key and value are fields, {\"query\": [[..]], ..}");
    if (!document_known(document, "", names, err))
        return false;
    for (const struct field *field = fields; field < fields + FIELDS; field++) {
        const json_t *value = document_member(document, field->name);
        if (value == NULL)
            continue;
        char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
        struct writer writer;
        writer_init(&writer, pointer, sizeof pointer);
        writer_add(&writer, "/");
        writer_add(&writer, field->name);
        writer_end(&writer);
        const struct decoder d = {field, extract, ret, ret_reply, pointer, err};
        if (!field->decode(&d, value))
            return false;
    }
    return true;
}

bool attention_reply_resolve(struct attention_reply *reply, const char *accept, struct error *err)
{
    reply->safetensors = media_type_accepts(accept, SAFETENSORS_TYPE, "application/json");
    if (reply->safetensors && (reply->flat || reply->decimals >= 0))
        return error_set_at(err, ERROR_INVALID, reply->flat ? "/format" : "/decimals",
                            "%s is for replies in JSON, and Accept asks for " SAFETENSORS_TYPE ": leave one of them out",
                            reply->flat ? "format \"flat\"" : "decimals");
    return true;
}
