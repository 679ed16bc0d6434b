#include "api/protocol/kserve.h"

#include <stdio.h>
#include <string.h>

#include "api/json/document.h"
#include "api/protocol/kserve_reader.h"
#include "core/size.h"

const char *const kserve_output_names[KSERVE_OUTPUTS + 1] = {"Y", "present_key", "present_value", "qk_matmul_output", NULL};

static const char *const *const datatypes = element_names[ELEMENT_NAMES_KSERVE];

enum kserve_input {
    KSERVE_Q,
    KSERVE_K,
    KSERVE_V,
    KSERVE_MASK,
    KSERVE_PAST_KEY,
    KSERVE_PAST_VALUE,
    KSERVE_LENGTHS,
    KSERVE_INPUTS
};

static const char *const input_names[KSERVE_INPUTS + 1] = {
    [KSERVE_Q] = "Q",
    [KSERVE_K] = "K",
    [KSERVE_V] = "V",
    [KSERVE_MASK] = "attn_mask",
    [KSERVE_PAST_KEY] = "past_key",
    [KSERVE_PAST_VALUE] = "past_value",
    [KSERVE_LENGTHS] = "nonpad_kv_seqlen",
    [KSERVE_INPUTS] = NULL,
};

static const enum request_tensor input_tensors[KSERVE_LENGTHS] = {
    [KSERVE_Q] = REQUEST_QUERY,           [KSERVE_K] = REQUEST_KEY,
    [KSERVE_V] = REQUEST_VALUE,           [KSERVE_MASK] = REQUEST_MASK,
    [KSERVE_PAST_KEY] = REQUEST_PAST_KEY, [KSERVE_PAST_VALUE] = REQUEST_PAST_VALUE,
};

static struct tensor_input *input_of(struct request *request, enum kserve_input which)
{
    return which == KSERVE_LENGTHS ? &request->integers[INTEGERS_KEY_LENGTHS].list : &request->tensors[input_tensors[which]];
}

static enum tensor_input_content content_of(enum kserve_input which)
{
    return which == KSERVE_LENGTHS ? TENSOR_INPUT_INTEGERS
           : which == KSERVE_MASK  ? TENSOR_INPUT_NUMBERS_OR_BOOLS
                                   : TENSOR_INPUT_NUMBERS;
}

/* One of the types that the input may have. */
static bool decode_datatype(const struct kserve_reader *d, enum kserve_input which, const json_t *value, const char *pointer,
                            enum element_type *ret)
{
    static const char *const expected[] = {
        [TENSOR_INPUT_NUMBERS] = "FP32, FP64, FP16 or BF16",
        [TENSOR_INPUT_NUMBERS_OR_BOOLS] = "BOOL, or FP32, FP64, FP16 or BF16 to be added",
        [TENSOR_INPUT_INTEGERS] = "INT64 or INT32",
    };
    const char *name = json_string_value(value);
    if (name == NULL)
        return document_refuse(d->extract, value, pointer, expected[content_of(which)], d->err);
    for (*ret = 0; *ret < ELEMENT_TYPES; (*ret)++)
        if (strcmp(name, datatypes[*ret]) == 0 && tensor_input_may_be(content_of(which), *ret))
            return true;
    return error_set_at(d->err, ERROR_INVALID, pointer, "%s of datatype %.20s, where %s is expected", input_names[which], name,
                        expected[content_of(which)]);
}

/* Whether data in the document are of the type that was announced. */
static bool check_data(const struct kserve_reader *d, const struct tensor_input *input, const char *pointer)
{
    const char *datatype = datatypes[input->element_type];
    bool bools = tensor_input_is_bool(input);
    if (tensor_input_is_empty(input) || bools == (input->element_type == ELEMENT_BOOL))
        return true;
    return error_set_at(d->err, ERROR_INVALID, pointer, "%s data, where datatype %s is announced: %s",
                        bools ? "boolean" : "numeric", datatype,
                        bools ? "for true and false announce BOOL"
                              : "send true and false (in Python .astype(bool).tolist()), or announce a type of numbers");
}

