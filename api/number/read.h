/* read.h: decimal text to floating point, correctly rounded, one number at a time.
 *
 * Grammar  JSON's (RFC 8259): -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
 * Result   the nearest float32 or float64, ties to even, straight from the decimal digits (no double rounding);
 *          past the largest finite value an infinity, below half the smallest subnormal a zero, both with the sign.
 * Source   Lemire 2021, "Number parsing at a gigabyte per second"; exact fallback where that cannot decide.
 * Locale   independent. Threads: reentrant. Allocates nothing. */
#ifndef ATTND_API_NUMBER_READ_H
#define ATTND_API_NUMBER_READ_H

/* Reads the longest number that `text` begins with ("1" of "1.e5", "0" of "01"). Returns the first byte after it (the caller
 * checks what may follow), or NULL where [text, end) does not begin with a number: *ret is then undefined. Never reads at or
 * past `end`. */
const char *number_read_f32(const char *text, const char *end, float *ret);
const char *number_read_f64(const char *text, const char *end, double *ret);

#endif
