/* conformance_file.h: the JSON files under tests/conformance, read with jansson.
 *
 * Every function ends the running test with a message where the file is not what it should be. */
#ifndef ATTND_TESTS_SUPPORT_CONFORMANCE_FILE_H
#define ATTND_TESTS_SUPPORT_CONFORMANCE_FILE_H

#include <jansson.h>
#include <stddef.h>

/* Reads tests/conformance/`name`, relative to the working directory. New reference. */
json_t *conformance_load(const char *name);

/* The member at `path`, keys separated by '/'. Borrowed. */
json_t *conformance_at(json_t *root, const char *path);

/* All numbers below `node`, in order, arrays nested to any depth. New array: the caller frees it. */
double *conformance_numbers(json_t *node, size_t *ret_count);

/* A flat array of sizes into `ret`, of `capacity` elements. Returns how many there are. */
size_t conformance_shape(json_t *node, size_t *ret, size_t capacity);

#endif
