#include "api/infer.h"

#include <stdio.h>
#include <string.h>

#include "api/envelope.h"
#include "api/face.h"
#include "api/infer_reply.h"

const char *const infer_output_names[INFER_OUTPUTS + 1] = {"Y", "present_key", "present_value", "qk_matmul_output", NULL};

static const char *const datatypes[WIRES + 1] = {
    [WIRE_F64] = "FP64", [WIRE_F32] = "FP32",   [WIRE_F16] = "FP16", [WIRE_BF16] = "BF16",
    [WIRE_BOOL] = "BOOL", [WIRE_I64] = "INT64", [WIRES] = NULL,
};

const char *infer_datatype(enum wire wire)
{
    return datatypes[wire];
}

/* Input names, and where each goes. The last one holds lengths, not a tensor. */
static const char *const input_names[] = {"Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen", NULL};
static const enum request_tensor input_tensors[] = {REQUEST_QUERY, REQUEST_KEY,      REQUEST_VALUE,
                                                    REQUEST_MASK,  REQUEST_PAST_KEY, REQUEST_PAST_VALUE};
#define INPUT_LENGTHS 6

/* One request on its way in. */
struct infer_decoder {
    const struct lift *lift;
    struct request *request;
    struct infer *infer;
    int64_t qk_mode;
    struct error *err;
};

static bool check_datatype(const struct infer_decoder *d, size_t input, const struct source *source, const char *pointer)
{
    bool real = source->wire == WIRE_F64 || source->wire == WIRE_F32 || source->wire == WIRE_F16 || source->wire == WIRE_BF16;
    bool fits = input == INPUT_LENGTHS ? source->wire == WIRE_I64
                                       : real || (input_tensors[input] == REQUEST_MASK && source->wire == WIRE_BOOL);
    if (!fits)
        return error_set_at(d->err, ERROR_INVALID, pointer, "%s of datatype %s, where %s is expected", input_names[input],
                            infer_datatype(source->wire),
                            input == INPUT_LENGTHS ? "INT64"
                            : input_tensors[input] == REQUEST_MASK ? "BOOL, or FP32, FP64, FP16 or BF16 to be added"
                                                                   : "FP32, FP64, FP16 or BF16");
    bool bools = source_is_bool(source), empty = source->array->kind == LIFT_EMPTY;
    if (!empty && bools != (source->wire == WIRE_BOOL))
        return error_set_at(d->err, ERROR_INVALID, pointer, "%s data, where datatype %s is announced", bools ? "boolean" : "numeric",
                            infer_datatype(source->wire));
    return true;
}

/* {"name", "shape", "datatype", "data"} */
static bool decode_input(const struct infer_decoder *d, const json_t *value, const char *pointer)
{
    static const char *const names[] = {"name", "shape", "datatype", "data", "parameters", NULL};
    char place[SOURCE_POINTER_BYTES_MAX + sizeof "/datatype"];
    if (!json_is_object(value))
        return envelope_refuse(d->lift, value, pointer, "an object with name, shape, datatype and data", d->err);
    if (!envelope_known(value, pointer, names, d->err))
        return false;
    static const char *const needed[] = {"name", "shape", "datatype", "data", NULL};
    for (size_t i = 0; needed[i] != NULL; i++)
        if (json_object_get(value, needed[i]) == NULL)
            return error_set_at(d->err, ERROR_INVALID, pointer, "an input without %s", needed[i]);
    size_t input = 0, wire = 0;
    (void)snprintf(place, sizeof place, "%s/name", pointer);
    if (!envelope_choice(d->lift, json_object_get(value, "name"), place, input_names, &input, d->err))
        return false;
    (void)snprintf(place, sizeof place, "%s/datatype", pointer);
    if (!envelope_choice(d->lift, json_object_get(value, "datatype"), place, datatypes, &wire, d->err))
        return false;
    struct source *source =
        input == INPUT_LENGTHS ? &d->request->key_lengths_list : &d->request->tensors[input_tensors[input]];
    if (source->kind != SOURCE_ABSENT)
        return error_set_at(d->err, ERROR_INVALID, pointer, "%s is given twice", input_names[input]);
    if (!source_decode_parts(d->lift, json_object_get(value, "shape"), json_object_get(value, "data"), pointer, source, d->err))
        return false;
    source->wire = (enum wire)wire;
    return check_datatype(d, input, source, place);
}