/* The next bytes after the JSON are the input's, as many as its parameter binary_data_size says. */
static bool decode_binary(struct kserve_reader *d, const json_t *size, const char *pointer, struct tensor_input *input)
{
    char place[TENSOR_INPUT_POINTER_BYTES_MAX + sizeof "/parameters/binary_data_size"];
    int64_t bytes = 0;
    (void)snprintf(place, sizeof place, "%s/parameters/binary_data_size", pointer);
    if (!document_integer(d->extract, size, place, 0, INT64_MAX, &bytes, d->err))
        return false;
    size_t needed = size_multiply(shape_count(input->rank, input->shape), element_bytes(input->element_type));
    char needed_text[SIZE_TEXT_BYTES_MAX];
    if ((uint64_t)bytes != needed)
        return error_set_at(d->err, ERROR_INVALID, place, "%zu byte%s, where shape and datatype need %s", (size_t)bytes,
                            error_s((size_t)bytes), size_text(needed, needed_text));
    if (needed > d->binary_bytes)
        return error_set_at(d->err, ERROR_MALFORMED, place, "%zu byte%s, where %zu %s left behind the JSON%s", needed,
                            error_s(needed), d->binary_bytes, d->binary_bytes == 1 ? "is" : "are",
                            d->binary_bytes == 0 ? " (Inference-Header-Content-Length says how long the JSON is)" : "");
    input->kind = TENSOR_INPUT_BYTES;
    input->bytes = d->binary;
    input->array = NULL;
    d->binary += needed;
    d->binary_bytes -= needed;
    return true;
}

/* The members that an input must have. */
static bool check_members(const struct kserve_reader *d, const json_t *value, const char *pointer)
{
    static const char *const names[] = {"name", "shape", "datatype", "data", "parameters", NULL};
    if (!json_is_object(value))
        return document_refuse(d->extract, value, pointer, "an object with name, shape, datatype and data", d->err);
    if (!document_known(value, pointer, names, d->err))
        return false;
    for (size_t i = 0; i < 3; i++)
        if (json_object_get(value, names[i]) == NULL)
            return error_set_at(d->err, ERROR_INVALID, pointer, "an input without %s", names[i]);
    return true;
}

/* Either an input's data are in the document, or its parameter binary_data_size says how many bytes they are after the JSON. */
static bool decode_parameters(const struct kserve_reader *d, const json_t *value, const char *pointer, const json_t **ret_size)
{
    static const char *const names[] = {"binary_data_size", NULL};
    char place[TENSOR_INPUT_POINTER_BYTES_MAX + sizeof "/parameters"];
    const json_t *parameters = document_member(value, "parameters"), *data = json_object_get(value, "data");
    (void)snprintf(place, sizeof place, "%s/parameters", pointer);
    if (parameters != NULL && !json_is_object(parameters))
        return document_refuse(d->extract, parameters, place, "an object", d->err);
    if (parameters != NULL && !kserve_known_parameters(parameters, place, names, d->err))
        return false;
    *ret_size = json_object_get(parameters, "binary_data_size");
    if ((data == NULL) == (*ret_size == NULL))
        return error_set_at(d->err, ERROR_INVALID, pointer,
                            data == NULL
                                ? "an input without data: its numbers, or parameters with the binary_data_size of the bytes "
                                  "behind the JSON"
                                : "an input with data and binary_data_size: one of them says where its numbers are");
    return true;
}

/* {"name", "shape", "datatype", "data"}, or with its data after the JSON. */
static bool decode_input(struct kserve_reader *d, const json_t *value, const char *pointer)
{
    char place[TENSOR_INPUT_POINTER_BYTES_MAX + sizeof "/datatype"];
    const json_t *binary_size = NULL;
    size_t which = 0;
    enum element_type datatype = ELEMENT_F64;
    if (!check_members(d, value, pointer))
        return false;
    (void)snprintf(place, sizeof place, "%s/name", pointer);
    if (!document_choice(d->extract, json_object_get(value, "name"), place, input_names, &which, d->err) ||
        !decode_parameters(d, value, pointer, &binary_size))
        return false;
    (void)snprintf(place, sizeof place, "%s/datatype", pointer);
    if (!decode_datatype(d, (enum kserve_input)which, json_object_get(value, "datatype"), place, &datatype))
        return false;
    struct tensor_input *input = input_of(d->request, (enum kserve_input)which);
    if (input->kind != TENSOR_INPUT_ABSENT)
        return error_set_at(d->err, ERROR_INVALID, pointer, "%s is given twice", input_names[which]);
    if (!tensor_input_read_parts(d->extract, json_object_get(value, "shape"), json_object_get(value, "data"), pointer,
                                 content_of((enum kserve_input)which), input, d->err))
        return false;
    input->element_type = datatype;
    input->name = input_names[which];
    if (binary_size != NULL && !decode_binary(d, binary_size, pointer, input))
        return false;
    return check_data(d, input, place);
}

static bool decode_inputs(struct kserve_reader *d, const json_t *inputs)
{
    if (inputs == NULL)
        return error_set_at(d->err, ERROR_INVALID, "/inputs", "inputs is missing");
    if (!json_is_array(inputs) || document_array(d->extract, inputs) != NULL)
        return document_refuse(d->extract, inputs, "/inputs", "an array of input tensors", d->err);
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
        (void)snprintf(pointer, sizeof pointer, "/inputs/%zu", i);
        if (!decode_input(d, json_array_get(inputs, i), pointer))
            return false;
    }
    for (enum kserve_input i = KSERVE_Q; i <= KSERVE_V; i++)
        if (d->request->tensors[input_tensors[i]].kind == TENSOR_INPUT_ABSENT)
            return error_set_at(d->err, ERROR_INVALID, "/inputs", "input %s is missing", input_names[i]);
    if (d->binary_bytes > 0)
        return error_set(d->err, ERROR_MALFORMED, "%zu byte%s behind the JSON that no input's binary_data_size speaks of",
                         d->binary_bytes, error_s(d->binary_bytes));
    return true;
}

