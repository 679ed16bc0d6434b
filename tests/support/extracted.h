/* extracted.h: a text extracted for a test, in memory of just its size, so that sanitizers see a read past its end. */
#ifndef ATTND_TESTS_SUPPORT_EXTRACTED_H
#define ATTND_TESTS_SUPPORT_EXTRACTED_H

#include <stdbool.h>
#include <stddef.h>

#include "api/json/extract.h"
#include "core/arena.h"
#include "core/error.h"

struct extracted {
    char *text; /* owned */
    struct arena arena;
    struct error err;
    struct extract extract; /* holds where extracted_init returned true */
};

/* Copies `text` and scans it. Returns what extract_scan returned. */
bool extracted_init(struct extracted *extracted, const char *text, size_t text_bytes);
void extracted_done(struct extracted *extracted);

/* Reads array `index` as `dtype` at the pointer "/x". Returns its elements, the caller's to free; NULL where it failed,
 * extracted->err then says why. */
void *extracted_read(struct extracted *extracted, size_t index, enum dtype dtype);

#endif
