#include "api/protocol/attention_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/document.h"
#include "api/number/write.h"

/* One field on its way in. */
struct decoder {
    const struct extract *extract;
    struct request *request;
    struct attention_reply *reply;
    const char *pointer;
    struct error *err;
};

typedef bool decode_function(const struct decoder *d, const json_t *value);

static bool decode_tensor(const struct decoder *d, const json_t *value, enum request_tensor which)
{
    return tensor_input_read(d->extract, value, d->pointer,
                             which == REQUEST_MASK ? TENSOR_INPUT_NUMBERS_OR_BOOLS : TENSOR_INPUT_NUMBERS,
                             &d->request->tensors[which], d->err);
}

#define DECODE_TENSOR(field, which)                                                                                            \
    static bool decode_##field(const struct decoder *d, const json_t *value)                                                   \
    {                                                                                                                          \
        return decode_tensor(d, value, which);                                                                                 \
    }
DECODE_TENSOR(x, REQUEST_X)
DECODE_TENSOR(context, REQUEST_CONTEXT)
DECODE_TENSOR(query, REQUEST_QUERY)
DECODE_TENSOR(key, REQUEST_KEY)
DECODE_TENSOR(value, REQUEST_VALUE)
DECODE_TENSOR(past_key, REQUEST_PAST_KEY)
DECODE_TENSOR(past_value, REQUEST_PAST_VALUE)
DECODE_TENSOR(mask, REQUEST_MASK)

/* W, or {"weight": W, "bias": b}. */
static bool decode_layer(const struct decoder *d, const json_t *value, const char *name, enum request_projection which)
{
    static const char *const names[] = {"weight", "bias", NULL};
    struct request *request = d->request;
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX], member[TENSOR_INPUT_POINTER_BYTES_MAX + 8];
    (void)snprintf(pointer, sizeof pointer, "/projection/%s", name);
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
    static const char *const names[] = {"key", "query", "value", "output", NULL}; /* as enum request_projection */
    struct request *request = d->request;
    request->has_projection = true;
    if (json_is_string(value) && strcmp(json_string_value(value), "identity") == 0) {
        request->identity = true;
        return true;
    }
    if (!json_is_object(value))
        return document_refuse(d->extract, value, d->pointer, "\"identity\" or an object of weights", d->err);
    if (!document_known(value, d->pointer, names, d->err))
        return false;
    for (size_t i = 0; names[i] != NULL; i++) {
        const json_t *layer = document_member(value, names[i]);
        if (layer != NULL && !decode_layer(d, layer, names[i], (enum request_projection)i))
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
    static const char *const choices[] = {"bhtd", "bthd", NULL};
    size_t choice = 0;
    d->request->has_layout = true;
    if (!document_choice(d->extract, value, d->pointer, choices, &choice, d->err))
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
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    if (strcmp(text, "top_left") == 0)
        d->request->causal = CAUSAL_TOP_LEFT;
    else if (strcmp(text, "bottom_right") == 0)
        d->request->causal = CAUSAL_BOTTOM_RIGHT;
    else
        return document_refuse(d->extract, value, d->pointer, "true, false, \"top_left\" or \"bottom_right\"", d->err);
    return true;
}

static bool decode_query_offset(const struct decoder *d, const json_t *value)
{
    d->request->has_query_offset = true;
    return document_integer(d->extract, value, d->pointer, -REQUEST_POSITION_MAX, REQUEST_POSITION_MAX,
                            &d->request->query_offset, d->err);
}

static bool decode_mask_semantics(const struct decoder *d, const json_t *value)
{
    static const char *const choices[] = {"keep", "drop", NULL};
    size_t choice = 0;
    d->request->has_mask_semantics = true;
    if (!document_choice(d->extract, value, d->pointer, choices, &choice, d->err))
        return false;
    d->request->mask_drops = choice == 1;
    return true;
}