static bool output_add(const struct kserve_reader *d, enum kserve_output_name name, const char *pointer)
{
    static const enum request_result modes[] = {RESULT_SCORES, RESULT_CAPPED_SCORES, RESULT_MASKED_SCORES, RESULT_WEIGHTS};
    static const enum request_result results[] = {RESULT_OUTPUT, RESULT_PRESENT_KEY, RESULT_PRESENT_VALUE};
    static const enum request_tensor typed_as[] = {REQUEST_QUERY, REQUEST_KEY, REQUEST_VALUE, REQUEST_QUERY};
    struct kserve_reply *reply = d->reply;
    for (size_t i = 0; i < reply->output_count; i++)
        if (reply->outputs[i].name == name)
            return error_set_at(d->err, ERROR_INVALID, pointer, "%s is asked for twice", kserve_output_names[name]);
    struct kserve_output *output = &reply->outputs[reply->output_count++];
    *output = (struct kserve_output){
        .name = name,
        .result = name == KSERVE_QK_MATMUL_OUTPUT ? modes[d->qk_mode] : results[name],
        .element_type = d->request->tensors[typed_as[name]].element_type,
        .binary = d->binary_outputs,
    };
    d->request->results[output->result] = true;
    d->request->results_narrowed |= element_bytes(output->element_type) < sizeof(float);
    return true;
}

/* {"binary_data": true}, of the output added last. */
static bool output_parameters(const struct kserve_reader *d, const json_t *parameters, const char *pointer)
{
    static const char *const names[] = {"binary_data", NULL};
    char place[TENSOR_INPUT_POINTER_BYTES_MAX + sizeof "/parameters/binary_data"];
    (void)snprintf(place, sizeof place, "%s/parameters", pointer);
    if (parameters == NULL || json_is_null(parameters))
        return true;
    if (!json_is_object(parameters))
        return document_refuse(d->extract, parameters, place, "an object", d->err);
    if (!kserve_known_parameters(parameters, place, names, d->err))
        return false;
    const json_t *binary = json_object_get(parameters, "binary_data");
    (void)snprintf(place, sizeof place, "%s/parameters/binary_data", pointer);
    return binary == NULL ||
           document_bool(d->extract, binary, place, &d->reply->outputs[d->reply->output_count - 1].binary, d->err);
}

/* [{"name"}]; by default what the operator returns: Y, and the caches where a past is given. */
static bool decode_outputs(const struct kserve_reader *d, const json_t *outputs)
{
    static const char *const names[] = {"name", "parameters", NULL};
    const struct json_array_text *extracted = document_array(d->extract, outputs);
    bool none = outputs == NULL || json_is_null(outputs) ||
                (extracted != NULL && extracted->kind == JSON_ARRAY_EMPTY && extracted->rank == 1);
    if (!none && (!json_is_array(outputs) || extracted != NULL))
        return document_refuse(d->extract, outputs, "/outputs", "an array of objects with a name", d->err);
    if (none) {
        bool past = d->request->tensors[REQUEST_PAST_KEY].kind != TENSOR_INPUT_ABSENT;
        return output_add(d, KSERVE_Y, "") &&
               (!past || (output_add(d, KSERVE_PRESENT_KEY, "") && output_add(d, KSERVE_PRESENT_VALUE, "")));
    }
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
        size_t output = 0;
        const json_t *value = json_array_get(outputs, i);
        (void)snprintf(pointer, sizeof pointer, "/outputs/%zu", i);
        if (!json_is_object(value) || json_object_get(value, "name") == NULL)
            return document_refuse(d->extract, value, pointer, "an object with a name", d->err);
        if (!document_known(value, pointer, names, d->err) ||
            !document_choice(d->extract, json_object_get(value, "name"), pointer, kserve_output_names, &output, d->err) ||
            !output_add(d, (enum kserve_output_name)output, pointer) ||
            !output_parameters(d, json_object_get(value, "parameters"), pointer))
            return false;
    }
    return true;
}

static bool decode_id(const struct kserve_reader *d, const json_t *id, struct arena *arena)
{
    if (id == NULL || json_is_null(id))
        return true;
    if (!json_is_string(id))
        return document_refuse(d->extract, id, "/id", "a string", d->err);
    size_t bytes = json_string_length(id) + 1;
    char *copy = arena_alloc(arena, bytes, d->err);
    if (copy == NULL)
        return false;
    memcpy(copy, json_string_value(id), bytes);
    d->reply->id = copy;
    return true;
}

