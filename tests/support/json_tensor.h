/* grid.h: a JSON tensor as a test reads it: rectangular, row-major, every number a double.
 *
 * Reads the three forms of a request's tensor and the two of a reply's. Slow and plain; it fails the running test where the
 * arrays are ragged or hold anything else. */
#ifndef ATTND_TESTS_SUPPORT_JSON_TENSOR_H
#define ATTND_TESTS_SUPPORT_JSON_TENSOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define GRID_RANK_MAX 8

struct json_tensor {
    bool present;  /* false: the JSON had none */
    bool has_data; /* false: {"shape": [..]} alone, values are 0 */
    bool is_bool;  /* true and false, as 1 and 0 */
    size_t rank, shape[GRID_RANK_MAX];
    size_t count;
    double *values;     /* owned */
    double *magnitudes; /* owned; [count], or NULL: what rounding errors are proportional to, where that is not |value| */
};

/* Reads `json` (NULL or null: absent). `narrow` rounds to float32. */
struct json_tensor json_tensor_read(const json_t *json, bool narrow);

/* Zeros. */
struct json_tensor json_tensor_new(size_t rank, const size_t *shape);

/* Gives `grid` magnitudes, the absolute values where it has none yet. */
void json_tensor_weigh(struct json_tensor *json_tensor);

double json_tensor_magnitude(const struct json_tensor *json_tensor, size_t k);

void json_tensor_done(struct json_tensor *json_tensor);

#endif
