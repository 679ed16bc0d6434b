#include "api/json/array_error.h"

#include <stdio.h>
#include <string.h>

#include "api/json/dialect.h"
#include "api/json/token.h"
#include "api/number/element_type.h"
#include "api/number/read.h"
#include "core/size.h"

#define QUOTED_STRING_CHARACTERS_MAX 20
#define QUOTED_WORD_CHARACTERS_MAX 24
#define STRING_LOOKED_AT_BYTES 61 /* of a string, to tell what it is */

/* The JSON Pointer of the element index[0 .. depth-1]. */
static const char *pointer_to(const struct array_reader *reader, size_t depth, char pointer[ERROR_POINTER_BYTES_MAX])
{
    int written = snprintf(pointer, ERROR_POINTER_BYTES_MAX, "%s", reader->pointer);
    for (size_t i = 0; i < depth && written >= 0 && written < ERROR_POINTER_BYTES_MAX; i++)
        written += snprintf(pointer + written, (size_t)(ERROR_POINTER_BYTES_MAX - written), "/%zu", reader->index[i]);
    return pointer;
}

static const char *wanted(const struct array_reader *reader, size_t depth)
{
    if (depth < reader->array->rank)
        return "an array";
    return reader->dtype == DTYPE_BOOL ? "true or false" : "a number";
}

/* What is at `at`, as an error names it. */
#define FOUND_BYTES_MAX (TOKEN_QUOTE_BYTES_MAX + 16)
static const char *found(const struct array_reader *reader, const char *at, char text[FOUND_BYTES_MAX])
{
    char quote[TOKEN_QUOTE_BYTES_MAX];
    if (*at == '"') {
        const char *end = token_string_end(at, reader->end);
        end = end == NULL ? reader->end : end - 1;
        token_quote(at + 1, end, QUOTED_STRING_CHARACTERS_MAX, quote);
        (void)snprintf(text, FOUND_BYTES_MAX, "the string \"%s\"", quote);
    } else {
        const char *end = token_is_word(*at) ? token_word_end(at, reader->end) : at + 1;
        token_quote(at, end, QUOTED_WORD_CHARACTERS_MAX, quote);
        (void)snprintf(text, FOUND_BYTES_MAX, "'%s'", quote);
    }
    return text;
}

static bool word_is(const char *word, const char *end, const char *text)
{
    return (size_t)(end - word) == strlen(text) && memcmp(word, text, strlen(text)) == 0;
}

static bool word_is_number(const char *word, const char *end)
{
    double value;
    return token_non_finite(word, end, &value) == end || number_read_f64(word, end, &value) == end;
}

static bool error_word(const struct array_reader *reader, size_t depth, const char *word)
{
    char pointer[ERROR_POINTER_BYTES_MAX], quote[TOKEN_QUOTE_BYTES_MAX];
    const char *end = token_word_end(word, reader->end);
    const char *kind, *advice = "";
    if (word_is(word, end, "null")) {
        kind = "";
        if (reader->dtype != DTYPE_BOOL && depth == reader->array->rank)
            advice = DIALECT_NULL_REMARK;
    } else if (word_is(word, end, "true") || word_is(word, end, "false"))
        kind = "the boolean ";
    else if (word_is_number(word, end))
        kind = "the number ";
    else
        return extract_malformed(reader->extract, word, pointer_to(reader, depth, pointer), reader->err,
                                 "expected %s, found '%s'%s", wanted(reader, depth),
                                 token_quote(word, end, QUOTED_WORD_CHARACTERS_MAX, quote), dialect_word_remark(word, end));
    return error_set_at(reader->err, ERROR_INVALID, pointer_to(reader, depth, pointer), "found %s%s where %s was expected%s",
                        kind, token_quote(word, end, QUOTED_WORD_CHARACTERS_MAX, quote), wanted(reader, depth), advice);
}

/* The array at index[0 .. depth-2] has `count` elements, which is not what the ones before it have. */
static bool error_ragged(const struct array_reader *reader, size_t depth, size_t count)
{
    const struct json_array_text *array = reader->array;
    const char *noun = "array", *others = "arrays";
    if (depth == array->rank) {
        noun = array->kind == JSON_ARRAY_BOOLS ? "boolean" : array->kind == JSON_ARRAY_NUMBERS ? "number" : "element";
        others = "rows";
    }
    char pointer[ERROR_POINTER_BYTES_MAX];
    return error_set_at(reader->err, ERROR_INVALID, pointer_to(reader, depth - 1, pointer),
                        "ragged: %zu %s%s where the %s before hold %zu", count, noun, count == 1 ? "" : "s", others,
                        array->shape[depth - 1]);
}

/* The number of commas between `at` and the ']' that closes the innermost array open there. */
static size_t commas_left(const struct array_reader *reader, const char *at)
{
    size_t commas = 0, depth = 1;
    while (at < reader->end) {
        const char *next = *at == '"' ? token_string_end(at, reader->end) : at + 1;
        if (*at == '[')
            depth++;
        else if (*at == ']' && --depth == 0)
            break;
        commas += *at == ',' && depth == 1;
        at = next == NULL ? reader->end : next;
    }
    return commas;
}

