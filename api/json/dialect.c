#include "api/json/dialect.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "api/json/token.h"
#include "api/number/read.h"

#define PYTHON_ARRAY " (arrays as Python prints them: send .tolist(), which json.dumps writes as JSON)"
#define QUOTES " (names and strings are in double quotes in JSON: json.dumps and JSON.stringify write it)"
#define PYTHON_VALUE                                                                                                           \
    " (a value as Python prints it: send .item() of a number, .tolist() of an array, which json.dumps writes as JSON)"
#define BRACKETS " (arrays are in square brackets, [..])"
#define OBJECT_NAMES " (an object has names: arrays are in square brackets, [..])"
#define CONSTANTS " (JSON writes true, false and null: json.dumps and JSON.stringify do)"
#define NON_FINITE " (non-finite numbers are written \"NaN\", \"Infinity\", \"-Infinity\")"
#define COMMENT " (JSON has no comments: leave it out)"
#define TYPOGRAPHIC " (typographic quotes: JSON has the plain \")"
#define PLACEHOLDER " (a placeholder that was never filled in: send the value itself)"
#define ELLIPSIS " (... stands for numbers that were left out when printing: send all of them)"

struct remark {
    const char *word, *remark;
};

/* Words by their beginnings, whatever the case. */
static const struct remark beginnings[] = {
    {"array(", PYTHON_ARRAY},
    {"tensor(", PYTHON_ARRAY},
    {"np.", PYTHON_VALUE},
    {"numpy.", PYTHON_VALUE},
    {"torch.", PYTHON_VALUE},
    {"jnp.", PYTHON_VALUE},
    {"tf.", PYTHON_VALUE},
    {"parameter(", PYTHON_ARRAY},
    {"dtype=", PYTHON_ARRAY},
    {"float32array", " (a typed array: send Array.from(array))"},
    {"float64array", " (a typed array: send Array.from(array))"},
    {"new", " (code of JavaScript: send what JSON.stringify makes of the value)"},
    {"undefined", " (JSON has no undefined: leave the member out)"},
    {"...", ELLIPSIS},
    {"\xe2\x80\xa6", ELLIPSIS},
    {"//", COMMENT},
    {"/*", COMMENT},
    {"#", COMMENT},
    {"'", QUOTES},
    {"`", QUOTES},
    {"\xe2\x80\x9c", TYPOGRAPHIC},
    {"\xe2\x80\x9d", TYPOGRAPHIC},
    {"\xe2\x80\x9e", TYPOGRAPHIC},
    {"\xe2\x80\x98", TYPOGRAPHIC},
    {"\xe2\x80\x99", TYPOGRAPHIC},
    {"\xc2\xab", TYPOGRAPHIC},
    {"\xc2\xa0", " (a no-break space, which JSON does not take for white space: use a plain one)"},
    {"\xe2\x80\xaf", " (a no-break space, which JSON does not take for white space: use a plain one)"},
    {"\xe2\x80\x8b", " (a zero-width space, which you do not see: delete it)"},
    {"\xe2\x80\xa8", " (a line separator, U+2028, which JSON does not take for white space: use a line feed)"},
    {"\xef\xbb\xbf", " (a byte order mark, which JSON does not have)"},
    {"\xe2\x88\x92", " (the minus sign U+2212: JSON has the plain -)"},
    {"\xe2\x80\x93", " (a dash: JSON has the plain -)"},
    {"\xef\xbc", " (a full-width character: JSON has the plain ones)"},
    {"\xe2\x88\x9e", NON_FINITE},
    {"\\", " (a backslash outside of a string: quotes were escaped once too often, by a shell or by encoding twice)"},
    {"&quot;", " (quotes as HTML writes them: JSON has the plain \")"},
    {"&#34;", " (quotes as HTML writes them: JSON has the plain \")"},
    {"$", " (a placeholder that was never filled in: a shell leaves $NAME as it is in single quotes)"},
    {"%(", PLACEHOLDER},
    {"%s", PLACEHOLDER},
    {"<", PLACEHOLDER},
    {"*", " (an alias of YAML: send the value itself)"},
    {"&", " (an anchor of YAML: send the value itself)"},
    {"=", " (':' separates a name from its value)"},
    {";", " (',' separates values, and nothing follows the last)"},
    {"(", BRACKETS},
    {")", BRACKETS},
    {"@", " (a file's name: send what the file holds)"},
    {"!", " (a tag of YAML: send the value itself)"},
    {"|", " (a text block of YAML: strings are in double quotes in JSON)"},
};

