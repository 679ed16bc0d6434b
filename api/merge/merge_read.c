#include "api/merge/merge_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/document.h"
#include "api/json/suggest.h"
#include "api/merge/merge_shapes.h"
#include "api/protocol/media_type.h"
#include "api/protocol/safetensors_file.h"
#include "core/size.h"

static const char parts_expected[] = "an array of parts, as [{\"output\": [..], \"lse\": [..]}, ..],";

/* ---- fields ---- */

/* Of what POST /attention returns, parts hold two. */
static bool check_return(struct request *request, bool is_given, struct error *err)
{
    char place[TENSOR_INPUT_POINTER_BYTES_MAX];
    if (!is_given) {
        request->results[RESULT_WEIGHTS] = false;
        request->results[RESULT_LSE] = true;
    }
    for (size_t i = 0; i < RESULTS; i++) {
        if (!request->results[i] || i == RESULT_OUTPUT || i == RESULT_LSE)
            continue;
        (void)snprintf(place, sizeof place, "/return/%zu", request->result_places[i]);
        return error_set_at(err, ERROR_INVALID, place, "%s cannot be merged: parts have output and lse",
                            request_result_names[i]);
    }
    return true;
}

/* Fields that POST /attention has too, and mean the same. */
static bool read_fields(struct merge *merge, const struct extract *extract, const json_t *document, struct error *err)
{
    return attention_read_fields(extract, document, &merge->request, &merge->reply, err) &&
           check_return(&merge->request, document_member(document, "return") != NULL, err);
}

/* ---- JSON ---- */

/* A reply may be sent as it came; then its lse must have the base that the merge has. */
static bool check_base(const struct merge *merge, const json_t *part, size_t index, struct error *err)
{
    const json_t *base = json_object_get(document_member(part, "applied"), "lse_base");
    const bool base_2 = json_is_string(base) && strcmp(json_string_value(base), "2") == 0;
    if (base == NULL || base_2 == merge->request.lse_base_2)
        return true;
    char place[TENSOR_INPUT_POINTER_BYTES_MAX];
    (void)snprintf(place, sizeof place, "/parts/%zu/applied/lse_base", index);
    return error_set_at(err, ERROR_INVALID, place,
                        "this part's lse has base %s, and the request merges base %s: parts have one base, which lse_base says",
                        base_2 ? "2" : "e", base_2 ? "e" : "2");
}

static bool read_part(struct merge *merge, const json_t *value, size_t index, struct error *err)
{
    static const char *const names[] = {"output", "lse", "applied", "warnings", NULL};
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX], place[TENSOR_INPUT_POINTER_BYTES_MAX];
    struct merge_part *part = &merge->parts[index];
    (void)snprintf(pointer, sizeof pointer, "/parts/%zu", index);
    if (!json_is_object(value))
        return document_refuse(merge->extract, value, pointer, "an object with output and lse", err);
    if (!document_known(value, pointer, names, err) || !check_base(merge, value, index, err))
        return false;
    for (size_t i = 0; i < 2; i++) {
        const json_t *tensor = document_member(value, names[i]);
        if (tensor == NULL)
            return error_set_at(err, ERROR_INVALID, pointer,
                                "a part without %s: ask for \"return\": [\"output\", \"lse\"] and send both", names[i]);
        (void)snprintf(place, sizeof place, "/parts/%zu/%s", index, names[i]);
        if (!tensor_input_read(merge->extract, tensor, place, TENSOR_INPUT_NUMBERS, i == 0 ? &part->output : &part->lse, err))
            return false;
    }
    return true;
}

static bool read_parts(struct merge *merge, const json_t *value, struct error *err)
{
    if (value == NULL)
        return error_set_at(err, ERROR_INVALID, "", "parts is missing: send %.*s", (int)sizeof parts_expected - 3,
                            parts_expected);
    const struct json_array_text *extracted = document_array(merge->extract, value);
    if (extracted != NULL && extracted->kind == JSON_ARRAY_EMPTY && extracted->rank == 1)
        return error_set_at(err, ERROR_INVALID, "/parts", "no parts: send at least one");
    if (!json_is_array(value) || extracted != NULL)
        return document_refuse(merge->extract, value, "/parts", parts_expected, err);
    merge->part_count = json_array_size(value);
    if (merge->part_count > MERGE_PARTS_MAX)
        return error_set_at(err, ERROR_INVALID, "/parts",
                            "%zu parts, the most are %d: merge some of them first, and the results with the rest",
                            merge->part_count, MERGE_PARTS_MAX);
    for (size_t i = 0; i < merge->part_count; i++)
        if (!read_part(merge, json_array_get(value, i), i, err))
            return false;
    return true;
}