/* What a string in the place of a number is, where its content tells. */
static const char *string_remark(const struct array_reader *reader, size_t depth, const char *at)
{
    double unused;
    if (depth < reader->array->rank || token_non_finite(at, reader->end, &unused) != NULL)
        return "";
    char string[STRING_LOOKED_AT_BYTES];
    const char *end = token_string_end(at, reader->end);
    size_t bytes = size_min((size_t)((end == NULL ? reader->end : end - 1) - (at + 1)), sizeof string - 1);
    memcpy(string, at + 1, bytes);
    string[bytes] = '\0';
    return dialect_string_remark(string);
}

bool array_error_element(const struct array_reader *reader, size_t depth, const char *at)
{
    char pointer[ERROR_POINTER_BYTES_MAX], text[FOUND_BYTES_MAX];
    double value;
    const char *what;
    switch (*at) {
    case ']':
        if (reader->index[depth - 1] == 0)
            return error_ragged(reader, depth, 0);
        return extract_malformed(reader->extract, at, pointer_to(reader, depth - 1, pointer), reader->err,
                                 "expected %s after ',', found ']' (JSON has no trailing commas)", wanted(reader, depth));
    case '[':
        what = "an array";
        break;
    case '{':
        what = "an object";
        if (reader->end - at > 2 && at[1] == '"' && at[2] == '0')
            what = "an object" DIALECT_TYPED_ARRAY_REMARK;
        break;
    case '"':
        what = found(reader, at, text);
        if (token_non_finite(at, reader->end, &value) != NULL)
            what += strlen("the string "); /* it is a number */
        break;
    default:
        if (token_is_word(*at))
            return error_word(reader, depth, at);
        return extract_malformed(reader->extract, at, pointer_to(reader, depth, pointer), reader->err,
                                 "expected %s, found '%c'%s", wanted(reader, depth), *at,
                                 dialect_remark(reader->first, at, reader->end));
    }
    return error_set_at(reader->err, ERROR_INVALID, pointer_to(reader, depth, pointer), "found %s where %s was expected%s",
                        what, wanted(reader, depth), *at == '"' ? string_remark(reader, depth, at) : "");
}

bool array_error_overflow(const struct array_reader *reader, size_t depth, const char *at)
{
    char pointer[ERROR_POINTER_BYTES_MAX], quote[TOKEN_QUOTE_BYTES_MAX];
    token_quote(at, token_word_end(at, reader->end), QUOTED_WORD_CHARACTERS_MAX, quote);
    return error_set_at(reader->err, ERROR_INVALID, pointer_to(reader, depth, pointer),
                        "%s overflows %s: send \"%sInfinity\" where that is meant%s", quote, element_dtype_name(reader->dtype),
                        *at == '-' ? "-" : "", reader->dtype == DTYPE_F32 ? ", else compute in float64" : "");
}

/* What a row is written in whose elements are not followed by a comma. */
static const char *after_remark(const struct array_reader *reader, const char *at)
{
    if (*at == '[' || *at == '"' || (token_is_word(*at) && word_is_number(at, token_word_end(at, reader->end))) ||
        (*at >= '0' && *at <= '9') || *at == '-')
        return " (a ',' is missing: NumPy and MATLAB print arrays without commas; json.dumps of .tolist(), and jsonencode, "
               "write "
               "JSON)";
    return dialect_remark(reader->first, at, reader->end);
}

bool array_error_after(const struct array_reader *reader, size_t depth, const char *at)
{
    const char *word = at;
    while (word > reader->first && token_is_word(word[-1]))
        word--;
    if (word < at && token_is_word(*at)) /* only the beginning of a word was read, as of 0x1 */
        return error_word(reader, depth, word);

    size_t count = reader->index[depth - 1] + 1;
    if (*at == ']')
        return error_ragged(reader, depth, count);
    char pointer[ERROR_POINTER_BYTES_MAX], text[FOUND_BYTES_MAX];
    if (*at != ',') {
        const char *after = depth < reader->array->rank ? "an array" : reader->dtype == DTYPE_BOOL ? "a boolean" : "a number";
        return extract_malformed(reader->extract, at, pointer_to(reader, depth, pointer), reader->err,
                                 "expected ',' or ']' after %s, found %s%s", after, found(reader, at, text),
                                 after_remark(reader, at));
    }
    const char *next = token_space_end(at + 1, reader->end);
    if (*next == ']') {
        return extract_malformed(reader->extract, next, pointer_to(reader, depth - 1, pointer), reader->err,
                                 "expected %s after ',', found ']' (JSON has no trailing commas)", wanted(reader, depth));
    }
    return error_ragged(reader, depth, count + commas_left(reader, at));
}

bool array_error_not_empty(const struct array_reader *reader, size_t depth, const char *at)
{
    return error_ragged(reader, depth, 1 + commas_left(reader, at));
}
