#include "api/json/document.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/dialect.h"
#include "api/json/document_memory.h"
#include "api/json/suggest.h"
#include "api/json/token.h"
#include "core/size.h"

#define FOUND_BYTES_MAX 64 /* of a client's value that an error quotes */
#define EXPECTED_BYTES_MAX 256

/* Where in the body the token begins that jansson stopped at: it reports how far it had read it. */
static size_t error_offset(const struct extract *extract, const json_error_t *json_error)
{
    size_t offset = extract_body_offset(extract, json_error->position < 1 ? 0 : (size_t)json_error->position - 1);
    while (offset > 0 && offset < extract->text_bytes && token_is_word(extract->text[offset]) &&
           token_is_word(extract->text[offset - 1]))
        offset--;
    return offset;
}

/* What is wrong in a string, where jansson's text tells; elsewhere what the text is written in. */
static const char *syntax_remark(const struct extract *extract, const json_error_t *json_error, const char *at)
{
    static const struct {
        const char *text, *remark;
    } strings[] = {
        {"invalid escape",
         " (JSON knows \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u0000 to \\uFFFF; a backslash itself is \\\\)"},
        {"control character", " (in a string a line end is written \\n, a tab \\t)"},
        {"unexpected newline", " (in a string a line end is written \\n)"},
        {"unable to decode byte",
         " (JSON is UTF-8: this looks like Latin-1, Windows-1252 or another encoding; save it as UTF-8)"},
        {"':' expected near '='", " (':' separates a name from its value)"},
        {"':' expected", " (':' is missing after the name)"},
        {"invalid Unicode", " (half of a surrogate pair: \\uD800 to \\uDFFF go in twos)"},
    };
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        if (strncmp(json_error->text, strings[i].text, strlen(strings[i].text)) == 0)
            return strings[i].remark;
    return dialect_remark(extract->text, at, extract->text + extract->text_bytes);
}

/* A parse error with its place in the text; invalid for what is JSON but not accepted. */
static bool parse_error(const struct extract *extract, const json_error_t *json_error, struct error *err)
{
    char place[EXTRACT_PLACE_BYTES_MAX];
    const char *at = extract->text + error_offset(extract, json_error), *end = extract->text + extract->text_bytes;
    (void)extract_place(extract, at, place);
    enum json_error_code code = json_error_code(json_error);
    switch (code) {
    case json_error_duplicate_key:
        return error_set(err, ERROR_INVALID, "%s: %s: each name may stand once", place, json_error->text);
    case json_error_numeric_overflow:
        return error_set(err, ERROR_INVALID, "%s: %s; integers go up to 9223372036854775807, reals to 1.8e308", place,
                         json_error->text);
    case json_error_end_of_input_expected:
        return error_set(err, ERROR_MALFORMED, "not JSON: %s: found more after the value's end%s", place,
                         at < end && (*at == '{' || *at == '[')
                             ? " (one object per request: send JSON Lines one line at a time)"
                             : dialect_remark(extract->text, at, end));
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return error_set(err, ERROR_INVALID, "%s: the string holds \\u0000, which no name and no value here does", place);
    case json_error_out_of_memory:
        return error_set(err, ERROR_NO_MEMORY, "no memory left to read the request");
    default:
        return error_set(err, ERROR_MALFORMED, "not JSON: %s: %s%s", place, json_error->text,
                         syntax_remark(extract, json_error, at));
    }
}

size_t document_cost(void)
{
    return size_add(extract_scan_cost(), arena_cost(document_memory_bytes(DOCUMENT_BYTES_MAX)));
}

bool document_parse(const struct extract *extract, struct arena *arena, json_t **ret, struct error *err)
{
    json_error_t json_error;
    if (extract->text_bytes == 0)
        return error_set(err, ERROR_MALFORMED, "not JSON: %s is empty%s",
                         extract->name == NULL ? "line 1, column 1: the body" : extract->name,
                         extract->name == NULL ? ": send the request as one object of JSON" : "");
    if (!document_memory_open(extract->document_bytes, arena, err))
        return false;
    *ret = json_loadb(extract->document, extract->document_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &json_error);
    document_memory_filled();
    if (*ret != NULL)
        return true;
    document_memory_close();
    return parse_error(extract, &json_error, err);
}

