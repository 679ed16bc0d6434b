/* array_read_parallel.h: large arrays, read by several threads. */
#ifndef ATTND_API_JSON_ARRAY_READ_PARALLEL_H
#define ATTND_API_JSON_ARRAY_READ_PARALLEL_H

#include "api/json/extract.h"
#include "core/executor.h"

#define ARRAY_READ_PARALLEL_BYTES_MIN ((size_t)256 * 1024) /* shorter texts are read by the caller alone */

/* The same results and the same error as array_read's. `executor` may be NULL.
 * Fails   also deadline: the executor was stopped. */
bool array_read_parallel(const struct extract *extract, const struct json_array_text *array, enum dtype dtype,
                         const char *pointer, const struct executor *executor, void *ret_data, struct error *err)
    __attribute__((warn_unused_result));

#endif