/* What the operator's inputs imply together. */
static bool resolve(const struct kserve_reader *d)
{
    struct request *request = d->request;
    const struct tensor_input *tensors = request->tensors;
    bool past = tensors[REQUEST_PAST_KEY].kind != TENSOR_INPUT_ABSENT;
    struct integers_input *lengths = &request->integers[INTEGERS_KEY_LENGTHS];
    lengths->given = lengths->is_list = lengths->list.kind != TENSOR_INPUT_ABSENT;
    if (past && lengths->given)
        return error_set_at(d->err, ERROR_INVALID, lengths->list.pointer,
                            "nonpad_kv_seqlen goes with a cache that K and V hold already, not with past_key");
    if (tensors[REQUEST_QUERY].rank != 3 && tensors[REQUEST_QUERY].rank != 4)
        return error_set_at(d->err, ERROR_INVALID, tensors[REQUEST_QUERY].pointer,
                            "Q of rank %zu, where [B, H, T, D], or [B, T, H*D] with q_num_heads and kv_num_heads, is expected",
                            tensors[REQUEST_QUERY].rank);
    if (tensors[REQUEST_QUERY].rank == 3 && !(request->has_num_heads && request->has_num_kv_heads))
        return error_set_at(d->err, ERROR_INVALID, "/parameters",
                            "q_num_heads and kv_num_heads are needed where Q, K and V have rank 3");
    request->offset_from_lengths = lengths->given;
    if (request->causal == CAUSAL_TRUE && !past && !lengths->given)
        request->causal = CAUSAL_TOP_LEFT;
    for (enum kserve_input i = KSERVE_Q; i <= KSERVE_V; i++)
        if (tensors[input_tensors[i]].element_type == ELEMENT_F64)
            request->dtype = DTYPE_F64;
    return true;
}

static bool decode_document(struct kserve_reader *d, const json_t *document, struct arena *arena)
{
    static const char *const names[] = {"id", "parameters", "inputs", "outputs", NULL};
    if (!json_is_object(document))
        return document_refuse(d->extract, document, "", "an object with inputs", d->err);
    if (json_object_get(document, "inputs") == NULL &&
        (json_object_get(document, "query") != NULL || json_object_get(document, "x") != NULL))
        return error_set(
            d->err, ERROR_INVALID,
            "the body looks like one for POST /attention: send it there; here tensors are \"inputs\": [{\"name\": \"Q\", "
            "\"datatype\": \"FP32\", \"shape\": [..], \"data\": [..]}, ..]");
    return document_known(document, "", names, d->err) && decode_id(d, json_object_get(document, "id"), arena) &&
           kserve_read_parameters(d, json_object_get(document, "parameters")) &&
           decode_inputs(d, json_object_get(document, "inputs")) && decode_outputs(d, json_object_get(document, "outputs")) &&
           resolve(d);
}

/* Where the JSON ends and the binary tensors begin. */
static bool split_body(const struct api_request *sent, size_t *ret_json_bytes, struct error *err)
{
    *ret_json_bytes = sent->body_bytes;
    if (sent->json_length == NULL)
        return true;
    size_t bytes = 0, digits = strspn(sent->json_length, "0123456789");
    for (size_t i = 0; i < digits; i++)
        bytes = size_add(size_multiply(bytes, 10), (size_t)(sent->json_length[i] - '0'));
    if (digits == 0 || sent->json_length[digits] != '\0' || bytes > sent->body_bytes)
        return error_set(err, ERROR_MALFORMED, "Inference-Header-Content-Length is %.40s, where the body has %zu byte%s",
                         sent->json_length, sent->body_bytes, error_s(sent->body_bytes));
    *ret_json_bytes = bytes;
    return true;
}

bool kserve_read(const struct api_request *sent, struct arena *arena, struct extract *extract, struct request *ret,
                 struct error *err)
{
    size_t json_bytes;
    json_t *document = NULL;
    struct kserve_reply *reply = arena_alloc(arena, sizeof *reply, err);
    if (reply == NULL || !split_body(sent, &json_bytes, err))
        return false;
    *reply = (struct kserve_reply){0};
    request_init(ret);
    ret->reply = reply;
    ret->cache_heads_first = true;
    ret->mask_ends_early = true;
    struct kserve_reader d = {
        .extract = extract,
        .request = ret,
        .reply = reply,
        .binary = sent->body + json_bytes,
        .binary_bytes = sent->body_bytes - json_bytes,
        .err = err,
    };
    bool done =
        document_read(sent->body, json_bytes, NULL, arena, extract, &document, err) && decode_document(&d, document, arena);
    document_done(document);
    return done;
}