bool document_read(const char *text, size_t text_bytes, const char *name, struct arena *arena, struct extract *extract,
                   json_t **ret, struct error *err)
{
    return extract_scan(text, text_bytes, name, arena, extract, err) && document_parse(extract, arena, ret, err);
}

void document_done(json_t *document)
{
    if (document == NULL)
        return;
    json_decref(document);
    document_memory_close();
}

const struct json_array_text *document_array(const struct extract *extract, const json_t *value)
{
    if (!json_is_array(value) || json_array_size(value) != 1 || !json_is_integer(json_array_get(value, 0)))
        return NULL;
    return &extract->arrays[json_integer_value(json_array_get(value, 0))];
}

/* What kind of value it is. An array of arrays that hold no numbers is not extracted. */
static const char *kind_text(const json_t *value)
{
    return json_is_string(value)   ? "a string"
           : json_is_object(value) ? "an object"
           : json_is_null(value)   ? "null"
                                   : "an array of no numbers";
}

/* What a value is, in words that quote the client: 12, "abc", an array of shape [2, 3]. */
static const char *found_text(const struct extract *extract, const json_t *value, char *text, size_t text_bytes)
{
    const struct json_array_text *array = document_array(extract, value);
    char shape[SHAPE_TEXT_BYTES_MAX];
    if (array != NULL && array->kind == JSON_ARRAY_EMPTY && array->rank <= TENSOR_RANK_MAX) {
        (void)snprintf(text, text_bytes, "an empty array");
    } else if (array != NULL && array->kind == JSON_EXTRACTED_STRING) {
        (void)snprintf(text, text_bytes, "a string");
    } else if (array != NULL && array->kind == JSON_ARRAY_STRINGS) {
        (void)snprintf(text, text_bytes, array->rank == 1 ? "an array of strings" : "an array of arrays of strings");
    } else if (array != NULL && array->rank > TENSOR_RANK_MAX) {
        (void)snprintf(text, text_bytes, "an array of %zu dimension%s", array->rank, error_s(array->rank));
    } else if (array != NULL) {
        const char *content = array->kind == JSON_ARRAY_BOOLS ? "booleans" : "numbers";
        (void)snprintf(text, text_bytes, "an array of %s of shape %s", content,
                       shape_text(array->rank, array->shape, shape, sizeof shape));
    } else if (json_is_object(value)) {
        (void)snprintf(text, text_bytes, "an object");
    } else if (json_is_array(value)) {
        (void)snprintf(text, text_bytes, "an array that begins with %s", kind_text(json_array_get(value, 0)));
    } else {
        char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        (void)snprintf(text, text_bytes, "%.*s", FOUND_BYTES_MAX - 1, dump == NULL ? "a value" : dump);
        free(dump);
    }
    return text;
}

static bool refuse(const struct extract *extract, const json_t *value, const char *pointer, const char *expected,
                   const char *remark, struct error *err)
{
    char found[SHAPE_TEXT_BYTES_MAX + FOUND_BYTES_MAX];
    return error_set_at(err, ERROR_INVALID, pointer, "%s, where %s is expected%s",
                        found_text(extract, value, found, sizeof found), expected, remark);
}

bool document_refuse(const struct extract *extract, const json_t *value, const char *pointer, const char *expected,
                     struct error *err)
{
    const char *remark = json_object_get(value, "0") != NULL ? DIALECT_TYPED_ARRAY_REMARK
                         : json_is_string(value)             ? dialect_string_remark(json_string_value(value))
                         : json_is_null(value) && strstr(expected, "number") != NULL ? DIALECT_NULL_REMARK
                                                                                     : "";
    return refuse(extract, value, pointer, expected, remark, err);
}

static const char *choice_remark(const json_t *value, const char *const *choices, char suggestion[SUGGEST_CHOICE_BYTES_MAX])
{
    return json_is_string(value) ? suggest_choice(json_string_value(value), choices, suggestion) : "";
}

bool document_refuse_choice(const struct extract *extract, const json_t *value, const char *pointer, const char *expected,
                            const char *const *choices, struct error *err)
{
    char suggestion[SUGGEST_CHOICE_BYTES_MAX] = "";
    const char *remark = choice_remark(value, choices, suggestion);
    return remark[0] == '\0' ? document_refuse(extract, value, pointer, expected, err)
                             : refuse(extract, value, pointer, expected, remark, err);
}

