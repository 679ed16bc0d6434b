/* test_data.h: the JSON files of tests/cases and tests/conformance, read with jansson from the repository's root. */
#ifndef ATTND_TESTS_SUPPORT_TEST_DATA_H
#define ATTND_TESTS_SUPPORT_TEST_DATA_H

#include <jansson.h>
#include <stddef.h>

/* ---- tests/cases, tests/conformance/cases.json, rope.json and biases.json: requests, whose form tests/cases/README.md has ---- */

/* Every case of every file; prints how many each file has. New array. Ends the program with a message where a file is not
 * what it should be. */
json_t *cases_load(void);

/* The mistakes of tests/cases/mistakes and their answers; likewise. */
json_t *mistakes_load(void);

/* A case's body as it is sent; new, NUL-terminated, to be freed. */
char *case_body(const json_t *test);

/* A case's text member; NULL where it has none. */
const char *case_text(const json_t *test, const char *name);

/* ---- the other files of tests/conformance: each function fails the running test where a file is not what it should be ---- */

/* Reads tests/conformance/`name`. New reference. */
json_t *conformance_load(const char *name);

/* The member at `path`, keys separated by '/'. Borrowed. */
json_t *conformance_at(json_t *root, const char *path);

/* All numbers below `node`, in order, arrays nested to any depth. New array: the caller frees it. */
double *conformance_numbers(json_t *node, size_t *ret_count);

/* A flat array of sizes into `ret`, of `capacity` elements. Returns how many there are. */
size_t conformance_shape(json_t *node, size_t *ret, size_t capacity);

#endif
