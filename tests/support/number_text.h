/* number_text.h: for the tests of numbers: JSON's grammar once more, and decimal text in a form that can be compared. */
#ifndef ATTND_TESTS_SUPPORT_NUMBER_TEXT_H
#define ATTND_TESTS_SUPPORT_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/support/draw.h"

#define NUMBER_DIGITS_MAX 1100

/* A number's digits without zeros at either end, the first of them worth 10^exponent. count 0: zero. */
struct number_digits {
    bool negative;
    char digits[NUMBER_DIGITS_MAX];
    size_t count;
    int exponent;
};

/* How many of that many cases to try, as environment.h has it. */
size_t number_cases(size_t count);

/* Finite values of any bits. */
float number_draw_f32(struct draw *draw);
double number_draw_f64(struct draw *draw);

/* The length of the number that [text, text + bytes) begins with; 0 for none. */
size_t number_bytes(const char *text, size_t bytes);

/* Parses a text that is a number as a whole. */
void number_digits_init(struct number_digits *digits, const char *text, size_t bytes);

/* Writes them, NUL-terminated, in the form that number_write.h promises. Returns the length. */
size_t number_digits_text(const struct number_digits *digits, char *text);

#endif
