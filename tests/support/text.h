/* text.h: a text that printf adds to, such as a request that a test writes. Large, so it is static where it is used. */
#ifndef ATTND_TESTS_SUPPORT_TEXT_H
#define ATTND_TESTS_SUPPORT_TEXT_H

#include <stddef.h>

#define TEXT_BYTES_MAX ((size_t)1 << 20)

struct text {
    char chars[TEXT_BYTES_MAX]; /* NUL-terminated once something was added */
    size_t bytes;               /* 0: begin anew */
};

/* Fails the running test where it does not fit. */
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
