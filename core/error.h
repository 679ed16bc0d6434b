/* error.h: what went wrong, once.
 *
 * A fallible function takes a `struct error *` and returns bool. The first error set stays: later ones are ignored, so
 * clean-up code may fail too without hiding the cause.
 *
 * Memory   caller-owned, allocates nothing; text longer than the field is cut.
 * Threads  one error belongs to one thread at a time. */
#ifndef ATTND_CORE_ERROR_H
#define ATTND_CORE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ERROR_TEXT_BYTES_MAX 640
#define ERROR_POINTER_BYTES_MAX 256
#define ERROR_LIMIT_NAME_BYTES_MAX 40

enum error_code {
    ERROR_NONE = 0,
    ERROR_MALFORMED,         /* the bytes are not what they claim to be: no JSON, a broken header */
    ERROR_UNAUTHORIZED,      /* no key, or a wrong one */
    ERROR_NOT_FOUND,         /* no such path */
    ERROR_METHOD,            /* the path exists, the method does not */
    ERROR_TOO_SLOW,          /* the client took too long to send */
    ERROR_TOO_LARGE,         /* over a limit on bytes, or on the memory computed from the shapes */
    ERROR_HEAD_TOO_LARGE,    /* the request line and header fields, taken apart, are over their limit */
    ERROR_UNSUPPORTED_MEDIA, /* a content type or encoding that is not read here */
    ERROR_INVALID,           /* understood, but wrong: a shape, a name, a value, fields that contradict */
    ERROR_NO_MEMORY,         /* the machine or the budget has no memory left now */
    ERROR_BUSY,              /* the queue is full, or the daemon is shutting down */
    ERROR_DEADLINE,          /* the deadline passed, or the client disconnected */
    ERROR_INTERNAL,          /* a bug in attnd */
};

struct error {
    enum error_code code; /* ERROR_NONE: no error yet */
    char text[ERROR_TEXT_BYTES_MAX];
    char pointer[ERROR_POINTER_BYTES_MAX];       /* JSON Pointer (RFC 6901) to the field; "" where there is none */
    char limit_name[ERROR_LIMIT_NAME_BYTES_MAX]; /* the limit that was hit; "" where there is none */
    uint64_t limit_value;
};

void error_init(struct error *err);

/* Sets code and text unless an error is set already. Always returns false, so that `return error_set(...)` fails. */
bool error_set(struct error *err, enum error_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* As error_set, with the JSON Pointer to the wrong field. */
bool error_set_at(struct error *err, enum error_code code, const char *pointer, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* As error_set with ERROR_TOO_LARGE, naming the limit and its value. */
bool error_set_limit(struct error *err, const char *limit_name, uint64_t limit_value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* "1 head", "2 heads" and "1 query", "2 queries": what a count's word ends with, for "%zu head%s" and "%zu quer%s". */
static inline const char *error_s(size_t count)
{
    return count == 1 ? "" : "s";
}

static inline const char *error_ies(size_t count)
{
    return count == 1 ? "y" : "ies";
}

/* Appends to the text of an error that is set, what fits. */
void error_append(struct error *err, const char *text);

#endif
