#include "api/protocol/safetensors.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/json/array_check.h"
#include "api/json/document.h"
#include "api/json/suggest.h"
#include "api/protocol/first_bytes.h"
#include "api/protocol/safetensors_metadata.h"
#include "core/size.h"

#define PREFIX_BYTES 8 /* the length of the header */
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

/* A file being decoded. */
struct file {
    const struct extract *extract; /* of the header */
    const char *data;              /* the tensors' bytes */
    size_t data_bytes;
    struct request *request;
    struct attention_reply *reply;
    struct safetensors_comparison *comparison; /* NULL: the file holds a request alone */
    struct error *err;
    size_t span_count;
    struct {
        size_t begin, end;
    } spans[NAMED_INPUTS + RESULTS]; /* what the tensors take, sorted by begin */
};

/* One of the types that the tensor may have. */
static bool decode_dtype(const struct file *file, const struct named_input *named, const json_t *value, const char *pointer,
                         enum element_type *ret)
{
    static const char *const expected[] = {
        [TENSOR_INPUT_NUMBERS] = "F64, F32, F16 or BF16",
        [TENSOR_INPUT_NUMBERS_OR_BOOLS] = "BOOL, F64, F32, F16 or BF16",
        [TENSOR_INPUT_INTEGERS] = "I64 or I32",
    };
    const char *name = json_string_value(value);
    if (name == NULL)
        return document_refuse(file->extract, value, pointer, expected[named->content], file->err);
    for (*ret = 0; *ret < ELEMENT_TYPES; (*ret)++)
        if (strcmp(name, element_names[ELEMENT_NAMES_SAFETENSORS][*ret]) == 0 && tensor_input_may_be(named->content, *ret))
            return true;
    return error_set_at(file->err, ERROR_INVALID, pointer,
                        "%s of dtype %.20s, where %s is expected: convert it before it is saved", named->name, name,
                        expected[named->content]);
}

/* Keeps the spans sorted, so that a gap or overlap is between neighbours. */
static void span_add(struct file *file, size_t begin, size_t end)
{
    assert(file->span_count < NAMED_INPUTS + RESULTS); /* each name is known, and given once */
    size_t at = file->span_count++;
    while (at > 0 &&
           (file->spans[at - 1].begin > begin || (file->spans[at - 1].begin == begin && file->spans[at - 1].end > end))) {
        file->spans[at] = file->spans[at - 1];
        at--;
    }
    file->spans[at].begin = begin;
    file->spans[at].end = end;
}

static bool spans_check(const struct file *file)
{
    size_t reached = 0;
    for (size_t i = 0; i < file->span_count; i++) {
        if (file->spans[i].begin != reached)
            return error_set(file->err, ERROR_MALFORMED,
                             "the tensors' data_offsets leave a gap or overlap at byte %zu of the data",
                             size_min(file->spans[i].begin, reached));
        reached = file->spans[i].end;
    }
    if (reached != file->data_bytes)
        return error_set(file->err, ERROR_MALFORMED, "the file holds %zu bytes of data, the tensors' data_offsets end at %zu",
                         file->data_bytes, reached);
    return true;
}

/* [begin, end] in the data, which must be as many bytes as shape and dtype need. */
static bool decode_offsets(const struct file *file, const json_t *value, const char *pointer, size_t bytes, int64_t ret[2])
{
    char place[TENSOR_INPUT_POINTER_BYTES_MAX + sizeof "/data_offsets"], needed[SIZE_TEXT_BYTES_MAX];
    size_t count = 0;
    (void)snprintf(place, sizeof place, "%s/data_offsets", pointer);
    if (!tensor_input_integers(file->extract, value, place, 2, 0, INT64_C(1) << 53, ret, &count, file->err))
        return false;
    if (count == 2 && ret[0] <= ret[1] && (uint64_t)ret[1] <= file->data_bytes && (size_t)(ret[1] - ret[0]) == bytes)
        return true;
    return error_set_at(file->err, ERROR_MALFORMED, place,
                        "not [begin, end] of %s bytes, which shape and dtype need, within the %zu bytes of data%s",
                        size_text(bytes, needed), file->data_bytes,
                        count == 2 && ret[0] <= ret[1] && (size_t)(ret[1] - ret[0]) == bytes
                            ? ": the file was cut (curl: --data-binary @file, since -d leaves out line ends)"
                            : "");
}

