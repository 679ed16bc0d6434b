/* lift_reading.h: one array being read, or a part of one. Internal to the lifter. */
#ifndef ATTND_API_LIFT_READING_H
#define ATTND_API_LIFT_READING_H

#include <stdbool.h>
#include <stddef.h>

#include "api/lift.h"

struct lift_reading {
    const struct lift *lift;
    const char *first; /* of the array's text, its '[' */
    const char *end;   /* of the array's text, whose last byte is its ']' */
    const struct lift_array *array;
    enum dtype dtype;
    const char *pointer;
    struct error *err;
    size_t index[TENSOR_RANK_MAX]; /* of the element being read along each axis that is open */
};

static inline void lift_reading_init(struct lift_reading *ret, const struct lift *lift, const struct lift_array *array,
                                     enum dtype dtype, const char *pointer, struct error *err)
{
    const char *first = lift->text + array->offset_bytes;
    *ret = (struct lift_reading){lift, first, first + array->text_bytes, array, dtype, pointer, err, {0}};
}

/* Reads elements [first, last) to `ret_data`, one behind the other. `at` is at the array's '[' where first is 0, else
 * behind the comma before that element. Returns the first byte behind the comma after the last element, or behind the array;
 * NULL with the error set. */
const char *lift_read_elements(struct lift_reading *reading, size_t first, size_t last, const char *at, void *ret_data);

#endif
