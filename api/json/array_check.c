#include "api/json/array_check.h"

#include <stdio.h>
#include <string.h>

#include "api/json/array_reader.h"
#include "api/json/document.h"
#include "api/json/string_array.h"
#include "core/size.h"

#define CHECKED_AT_ONCE 512 /* elements, on the stack */
#define QUOTED_CHARACTERS_MAX 40

bool array_check(const struct extract *extract, const struct json_array_text *array, const char *pointer, struct error *err)
{
    if (array->rank > TENSOR_RANK_MAX)
        return true;
    if (array->kind == JSON_EXTRACTED_STRING)
        return string_check(extract, array, pointer, err);
    if (array->kind == JSON_ARRAY_STRINGS)
        return array->rank != 1 || string_array_check(extract, array, pointer, err);
    double unused[CHECKED_AT_ONCE];
    struct array_reader reader;
    array_reader_init(&reader, extract, array, array->kind == JSON_ARRAY_BOOLS ? DTYPE_BOOL : DTYPE_F64, pointer, err);
    const size_t count = shape_count(array->rank, array->shape);
    const char *at = reader.first;
    size_t first = 0;
    do {
        size_t last = first + size_min(count - first, CHECKED_AT_ONCE);
        at = array_read_elements(&reader, first, last, at, unused);
        first = last;
    } while (at != NULL && first < count);
    return at != NULL;
}

char *array_quote(const struct extract *extract, const struct json_array_text *array, size_t index,
                  char text[TOKEN_QUOTE_BYTES_MAX])
{
    const char *at = extract->text + array->offset_bytes, *end = at + array->text_bytes, *after = at;
    for (size_t elements = 0; elements <= index; elements++) {
        for (at = after; at < end && *at != '"' && !token_is_word(*at);)
            at++;
        after = *at == '"' ? token_string_end(at, end) : token_word_end(at, end);
    }
    return token_quote(at, after, QUOTED_CHARACTERS_MAX, text);
}

/* Each array of a value, in the order of the text. Recurses at most DOCUMENT_DEPTH_MAX deep, as extract_scan checked. */
static bool check_all(const struct extract *extract, const json_t *value, const char *pointer, const struct executor *executor,
                      struct error *err)
{
    const struct json_array_text *array = document_array(extract, value);
    if (array != NULL)
        return executor_stopped(executor) || array_check(extract, array, pointer, err);
    char place[ERROR_POINTER_BYTES_MAX];
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)value, name, member)
    {
        pointer_append(pointer, name, place, sizeof place);
        if (!check_all(extract, member, place, executor, err))
            return false;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        (void)snprintf(place, sizeof place, "%.*s/%zu", ERROR_POINTER_BYTES_MAX - 24, pointer, i);
        if (!check_all(extract, json_array_get(value, i), place, executor, err))
            return false;
    }
    return true;
}

void array_check_explain(const struct extract *extract, const json_t *document, const struct executor *executor,
                         struct error *err)
{
    struct error found;
    error_init(&found);
    bool may_explain = err->code == ERROR_INVALID || err->code == ERROR_TOO_LARGE;
    if (may_explain && !check_all(extract, document, "", executor, &found) &&
        (found.code != err->code || strcmp(found.pointer, err->pointer) != 0))
        *err = found;
}

void array_check_explain_text(const struct extract *extract, struct arena *arena, const struct executor *executor,
                              struct error *err)
{
    struct error unused;
    json_t *document = NULL;
    error_init(&unused);
    if (err->code == ERROR_NONE || extract == NULL || extract->text == NULL)
        return;
    if (document_parse(extract, arena, &document, &unused))
        array_check_explain(extract, document, executor, err);
    document_done(document);
}
