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

/* Checks the string from `at`, its first quote, to `end`, behind its last. */
static bool check_one(const struct extract *extract, const char *at, const char *end, const char *pointer, struct error *err)
{
    const char *wrong = string_error(at + 1, end - 1);
    return wrong == end - 1 ||
           extract_malformed(extract, wrong, pointer, err,
                             "found what no JSON string holds: an escape that JSON does not know, a control character, "
                             "or bytes that are not UTF-8");
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
        if (!check_one(extract, at, string_end, pointer, err))
            return false;
        at = token_space_end(string_end, end);
        if (*at != ',' && *at != ']')
            return extract_malformed(extract, at, pointer, err, "expected ',' or ']' after a string");
    }
    return true;
}

bool string_check(const struct extract *extract, const struct json_array_text *string, const char *pointer, struct error *err)
{
    const char *at = extract->text + string->offset_bytes;
    return check_one(extract, at, at + string->text_bytes, pointer, err);
}

/* A character as UTF-8; returns what follows it. */
static char *put_character(char *to, unsigned character)
{
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    if (bytes == 1) {
        *to = (char)character;
        return to + 1;
    }
    for (size_t i = bytes; i-- > 1; character >>= 6)
        to[i] = (char)(0x80 | (character & 0x3f));
    to[0] = (char)(leads[bytes] | character);
    return to + bytes;
}

/* The character that a checked escape stands for. */
static unsigned escaped_character(const char *at)
{
    static const char names[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
    if (at[1] != 'u')
        return (unsigned char)characters[strchr(names, at[1]) - names];
    unsigned unit = (unsigned)unicode_unit(at + 2);
    return unit < 0xd800 || unit >= 0xe000 ? unit
                                           : 0x10000 + ((unit - 0xd800) << 10) + ((unsigned)unicode_unit(at + 8) - 0xdc00);
}

bool string_read(const struct extract *extract, const struct json_array_text *string, const char *pointer, struct arena *arena,
                 const char **ret, size_t *ret_bytes, struct error *err)
{
    const char *at = extract->text + string->offset_bytes + 1, *end = at + string->text_bytes - 2;
    if (string->text_bytes > EXTRACT_STRING_BYTES_MAX)
        return error_set_limit(err, "envelope-bytes", EXTRACT_STRING_BYTES_MAX, "%s is longer than %zu bytes", pointer,
                               EXTRACT_STRING_BYTES_MAX);
    if (!string_check(extract, string, pointer, err))
        return false;
    char *text = arena_alloc(arena, string->text_bytes, err), *to = text;
    if (text == NULL)
        return false;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at)), *plain_end = escape == NULL ? end : escape;
        memcpy(to, at, (size_t)(plain_end - at));
        to += plain_end - at;
        at = plain_end;
        if (escape != NULL) {
            to = put_character(to, escaped_character(at));
            at += escape_bytes(at);
        }
    }
    *ret = text;
    *ret_bytes = (size_t)(to - text);
    return true;
}
