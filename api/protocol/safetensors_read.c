#include "api/protocol/safetensors.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/json/document.h"
#include "api/json/suggest.h"

#define EXPECTED_PREFIX "expected."

/* A tensor of the request by its name in the file. */
struct named_input {
    const char *name;
    size_t offset; /* of the tensor input in struct request */
    enum tensor_input_content content;
};

static const struct named_input named_inputs[] = {
    {"x", offsetof(struct request, tensors[REQUEST_X]), TENSOR_INPUT_NUMBERS},
    {"context", offsetof(struct request, tensors[REQUEST_CONTEXT]), TENSOR_INPUT_NUMBERS},
    {"value_context", offsetof(struct request, tensors[REQUEST_VALUE_CONTEXT]), TENSOR_INPUT_NUMBERS},
    {"key", offsetof(struct request, tensors[REQUEST_KEY]), TENSOR_INPUT_NUMBERS},
    {"query", offsetof(struct request, tensors[REQUEST_QUERY]), TENSOR_INPUT_NUMBERS},
    {"value", offsetof(struct request, tensors[REQUEST_VALUE]), TENSOR_INPUT_NUMBERS},
    {"past_key", offsetof(struct request, tensors[REQUEST_PAST_KEY]), TENSOR_INPUT_NUMBERS},
    {"past_value", offsetof(struct request, tensors[REQUEST_PAST_VALUE]), TENSOR_INPUT_NUMBERS},
    {"mask", offsetof(struct request, tensors[REQUEST_MASK]), TENSOR_INPUT_NUMBERS_OR_BOOLS},
    {"bias", offsetof(struct request, tensors[REQUEST_BIAS]), TENSOR_INPUT_NUMBERS},
    {"relative_bias.table", offsetof(struct request, relative_bias.table), TENSOR_INPUT_NUMBERS},
    {"query_scale", offsetof(struct request, query_scale), TENSOR_INPUT_NUMBERS},
    {"query_offset", offsetof(struct request, integers[INTEGERS_QUERY_OFFSET].list), TENSOR_INPUT_INTEGERS},
    {"query_lengths", offsetof(struct request, integers[INTEGERS_QUERY_LENGTHS].list), TENSOR_INPUT_INTEGERS},
    {"key_lengths", offsetof(struct request, integers[INTEGERS_KEY_LENGTHS].list), TENSOR_INPUT_INTEGERS},
    {"query_positions", offsetof(struct request, integers[INTEGERS_QUERY_POSITIONS].list), TENSOR_INPUT_INTEGERS},
    {"key_positions", offsetof(struct request, integers[INTEGERS_KEY_POSITIONS].list), TENSOR_INPUT_INTEGERS},
    {"prefix_length", offsetof(struct request, integers[INTEGERS_PREFIX_LENGTH].list), TENSOR_INPUT_INTEGERS},
    {"segment_ids", offsetof(struct request, integers[INTEGERS_QUERY_SEGMENTS].list), TENSOR_INPUT_INTEGERS},
    {"segment_ids.query", offsetof(struct request, integers[INTEGERS_QUERY_SEGMENTS].list), TENSOR_INPUT_INTEGERS},
    {"segment_ids.key", offsetof(struct request, integers[INTEGERS_KEY_SEGMENTS].list), TENSOR_INPUT_INTEGERS},
    {"span_ids", offsetof(struct request, integers[INTEGERS_QUERY_SPANS].list), TENSOR_INPUT_INTEGERS},
    {"span_ids.query", offsetof(struct request, integers[INTEGERS_QUERY_SPANS].list), TENSOR_INPUT_INTEGERS},
    {"span_ids.key", offsetof(struct request, integers[INTEGERS_KEY_SPANS].list), TENSOR_INPUT_INTEGERS},
    {"cu_seqlens", offsetof(struct request, integers[INTEGERS_QUERY_BOUNDARIES].list), TENSOR_INPUT_INTEGERS},
    {"cu_seqlens.query", offsetof(struct request, integers[INTEGERS_QUERY_BOUNDARIES].list), TENSOR_INPUT_INTEGERS},
    {"cu_seqlens.key", offsetof(struct request, integers[INTEGERS_KEY_BOUNDARIES].list), TENSOR_INPUT_INTEGERS},
    {"alibi", offsetof(struct request, alibi_slopes), TENSOR_INPUT_NUMBERS},
    {"sinks", offsetof(struct request, sinks), TENSOR_INPUT_NUMBERS},
    {"rope.inverse_frequencies", offsetof(struct request, rope.tensors[ROPE_FREQUENCIES]), TENSOR_INPUT_NUMBERS},
    {"rope.cos", offsetof(struct request, rope.tensors[ROPE_COS]), TENSOR_INPUT_NUMBERS},
    {"rope.sin", offsetof(struct request, rope.tensors[ROPE_SIN]), TENSOR_INPUT_NUMBERS},
    {"rope.query_positions", offsetof(struct request, rope.tensors[ROPE_QUERY_POSITIONS]), TENSOR_INPUT_INTEGERS},
    {"rope.key_positions", offsetof(struct request, rope.tensors[ROPE_KEY_POSITIONS]), TENSOR_INPUT_INTEGERS},
    {"rope.scaling.short_factor", offsetof(struct request, rope.tensors[ROPE_SHORT_FACTOR]), TENSOR_INPUT_NUMBERS},
    {"rope.scaling.long_factor", offsetof(struct request, rope.tensors[ROPE_LONG_FACTOR]), TENSOR_INPUT_NUMBERS},
    {"qk_norm.query", offsetof(struct request, qk_norm.query_weights), TENSOR_INPUT_NUMBERS},
    {"qk_norm.key", offsetof(struct request, qk_norm.key_weights), TENSOR_INPUT_NUMBERS},
    {"projection.key", offsetof(struct request, weights[PROJECTION_KEY]), TENSOR_INPUT_NUMBERS},
    {"projection.query", offsetof(struct request, weights[PROJECTION_QUERY]), TENSOR_INPUT_NUMBERS},
    {"projection.value", offsetof(struct request, weights[PROJECTION_VALUE]), TENSOR_INPUT_NUMBERS},
    {"projection.output", offsetof(struct request, weights[PROJECTION_OUTPUT]), TENSOR_INPUT_NUMBERS},
    {"projection.key.weight", offsetof(struct request, weights[PROJECTION_KEY]), TENSOR_INPUT_NUMBERS},
    {"projection.query.weight", offsetof(struct request, weights[PROJECTION_QUERY]), TENSOR_INPUT_NUMBERS},
    {"projection.value.weight", offsetof(struct request, weights[PROJECTION_VALUE]), TENSOR_INPUT_NUMBERS},
    {"projection.output.weight", offsetof(struct request, weights[PROJECTION_OUTPUT]), TENSOR_INPUT_NUMBERS},
    {"projection.key.bias", offsetof(struct request, biases[PROJECTION_KEY]), TENSOR_INPUT_NUMBERS},
    {"projection.query.bias", offsetof(struct request, biases[PROJECTION_QUERY]), TENSOR_INPUT_NUMBERS},
    {"projection.value.bias", offsetof(struct request, biases[PROJECTION_VALUE]), TENSOR_INPUT_NUMBERS},
    {"projection.output.bias", offsetof(struct request, biases[PROJECTION_OUTPUT]), TENSOR_INPUT_NUMBERS},
};
#define NAMED_INPUTS (sizeof named_inputs / sizeof named_inputs[0])

