#include "api/json/extract.h"

#include <string.h>

#include "api/json/dialect.h"
#include "api/json/skip.h"
#include "api/json/token.h"
#include "api/json/writer.h"
#include "core/size.h"

struct scan {
    struct extract *extract;
    const char *at, *end;
    const char *not_extracted_below;          /* arrays that begin before it are not extracted: their first leaf is known */
    const char *opened[DOCUMENT_DEPTH_MAX];   /* the open brackets, each in the text */
    const char *keys[DOCUMENT_DEPTH_MAX + 1]; /* by depth: the key read last, each in the text */
    size_t depth;
    char last; /* first byte of the token copied last, ']' for an extracted array; 0 at the start */
    struct error *err;
};

size_t extract_scan_cost(void)
{
    return size_add(arena_cost(DOCUMENT_BYTES_MAX + 1), arena_cost(EXTRACT_ARRAYS_MAX * sizeof(struct json_array_text)));
}

static bool keep(struct scan *scan, const char *bytes, size_t count)
{
    struct extract *extract = scan->extract;
    if (count > DOCUMENT_BYTES_MAX - extract->document_bytes)
        return error_set_limit(scan->err, "envelope-bytes", DOCUMENT_BYTES_MAX,
                               "the text outside of number arrays is longer than %d bytes (in a safetensors file, send arrays "
                               "as tensors of the file)",
                               DOCUMENT_BYTES_MAX);
    memcpy(extract->document + extract->document_bytes, bytes, count);
    extract->document_bytes += count;
    return true;
}

/* Copies the text up to `end` to the document, and continues there. */
static bool keep_until(struct scan *scan, const char *end)
{
    const char *start = scan->at;
    scan->last = *start;
    scan->at = end;
    return keep(scan, start, (size_t)(end - start));
}

static const char *bracket_name(const char *bracket)
{
    return *bracket == '[' ? "array" : "object";
}

static bool fail_unclosed(struct scan *scan, const char *opened)
{
    size_t line, column;
    text_line_column(scan->extract->text, (size_t)(opened - scan->extract->text), &line, &column);
    bool escaped = *opened == '"' && opened > scan->extract->text && opened[-1] == '\\';
    return extract_malformed(scan->extract, scan->end, "", scan->err,
                             "the text ends before the %s opened at line %zu, column %zu is closed%s",
                             *opened == '"' ? "string" : bracket_name(opened), line, column,
                             escaped ? dialect_remark(scan->extract->text, opened - 1, scan->end) : "");
}

static bool scan_open(struct scan *scan)
{
    if (scan->depth == DOCUMENT_DEPTH_MAX)
        return error_set_limit(scan->err, "nesting-depth", DOCUMENT_DEPTH_MAX, "objects and arrays nest deeper than %d",
                               DOCUMENT_DEPTH_MAX);
    scan->opened[scan->depth++] = scan->at;
    return keep_until(scan, scan->at + 1);
}

static bool scan_close(struct scan *scan)
{
    char found = *scan->at;
    if (scan->depth == 0)
        return extract_malformed(scan->extract, scan->at, "", scan->err, "found '%c' where nothing is open", found);
    const char *opened = scan->opened[scan->depth - 1];
    char closing = *opened == '[' ? ']' : '}';
    if (found != closing) {
        size_t line, column;
        text_line_column(scan->extract->text, (size_t)(opened - scan->extract->text), &line, &column);
        return extract_malformed(scan->extract, scan->at, "", scan->err,
                                 "expected '%c' to close the %s opened at line %zu, column %zu, found '%c'", closing,
                                 bracket_name(opened), line, column, found);
    }
    scan->depth--;
    return keep_until(scan, scan->at + 1);
}

/* Whether a value may stand here, as opposed to a key. */
static bool at_value(const struct scan *scan)
{
    bool in_array = scan->depth > 0 && *scan->opened[scan->depth - 1] == '[';
    return scan->last == 0 || scan->last == ':' || (scan->last == ',' && in_array);
}

