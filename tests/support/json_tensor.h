/* json_tensor.h: a tensor in JSON as a test reads it: rectangular, row-major, every number a double.
 *
 * Reads the three forms of a request's tensor and the two of a reply's. Slow and plain; fails the running test where arrays are
 * ragged or hold anything else. */
#ifndef ATTND_TESTS_SUPPORT_JSON_TENSOR_H
#define ATTND_TESTS_SUPPORT_JSON_TENSOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define JSON_TENSOR_RANK_MAX 8

struct json_tensor {
    bool present;  /* false: the JSON had none */
    bool has_data; /* false: {"shape": [..]} alone, values are 0 */
    bool is_bool;  /* true and false, as 1 and 0 */
    size_t rank, shape[JSON_TENSOR_RANK_MAX];
    size_t count;
    double *values;  /* owned */
    double *allowed; /* owned; [count]: how far off each may be. NULL: not at all */
};

/* Reads `json` (NULL or null: absent). `narrow` rounds to float32. */
struct json_tensor json_tensor_read(const json_t *json, bool narrow);

/* Zeros. */
struct json_tensor json_tensor_new(size_t rank, const size_t *shape);

/* Adds the tensor `allowed`, zeros, unless it is there. */
void json_tensor_allow(struct json_tensor *json_tensor);

double json_tensor_allowed(const struct json_tensor *json_tensor, size_t k);

void json_tensor_done(struct json_tensor *json_tensor);

#endif
