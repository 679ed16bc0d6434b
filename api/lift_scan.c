#include "api/lift.h"

#include <stdio.h>
#include <string.h>

#include "api/lift_jump.h"
#include "api/lift_text.h"
#include "core/size.h"

struct scan {
    struct lift *lift;
    const char *at, *end;
    const char *plain_below;            /* the arrays that start before it have a first leaf that keeps them in the envelope */
    const char *opened[LIFT_DEPTH_MAX]; /* the brackets that are open, each at its place in the text */
    size_t depth;
    char last; /* first byte of what the envelope took last, ']' for a lifted array; 0 at the start */
    struct error *err;
};

size_t lift_scan_cost(void)
{
    return size_add(arena_cost(LIFT_ENVELOPE_BYTES_MAX + 1), arena_cost(LIFT_ARRAYS_MAX * sizeof(struct lift_array)));
}

static bool keep(struct scan *scan, const char *bytes, size_t count)
{
    struct lift *lift = scan->lift;
    if (count > LIFT_ENVELOPE_BYTES_MAX - lift->envelope_bytes)
        return error_set_limit(scan->err, "envelope-bytes", LIFT_ENVELOPE_BYTES_MAX,
                               "the text outside of number arrays is longer than %d bytes", LIFT_ENVELOPE_BYTES_MAX);
    memcpy(lift->envelope + lift->envelope_bytes, bytes, count);
    lift->envelope_bytes += count;
    return true;
}

/* Keeps the text up to `end` and goes there. */
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
    lift_line_column(scan->lift->text, (size_t)(opened - scan->lift->text), &line, &column);
    return lift_malformed(scan->lift, scan->end, "", scan->err,
                          "the text ends before the %s opened at line %zu, column %zu is closed",
                          *opened == '"' ? "string" : bracket_name(opened), line, column);
}

static bool scan_open(struct scan *scan)
{
    if (scan->depth == LIFT_DEPTH_MAX)
        return error_set_limit(scan->err, "nesting-depth", LIFT_DEPTH_MAX, "objects and arrays nest deeper than %d",
                               LIFT_DEPTH_MAX);
    scan->opened[scan->depth++] = scan->at;
    return keep_until(scan, scan->at + 1);
}

static bool scan_close(struct scan *scan)
{
    char found = *scan->at;
    if (scan->depth == 0)
        return lift_malformed(scan->lift, scan->at, "", scan->err, "found '%c' where nothing is open", found);
    const char *opened = scan->opened[scan->depth - 1];
    char closing = *opened == '[' ? ']' : '}';
    if (found != closing) {
        size_t line, column;
        lift_line_column(scan->lift->text, (size_t)(opened - scan->lift->text), &line, &column);
        return lift_malformed(scan->lift, scan->at, "", scan->err,
                              "expected '%c' to close the %s opened at line %zu, column %zu, found '%c'", closing,
                              bracket_name(opened), line, column, found);
    }
    scan->depth--;
    return keep_until(scan, scan->at + 1);
}

static bool scan_string(struct scan *scan)
{
    const char *end = lift_string_end(scan->at, scan->end);
    if (end == NULL)
        return fail_unclosed(scan, scan->at);
    return keep_until(scan, end);
}

/* Whether a value may stand here, as opposed to a key. */
static bool at_value(const struct scan *scan)
{
    bool in_array = scan->depth > 0 && *scan->opened[scan->depth - 1] == '[';
    return scan->last == 0 || scan->last == ':' || (scan->last == ',' && in_array);
}

static bool scan_word(struct scan *scan)
{
    const char *word = scan->at;
    const char *end = lift_word_end(word, scan->end);
    const char *nul = memchr(word, '\0', (size_t)(end - word));
    if (nul != NULL) /* jansson 2.14 drops one that follows a number */
        return lift_malformed(scan->lift, nul, "", scan->err, "found a NUL byte");
    double value;
    bool quoted = at_value(scan) && lift_non_finite(word, end, &value) == end;
    bool after_word = scan->last != 0 && lift_is_word(scan->last);
    if (after_word && !keep(scan, " ", 1)) /* the space between them was dropped: they must not become one */
        return false;
    if (!quoted)
        return keep_until(scan, end);
    return keep(scan, "\"", 1) && keep_until(scan, end) && keep(scan, "\"", 1);
}

/* Whether an array is lifted whose first leaf begins at `leaf`. What only resembles a number counts as one: lift_read has
 * the better words for what is wrong with it. */
