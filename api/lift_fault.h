/* lift_fault.h: what lift_read says when an array is not what it should be. Kept apart so that the reading loop holds
 * nothing but reading. Each function sets the reading's error and returns false. */
#ifndef ATTND_API_LIFT_FAULT_H
#define ATTND_API_LIFT_FAULT_H

#include "api/lift_reading.h"

/* `at` is where the element `index`[0 .. depth-1] should begin, and something else does. */
bool lift_fault_element(const struct lift_reading *reading, size_t depth, const char *at);

/* The same element is the finite number at `at`, and it overflows the dtype. */
bool lift_fault_overflow(const struct lift_reading *reading, size_t depth, const char *at);

/* The same element was read; `at` is at what follows it, and that is not the ',' or ']' that the shape asks for. */
bool lift_fault_after(const struct lift_reading *reading, size_t depth, const char *at);

/* The array at index[0 .. depth-2] is open, has no elements by the shape, and has one at `at`. */
bool lift_fault_not_empty(const struct lift_reading *reading, size_t depth, const char *at);

#endif