/* Whether the object that is open at `depth` has `key`, in its quotes, as the key read last. */
static bool key_is(const struct scan *scan, size_t depth, const char *key)
{
    return depth > 0 && depth <= DOCUMENT_DEPTH_MAX && *scan->opened[depth - 1] == '{' && scan->keys[depth] != NULL &&
           (size_t)(scan->end - scan->keys[depth]) > strlen(key) && memcmp(scan->keys[depth], key, strlen(key)) == 0;
}

/* Whether a value here is that of "tokens", or of a member of it. */
static bool in_tokens(const struct scan *scan)
{
    static const char tokens[] = "\"tokens\"";
    return scan->last == ':' &&
           (key_is(scan, scan->depth, tokens) || (scan->depth > 1 && key_is(scan, scan->depth - 1, tokens)));
}

/* Whether a value here is the request in a safetensors file's metadata. */
static bool in_metadata_request(const struct scan *scan)
{
    return scan->last == ':' && scan->depth == 2 && key_is(scan, 1, "\"__metadata__\"") && key_is(scan, 2, "\"request\"");
}

static bool scan_word(struct scan *scan)
{
    const char *word = scan->at;
    const char *end = token_word_end(word, scan->end);
    const char *nul = memchr(word, '\0', (size_t)(end - word));
    if (nul != NULL) /* jansson 2.14 ignores one that follows a number */
        return extract_malformed(
            scan->extract, nul, "", scan->err,
            "found a NUL byte (text has none: where binary data follow the JSON, under /v2, send its length in the "
            "header Inference-Header-Content-Length)");
    double value;
    bool quoted = at_value(scan) && token_non_finite(word, end, &value) == end;
    bool after_word = scan->last != 0 && token_is_word(scan->last);
    if (after_word && !keep(scan, " ", 1)) /* the space between them was dropped; they must not become one word */
        return false;
    if (!quoted)
        return keep_until(scan, end);
    return keep(scan, "\"", 1) && keep_until(scan, end) && keep(scan, "\"", 1);
}

/* Whether an array with the first leaf at `leaf` is extracted. What only resembles a number counts as one: array_read says
 * better what is wrong with it. */
static bool leaf_is_extracted(const char *leaf, const char *end, enum json_array_kind *ret_kind)
{
    double value;
    *ret_kind = JSON_ARRAY_NUMBERS;
    switch (*leaf) {
    case ']':
        *ret_kind = JSON_ARRAY_EMPTY;
        return true;
    case 't':
    case 'f':
        *ret_kind = JSON_ARRAY_BOOLS;
        return true;
    case '"':
        return token_non_finite(leaf, end, &value) != NULL;
    case '+':
    case '-':
    case '.':
    case 'N':
    case 'I':
        return true;
    default:
        return *leaf >= '0' && *leaf <= '9';
    }
}

/* Continues behind the text at scan->at, which a placeholder stands for: up to `string_end`, or to the end of an array. */
static bool extract_here(struct scan *scan, enum json_array_kind kind, size_t rank, const char *string_end)
{
    struct extract *extract = scan->extract;
    if (extract->array_count == EXTRACT_ARRAYS_MAX)
        return error_set_limit(scan->err, "number-arrays", EXTRACT_ARRAYS_MAX, "there are more than %d arrays of numbers",
                               EXTRACT_ARRAYS_MAX);
    size_t offset_bytes = (size_t)(scan->at - extract->text);
    struct json_array_text *array = &extract->arrays[extract->array_count];
    *array = (struct json_array_text){
        .offset_bytes = offset_bytes, .document_offset_bytes = extract->document_bytes, .kind = kind, .rank = rank};
    if (string_end != NULL)
        array->text_bytes = (size_t)(string_end - scan->at);
    else if (!array_skip(scan->at, scan->end, array))
        return fail_unclosed(scan, scan->at);
    scan->at += array->text_bytes;
    scan->last = ']';

    char placeholder[24];
    struct writer writer;
    writer_init(&writer, placeholder, sizeof placeholder);
    writer_add(&writer, "[");
    writer_unsigned(&writer, extract->array_count);
    writer_add(&writer, "]");
    array->document_bytes = (size_t)(writer.at - writer.start);
    extract->array_count++;
    return keep(scan, placeholder, array->document_bytes);
}

