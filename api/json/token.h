/* token.h: the bytes and words of a JSON text, and how an error quotes them. */
#ifndef ATTND_API_JSON_TOKEN_H
#define ATTND_API_JSON_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json/extract.h"
#include "core/error.h"

static inline bool token_is_space(char c)
{
    const uint64_t spaces = (UINT64_C(1) << ' ') | (UINT64_C(1) << '\t') | (UINT64_C(1) << '\n') | (UINT64_C(1) << '\r');
    return (unsigned char)c <= ' ' && ((spaces >> (unsigned char)c) & 1) != 0;
}

/* A word is a longest run of such bytes: a number, true, or anything else in the place of one. */
static inline bool token_is_word(char c)
{
    switch (c) {
    case ' ':
    case '\t':
    case '\n':
    case '\r':
    case '[':
    case ']':
    case '{':
    case '}':
    case ',':
    case ':':
    case '"':
        return false;
    default:
        return true;
    }
}

static inline const char *token_space_end(const char *at, const char *end)
{
    while (at < end && token_is_space(*at))
        at++;
    return at;
}

const char *token_word_end(const char *at, const char *end);

/* `at` is at a string's opening quote. Returns the first byte after the closing one; NULL where the text ends before it. */
const char *token_string_end(const char *at, const char *end);

/* Bytes of the UTF-8 character at `c` (RFC 3629), 0 where there is none. The text goes on to a quote or a NUL at least. */
size_t token_utf8_bytes(const unsigned char *c);

/* Returns the first byte after the non-finite form at `at`, its value in *ret; NULL where there is none. The caller checks what
 * follows a bare token. */
const char *token_non_finite(const char *at, const char *end, double *ret);

/* Writes [at, end) to `text`, truncated to `characters_max` with "..." after them, and '?' for what is not printable ASCII.
 * Returns text. */
#define TOKEN_QUOTE_BYTES_MAX 48
char *token_quote(const char *at, const char *end, size_t characters_max, char text[TOKEN_QUOTE_BYTES_MAX]);

/* Writes "line 3, column 17", the place of `at` in the extract's text, after the text's name where it is not the body. Returns
 * text. */
#define EXTRACT_PLACE_BYTES_MAX 96
char *extract_place(const struct extract *extract, const char *at, char text[EXTRACT_PLACE_BYTES_MAX]);

/* Sets malformed, the message preceded by the place of `at` in the extract's text. Returns false. */
bool extract_malformed(const struct extract *extract, const char *at, const char *pointer, struct error *err,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
