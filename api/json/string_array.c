#include "api/json/string_array.h"

#include <ctype.h>
#include <string.h>

#include "api/json/token.h"

/* The four hexadecimal digits at `at`; -1 where they are none. */
static int unicode_unit(const char *at)
{
    int unit = 0;
    for (size_t i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)at[i]))
            return -1;
        unit = unit * 16 + (isdigit((unsigned char)at[i]) ? at[i] - '0' : (at[i] | 0x20) - 'a' + 10);
    }
    return unit;
}

/* Bytes of the escape at `at`, 0 where it is none; surrogates go in twos. A quote ends the text, so no byte behind it is read. */
static size_t escape_bytes(const char *at)
{
    if (at[1] != 'u')
        return at[1] != '\0' && strchr("\"\\/bfnrt", at[1]) != NULL ? 2 : 0;
    int unit = unicode_unit(at + 2);
    if (unit < 0 || (unit >= 0xdc00 && unit < 0xe000))
        return 0;
    if (unit < 0xd800 || unit >= 0xe000)
        return 6;
    int low = at[6] == '\\' && at[7] == 'u' ? unicode_unit(at + 8) : -1;
    return low >= 0xdc00 && low < 0xe000 ? 12 : 0;
}

/* The first byte between the quotes that no JSON string holds; `end`, the closing quote, where there is none. */
static const char *string_error(const char *at, const char *end)
{
    while (at < end) {
        size_t bytes = 0;
        if (*at == '\\')
            bytes = escape_bytes(at);
        else if ((unsigned char)*at >= 0x20)
            bytes = token_utf8_bytes((const unsigned char *)at);
        if (bytes == 0)
            return at;
        at += bytes;
    }
    return end;
}

bool string_array_check(const struct extract *extract, const struct json_array_text *array, const char *pointer,
                        struct error *err)
{
    const char *at = extract->text + array->offset_bytes, *end = at + array->text_bytes;
    for (size_t i = 0; *at != ']'; i++) {
        at = token_space_end(at + 1, end);
        if (at == end || *at != '"')
            return error_set_at(err, ERROR_INVALID, pointer, "element %zu is no string, where an array of strings is expected",
                                i);
        const char *string_end = token_string_end(at, end);
        const char *wrong = string_error(at + 1, string_end - 1);
        if (wrong != string_end - 1)
            return extract_malformed(extract, wrong, pointer, err,
                                     "found what no JSON string holds: an escape that JSON does not know, a control character, "
                                     "or bytes that are not UTF-8");
        at = token_space_end(string_end, end);
        if (*at != ',' && *at != ']')
            return extract_malformed(extract, at, pointer, err, "expected ',' or ']' after a string");
    }
    return true;
}