const json_t *document_member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}

void pointer_append(const char *pointer, const char *name, char *ret, size_t ret_bytes)
{
    size_t used = strnlen(pointer, ret_bytes - 2);
    memcpy(ret, pointer, used);
    ret[used++] = '/';
    ret[used] = '\0';
    for (const char *c = name; *c != '\0' && used + 3 < ret_bytes; c++) {
        if (*c == '~' || *c == '/') {
            ret[used++] = '~';
            ret[used++] = *c == '~' ? '0' : '1';
        } else {
            ret[used++] = *c;
        }
    }
    if (used < ret_bytes)
        ret[used] = '\0';
}

/* Whether two names of an object, or its only one, are known one level above it. */
static bool holds_known(const json_t *object, const char *const *names)
{
    size_t known = 0;
    for (size_t i = 0; json_is_object(object) && names[i] != NULL; i++)
        known += json_object_get(object, names[i]) != NULL;
    return known >= 2 || (known == 1 && json_object_size(object) == 1);
}

bool document_known(const json_t *object, const char *pointer, const char *const *names, struct error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        size_t i = 0;
        while (names[i] != NULL && strcmp(names[i], name) != 0)
            i++;
        char place[ERROR_POINTER_BYTES_MAX];
        pointer_append(pointer, name, place, sizeof place);
        if (names[i] == NULL && holds_known(value, names))
            return error_set_at(err, ERROR_INVALID, place,
                                "%.60s: no such field, and what it holds are fields: send them one level up, without \"%.60s\"",
                                name, name);
        if (names[i] == NULL)
            return suggest_refuse(name, place, names, err);
    }
    return true;
}

bool document_integer(const struct extract *extract, const json_t *value, const char *pointer, int64_t min, int64_t max,
                      int64_t *ret, struct error *err)
{
    bool fits = false;
    if (json_is_integer(value)) {
        *ret = json_integer_value(value);
        fits = *ret >= min && *ret <= max;
    } else if (json_is_real(value)) { /* 4.0 is an integer to JSON Schema, and what some languages write */
        double real = json_real_value(value);
        fits = real == floor(real) && fabs(real) <= 0x1p53 && real >= (double)min && real <= (double)max;
        *ret = fits ? (int64_t)real : 0;
    }
    if (fits)
        return true;
    char expected[EXPECTED_BYTES_MAX];
    (void)snprintf(expected, sizeof expected, "an integer from %" PRId64 " to %" PRId64, min, max);
    return document_refuse(extract, value, pointer, expected, err);
}

bool document_number(const struct extract *extract, const json_t *value, const char *pointer, double *ret, struct error *err)
{
    if (!json_is_number(value))
        return document_refuse(extract, value, pointer, "a finite number", err);
    *ret = json_number_value(value);
    return true;
}

bool document_bool(const struct extract *extract, const json_t *value, const char *pointer, bool *ret, struct error *err)
{
    if (!json_is_boolean(value))
        return document_refuse(extract, value, pointer, "true or false", err);
    *ret = json_is_true(value);
    return true;
}

bool document_choice(const struct extract *extract, const json_t *value, const char *pointer, const char *const *choices,
                     size_t *ret, struct error *err)
{
    const char *text = json_string_value(value);
    for (size_t i = 0; text != NULL && choices[i] != NULL; i++) {
        if (strcmp(text, choices[i]) != 0)
            continue;
        *ret = i;
        return true;
    }
    char expected[EXPECTED_BYTES_MAX];
    size_t used = 0;
    for (size_t i = 0; choices[i] != NULL; i++) {
        const char *between = i == 0 ? "" : choices[i + 1] == NULL ? " or " : ", ";
        if (used + strlen(choices[i]) + sizeof " or \"\" or another" > sizeof expected) {
            (void)snprintf(expected + used, sizeof expected - used, " or another");
            break;
        }
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s\"%s\"", between, choices[i]);
    }
    char suggestion[SUGGEST_CHOICE_BYTES_MAX] = "";
    return refuse(extract, value, pointer, expected, choice_remark(value, choices, suggestion), err);
}
