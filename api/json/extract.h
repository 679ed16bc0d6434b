/* extract.h: takes the arrays of numbers out of a JSON text, so that only a small document is left for a JSON library and no
 * number of a tensor ever becomes a JSON value.
 *
 *   {"query": [[1, 2], [3, 4]], "causal": true}
 *   -> document {"query":[0],"causal":true}, arrays[0] = the text [[1, 2], [3, 4]], shape [2, 2], numbers
 *
 * An array is extracted where its first leaf is a number, a boolean or a non-finite form, or where it has no first leaf: that
 * is its first element's first element (and so on), so [[], "x"] has none. Arrays that begin otherwise, with an object, null or
 * any other string, stay, and arrays in them are extracted by the same rule. Arrays of strings are extracted where they are
 * "tokens", or "query" or "key" in it: labels, as many as there are tokens. A string is extracted where it is "request" in
 * "__metadata__", as safetensors files have it, and long: it may hold such labels.
 * Non-finite forms are the strings "NaN" "nan" "Infinity" "inf" "-Infinity" "-inf" and the bare tokens NaN Infinity -Infinity
 * that Python's json writes.
 * In the document an array of one integer, the index, takes an extracted array's place: the text itself cannot hold such an
 * array there, since it would have been extracted. A bare non-finite token outside of extracted arrays becomes a string.
 * Everything else is copied byte by byte, except white space between tokens, for the JSON library to judge.
 *
 * extract_scan is fast and only finds where arrays end and the shape of their first elements, so that costs can be computed
 * before memory is allocated; array_read checks every byte. A text is JSON only if both and the JSON library agree: an array
 * that is never read is never checked. */
#ifndef ATTND_API_JSON_EXTRACT_H
#define ATTND_API_JSON_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/error.h"
#include "core/tensor.h"

#define DOCUMENT_BYTES_MAX 65536 /* text outside of extracted arrays */
#define EXTRACT_ARRAYS_MAX 256
#define EXTRACT_STRING_BYTES_MIN 8192              /* shorter strings stay in the document */
#define EXTRACT_STRING_BYTES_MAX ((size_t)4 << 20) /* of an extracted string */
#define DOCUMENT_DEPTH_MAX 32 /* of objects and arrays in the document; in an extracted array TENSOR_RANK_MAX */

enum json_array_kind {
    JSON_ARRAY_EMPTY,      /* no leaf */
    JSON_ARRAY_NUMBERS,    /* first leaf is a number or non-finite */
    JSON_ARRAY_BOOLS,      /* first leaf is true or false */
    JSON_ARRAY_STRINGS,    /* of "tokens": string_array.h reads it, and array_read never does */
    JSON_EXTRACTED_STRING, /* no array but a long string, without axes: string_array.h reads it, too */
};

struct json_array_text {
    size_t offset_bytes, text_bytes; /* of its text in the body, brackets included */
    size_t document_offset_bytes;    /* of its placeholder in the document */
    size_t document_bytes;           /* of its placeholder */
    enum json_array_kind kind;
    size_t rank; /* at least 1 of an array; may exceed TENSOR_RANK_MAX, which the reader of the field refuses */
    /* As the array's first elements have it; array_read checks the others against it. For a ragged array it may count far more
     * elements than the text holds. Not of strings, which may hold commas. */
    size_t shape[TENSOR_RANK_MAX];
};

struct extract {
    const char *text; /* borrowed: the body, or a text in it */
    const char *name; /* of that text, for errors; NULL: the body. Static */
    size_t text_bytes;
    char *document; /* in the arena; NUL-terminated; strings in it may hold NUL bytes, which are not JSON */
    size_t document_bytes;
    struct json_array_text *arrays; /* in the arena */
    size_t array_count;
};

/* What extract_scan takes of its arena at most. */
size_t extract_scan_cost(void);

/* `text` is not NULL, need not end in NUL, and is borrowed for as long as `ret` is used. `name` as in struct extract.
 * Fails   malformed (text that ends early, brackets that do not match, a NUL byte outside of strings; with line and column),
 *         too_large (over a maximum above), no_memory; *ret is then all zero. */
bool extract_scan(const char *text, size_t text_bytes, const char *name, struct arena *arena, struct extract *ret,
                  struct error *err) __attribute__((warn_unused_result));

/* Reads an array of at most TENSOR_RANK_MAX axes into `ret_data`: shape_count(array->rank, array->shape) elements, row-major,
 * contiguous, each correctly rounded to `dtype` (DTYPE_F32, DTYPE_F64, or DTYPE_BOOL: one byte an element, 0 or 1; DTYPE_I64:
 * doubles that are to be integers, those that overflow infinite, for the caller to check). Never writes past them; on failure
 * some are written.
 * Fails   malformed (not JSON; with line and column), invalid (ragged; a boolean among numbers or the other way round; a
 *         string, null or object; a finite literal that overflows the dtype): the first error in the text, err->pointer is
 *         `pointer` + the place, as "/query" + "/1/0". */
bool array_read(const struct extract *extract, const struct json_array_text *array, enum dtype dtype, const char *pointer,
                void *ret_data, struct error *err) __attribute__((warn_unused_result));

/* The offset in the text of an offset in the document (inside a placeholder: the start of its array; at the document's end: the
 * text's). */
size_t extract_body_offset(const struct extract *extract, size_t document_offset_bytes);

/* Line (from 1) and column (from 1, in bytes) of an offset in a text. */
void text_line_column(const char *text, size_t offset_bytes, size_t *ret_line, size_t *ret_column);

#endif
