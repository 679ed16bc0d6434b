/* number_row.h: what number_read.h and number_write.h do, for the usual numbers of a tensor, many at a time: about a third of
 * the time, with the same results.
 *
 * A number's length, the place of its point, its sign and how it rounds cannot be predicted. So neither function has a jump that
 * depends on them: it would be mispredicted, and that costs as much as all of the number.
 * Locale   independent. Threads: reentrant. Allocates nothing. */
#ifndef ATTND_API_NUMBER_BATCH_H
#define ATTND_API_NUMBER_BATCH_H

#include <stddef.h>

#include "api/number/write.h"

/* Reads numbers that are each followed by a comma, from *at on, where a blank may stand before each. Stops behind the comma of
 * number `count`, or before the first one that is not usual (it has an exponent, more than 16 digits before its point, lies
 * halfway between two float32, is none, ...) or too near to `end`. *at is then where it stopped. Returns how many were read;
 * of ret[0 .. count-1], those behind them may have been written to. Never reads at or past `end`. */
size_t number_batch_read_f32(const char **at, const char *end, size_t count, float *ret);

/* Writes `count` numbers, a comma before each. Touches count * (NUMBER_F32_TEXT_BYTES_MAX + 1) + NUMBER_F32_BYTES_MAX bytes at
 * the most. Returns the end of the text. */
char *number_batch_write_f32(const float *x, size_t count, char *out);

#endif
