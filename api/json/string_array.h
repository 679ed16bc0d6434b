/* string_array.h: an extracted array of strings, checked where it stands: its text is JSON, and is used as it came. */
#ifndef ATTND_API_JSON_STRING_ARRAY_H
#define ATTND_API_JSON_STRING_ARRAY_H

#include <stdbool.h>

#include "api/json/extract.h"

/* Fails   malformed (with line and column), invalid (an element that is no string): err->pointer is `pointer` + the place. */
bool string_array_check(const struct extract *extract, const struct json_array_text *array, const char *pointer,
                        struct error *err) __attribute__((warn_unused_result));

#endif
