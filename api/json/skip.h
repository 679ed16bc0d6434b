/* skip.h: finds where an array ends and the shape of its first elements, without reading its numbers.
 *
 * Only brackets outside of strings decide where an array ends; array_read judges everything else in it. So the pass looks at 64
 * bytes at a time and stops only at brackets and quotes; commas are counted only where they tell the shape. */
#ifndef ATTND_API_JSON_SKIP_H
#define ATTND_API_JSON_SKIP_H

#include <stdbool.h>

#include "api/json/extract.h"

/* `text` is at the array's '['; array->kind and array->rank are set. Fills array->text_bytes and array->shape.
 * Returns false where the text ends before the array does. */
bool array_skip(const char *text, const char *end, struct json_array_text *array) __attribute__((warn_unused_result));

/* The number of commas in [at, end), including those in strings. */
size_t array_count_commas(const char *at, const char *end);

#endif