/* Whole words, whatever the case. */
static const struct remark words[] = {
    {"true", CONSTANTS},     {"false", CONSTANTS},      {"null", CONSTANTS},       {"none", CONSTANTS},
    {"nil", CONSTANTS},      {"yes", CONSTANTS},        {"no", CONSTANTS},         {"on", CONSTANTS},
    {"off", CONSTANTS},      {"<na>", CONSTANTS},       {"na", NON_FINITE},        {"nan", NON_FINITE},
    {"inf", NON_FINITE},     {"infinity", NON_FINITE},  {"-nan", NON_FINITE},      {"-inf", NON_FINITE},
    {"+inf", NON_FINITE},    {"-infinity", NON_FINITE}, {"+infinity", NON_FINITE}, {"1.#inf", NON_FINITE},
    {"-1.#inf", NON_FINITE}, {"1.#qnan", NON_FINITE},   {"-1.#ind", NON_FINITE},
};

static bool starts(const char *at, const char *end, const char *word)
{
    return (size_t)(end - at) >= strlen(word) && strncasecmp(at, word, strlen(word)) == 0;
}

/* What JSON itself has. */
static bool is_constant(const char *word, size_t bytes)
{
    return (bytes == 4 && (memcmp(word, "true", 4) == 0 || memcmp(word, "null", 4) == 0)) ||
           (bytes == 5 && memcmp(word, "false", 5) == 0);
}

static const char *known_word(const char *word, const char *end)
{
    size_t bytes = (size_t)(end - word);
    if (is_constant(word, bytes))
        return "";
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (bytes == strlen(words[i].word) && strncasecmp(word, words[i].word, bytes) == 0)
            return words[i].remark;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (starts(word, end, beginnings[i].word))
            return beginnings[i].remark;
    return "";
}

