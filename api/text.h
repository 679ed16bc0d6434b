/* text.h: JSON text being written into room that was computed beforehand. Writing past the room asserts: the bound is ours.
 *
 * Memory   borrows the room; not NUL-terminated. Threads: one at a time. */
#ifndef ATTND_API_TEXT_H
#define ATTND_API_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tensor.h"

struct text {
    char *start, *at, *end;
};

void text_init(struct text *text, char *room, size_t room_bytes);

/* As it is. */
void text_add(struct text *text, const char *part);

/* printf's %d and the like; no more than TEXT_FORMAT_BYTES_MAX bytes. */
#define TEXT_FORMAT_BYTES_MAX 256
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends a string of C. */
void text_end(struct text *text);

/* A JSON string in quotes, escaped; bytes that are no UTF-8 become U+FFFD. At most TEXT_STRING_GROWTH bytes a byte, and 2. */
#define TEXT_STRING_GROWTH 6
void text_string(struct text *text, const char *string);

/* The shortest digits that read back as the same value in `dtype`; `decimals` >= 0 rounds. */
void text_number(struct text *text, double x, enum dtype dtype, int decimals);

/* A contiguous float32 or float64 tensor as nested arrays, or as one flat array. */
void text_tensor(struct text *text, const struct tensor *t, bool flat, int decimals);

/* The same flat, with the digits that `digits` needs: fewer for a float64 tensor that was rounded to float32. */
void text_tensor_as(struct text *text, const struct tensor *t, enum dtype digits);

/* What text_tensor writes at the most. SIZE_MAX where it overflows. */
size_t text_tensor_bytes_max(enum dtype dtype, size_t rank, const size_t *shape, bool flat, int decimals);

#endif