static bool scan_string(struct scan *scan)
{
    const char *end = token_string_end(scan->at, scan->end);
    if (end == NULL)
        return fail_unclosed(scan, scan->at);
    if (!at_value(scan))
        scan->keys[scan->depth] = scan->at;
    else if ((size_t)(end - scan->at) >= EXTRACT_STRING_BYTES_MIN && in_metadata_request(scan))
        return extract_here(scan, JSON_EXTRACTED_STRING, 0, end);
    return keep_until(scan, end);
}

static bool scan_array(struct scan *scan)
{
    if (scan->at < scan->not_extracted_below)
        return scan_open(scan);

    size_t rank = 0;
    const char *leaf = scan->at;
    for (; leaf < scan->end && (*leaf == '[' || token_is_space(*leaf)); leaf++)
        rank += *leaf == '[';
    enum json_array_kind kind;
    if (leaf < scan->end && *leaf == '"' && in_tokens(scan))
        return extract_here(scan, JSON_ARRAY_STRINGS, rank, NULL);
    if (leaf < scan->end && leaf_is_extracted(leaf, scan->end, &kind))
        return extract_here(scan, kind, rank, NULL);
    scan->not_extracted_below = leaf; /* the arrays in between have the same first leaf, found once */
    return scan_open(scan);
}

static bool scan_token(struct scan *scan)
{
    switch (*scan->at) {
    case '[':
        return scan_array(scan);
    case '{':
        return scan_open(scan);
    case ']':
    case '}':
        return scan_close(scan);
    case '"':
        return scan_string(scan);
    case ',':
    case ':':
        return keep_until(scan, scan->at + 1);
    default:
        return scan_word(scan);
    }
}

bool extract_scan(const char *text, size_t text_bytes, const char *name, struct arena *arena, struct extract *ret,
                  struct error *err)
{
    struct extract extract = {.text = text, .name = name, .text_bytes = text_bytes};
    *ret = (struct extract){0};
    extract.document = arena_alloc(arena, DOCUMENT_BYTES_MAX + 1, err);
    if (extract.document == NULL)
        return false;
    extract.arrays = arena_alloc(arena, EXTRACT_ARRAYS_MAX * sizeof *extract.arrays, err);
    if (extract.arrays == NULL)
        return false;

    struct scan scan = {.extract = &extract, .at = text, .end = text + text_bytes, .not_extracted_below = text, .err = err};
    while ((scan.at = token_space_end(scan.at, scan.end)) < scan.end) {
        if (!scan_token(&scan))
            return false;
    }
    if (scan.depth > 0)
        return fail_unclosed(&scan, scan.opened[scan.depth - 1]);
    extract.document[extract.document_bytes] = '\0';
    *ret = extract;
    return true;
}

/* The scan copied strings and words unchanged, and single bytes otherwise: walking the text in the same way leads back. The
 * space and the quotes that it added around a word show in the document. */
size_t extract_body_offset(const struct extract *extract, size_t document_offset_bytes)
{
    const char *end = extract->text + extract->text_bytes;
    const char *at = extract->text;
    const struct json_array_text *array = extract->arrays, *arrays_end = extract->arrays + extract->array_count;
    size_t kept = 0;
    while ((at = token_space_end(at, end)) < end) {
        size_t offset_bytes = (size_t)(at - extract->text);
        const char *token_end = at + 1;
        size_t before = 0, after = 0;
        if (array < arrays_end && array->offset_bytes == offset_bytes) {
            kept += array->document_bytes;
            if (document_offset_bytes < kept)
                return offset_bytes;
            at += array->text_bytes;
            array++;
            continue;
        }
        if (*at == '"') {
            token_end = token_string_end(at, end);
        } else if (token_is_word(*at)) {
            token_end = token_word_end(at, end);
            before = extract->document[kept] == ' ';
            after = extract->document[kept + before] == '"';
            before += after;
        }
        size_t token_bytes = (size_t)(token_end - at);
        if (document_offset_bytes < kept + before + token_bytes + after) {
            size_t inside = document_offset_bytes - kept;
            inside = inside < before ? 0 : inside - before;
            return offset_bytes + size_min(inside, token_bytes - 1);
        }
        kept += before + token_bytes + after;
        at = token_end;
    }
    return extract->text_bytes;
}