/* [B] integers, or one integer where there is no batch axis. */
static bool decode_key_lengths(const struct decoder *d, const json_t *value)
{
    struct request *request = d->request;
    request->has_key_lengths = true;
    if (json_is_number(value))
        return document_integer(d->extract, value, d->pointer, 0, REQUEST_POSITION_MAX, &request->key_length, d->err);
    request->key_lengths_is_list = true;
    if (!json_is_object(value) && !json_is_array(value))
        return document_refuse(d->extract, value, d->pointer, "one integer, or an array of one integer an item of the batch,",
                               d->err);
    if (!tensor_input_read(d->extract, value, d->pointer, TENSOR_INPUT_NUMBERS, &request->key_lengths_list, d->err))
        return false;
    if (request->key_lengths_list.kind == TENSOR_INPUT_DRAWN || tensor_input_is_bool(&request->key_lengths_list))
        return document_refuse(d->extract, value, d->pointer, "one integer an item of the batch", d->err);
    return true;
}

static bool decode_window(const struct decoder *d, const json_t *value)
{
    int64_t window[2];
    size_t count = 0;
    if (!tensor_input_integers(d->extract, value, d->pointer, 2, -1, REQUEST_POSITION_MAX, window, &count, d->err))
        return false;
    if (count != 2)
        return error_set_at(d->err, ERROR_INVALID, d->pointer,
                            "an array of %zu, where [left, right] is expected: keys before and after the position that stay "
                            "visible, -1 for no bound",
                            count);
    d->request->window_left = window[0];
    d->request->window_right = window[1];
    return true;
}

static bool decode_scale(const struct decoder *d, const json_t *value)
{
    d->request->has_scale = true;
    return document_number(d->extract, value, d->pointer, &d->request->scale, d->err);
}

static bool decode_softcap(const struct decoder *d, const json_t *value)
{
    if (!document_number(d->extract, value, d->pointer, &d->request->softcap, d->err))
        return false;
    if (!(d->request->softcap > 0))
        return document_refuse(d->extract, value, d->pointer, "a number above 0 (leave softcap out for none)", d->err);
    return true;
}

/* A number a query head. */
static bool decode_per_head(const struct decoder *d, const json_t *value, const char *expected, struct tensor_input *ret)
{
    if (!json_is_object(value) && !json_is_array(value))
        return document_refuse(d->extract, value, d->pointer, expected, d->err);
    if (!tensor_input_read(d->extract, value, d->pointer, TENSOR_INPUT_NUMBERS, ret, d->err))
        return false;
    if (ret->kind == TENSOR_INPUT_DRAWN || tensor_input_is_bool(ret))
        return document_refuse(d->extract, value, d->pointer, expected, d->err);
    return true;
}

static bool decode_alibi(const struct decoder *d, const json_t *value)
{
    if (json_is_boolean(value)) {
        d->request->alibi = json_is_true(value);
        return true;
    }
    d->request->alibi = true;
    return decode_per_head(d, value, "true, false or one slope a query head", &d->request->alibi_slopes);
}

static bool decode_sinks(const struct decoder *d, const json_t *value)
{
    return decode_per_head(d, value, "one logit a query head", &d->request->sinks);
}

static bool decode_rope(const struct decoder *d, const json_t *value)
{
    static const char *const names[] = {"style", "base", "dims", NULL};
    static const char *const styles[] = {"interleaved", "half", NULL};
    struct request *request = d->request;
    if (!json_is_object(value))
        return document_refuse(d->extract, value, d->pointer, "an object with \"style\": \"interleaved\" or \"half\"", d->err);
    if (!document_known(value, d->pointer, names, d->err))
        return false;
    const json_t *style = document_member(value, "style");
    const json_t *base = document_member(value, "base");
    const json_t *dims = document_member(value, "dims");
    size_t choice = 0;
    request->has_rope = true;
    request->rope_base = 10000;
    if (style == NULL)
        return error_set_at(d->err, ERROR_INVALID, "/rope/style",
                            "style is missing: models disagree, so it has no default; \"interleaved\" pairs dimensions 2i and "
                            "2i+1, \"half\" pairs i and i + dims/2");
    if (!document_choice(d->extract, style, "/rope/style", styles, &choice, d->err))
        return false;
    request->rope_style = (enum request_rope_style)choice;
    if (base != NULL && !document_number(d->extract, base, "/rope/base", &request->rope_base, d->err))
        return false;
    if (!(request->rope_base >= REQUEST_ROPE_BASE_MIN))
        return document_refuse(d->extract, base, "/rope/base", "a number above 0 (at least 1e-200)", d->err);
    request->has_rope_dims = dims != NULL;
    return dims == NULL || document_integer(d->extract, dims, "/rope/dims", 0, REQUEST_HEADS_MAX, &request->rope_dims, d->err);
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
    static const char *const choices[] = {"float32", "float64", NULL};
    size_t choice = 0;
    if (!document_choice(d->extract, value, d->pointer, choices, &choice, d->err))
        return false;
    d->request->dtype = choice == 0 ? DTYPE_F32 : DTYPE_F64;
    return true;
}