static bool decode_inputs(const struct infer_decoder *d, const json_t *inputs)
{
    if (inputs == NULL)
        return error_set_at(d->err, ERROR_INVALID, "/inputs", "inputs is missing");
    if (!json_is_array(inputs) || source_lifted(d->lift, inputs) != NULL)
        return envelope_refuse(d->lift, inputs, "/inputs", "an array of input tensors", d->err);
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        char pointer[SOURCE_POINTER_BYTES_MAX];
        (void)snprintf(pointer, sizeof pointer, "/inputs/%zu", i);
        if (!decode_input(d, json_array_get(inputs, i), pointer))
            return false;
    }
    for (size_t i = 0; i < 3; i++)
        if (d->request->tensors[input_tensors[i]].kind == SOURCE_ABSENT)
            return error_set_at(d->err, ERROR_INVALID, "/inputs", "input %s is missing", input_names[i]);
    return true;
}

static bool parameter_integer(const struct infer_decoder *d, const json_t *parameters, const char *name, int64_t min, int64_t max,
                              bool *ret_given, int64_t *ret)
{
    char pointer[SOURCE_POINTER_BYTES_MAX];
    const json_t *value = json_object_get(parameters, name);
    *ret_given = value != NULL && !json_is_null(value);
    (void)snprintf(pointer, sizeof pointer, "/parameters/%s", name);
    if (*ret_given && json_is_boolean(value) && min == 0 && max == 1) {
        *ret = json_is_true(value);
        return true;
    }
    return !*ret_given || envelope_integer(d->lift, value, pointer, min, max, ret, d->err);
}

static bool parameter_number(const struct infer_decoder *d, const json_t *parameters, const char *name, bool *ret_given,
                             double *ret)
{
    char pointer[SOURCE_POINTER_BYTES_MAX];
    const json_t *value = json_object_get(parameters, name);
    *ret_given = value != NULL && !json_is_null(value);
    (void)snprintf(pointer, sizeof pointer, "/parameters/%s", name);
    return !*ret_given || envelope_number(d->lift, value, pointer, ret, d->err);
}

/* softmax_precision names a type by ONNX's numbers: FLOAT 1, FLOAT16 10, DOUBLE 11, BFLOAT16 16. float32 is never less than
 * what the narrow ones ask for. */
static bool decode_softmax_precision(const struct infer_decoder *d, bool given, int64_t code)
{
    if (given && code != 1 && code != 10 && code != 11 && code != 16)
        return error_set_at(d->err, ERROR_INVALID, "/parameters/softmax_precision",
                            "%d, where 1 (FLOAT), 10 (FLOAT16), 11 (DOUBLE) or 16 (BFLOAT16) is expected", (int)code);
    if (given && code == 11)
        d->request->dtype = DTYPE_F64;
    return true;
}

