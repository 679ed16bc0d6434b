/* writer.h: text, mostly JSON, written to a buffer whose size was computed beforehand. Writing past it asserts: the bound is
 * ours.
 *
 * Memory   borrows the buffer; not NUL-terminated. Threads: one at a time. */
#ifndef ATTND_API_JSON_WRITER_H
#define ATTND_API_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tensor.h"

struct writer {
    char *start, *at, *end;
};

void writer_init(struct writer *writer, char *buffer, size_t buffer_bytes);

/* Unescaped. */
void writer_add(struct writer *writer, const char *string);
void writer_add_bytes(struct writer *writer, const char *bytes, size_t count);

/* Integers, and numbers with three digits after the point, which lie between 0 and WRITER_THOUSANDTHS_MAX: others are written as
 * the bound that they pass. */
#define WRITER_THOUSANDTHS_MAX 9e15
void writer_unsigned(struct writer *writer, uint64_t value);
void writer_signed(struct writer *writer, int64_t value);
void writer_thousandths(struct writer *writer, double value);

/* As printf does, and as slowly: about 0.3 us a call. Fewer than WRITER_FORMAT_BYTES_MAX bytes. */
#define WRITER_FORMAT_BYTES_MAX 256
void writer_format(struct writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A NUL, which ends a C string. */
void writer_end(struct writer *writer);

/* A JSON string in quotes, escaped; bytes that are not UTF-8 become U+FFFD. At most WRITER_STRING_GROWTH bytes a byte, + 2. */
#define WRITER_STRING_GROWTH 6
void writer_string(struct writer *writer, const char *string);

/* Writes the escape of a byte that a JSON string cannot hold unescaped: \" \\ or \u00xx, NUL-terminated. Returns ret. */
#define WRITER_ESCAPE_BYTES_MAX 7
const char *writer_escape(unsigned char byte, char ret[WRITER_ESCAPE_BYTES_MAX]);

/* The shortest digits that read back as the same value in `dtype`; `decimals` >= 0 rounds. */
void writer_number(struct writer *writer, double x, enum dtype dtype, int decimals);

#endif