static bool decode_return(const struct decoder *d, const json_t *value)
{
    const struct json_array_text *extracted = document_array(d->extract, value);
    memset(d->request->results, 0, sizeof d->request->results);
    if (extracted != NULL && extracted->kind == JSON_ARRAY_EMPTY && extracted->rank == 1)
        return true;
    if (!json_is_array(value) || extracted != NULL)
        return document_refuse(d->extract, value, d->pointer, "an array of names, as [\"output\", \"weights\"]", d->err);
    for (size_t i = 0; i < json_array_size(value); i++) {
        char place[TENSOR_INPUT_POINTER_BYTES_MAX];
        size_t choice = 0;
        (void)snprintf(place, sizeof place, "/return/%zu", i);
        if (!document_choice(d->extract, json_array_get(value, i), place, request_result_names, &choice, d->err))
            return false;
        d->request->results[choice] = true;
        d->request->result_places[choice] = i;
    }
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

static const char *const field_names[] = {
    "query",     "key",          "value",  "past_key", "past_value",   "x",    "context",        "projection",  "head_size",
    "num_heads", "num_kv_heads", "layout", "causal",   "query_offset", "mask", "mask_semantics", "key_lengths", "window",
    "scale",     "softcap",      "alibi",  "rope",     "sinks",        "seed", "precision",      "return",      "format",
    "decimals",  NULL,
};

static decode_function *const field_decoders[] = {
    decode_query,     decode_key,          decode_value,     decode_past_key,       decode_past_value,   decode_x,
    decode_context,   decode_projection,   decode_head_size, decode_num_heads,      decode_num_kv_heads, decode_layout,
    decode_causal,    decode_query_offset, decode_mask,      decode_mask_semantics, decode_key_lengths,  decode_window,
    decode_scale,     decode_softcap,      decode_alibi,     decode_rope,           decode_sinks,        decode_seed,
    decode_precision, decode_return,       decode_format,    decode_decimals,
};

_Static_assert(sizeof field_names / sizeof field_names[0] == sizeof field_decoders / sizeof field_decoders[0] + 1,
               "a decoder for each field");

bool attention_read_fields(const struct extract *extract, const json_t *document, struct request *ret,
                           struct attention_reply *ret_reply, struct error *err)
{
    request_init(ret);
    *ret_reply = (struct attention_reply){.decimals = -1};
    ret->reply = ret_reply;
    ret->results[RESULT_OUTPUT] = true;
    ret->results[RESULT_WEIGHTS] = true;
    if (!json_is_object(document))
        return document_refuse(extract, document, "", "an object with the fields of a request", err);
    if (!document_known(document, "", field_names, err))
        return false;
    for (size_t i = 0; field_names[i] != NULL; i++) {
        const json_t *value = document_member(document, field_names[i]);
        if (value == NULL)
            continue;
        char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
        (void)snprintf(pointer, sizeof pointer, "/%s", field_names[i]);
        const struct decoder d = {.extract = extract, .request = ret, .reply = ret_reply, .pointer = pointer, .err = err};
        if (!field_decoders[i](&d, value))
            return false;
    }
    return true;
}