static bool decode(struct merge *merge, json_t *document, struct error *err)
{
    static const char *const names[] = {"parts", "layout", "lse_base", "precision", "return", "format", "decimals", NULL};
    if (!json_is_object(document))
        return document_refuse(merge->extract, document, "", "an object with parts", err);
    if (!document_known(document, "", names, err))
        return false;
    json_t *parts = json_incref(json_object_get(document, "parts"));
    (void)json_object_del(document, "parts"); /* what is left are fields of POST /attention */
    bool done = read_fields(merge, merge->extract, document, err) && read_parts(merge, json_is_null(parts) ? NULL : parts, err);
    json_decref(parts);
    return done;
}

static bool read_text(const struct api_request *sent, struct arena *arena, struct merge *ret, struct error *err)
{
    json_t *document = NULL;
    bool done =
        document_read(sent->body, sent->body_bytes, NULL, arena, ret->extract, &document, err) && decode(ret, document, err);
    document_done(document);
    return done;
}

/* ---- safetensors ---- */

/* A safetensors_find: "output.0", "lse.0", "output.1", .. */
static bool find_tensor(void *context, const char *name, const char *pointer, struct safetensors_slot *ret, struct error *err)
{
    struct merge *merge = context;
    const bool is_output = strncmp(name, "output.", 7) == 0, is_lse = strncmp(name, "lse.", 4) == 0;
    const char *digits = name + (is_output ? 7 : 4);
    char *end;
    if ((!is_output && !is_lse) || *digits < '0' || *digits > '9' || (digits[0] == '0' && digits[1] != '\0'))
        return error_set_at(err, ERROR_INVALID, pointer,
                            "a name that is not read here: parts are \"output.0\" and \"lse.0\", \"output.1\" and so on");
    const unsigned long index = strtoul(digits, &end, 10);
    if (*end != '\0' || index >= MERGE_PARTS_MAX)
        return error_set_at(err, ERROR_INVALID, pointer, "a part's number is expected, from 0 to %d", MERGE_PARTS_MAX - 1);
    merge->part_count = size_max(merge->part_count, index + 1);
    ret->name = is_output ? "output" : "lse";
    ret->input = is_output ? &merge->parts[index].output : &merge->parts[index].lse;
    return true;
}

static bool check_parts(const struct merge *merge, struct error *err)
{
    if (merge->part_count == 0)
        return error_set(err, ERROR_INVALID, "no parts: send tensors \"output.0\" and \"lse.0\" at least");
    for (size_t i = 0; i < merge->part_count; i++) {
        bool no_output = merge->parts[i].output.kind == TENSOR_INPUT_ABSENT;
        if (no_output || merge->parts[i].lse.kind == TENSOR_INPUT_ABSENT)
            return error_set(err, ERROR_INVALID, "%s.%zu is missing: parts are numbered from 0 on, and have output and lse",
                             no_output ? "output" : "lse", i);
    }
    return true;
}

static bool decode_fields(struct merge *merge, const char *text, size_t text_bytes, struct arena *arena, struct error *err)
{
    static const char *const names[] = {"layout", "lse_base", "precision", "return", "format", "decimals", NULL};
    json_t *document = NULL;
    bool done = document_read(text, text_bytes, "__metadata__.request", arena, merge->extract, &document, err) &&
                (!json_is_object(document) || document_known(document, "", names, err)) &&
                read_fields(merge, merge->extract, document, err);
    document_done(document);
    return done;
}

static bool read_binary(const struct api_request *sent, struct arena *arena, struct merge *ret, struct error *err)
{
    struct safetensors_file file;
    const char *text;
    size_t text_bytes;
    bool done = safetensors_file_open(sent, arena, &file, err) &&
                safetensors_file_text(&file, "request", arena, &text, &text_bytes, err) &&
                decode_fields(ret, text, text_bytes, arena, err) && safetensors_file_tensors(&file, find_tensor, ret, err) &&
                check_parts(ret, err);
    safetensors_file_done(&file, err);
    return done;
}

/* ---- both ---- */

size_t merge_read_cost(void)
{
    return size_add(size_multiply(3, document_cost()), arena_cost(sizeof(struct extract)) + arena_cost(3 * DOCUMENT_BYTES_MAX));
}

bool merge_read(const struct api_request *sent, struct arena *arena, struct merge *ret, struct error *err)
{
    *ret = (struct merge){0};
    ret->extract = arena_alloc(arena, sizeof *ret->extract, err);
    if (ret->extract == NULL)
        return false;
    *ret->extract = (struct extract){0}; /* until the text is scanned */
    bool binary = media_type_is(sent->content_type, SAFETENSORS_TYPE);
    return (binary ? read_binary : read_text)(sent, arena, ret, err) &&
           attention_reply_resolve(&ret->reply, sent->accept, err) && merge_shapes_resolve(ret, err);
}