/* NULL where there is none of that name. */
static const struct named_input *find_input(const char *name)
{
    for (size_t i = 0; i < NAMED_INPUTS; i++)
        if (strcmp(named_inputs[i].name, name) == 0)
            return &named_inputs[i];
    return NULL;
}

static bool refuse_name(const char *name, const char *pointer, struct error *err)
{
    const char *fields[ATTENTION_FIELDS_MAX + 1];
    attention_field_names(fields);
    for (size_t i = 0; fields[i] != NULL; i++)
        if (strcmp(name, fields[i]) == 0)
            return error_set_at(err, ERROR_INVALID, pointer,
                                "%s is no tensor here: it is a member of the JSON in the metadata's request, as "
                                "metadata={\"request\": json.dumps({\"%s\": ..})} in Python",
                                name, name);
    const char *names[NAMED_INPUTS + 1];
    for (size_t i = 0; i < NAMED_INPUTS; i++)
        names[i] = named_inputs[i].name;
    names[NAMED_INPUTS] = NULL;
    return suggest_refuse(name, pointer, names, err);
}

/* What a file is decoded to. */
struct decoded {
    struct request *request;
    struct safetensors_comparison *comparison; /* NULL: the file holds a request alone */
};

/* A tensor of integers, which must not be in the metadata, too. Without axes it is one integer. */
static bool resolve_integers(struct request *request, enum request_integers which, struct error *err)
{
    struct integers_input *input = &request->integers[which];
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
    if (input->list.kind != TENSOR_INPUT_BYTES)
        return true;
    (void)snprintf(pointer, sizeof pointer, "/%s", request_integers_fields[which].name);
    if (input->given)
        return error_set_at(err, ERROR_INVALID, pointer, "%s is given twice", request_integers_fields[which].name);
    input->given = true;
    input->is_list = input->list.rank > 0;
    if (!input->is_list)
        input->value = (int64_t)element_number(input->list.element_type, input->list.bytes, 0);
    return true;
}

/* A tensor of both, or one of queries and one of keys: their names tell, which their pointers hold. */
static bool resolve_pair(struct request *request, enum request_integers query, struct error *err)
{
    struct integers_input *of_query = &request->integers[query], *of_key = of_query + 1;
    const char *name = request_integers_fields[query].name;
    bool both = of_query->list.kind == TENSOR_INPUT_BYTES && strcmp(of_query->list.pointer + 1, name) == 0;
    if (both && of_key->given)
        return error_set_at(err, ERROR_INVALID, of_query->list.pointer, "%s is given twice", name);
    if (both)
        *of_key = (struct integers_input){.given = true, .is_list = true, .shared = true};
    return of_query->given == of_key->given ||
           error_set_at(err, ERROR_INVALID, (of_query->given ? of_query : of_key)->list.pointer,
                        "%s.query and %s.key go together", name, name);
}

