/* array_error.h: what array_read says when an array is not what it should be. Kept apart so that the reading loop holds
 * nothing but reading. Each function sets the reading's error and returns false. */
#ifndef ATTND_API_JSON_ARRAY_ERROR_H
#define ATTND_API_JSON_ARRAY_ERROR_H

#include "api/json/array_reader.h"

/* `at` is where the element `index`[0 .. depth-1] should begin, and something else does. */
bool array_error_element(const struct array_reader *reading, size_t depth, const char *at);

/* The same element is the finite number at `at`, and it overflows the dtype. */
bool array_error_overflow(const struct array_reader *reading, size_t depth, const char *at);

/* The same element was read; `at` is at what follows it, and that is not the ',' or ']' that the shape asks for. */
bool array_error_after(const struct array_reader *reading, size_t depth, const char *at);

/* The array at index[0 .. depth-2] is open, has no elements by the shape, and has one at `at`. */
bool array_error_not_empty(const struct array_reader *reading, size_t depth, const char *at);

#endif
