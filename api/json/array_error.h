/* array_error.h: what is wrong with an array, in words. Not in array_read.c, so that its loops only read. Each function sets
 * the reader's error and returns false. */
#ifndef ATTND_API_JSON_ARRAY_ERROR_H
#define ATTND_API_JSON_ARRAY_ERROR_H

#include "api/json/array_reader.h"

/* `at` is where the element index[0 .. depth-1] should begin, and something else does. */
bool array_error_element(const struct array_reader *reader, size_t depth, const char *at);

/* The same element is the finite number at `at`, and it overflows the dtype. */
bool array_error_overflow(const struct array_reader *reader, size_t depth, const char *at);

/* The same element was read; what follows it, at `at`, is not the ',' or ']' that the shape calls for. */
bool array_error_after(const struct array_reader *reader, size_t depth, const char *at);

/* The array at index[0 .. depth-2] is open and empty by the shape, but has an element at `at`. */
bool array_error_not_empty(const struct array_reader *reader, size_t depth, const char *at);

#endif
