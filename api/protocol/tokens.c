#include "api/protocol/tokens.h"

#include "api/json/string_array.h"
#include "core/size.h"

#define POINTER "/tokens"
#define FRAME_BYTES 32 /* {"query":,"key":} */

static bool read_list(const struct extract *extract, const json_t *value, const char *pointer, const char **ret_text,
                      size_t *ret_bytes, struct error *err)
{
    const struct json_array_text *array = document_array(extract, value);
    bool empty = array != NULL && array->kind == JSON_ARRAY_EMPTY;
    if (array == NULL || array->rank != 1 || (array->kind != JSON_ARRAY_STRINGS && !empty))
        return document_refuse(extract, value, pointer, "an array of strings, one a token,", err);
    *ret_text = extract->text + array->offset_bytes;
    *ret_bytes = array->text_bytes;
    return empty || string_array_check(extract, array, pointer, err);
}

bool tokens_read(const struct extract *extract, const json_t *value, struct tokens *ret, struct error *err)
{
    static const char *const names[] = {"query", "key", NULL};
    if (!json_is_object(value))
        return read_list(extract, value, POINTER, &ret->query, &ret->query_bytes, err);
    const json_t *query = document_member(value, "query"), *key = document_member(value, "key");
    if (!document_known(value, POINTER, names, err))
        return false;
    if (query == NULL || key == NULL)
        return error_set_at(err, ERROR_INVALID, POINTER,
                            "an object without %s, where {\"query\": [..], \"key\": [..]} is expected",
                            query == NULL ? "query" : "key");
    return read_list(extract, query, POINTER "/query", &ret->query, &ret->query_bytes, err) &&
           read_list(extract, key, POINTER "/key", &ret->key, &ret->key_bytes, err);
}

size_t tokens_bytes_max(const struct tokens *tokens)
{
    return size_add(FRAME_BYTES, size_add(tokens->query_bytes, tokens->key_bytes));
}

void tokens_write(struct writer *writer, const struct tokens *tokens)
{
    if (tokens->query == NULL)
        return;
    writer_add(writer, tokens->key == NULL ? "" : "{\"query\":");
    writer_add_bytes(writer, tokens->query, tokens->query_bytes);
    if (tokens->key == NULL)
        return;
    writer_add(writer, ",\"key\":");
    writer_add_bytes(writer, tokens->key, tokens->key_bytes);
    writer_add(writer, "}");
}
