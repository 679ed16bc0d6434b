#include "api/protocol/safetensors_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json/array_check.h"
#include "api/json/document.h"
#include "api/json/string_array.h"
#include "api/protocol/first_bytes.h"
#include "api/protocol/safetensors_metadata.h"
#include "core/size.h"

#define PREFIX_BYTES 8 /* the length of the header */

/* One of the types that the tensor may have. */
static bool decode_dtype(const struct safetensors_file *file, const struct safetensors_slot *slot, const json_t *value,
                         const char *pointer, enum element_type *ret, struct error *err)
{
    static const char *const expected[] = {
        [TENSOR_INPUT_NUMBERS] = "F64, F32, F16 or BF16",
        [TENSOR_INPUT_NUMBERS_OR_BOOLS] = "BOOL, F64, F32, F16 or BF16",
        [TENSOR_INPUT_INTEGERS] = "I64 or I32",
    };
    const char *name = json_string_value(value);
    if (name == NULL)
        return document_refuse(&file->extract, value, pointer, expected[slot->content], err);
    for (*ret = 0; *ret < ELEMENT_TYPES; (*ret)++)
        if (strcmp(name, element_names[ELEMENT_NAMES_SAFETENSORS][*ret]) == 0 && tensor_input_may_be(slot->content, *ret))
            return true;
    return error_set_at(err, ERROR_INVALID, pointer, "%s of dtype %.20s, where %s is expected: convert it before it is saved",
                        slot->name, name, expected[slot->content]);
}

/* Keeps the spans sorted, so that a gap or overlap is between neighbours. */
static void span_add(struct safetensors_file *file, size_t begin, size_t end)
{
    assert(file->span_count < SAFETENSORS_TENSORS_MAX); /* the header has two extracted arrays for each */
    size_t at = file->span_count++;
    while (at > 0 &&
           (file->spans[at - 1].begin > begin || (file->spans[at - 1].begin == begin && file->spans[at - 1].end > end))) {
        file->spans[at] = file->spans[at - 1];
        at--;
    }
    file->spans[at].begin = begin;
    file->spans[at].end = end;
}

static bool spans_check(const struct safetensors_file *file, struct error *err)
{
    size_t reached = 0;
    for (size_t i = 0; i < file->span_count; i++) {
        if (file->spans[i].begin != reached)
            return error_set(err, ERROR_MALFORMED, "the tensors' data_offsets leave a gap or overlap at byte %zu of the data",
                             size_min(file->spans[i].begin, reached));
        reached = file->spans[i].end;
    }
    if (reached != file->data_bytes)
        return error_set(err, ERROR_MALFORMED, "the file holds %zu byte%s of data, the tensors' data_offsets end at %zu",
                         file->data_bytes, error_s(file->data_bytes), reached);
    return true;
}

/* [begin, end] in the data, which must be as many bytes as shape and dtype need. */
static bool decode_offsets(const struct safetensors_file *file, const json_t *value, const char *pointer, size_t bytes,
                           int64_t ret[2], struct error *err)
{
    char place[TENSOR_INPUT_POINTER_BYTES_MAX + sizeof "/data_offsets"], needed[SIZE_TEXT_BYTES_MAX];
    size_t count = 0;
    (void)snprintf(place, sizeof place, "%s/data_offsets", pointer);
    if (!tensor_input_integers(&file->extract, value, place, 2, 0, INT64_C(1) << 53, ret, &count, err))
        return false;
    if (count == 2 && ret[0] <= ret[1] && (uint64_t)ret[1] <= file->data_bytes && (size_t)(ret[1] - ret[0]) == bytes)
        return true;
    return error_set_at(err, ERROR_MALFORMED, place,
                        "not [begin, end] of %s bytes, which shape and dtype need, within the %zu byte%s of data%s",
                        size_text(bytes, needed), file->data_bytes, error_s(file->data_bytes),
                        count == 2 && ret[0] <= ret[1] && (size_t)(ret[1] - ret[0]) == bytes
                            ? ": the file was cut (curl: --data-binary @file, since -d leaves out line ends)"
                            : "");
}

/* {"dtype", "shape", "data_offsets"}. */
static bool decode_tensor(struct safetensors_file *file, const struct safetensors_slot *slot, const json_t *value,
                          const char *pointer, struct error *err)
{
    static const char *const members[] = {"dtype", "shape", "data_offsets", NULL};
    char place[TENSOR_INPUT_POINTER_BYTES_MAX + sizeof "/dtype"];
    const struct extract *extract = &file->extract;
    if (!json_is_object(value))
        return document_refuse(extract, value, pointer, "an object with dtype, shape and data_offsets", err);
    if (!document_known(value, pointer, members, err))
        return false;
    for (size_t i = 0; members[i] != NULL; i++)
        if (json_object_get(value, members[i]) == NULL)
            return error_set_at(err, ERROR_INVALID, pointer, "a tensor without %s", members[i]);
    enum element_type dtype = ELEMENT_F64;
    size_t rank = 0, shape[TENSOR_RANK_MAX];
    int64_t axes[TENSOR_RANK_MAX], offsets[2];
    (void)snprintf(place, sizeof place, "%s/dtype", pointer);
    if (!decode_dtype(file, slot, json_object_get(value, "dtype"), place, &dtype, err))
        return false;
    (void)snprintf(place, sizeof place, "%s/shape", pointer);
    if (!tensor_input_integers(extract, json_object_get(value, "shape"), place, TENSOR_RANK_MAX, 0, INT64_C(1) << 53, axes,
                               &rank, err))
        return false;
    for (size_t i = 0; i < rank; i++)
        shape[i] = (size_t)axes[i];
    size_t bytes = size_multiply(shape_count(rank, shape), element_bytes(dtype));
    if (!decode_offsets(file, json_object_get(value, "data_offsets"), pointer, bytes, offsets, err))
        return false;
    if (slot->input->kind != TENSOR_INPUT_ABSENT)
        return error_set_at(err, ERROR_INVALID, pointer, "%s is given twice", slot->name);
    span_add(file, (size_t)offsets[0], (size_t)offsets[1]);
    return tensor_input_of_bytes(pointer, dtype, rank, shape, file->data + offsets[0], slot->input, err);
}

