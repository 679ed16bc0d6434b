/* shape_hints.h: shapes that do not fit, and would if they were read in another way: what that way is, and how to write it. */
#ifndef ATTND_API_REQUEST_SHAPE_HINTS_H
#define ATTND_API_REQUEST_SHAPE_HINTS_H

#include "api/request/plan.h"
#include "core/error.h"

#define SHAPE_HINT_BYTES_MAX 520

/* Of query, key, value and caches that do not fit each other: "; .." to append to the error, "" where no other reading fits.
 * Returns `ret`. */
const char *shape_hint_of_tensors(const struct request *request, char ret[SHAPE_HINT_BYTES_MAX]);

/* Of a mask or a bias that does not broadcast to the weights; as above. */
const char *shape_hint_of_pairs(const struct plan *plan, enum request_tensor which, char ret[SHAPE_HINT_BYTES_MAX]);

/* Of one that broadcasts, and whose first axis may have been meant as the batch: a warning, "" where there is one reading. */
const char *shape_hint_of_readings(const struct plan *plan, enum request_tensor which, char ret[SHAPE_HINT_BYTES_MAX]);

#endif
