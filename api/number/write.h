/* write.h: floating point to the shortest decimal text that reads back as the same value.
 *
 * Form     always a JSON number with a '.' or an exponent, so that readers with integer types see a float: 1.0, -0.0,
 *          0.66976154, 1e-07 is written 1e-7; positional for 1e-5 <= |x| < 1e16, with an exponent outside.
 *          Of several shortest texts the one nearest to the value. Non-finite values are the JSON strings "NaN",
 *          "Infinity", "-Infinity", quotes included.
 * Source   Giulietti 2021, "The Schubfach way to render doubles".
 * Locale   independent. Threads: reentrant. Allocates nothing. Not NUL-terminated. */
#ifndef ATTND_API_NUMBER_WRITE_H
#define ATTND_API_NUMBER_WRITE_H

#define NUMBER_F32_BYTES_MAX 24      /* that number_write_f32 and its rounded form may touch; rounded text is at most 22 */
#define NUMBER_F64_BYTES_MAX 32      /* the same for f64; rounded text is at most 30 */
#define NUMBER_F32_TEXT_BYTES_MAX 19 /* text of number_write_f32, as -1234567900000000.0 */
#define NUMBER_F64_TEXT_BYTES_MAX 24 /* the same for f64, as -2.2250738585072014e-308 */
#define NUMBER_DECIMALS_MAX 17

/* Writes to `out`, returns the end of the text. */
char *number_write_f32(float x, char *out);
char *number_write_f64(double x, char *out);

/* The value rounded to `decimals` (0 .. NUMBER_DECIMALS_MAX) places after the point, exactly, ties to even, then written
 * without trailing zeros in the form above (0.25, 1.0; -0.0 becomes 0.0). Where |x| >= 1e16 there is nothing to round: the text
 * is the shortest. */
char *number_write_f32_rounded(float x, int decimals, char *out);
char *number_write_f64_rounded(double x, int decimals, char *out);

#endif
