#include "api/json/token.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *token_word_end(const char *at, const char *end)
{
    while (at < end && token_is_word(*at))
        at++;
    return at;
}

const char *token_string_end(const char *at, const char *end)
{
    bool escaped = false;
    for (at++; at < end; at++) {
        if (escaped)
            escaped = false;
        else if (*at == '\\')
            escaped = true;
        else if (*at == '"')
            return at + 1;
    }
    return NULL;
}

const char *token_non_finite(const char *at, const char *end, double *ret)
{
    /* Those that fill masks come first. */
    static const struct {
        const char *text;
        size_t bytes;
        double value;
    } forms[] = {
        {"\"-Infinity\"", 11, -INFINITY},
        {"-Infinity", 9, -INFINITY},
        {"\"-inf\"", 6, -INFINITY},
        {"\"NaN\"", 5, NAN},
        {"NaN", 3, NAN},
        {"\"nan\"", 5, NAN},
        {"\"Infinity\"", 10, INFINITY},
        {"Infinity", 8, INFINITY},
        {"\"inf\"", 5, INFINITY},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if ((size_t)(end - at) >= forms[i].bytes && memcmp(at, forms[i].text, forms[i].bytes) == 0) {
            *ret = forms[i].value;
            return at + forms[i].bytes;
        }
    }
    return NULL;
}

char *token_quote(const char *at, const char *end, size_t characters_max, char text[TOKEN_QUOTE_BYTES_MAX])
{
    assert(characters_max + sizeof "..." <= TOKEN_QUOTE_BYTES_MAX);
    size_t written = 0;
    for (; at < end; at++) {
        if (((unsigned char)*at & 0xC0) == 0x80) /* every UTF-8 character has one byte that is not a continuation */
            continue;
        if (written == characters_max) {
            memcpy(text + written, "...", sizeof "...");
            return text;
        }
        text[written++] = *at >= ' ' && *at <= '~' ? *at : '?';
    }
    text[written] = '\0';
    return text;
}

char *extract_place(const struct extract *extract, const char *at, char text[EXTRACT_PLACE_BYTES_MAX])
{
    size_t line, column;
    text_line_column(extract->text, (size_t)(at - extract->text), &line, &column);
    (void)snprintf(text, EXTRACT_PLACE_BYTES_MAX, "%s%sline %zu, column %zu", extract->name == NULL ? "" : extract->name,
                   extract->name == NULL ? "" : ", ", line, column);
    return text;
}

bool extract_malformed(const struct extract *extract, const char *at, const char *pointer, struct error *err,
                       const char *format, ...)
{
    char place[EXTRACT_PLACE_BYTES_MAX];
    char words[ERROR_TEXT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    return error_set_at(err, ERROR_MALFORMED, pointer, "%s: %s", extract_place(extract, at, place), words);
}

void text_line_column(const char *text, size_t offset_bytes, size_t *ret_line, size_t *ret_column)
{
    size_t line = 1, line_start = 0;
    const char *newline;
    while ((newline = memchr(text + line_start, '\n', offset_bytes - line_start)) != NULL) {
        line++;
        line_start = (size_t)(newline - text) + 1;
    }
    *ret_line = line;
    *ret_column = offset_bytes - line_start + 1;
}

size_t token_utf8_bytes(const unsigned char *c)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
        {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    if (c[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (c[0] < forms[i].first_low || c[0] > forms[i].first_high)
            continue;
        if (c[1] < forms[i].second_low || c[1] > forms[i].second_high)
            return 0;
        for (size_t more = 2; more < forms[i].length; more++)
            if (c[more] < 0x80 || c[more] > 0xbf)
                return 0;
        return forms[i].length;
    }
    return 0;
}
