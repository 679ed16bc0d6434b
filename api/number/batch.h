/* batch.h: a fast path over read.h and write.h for many numbers at once: a third to two thirds of the time, with the same results.
 *
 * A number's length, the place of its point, its sign and how it rounds cannot be predicted. So neither function branches on
 * them: one misprediction costs as much as reading or writing the whole number.
 * Locale   independent. Threads: reentrant. Allocates nothing. */
#ifndef ATTND_API_NUMBER_BATCH_H
#define ATTND_API_NUMBER_BATCH_H

#include <stddef.h>

#include "api/number/write.h"

/* Reads numbers from *at on, each followed by a comma and perhaps preceded by a blank. Stops after the comma of number `count`,
 * or before the first number that is off the fast path (it has an exponent or more than 16 digits before its point, is too
 * close to halfway between two float32, has more than 19 digits for a float64, is not a number, ...) or too near to `end`; *at is where it stopped. Returns how many
 * were read; the rest of ret[0 .. count-1] may have been overwritten. Never reads at or past `end`. */
size_t number_batch_read_f32(const char **at, const char *end, size_t count, float *ret);
size_t number_batch_read_f64(const char **at, const char *end, size_t count, double *ret);

/* Writes `count` numbers, a comma before each. Touches at most count * (NUMBER_F32_TEXT_BYTES_MAX + 1) + NUMBER_F32_BYTES_MAX
 * bytes, with F64 for F32 where they are doubles. Returns the end of the text. */
char *number_batch_write_f32(const float *x, size_t count, char *out);
char *number_batch_write_f64(const double *x, size_t count, char *out);

#endif