/* What a tensor implies for the fields in the metadata. */
static bool resolve(struct request *request, struct error *err)
{
    bool weights = false;
    for (size_t i = 0; i < PROJECTIONS; i++)
        weights |= request->weights[i].kind == TENSOR_INPUT_BYTES || request->biases[i].kind == TENSOR_INPUT_BYTES;
    if (weights && request->identity)
        return error_set_at(err, ERROR_INVALID, "/projection", "\"identity\", and tensors for projections are given, too");
    request->has_projection |= weights;
    for (size_t i = 0; i < REQUEST_INTEGERS; i++)
        if (!resolve_integers(request, (enum request_integers)i, err))
            return false;
    for (enum request_integers query = INTEGERS_QUERY_SEGMENTS; query < REQUEST_INTEGERS; query += 2)
        if (!resolve_pair(request, query, err))
            return false;
    request->alibi |= request->alibi_slopes.kind == TENSOR_INPUT_BYTES;
    request->relative_bias.given |= request->relative_bias.table.kind == TENSOR_INPUT_BYTES;
    request->qk_norm.query |= request->qk_norm.query_weights.kind == TENSOR_INPUT_BYTES;
    request->qk_norm.key |= request->qk_norm.key_weights.kind == TENSOR_INPUT_BYTES;
    return true;
}

/* What other code computed: "expected.output" and so on. */
static bool find_expected(struct safetensors_comparison *comparison, const char *name, const char *pointer,
                          struct safetensors_slot *ret, struct error *err)
{
    const char *names[RESULTS + 1] = {NULL};
    const char *result = name + sizeof EXPECTED_PREFIX - 1;
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++) {
        names[i - RESULT_OUTPUT] = request_result_names[i];
        if (strcmp(result, request_result_names[i]) != 0)
            continue;
        ret->name = name;
        ret->input = &comparison->expected[i];
        return true;
    }
    return suggest_refuse(result, pointer, names, err);
}

/* A safetensors_find. */
static bool find_tensor(void *context, const char *name, const char *pointer, struct safetensors_slot *ret, struct error *err)
{
    const struct decoded *decoded = context;
    if (decoded->comparison != NULL && strncmp(name, EXPECTED_PREFIX, sizeof EXPECTED_PREFIX - 1) == 0)
        return find_expected(decoded->comparison, name, pointer, ret, err);
    const struct named_input *named = find_input(name);
    if (named == NULL)
        return refuse_name(name, pointer, err);
    *ret = (struct safetensors_slot){
        .name = named->name,
        .content = named->content,
        .input = (struct tensor_input *)(void *)((char *)decoded->request + named->offset),
    };
    return true;
}

/* The fields in the metadata, then the tensors. */
static bool decode(struct safetensors_file *file, struct arena *arena, struct extract *extract, struct decoded *ret,
                   struct attention_reply *ret_reply, struct error *err)
{
    const char *text;
    size_t text_bytes;
    json_t *fields = NULL;
    struct safetensors_comparison *comparison = ret->comparison;
    const json_t *metadata = safetensors_file_metadata(file);
    if (comparison != NULL)
        comparison->is_compared = json_object_get(metadata, "comparison") != NULL;
    if (comparison != NULL && metadata != NULL &&
        !safetensors_file_text(file, "compare", arena, &comparison->options, &comparison->options_bytes, err))
        return false;
    bool done = safetensors_file_text(file, "request", arena, &text, &text_bytes, err) &&
                document_read(text, text_bytes, "__metadata__.request", arena, extract, &fields, err) &&
                attention_read_fields(extract, fields, ret->request, ret_reply, err) &&
                safetensors_file_tensors(file, find_tensor, ret, err) && resolve(ret->request, err);
    document_done(fields);
    return done;
}

bool safetensors_read(const struct api_request *sent, struct arena *arena, struct extract *extract, struct request *ret,
                      struct attention_reply *ret_reply, struct error *err)
{
    return safetensors_read_comparison(sent, arena, extract, ret, ret_reply, NULL, err);
}

bool safetensors_read_comparison(const struct api_request *sent, struct arena *arena, struct extract *extract,
                                 struct request *ret, struct attention_reply *ret_reply,
                                 struct safetensors_comparison *ret_comparison, struct error *err)
{
    struct safetensors_file file;
    struct decoded decoded = {.request = ret, .comparison = ret_comparison};
    bool done = safetensors_file_open(sent, arena, &file, err) && decode(&file, arena, extract, &decoded, ret_reply, err);
    safetensors_file_done(&file, err);
    return done;
}