/* {"dtype", "shape", "data_offsets"}. */
static bool decode_tensor(struct file *file, const struct named_input *named, const json_t *value, const char *pointer,
                          struct tensor_input *input)
{
    static const char *const members[] = {"dtype", "shape", "data_offsets", NULL};
    char place[TENSOR_INPUT_POINTER_BYTES_MAX + sizeof "/dtype"];
    const struct extract *extract = file->extract;
    if (!json_is_object(value))
        return document_refuse(extract, value, pointer, "an object with dtype, shape and data_offsets", file->err);
    if (!document_known(value, pointer, members, file->err))
        return false;
    for (size_t i = 0; members[i] != NULL; i++)
        if (json_object_get(value, members[i]) == NULL)
            return error_set_at(file->err, ERROR_INVALID, pointer, "a tensor without %s", members[i]);
    enum element_type dtype = ELEMENT_F64;
    size_t rank = 0, shape[TENSOR_RANK_MAX];
    int64_t axes[TENSOR_RANK_MAX], offsets[2];
    (void)snprintf(place, sizeof place, "%s/dtype", pointer);
    if (!decode_dtype(file, named, json_object_get(value, "dtype"), place, &dtype))
        return false;
    (void)snprintf(place, sizeof place, "%s/shape", pointer);
    if (!tensor_input_integers(extract, json_object_get(value, "shape"), place, TENSOR_RANK_MAX, 0, INT64_C(1) << 53, axes,
                               &rank, file->err))
        return false;
    for (size_t i = 0; i < rank; i++)
        shape[i] = (size_t)axes[i];
    size_t bytes = size_multiply(shape_count(rank, shape), element_bytes(dtype));
    if (!decode_offsets(file, json_object_get(value, "data_offsets"), pointer, bytes, offsets))
        return false;
    if (input->kind != TENSOR_INPUT_ABSENT)
        return error_set_at(file->err, ERROR_INVALID, pointer, "%s is given twice", named->name);
    span_add(file, (size_t)offsets[0], (size_t)offsets[1]);
    return tensor_input_of_bytes(pointer, dtype, rank, shape, file->data + offsets[0], input, file->err);
}

/* A tensor of integers, which must not be in the metadata, too. Without axes it is one integer. */
static bool resolve_integers(const struct file *file, enum request_integers which)
{
    struct integers_input *input = &file->request->integers[which];
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
    if (input->list.kind != TENSOR_INPUT_BYTES)
        return true;
    (void)snprintf(pointer, sizeof pointer, "/%s", request_integers_fields[which].name);
    if (input->given)
        return error_set_at(file->err, ERROR_INVALID, pointer, "%s is given twice", request_integers_fields[which].name);
    input->given = true;
    input->is_list = input->list.rank > 0;
    if (!input->is_list)
        input->value = (int64_t)element_number(input->list.element_type, input->list.bytes, 0);
    return true;
}

/* A tensor of both, or one of queries and one of keys: their names tell, which their pointers hold. */
static bool resolve_pair(const struct file *file, enum request_integers query)
{
    struct integers_input *of_query = &file->request->integers[query], *of_key = of_query + 1;
    const char *name = request_integers_fields[query].name;
    bool both = of_query->list.kind == TENSOR_INPUT_BYTES && strcmp(of_query->list.pointer + 1, name) == 0;
    if (both && of_key->given)
        return error_set_at(file->err, ERROR_INVALID, of_query->list.pointer, "%s is given twice", name);
    if (both)
        *of_key = (struct integers_input){.given = true, .is_list = true, .shared = true};
    return of_query->given == of_key->given ||
           error_set_at(file->err, ERROR_INVALID, (of_query->given ? of_query : of_key)->list.pointer,
                        "%s.query and %s.key go together", name, name);
}

/* What a tensor implies for the fields in the metadata. */
static bool resolve(struct file *file)
{
    struct request *request = file->request;
    bool weights = false;
    for (size_t i = 0; i < PROJECTIONS; i++)
        weights |= request->weights[i].kind == TENSOR_INPUT_BYTES || request->biases[i].kind == TENSOR_INPUT_BYTES;
    if (weights && request->identity)
        return error_set_at(file->err, ERROR_INVALID, "/projection",
                            "\"identity\", and tensors for projections are given, too");
    request->has_projection |= weights;
    for (size_t i = 0; i < REQUEST_INTEGERS; i++)
        if (!resolve_integers(file, (enum request_integers)i))
            return false;
    for (enum request_integers query = INTEGERS_QUERY_SEGMENTS; query < REQUEST_INTEGERS; query += 2)
        if (!resolve_pair(file, query))
            return false;
    request->alibi |= request->alibi_slopes.kind == TENSOR_INPUT_BYTES;
    request->qk_norm.query |= request->qk_norm.query_weights.kind == TENSOR_INPUT_BYTES;
    request->qk_norm.key |= request->qk_norm.key_weights.kind == TENSOR_INPUT_BYTES;
    return true;
}

/* What other code computed: "expected.output" and so on. */
static bool decode_expected(struct file *file, const char *name, const json_t *value, const char *pointer)
{
    const char *names[RESULTS + 1] = {NULL};
    const struct named_input named = {.name = name, .content = TENSOR_INPUT_NUMBERS};
    const char *result = name + sizeof EXPECTED_PREFIX - 1;
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++) {
        names[i - RESULT_OUTPUT] = request_result_names[i];
        if (strcmp(result, request_result_names[i]) == 0)
            return decode_tensor(file, &named, value, pointer, &file->comparison->expected[i]);
    }
    return suggest_refuse(result, pointer, names, file->err);
}

