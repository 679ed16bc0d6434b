#include "api/protocol/kserve_reader.h"

#include <stdio.h>
#include <string.h>

#include "api/json/document.h"
#include "api/json/suggest.h"

/* What clients send to schedulers, sequences and codecs of other servers: none of it changes what is computed. */
static bool is_ignored(const char *name)
{
    static const char *const names[] = {
        "priority",
        "timeout",
        "sequence_id",
        "sequence_start",
        "sequence_end", /* tritonclient */
        "triton_enable_empty_final_response",
        "content_type",
        "headers",
        "tags", /* Triton; MLServer */
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool kserve_known_parameters(const json_t *parameters, const char *pointer, const char *const *names, struct error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)parameters, name, value)
    {
        size_t i = 0;
        while (names[i] != NULL && strcmp(names[i], name) != 0)
            i++;
        char place[ERROR_POINTER_BYTES_MAX];
        pointer_append(pointer, name, place, sizeof place);
        if (names[i] == NULL && !is_ignored(name))
            return suggest_refuse(name, place, names, err);
    }
    return true;
}

static bool parameter_integer(const struct kserve_reader *d, const json_t *parameters, const char *name, int64_t min,
                              int64_t max, bool *ret_given, int64_t *ret)
{
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
    const json_t *value = json_object_get(parameters, name);
    *ret_given = value != NULL && !json_is_null(value);
    (void)snprintf(pointer, sizeof pointer, "/parameters/%s", name);
    if (*ret_given && json_is_boolean(value) && min == 0 && max == 1) {
        *ret = json_is_true(value);
        return true;
    }
    return !*ret_given || document_integer(d->extract, value, pointer, min, max, ret, d->err);
}

static bool parameter_number(const struct kserve_reader *d, const json_t *parameters, const char *name, bool *ret_given,
                             double *ret)
{
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
    const json_t *value = json_object_get(parameters, name);
    *ret_given = value != NULL && !json_is_null(value);
    (void)snprintf(pointer, sizeof pointer, "/parameters/%s", name);
    return !*ret_given || document_number(d->extract, value, pointer, ret, d->err);
}

/* softmax_precision names a type by ONNX's numbers: FLOAT 1, FLOAT16 10, DOUBLE 11, BFLOAT16 16. float32 is never less than
 * what the narrow ones ask for. */
static bool decode_softmax_precision(const struct kserve_reader *d, bool given, int64_t code)
{
    if (given && code != 1 && code != 10 && code != 11 && code != 16)
        return error_set_at(d->err, ERROR_INVALID, "/parameters/softmax_precision",
                            "%d, where 1 (FLOAT), 10 (FLOAT16), 11 (DOUBLE) or 16 (BFLOAT16) is expected", (int)code);
    if (given && code == 11)
        d->request->dtype = DTYPE_F64;
    return true;
}

bool kserve_read_parameters(struct kserve_reader *d, const json_t *parameters)
{
    static const char *const names[] = {"is_causal",
                                        "scale",
                                        "softcap",
                                        "q_num_heads",
                                        "kv_num_heads",
                                        "qk_matmul_output_mode",
                                        "softmax_precision",
                                        "left_window_size",
                                        "right_window_size",
                                        "binary_data_output",
                                        NULL};
    struct request *request = d->request;
    if (json_is_null(parameters))
        parameters = NULL;
    if (parameters != NULL && !json_is_object(parameters))
        return document_refuse(d->extract, parameters, "/parameters", "an object", d->err);
    if (parameters != NULL && !kserve_known_parameters(parameters, "/parameters", names, d->err))
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
        return error_set_at(d->err, ERROR_INVALID, "/parameters/softcap", "%g, where 0 (none) or more is expected",
                            request->softcap);
    request->causal = causal != 0 ? CAUSAL_TRUE : CAUSAL_FALSE;
    const json_t *binary = json_object_get(parameters, "binary_data_output");
    if (binary != NULL && !document_bool(d->extract, binary, "/parameters/binary_data_output", &d->binary_outputs, d->err))
        return false;
    return decode_softmax_precision(d, has_precision, precision);
}
