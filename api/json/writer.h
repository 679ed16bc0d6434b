/* text.h: JSON text being written into room that was computed beforehand. Writing past the room asserts: the bound is ours.
 *
 * Memory   borrows the room; not NUL-terminated. Threads: one at a time. */
#ifndef ATTND_API_JSON_WRITER_H
#define ATTND_API_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tensor.h"

struct writer {
    char *start, *at, *end;
};

void writer_init(struct writer *writer, char *room, size_t room_bytes);

/* As it is. */
void writer_add(struct writer *writer, const char *part);

/* printf's %d and the like; no more than WRITER_FORMAT_BYTES_MAX bytes. */
#define WRITER_FORMAT_BYTES_MAX 256
void writer_format(struct writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends a string of C. */
void writer_end(struct writer *writer);

/* A JSON string in quotes, escaped; bytes that are no UTF-8 become U+FFFD. At most WRITER_STRING_GROWTH bytes a byte, and 2. */
#define WRITER_STRING_GROWTH 6
void writer_string(struct writer *writer, const char *string);

/* The shortest digits that read back as the same value in `dtype`; `decimals` >= 0 rounds. */
void writer_number(struct writer *writer, double x, enum dtype dtype, int decimals);

#endif
