/* string_array.h: an extracted array of strings, checked where it stands: its text is JSON, and is used as it came; and an
 * extracted string, which holds a text of its own. */
#ifndef ATTND_API_JSON_STRING_ARRAY_H
#define ATTND_API_JSON_STRING_ARRAY_H

#include <stdbool.h>

#include "api/json/extract.h"

/* Fails   malformed (with line and column), invalid (an element that is no string): err->pointer is `pointer` + the place. */
bool string_array_check(const struct extract *extract, const struct json_array_text *array, const char *pointer,
                        struct error *err) __attribute__((warn_unused_result));

/* As string_array_check, of a JSON_EXTRACTED_STRING. */
bool string_check(const struct extract *extract, const struct json_array_text *string, const char *pointer, struct error *err)
    __attribute__((warn_unused_result));

/* The text that a JSON_EXTRACTED_STRING holds, in the arena: no longer than its own, not NUL-terminated.
 * Fails   as string_check; too_large over EXTRACT_STRING_BYTES_MAX; no_memory. */
bool string_read(const struct extract *extract, const struct json_array_text *string, const char *pointer, struct arena *arena,
                 const char **ret, size_t *ret_bytes, struct error *err) __attribute__((warn_unused_result));

#endif