const char *dialect_word_remark(const char *word, const char *end)
{
    const char *known = known_word(word, end);
    const char *digits = *word == '-' || *word == '+' ? word + 1 : word;
    size_t bytes = (size_t)(end - digits);
    const char *point = memchr(word, '.', (size_t)(end - word));
    char last = end[-1];
    if (known[0] != '\0')
        return known;
    if (bytes == 0)
        return "";
    if (*word == '+')
        return " (a number has no leading '+' in JSON)";
    if (point == digits)
        return " (a number has a digit before its point in JSON)";
    if (bytes >= 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
        return " (JSON has no hexadecimal numbers: send it in decimal)";
    if (bytes >= 2 && digits[0] == '0' && strchr("bBoO", digits[1]) != NULL)
        return " (JSON has no binary or octal numbers: send it in decimal)";
    if (bytes >= 2 && digits[0] == '0' && isdigit((unsigned char)digits[1]))
        return " (a number has no leading zeros in JSON)";
    if (point != NULL && (point + 1 == end || !isdigit((unsigned char)point[1])))
        return point + 1 == end
                   ? " (a number has a digit after its point in JSON: NumPy prints 1., json.dumps of .tolist() writes 1.0)"
                   : " (a number has a digit after its point in JSON)";
    if (starts(digits, end, "nan") || starts(digits, end, "inf"))
        return NON_FINITE;
    if (!isdigit((unsigned char)digits[0]))
        return "";
    if (memchr(word, '_', (size_t)(end - word)) != NULL || memchr(word, '\'', (size_t)(end - word)) != NULL)
        return " (JSON does not group digits: 1000, not 1_000)";
    if (memchr(word, '/', (size_t)(end - word)) != NULL || memchr(word, '*', (size_t)(end - word)) != NULL ||
        memchr(word, '^', (size_t)(end - word)) != NULL || memchr(word, '(', (size_t)(end - word)) != NULL)
        return " (JSON has no arithmetic: send the result)";
    if (last == 'j' || last == 'i')
        return " (JSON has no complex numbers, and attention is of real ones)";
    if (last == '%')
        return " (a number has no unit in JSON)";
    if (strchr("fFlLnNdDuUhm", last) != NULL)
        return " (a number has no suffix in JSON)";
    if (last == 'e' || last == 'E' || last == '-')
        return " (a number ends with a digit in JSON)";
    if (last == ')')
        return BRACKETS;
    return "";
}

/* The last character before `at` that is no white space; 0 at the start. */
static char before(const char *text, const char *at)
{
    while (at > text && token_is_space(at[-1]))
        at--;
    return at > text ? at[-1] : '\0';
}

const char *dialect_remark(const char *text, const char *at, const char *end)
{
    if (at >= end)
        return "";
    char last = before(text, at);
    const char *word = token_is_word(*at) ? token_word_end(at, end) : at + 1;
    const char *after = token_space_end(word, end);
    if ((*at == '}' || *at == ']') && last == ',')
        return " (JSON has no trailing commas)";
    if ((*at == '}' || *at == ']' || *at == ',') && last == ':')
        return " (a value is missing)";
    if (*at == ',' && (last == ',' || last == '{' || last == '['))
        return " (a value is missing before ',')";
    if (*at == '{' && last == '{')
        return at[-1] == '{' && after < end && (isalpha((unsigned char)*after) || *after == '_') ? PLACEHOLDER : OBJECT_NAMES;
    bool value_ended = last == '"' || last == '}' || last == ']' || (token_is_word(last) && last != '\0');
    if ((*at == '"' || *at == '{' || *at == '[') && value_ended)
        return after < end && *at == '"' && last == '"' && at > text && at[-1] == '"' ? " (a quote in a string is written \\\")"
                                                                                      : " (',' or ':' is missing before it)";
    if (!token_is_word(*at))
        return "";
    bool is_name = after < end && *after == ':' && (last == '{' || last == ',');
    if (is_name && (isalpha((unsigned char)*at) || *at == '_'))
        return QUOTES;
    const char *remark = known_word(at, word);
    if (remark[0] != '\0')
        return remark;
    remark = dialect_word_remark(at, word);
    if (remark[0] != '\0')
        return remark;
    if (last == '{' && (isdigit((unsigned char)*at) || *at == '-'))
        return OBJECT_NAMES;
    if (value_ended)
        return " (',' or ':' is missing before it)";
    if (isalpha((unsigned char)*at) || *at == '_')
        return QUOTES;
    return "";
}

/* A spelling of what is not finite that is not one of ours. */
static bool is_non_finite(const char *string)
{
    const char *word = *string == '-' || *string == '+' ? string + 1 : string;
    if (strcmp(word, "NaN") == 0 || strcmp(word, "Infinity") == 0)
        return false;
    return strncasecmp(word, "nan", 3) == 0 || strncasecmp(word, "inf", 3) == 0;
}

/* Of a string that begins as a number does. */
static const char *number_remark(const char *string, size_t bytes)
{
    double value;
    if (number_read_f64(string, string + bytes, &value) == string + bytes)
        return " (a number is not in quotes)";
    if (strchr(string, ' ') != NULL)
        return " (numbers in a string: send an array, [..])";
    if (strchr(string, ',') != NULL)
        return " (numbers in a string: send an array, [..]; a decimal comma is a point in JSON)";
    if (strchr("ij", string[bytes - 1]) != NULL)
        return " (no complex numbers are read)";
    if (string[bytes - 1] == '%')
        return " (a share is a number: 0.5, not 50%)";
    if (strpbrk(string, "*/^") != NULL)
        return " (JSON has no arithmetic: send the result)";
    if (strpbrk(string, "xX") != NULL)
        return " (axes are an array: [2, 3], not 2x3)";
    return "";
}

const char *dialect_string_remark(const char *string)
{
    size_t bytes = strlen(string), looked = 0, digits = 0, capitals = 0;
    if (bytes == 0)
        return "";
    if (string[0] == '[' || string[0] == '(')
        return " (an array in a string: send it without the quotes around it)";
    if (strncmp(string, "data:", 5) == 0)
        return " (no data: URL is read: send numbers, or bytes as a safetensors file)";
    if (bytes > 4 && strchr(string, '.') != NULL && !isdigit((unsigned char)string[0]) &&
        isalpha((unsigned char)string[bytes - 1]))
        return " (no file is read by its name: send the numbers)";
    for (; looked < bytes && (isalnum((unsigned char)string[looked]) || strchr("+/=-_", string[looked]) != NULL); looked++) {
        digits += isdigit((unsigned char)string[looked]) != 0;
        capitals += isupper((unsigned char)string[looked]) != 0;
    }
    bool number = isdigit((unsigned char)string[0]) ||
                  (strchr("-+.", string[0]) != NULL && (string[1] == '.' || isdigit((unsigned char)string[1])));
    if (looked == bytes && (string[bytes - 1] == '=' || (bytes >= 12 && digits > 0 && capitals > 1)))
        return " (no base64 is read: send numbers, or bytes as a safetensors file with Content-Type: "
               "application/x-safetensors)";
    if (strcasecmp(string, "true") == 0 || strcasecmp(string, "false") == 0 || strcasecmp(string, "null") == 0)
        return " (true, false and null are not in quotes)";
    if (is_non_finite(string))
        return NON_FINITE;
    return number ? number_remark(string, bytes) : "";
}