static bool decode_parameters(struct infer_decoder *d, const json_t *parameters)
{
    static const char *const names[] = {"is_causal",    "scale",
                                        "softcap",      "q_num_heads",
                                        "kv_num_heads", "qk_matmul_output_mode",
                                        "softmax_precision", "left_window_size",
                                        "right_window_size", NULL};
    struct request *request = d->request;
    if (json_is_null(parameters))
        parameters = NULL;
    if (parameters != NULL && !json_is_object(parameters))
        return envelope_refuse(d->lift, parameters, "/parameters", "an object", d->err);
    if (parameters != NULL && !envelope_known(parameters, "/parameters", names, d->err))
        return false;
    int64_t causal = 0, precision = 0;
    bool given, has_precision;
    if (!parameter_integer(d, parameters, "is_causal", 0, 1, &given, &causal) ||
        !parameter_number(d, parameters, "scale", &request->has_scale, &request->scale) ||
        !parameter_number(d, parameters, "softcap", &given, &request->softcap) ||
        !parameter_integer(d, parameters, "q_num_heads", 1, REQUEST_HEADS_MAX, &request->has_num_heads, &request->num_heads) ||
        !parameter_integer(d, parameters, "kv_num_heads", 1, REQUEST_HEADS_MAX, &request->has_num_kv_heads,
                           &request->num_kv_heads) ||
        !parameter_integer(d, parameters, "qk_matmul_output_mode", 0, 3, &given, &d->qk_mode) ||
        !parameter_integer(d, parameters, "softmax_precision", 0, 32, &has_precision, &precision) ||
        !parameter_integer(d, parameters, "left_window_size", -1, REQUEST_POSITION_MAX, &given, &request->window_left) ||
        !parameter_integer(d, parameters, "right_window_size", -1, REQUEST_POSITION_MAX, &given, &request->window_right))
        return false;
    if (request->softcap < 0)
        return error_set_at(d->err, ERROR_INVALID, "/parameters/softcap", "%g, where 0 (none) or more is expected", request->softcap);
    request->causal = causal != 0 ? CAUSAL_TRUE : CAUSAL_FALSE;
    return decode_softmax_precision(d, has_precision, precision);
}

static bool output_add(const struct infer_decoder *d, enum infer_output output, const char *pointer)
{
    static const enum request_result modes[] = {RESULT_SCORES, RESULT_CAPPED_SCORES, RESULT_MASKED_SCORES, RESULT_WEIGHTS};
    static const enum request_result results[] = {RESULT_OUTPUT, RESULT_PRESENT_KEY, RESULT_PRESENT_VALUE};
    static const enum request_tensor typed_as[] = {REQUEST_QUERY, REQUEST_KEY, REQUEST_VALUE, REQUEST_QUERY};
    struct infer *infer = d->infer;
    for (size_t i = 0; i < infer->output_count; i++)
        if (infer->outputs[i] == output)
            return error_set_at(d->err, ERROR_INVALID, pointer, "%s is asked for twice", infer_output_names[output]);
    size_t at = infer->output_count++;
    infer->outputs[at] = output;
    infer->results[at] = output == INFER_QK_MATMUL_OUTPUT ? modes[d->qk_mode] : results[output];
    infer->wires[at] = d->request->tensors[typed_as[output]].wire;
    d->request->results[infer->results[at]] = true;
    return true;
}

/* [{"name"}], or all that the operator has without being asked: Y, and the caches where a past is given. */
static bool decode_outputs(const struct infer_decoder *d, const json_t *outputs)
{
    static const char *const names[] = {"name", "parameters", NULL};
    const struct lift_array *lifted = source_lifted(d->lift, outputs);
    bool none = outputs == NULL || json_is_null(outputs) || (lifted != NULL && lifted->kind == LIFT_EMPTY);
    if (!none && (!json_is_array(outputs) || lifted != NULL))
        return envelope_refuse(d->lift, outputs, "/outputs", "an array of objects with a name", d->err);
    if (none) {
        bool past = d->request->tensors[REQUEST_PAST_KEY].kind != SOURCE_ABSENT;
        return output_add(d, INFER_Y, "") &&
               (!past || (output_add(d, INFER_PRESENT_KEY, "") && output_add(d, INFER_PRESENT_VALUE, "")));
    }
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        char pointer[SOURCE_POINTER_BYTES_MAX];
        size_t output = 0;
        const json_t *value = json_array_get(outputs, i);
        (void)snprintf(pointer, sizeof pointer, "/outputs/%zu", i);
        if (!json_is_object(value) || json_object_get(value, "name") == NULL)
            return envelope_refuse(d->lift, value, pointer, "an object with a name", d->err);
        if (!envelope_known(value, pointer, names, d->err) ||
            !envelope_choice(d->lift, json_object_get(value, "name"), pointer, infer_output_names, &output, d->err) ||
            !output_add(d, (enum infer_output)output, pointer))
            return false;
    }
    return true;
}