bool safetensors_file_tensors(struct safetensors_file *file, safetensors_find *find, void *context, struct error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach(file->header, name, value)
    {
        char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
        struct safetensors_slot slot = {.content = TENSOR_INPUT_NUMBERS};
        if (strcmp(name, "__metadata__") == 0)
            continue;
        pointer_append("", name, pointer, sizeof pointer);
        if (!find(context, name, pointer, &slot, err) || !decode_tensor(file, &slot, value, pointer, err))
            return false;
    }
    return spans_check(file, err);
}

const json_t *safetensors_file_metadata(const struct safetensors_file *file)
{
    return json_object_get(file->header, "__metadata__");
}

bool safetensors_file_text(const struct safetensors_file *file, const char *name, struct arena *arena, const char **ret,
                           size_t *ret_bytes, struct error *err)
{
    const json_t *text = json_object_get(safetensors_file_metadata(file), name);
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
    (void)snprintf(pointer, sizeof pointer, "/__metadata__/%s", name);
    *ret = "{}";
    *ret_bytes = 2;
    if (!safetensors_metadata_check(safetensors_file_metadata(file), err))
        return false;
    if (text == NULL)
        return true;
    const struct json_array_text *extracted = document_array(&file->extract, text);
    if (extracted != NULL && extracted->kind == JSON_EXTRACTED_STRING)
        return string_read(&file->extract, extracted, pointer, arena, ret, ret_bytes, err);
    if (!json_is_string(text))
        return document_refuse(&file->extract, text, pointer, "a string that holds a JSON object", err);
    char *copy = arena_alloc(arena, json_string_length(text), err);
    if (copy == NULL)
        return false;
    memcpy(copy, json_string_value(text), json_string_length(text));
    *ret = copy;
    *ret_bytes = json_string_length(text);
    return true;
}

/* The header's length, which the body must hold. */
static bool split(const struct api_request *sent, size_t *ret, struct error *err)
{
    const unsigned char *body = (const unsigned char *)sent->body;
    uint64_t header_bytes = 0;
    for (size_t i = size_min(sent->body_bytes, PREFIX_BYTES); i-- > 0;)
        header_bytes = header_bytes << 8 | body[i];
    bool whole = sent->body_bytes >= PREFIX_BYTES && header_bytes <= sent->body_bytes - PREFIX_BYTES;
    if (!whole && sent->body_bytes > 0 && !first_bytes_check_safetensors(sent->body, sent->body_bytes, err))
        return false;
    if (sent->body_bytes < PREFIX_BYTES)
        return error_set(err, ERROR_MALFORMED, "%zu byte%s, where a safetensors file has a header's length in its first 8",
                         sent->body_bytes, error_s(sent->body_bytes));
    if (!whole)
        return error_set(err, ERROR_MALFORMED, "a header of %" PRIu64 " bytes is announced, and %zu follow", header_bytes,
                         sent->body_bytes - PREFIX_BYTES);
    *ret = (size_t)header_bytes;
    return true;
}

bool safetensors_file_open(const struct api_request *sent, struct arena *arena, struct safetensors_file *ret, struct error *err)
{
    size_t header_bytes = 0;
    *ret = (struct safetensors_file){0};
    if (!split(sent, &header_bytes, err))
        return false;
    ret->data = sent->body + PREFIX_BYTES + header_bytes;
    ret->data_bytes = sent->body_bytes - PREFIX_BYTES - header_bytes;
    if (!document_read(sent->body + PREFIX_BYTES, header_bytes, "the header", arena, &ret->extract, &ret->header, err))
        return false;
    if (!json_is_object(ret->header))
        return error_set(err, ERROR_MALFORMED, "the header is no JSON object");
    const json_t *metadata = safetensors_file_metadata(ret);
    return metadata == NULL || json_is_object(metadata) ||
           document_refuse(&ret->extract, metadata, "/__metadata__", "an object of strings", err);
}

void safetensors_file_done(struct safetensors_file *file, struct error *err)
{
    if (file->header != NULL && err->code != ERROR_NONE)
        array_check_explain(&file->extract, file->header, NULL, err);
    document_done(file->header);
    file->header = NULL;
}

/* The upper half of the header's length is 0 below 4 GiB, and JSON has no NUL bytes. */
bool safetensors_resembles(const char *body, size_t body_bytes)
{
    return body_bytes > PREFIX_BYTES && memcmp(body + 4, "\0\0\0", 4) == 0 && body[PREFIX_BYTES] == '{';
}
