/* array_skip.h: finds where an array ends and the shape along its first elements, without reading its numbers.
 *
 * Only brackets outside of strings decide where an array ends; what else stands in it is array_read's to judge. So the pass
 * looks at 64 bytes at a time and stops at brackets and quotes alone; commas are counted only where they make up the shape. */
#ifndef ATTND_API_JSON_SKIP_H
#define ATTND_API_JSON_SKIP_H

#include <stdbool.h>

#include "api/json/extract.h"

/* `text` is at the array's '['; array->kind and array->rank hold. Fills array->text_bytes and array->shape.
 * Returns false where the text ends before the array does. */
bool array_skip(const char *text, const char *end, struct json_array_text *array) __attribute__((warn_unused_result));

/* How many commas stand in [at, end), in strings, too. */
size_t array_count_commas(const char *at, const char *end);

#endif