static bool decode_id(const struct infer_decoder *d, const json_t *id, struct arena *arena)
{
    if (id == NULL || json_is_null(id))
        return true;
    if (!json_is_string(id))
        return envelope_refuse(d->lift, id, "/id", "a string", d->err);
    size_t bytes = json_string_length(id) + 1;
    char *copy = arena_alloc(arena, bytes, d->err);
    if (copy == NULL)
        return false;
    memcpy(copy, json_string_value(id), bytes);
    d->infer->id = copy;
    return true;
}

/* What the operator's inputs imply together. */
static bool settle(const struct infer_decoder *d)
{
    struct request *request = d->request;
    const struct source *tensors = request->tensors;
    bool past = tensors[REQUEST_PAST_KEY].kind != SOURCE_ABSENT;
    request->has_key_lengths = request->key_lengths_is_list = request->key_lengths_list.kind != SOURCE_ABSENT;
    if (past && request->has_key_lengths)
        return error_set_at(d->err, ERROR_INVALID, request->key_lengths_list.pointer,
                            "nonpad_kv_seqlen goes with a cache that K and V hold already, not with past_key");
    if (tensors[REQUEST_QUERY].rank != 3 && tensors[REQUEST_QUERY].rank != 4)
        return error_set_at(d->err, ERROR_INVALID, tensors[REQUEST_QUERY].pointer,
                            "Q of rank %zu, where [B, H, T, D], or [B, T, H*D] with q_num_heads and kv_num_heads, is expected",
                            tensors[REQUEST_QUERY].rank);
    if (tensors[REQUEST_QUERY].rank == 3 && !(request->has_num_heads && request->has_num_kv_heads))
        return error_set_at(d->err, ERROR_INVALID, "/parameters", "q_num_heads and kv_num_heads are needed where Q, K and V have rank 3");
    request->offset_from_lengths = request->has_key_lengths;
    if (request->causal == CAUSAL_TRUE && !past && !request->has_key_lengths)
        request->causal = CAUSAL_TOP_LEFT;
    for (size_t i = 0; i < 3; i++)
        if (tensors[input_tensors[i]].wire == WIRE_F64)
            request->dtype = DTYPE_F64;
    return true;
}

static bool infer_decode(const struct lift *lift, const json_t *envelope, struct arena *arena, struct request *ret,
                         struct error *err)
{
    static const char *const names[] = {"id", "parameters", "inputs", "outputs", NULL};
    struct infer *infer = arena_alloc(arena, sizeof *infer, err);
    if (infer == NULL)
        return false;
    *infer = (struct infer){0};
    request_init(ret);
    ret->infer = infer;
    ret->cache_heads_first = true;
    ret->mask_ends_early = true;
    struct infer_decoder d = {.lift = lift, .request = ret, .infer = infer, .err = err};
    if (!json_is_object(envelope))
        return envelope_refuse(lift, envelope, "", "an object with inputs", err);
    return envelope_known(envelope, "", names, err) && decode_id(&d, json_object_get(envelope, "id"), arena) &&
           decode_parameters(&d, json_object_get(envelope, "parameters")) &&
           decode_inputs(&d, json_object_get(envelope, "inputs")) && decode_outputs(&d, json_object_get(envelope, "outputs")) &&
           settle(&d);
}

const struct face face_infer = {infer_decode, infer_reply_bytes_max, infer_write_reply};
