#include "api/json/array_error.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/json/token.h"
#include "api/number/element_type.h"
#include "api/number/read.h"

#define QUOTED_STRING_CHARACTERS_MAX 20
#define QUOTED_WORD_CHARACTERS_MAX 24

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

/* The rule of JSON's grammar that the word breaks, in brackets; "" where none is known. */
static const char *remark(const char *word, const char *end)
{
    size_t bytes = (size_t)(end - word);
    const char *digits = *word == '-' ? word + 1 : word;
    const char *point = memchr(word, '.', bytes);
    if (*word == '+')
        return " (a number has no leading '+' in JSON)";
    if (point == digits)
        return " (a number has a digit before its point in JSON)";
    if (end - digits >= 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
        return " (JSON has no hexadecimal numbers)";
    if (end - digits >= 2 && digits[0] == '0' && isdigit((unsigned char)digits[1]))
        return " (a number has no leading zeros in JSON)";
    if (point != NULL && (point + 1 == end || !isdigit((unsigned char)point[1])))
        return " (a number has a digit after its point in JSON)";
    if ((size_t)(end - digits) >= 3 && (strncasecmp(digits, "nan", 3) == 0 || strncasecmp(digits, "inf", 3) == 0))
        return " (non-finite numbers are written \"NaN\", \"Infinity\", \"-Infinity\")";
    return "";
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
    const char *kind;
    if (word_is(word, end, "null"))
        kind = "";
    else if (word_is(word, end, "true") || word_is(word, end, "false"))
        kind = "the boolean ";
    else if (word_is_number(word, end))
        kind = "the number ";
    else
        return extract_malformed(reader->extract, word, pointer_to(reader, depth, pointer), reader->err,
                                 "expected %s, found '%s'%s", wanted(reader, depth),
                                 token_quote(word, end, QUOTED_WORD_CHARACTERS_MAX, quote), remark(word, end));
    return error_set_at(reader->err, ERROR_INVALID, pointer_to(reader, depth, pointer), "found %s%s where %s was expected",
                        kind, token_quote(word, end, QUOTED_WORD_CHARACTERS_MAX, quote), wanted(reader, depth));
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
                                 "expected %s, found '%c'", wanted(reader, depth), *at);
    }
    return error_set_at(reader->err, ERROR_INVALID, pointer_to(reader, depth, pointer), "found %s where %s was expected", what,
                        wanted(reader, depth));
}

bool array_error_overflow(const struct array_reader *reader, size_t depth, const char *at)
{
    char pointer[ERROR_POINTER_BYTES_MAX], quote[TOKEN_QUOTE_BYTES_MAX];
    token_quote(at, token_word_end(at, reader->end), QUOTED_WORD_CHARACTERS_MAX, quote);
    return error_set_at(reader->err, ERROR_INVALID, pointer_to(reader, depth, pointer), "%s overflows %s", quote,
                        element_dtype_name(reader->dtype));
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
                                 "expected ',' or ']' after %s, found %s", after, found(reader, at, text));
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
