/* lift_spread.h: a large array, read by several threads. */
#ifndef ATTND_API_LIFT_SPREAD_H
#define ATTND_API_LIFT_SPREAD_H

#include "api/lift.h"
#include "core/executor.h"

#define LIFT_SPREAD_BYTES_MIN ((size_t)256 * 1024) /* shorter texts are read by the caller alone */

/* As lift_read, with the same results and the same error. `executor` may be NULL.
 * Fails   also deadline: the executor was stopped. */
bool lift_read_spread(const struct lift *lift, const struct lift_array *array, enum dtype dtype, const char *pointer,
                      const struct executor *executor, void *ret_data, struct error *err) __attribute__((warn_unused_result));

#endif