static bool decode_tensors(struct file *file, const json_t *header)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)header, name, value)
    {
        char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
        const struct named_input *named = find_input(name);
        if (strcmp(name, "__metadata__") == 0)
            continue;
        pointer_append("", name, pointer, sizeof pointer);
        if (file->comparison != NULL && strncmp(name, EXPECTED_PREFIX, sizeof EXPECTED_PREFIX - 1) == 0) {
            if (!decode_expected(file, name, value, pointer))
                return false;
            continue;
        }
        if (named == NULL)
            return refuse_name(name, pointer, file->err);
        struct tensor_input *input = (struct tensor_input *)(void *)((char *)file->request + named->offset);
        if (!decode_tensor(file, named, value, pointer, input))
            return false;
    }
    return spans_check(file) && resolve(file);
}

/* A copy of a text in the metadata, which outlives the header; "{}" where there is none. */
static bool metadata_text(const struct extract *extract, const json_t *header, const char *name, struct arena *arena,
                          const char **ret, size_t *ret_bytes, struct error *err)
{
    const json_t *metadata = json_object_get(header, "__metadata__");
    const json_t *text = json_object_get(metadata, name);
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
    (void)snprintf(pointer, sizeof pointer, "/__metadata__/%s", name);
    *ret = "{}";
    *ret_bytes = 2;
    if (metadata != NULL && !json_is_object(metadata))
        return document_refuse(extract, metadata, "/__metadata__", "an object of strings", err);
    if (!safetensors_metadata_check(metadata, err))
        return false;
    if (text == NULL)
        return true;
    if (!json_is_string(text))
        return document_refuse(extract, text, pointer, "a string that holds a JSON object", err);
    char *copy = arena_alloc(arena, json_string_length(text), err);
    if (copy == NULL)
        return false;
    memcpy(copy, json_string_value(text), json_string_length(text));
    *ret = copy;
    *ret_bytes = json_string_length(text);
    return true;
}

/* The fields in the metadata, then the tensors. */
static bool decode_header(struct file *file, const json_t *header, struct arena *arena, struct extract *extract)
{
    const char *text;
    size_t text_bytes;
    json_t *fields = NULL;
    if (!json_is_object(header))
        return error_set(file->err, ERROR_MALFORMED, "the header is no JSON object");
    struct safetensors_comparison *comparison = file->comparison;
    if (comparison != NULL)
        comparison->is_compared = json_object_get(json_object_get(header, "__metadata__"), "comparison") != NULL;
    if (comparison != NULL && json_is_object(json_object_get(header, "__metadata__")) &&
        !metadata_text(file->extract, header, "compare", arena, &comparison->options, &comparison->options_bytes, file->err))
        return false;
    bool done = metadata_text(file->extract, header, "request", arena, &text, &text_bytes, file->err) &&
                extract_scan(text, text_bytes, "__metadata__.request", arena, extract, file->err) &&
                document_parse(extract, arena, &fields, file->err) &&
                attention_read_fields(extract, fields, file->request, file->reply, file->err) && decode_tensors(file, header);
    document_done(fields);
    return done;
}

/* The upper half of the header's length is 0 below 4 GiB, and JSON has no NUL bytes. */
bool safetensors_resembles(const char *body, size_t body_bytes)
{
    return body_bytes > PREFIX_BYTES && memcmp(body + 4, "\0\0\0", 4) == 0 && body[PREFIX_BYTES] == '{';
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
    const unsigned char *body = (const unsigned char *)sent->body;
    uint64_t header_bytes = 0;
    for (size_t i = size_min(sent->body_bytes, PREFIX_BYTES); i-- > 0;)
        header_bytes = header_bytes << 8 | body[i];
    bool whole = sent->body_bytes >= PREFIX_BYTES && header_bytes <= sent->body_bytes - PREFIX_BYTES;
    if (!whole && sent->body_bytes > 0 && !first_bytes_check_safetensors(sent->body, sent->body_bytes, err))
        return false;
    if (sent->body_bytes < PREFIX_BYTES)
        return error_set(err, ERROR_MALFORMED, "%zu bytes, where a safetensors file has a header's length in its first 8",
                         sent->body_bytes);
    if (!whole)
        return error_set(err, ERROR_MALFORMED, "a header of %" PRIu64 " bytes is announced, and %zu follow", header_bytes,
                         sent->body_bytes - PREFIX_BYTES);
    struct extract header_extract;
    json_t *header = NULL;
    struct file file = {
        .extract = &header_extract,
        .data = sent->body + PREFIX_BYTES + header_bytes,
        .data_bytes = sent->body_bytes - PREFIX_BYTES - (size_t)header_bytes,
        .request = ret,
        .reply = ret_reply,
        .comparison = ret_comparison,
        .err = err,
    };
    bool done = extract_scan(sent->body + PREFIX_BYTES, (size_t)header_bytes, "the header", arena, &header_extract, err) &&
                document_parse(&header_extract, arena, &header, err) && decode_header(&file, header, arena, extract);
    if (header != NULL && !done)
        array_check_explain(&header_extract, header, NULL, err);
    document_done(header);
    return done;
}