static bool leaf_is_lifted(const char *leaf, const char *end, enum lift_kind *ret_kind)
{
    double value;
    *ret_kind = LIFT_NUMBERS;
    switch (*leaf) {
    case ']':
        *ret_kind = LIFT_EMPTY;
        return true;
    case 't':
    case 'f':
        *ret_kind = LIFT_BOOLS;
        return true;
    case '"':
        return lift_non_finite(leaf, end, &value) != NULL;
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

static bool lift_here(struct scan *scan, enum lift_kind kind, size_t rank)
{
    struct lift *lift = scan->lift;
    if (lift->array_count == LIFT_ARRAYS_MAX)
        return error_set_limit(scan->err, "number-arrays", LIFT_ARRAYS_MAX, "there are more than %d arrays of numbers",
                               LIFT_ARRAYS_MAX);
    size_t offset_bytes = (size_t)(scan->at - lift->text);
    struct lift_array *array = &lift->arrays[lift->array_count];
    *array = (struct lift_array){
        .offset_bytes = offset_bytes, .envelope_offset_bytes = lift->envelope_bytes, .kind = kind, .rank = rank};
    if (!lift_jump(scan->at, scan->end, array))
        return fail_unclosed(scan, scan->at);
    scan->at += array->text_bytes;
    scan->last = ']';

    char stand_in[24];
    array->envelope_bytes = (size_t)snprintf(stand_in, sizeof stand_in, "[%zu]", lift->array_count);
    lift->array_count++;
    return keep(scan, stand_in, array->envelope_bytes);
}

static bool scan_array(struct scan *scan)
{
    if (scan->at < scan->plain_below)
        return scan_open(scan);

    size_t rank = 0;
    const char *leaf = scan->at;
    for (; leaf < scan->end && (*leaf == '[' || lift_is_space(*leaf)); leaf++)
        rank += *leaf == '[';
    enum lift_kind kind;
    if (leaf < scan->end && leaf_is_lifted(leaf, scan->end, &kind))
        return lift_here(scan, kind, rank);
    scan->plain_below = leaf; /* the arrays in between have the same first leaf: it is looked for once */
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

bool lift_scan(const char *text, size_t text_bytes, const char *name, struct arena *arena, struct lift *ret, struct error *err)
{
    struct lift lift = {.text = text, .name = name, .text_bytes = text_bytes};
    *ret = (struct lift){0};
    lift.envelope = arena_alloc(arena, LIFT_ENVELOPE_BYTES_MAX + 1, err);
    if (lift.envelope == NULL)
        return false;
    lift.arrays = arena_alloc(arena, LIFT_ARRAYS_MAX * sizeof *lift.arrays, err);
    if (lift.arrays == NULL)
        return false;

    struct scan scan = {.lift = &lift, .at = text, .end = text + text_bytes, .plain_below = text, .err = err};
    while ((scan.at = lift_space_end(scan.at, scan.end)) < scan.end) {
        if (!scan_token(&scan))
            return false;
    }
    if (scan.depth > 0)
        return fail_unclosed(&scan, scan.opened[scan.depth - 1]);
    lift.envelope[lift.envelope_bytes] = '\0';
    *ret = lift;
    return true;
}

/* The scan kept strings and words as they are, single bytes elsewhere: walking the text as it did finds the way back.
 * The space and the quotes that it added around a word are seen in the envelope. */
size_t lift_body_offset(const struct lift *lift, size_t envelope_offset_bytes)
{
    const char *end = lift->text + lift->text_bytes;
    const char *at = lift->text;
    const struct lift_array *array = lift->arrays, *arrays_end = lift->arrays + lift->array_count;
    size_t kept = 0;
    while ((at = lift_space_end(at, end)) < end) {
        size_t offset_bytes = (size_t)(at - lift->text);
        const char *token_end = at + 1;
        size_t before = 0, after = 0;
        if (array < arrays_end && array->offset_bytes == offset_bytes) {
            kept += array->envelope_bytes;
            if (envelope_offset_bytes < kept)
                return offset_bytes;
            at += array->text_bytes;
            array++;
            continue;
        }
        if (*at == '"') {
            token_end = lift_string_end(at, end);
        } else if (lift_is_word(*at)) {
            token_end = lift_word_end(at, end);
            before = lift->envelope[kept] == ' ';
            after = lift->envelope[kept + before] == '"';
            before += after;
        }
        size_t token_bytes = (size_t)(token_end - at);
        if (envelope_offset_bytes < kept + before + token_bytes + after) {
            size_t inside = envelope_offset_bytes - kept;
            inside = inside < before ? 0 : inside - before;
            return offset_bytes + size_min(inside, token_bytes - 1);
        }
        kept += before + token_bytes + after;
        at = token_end;
    }
    return lift->text_bytes;
}
