/* lifted.h: a text lifted for a test, in memory of just its size, so that sanitizers see a read past its end. */
#ifndef ATTND_TESTS_LIFTED_H
#define ATTND_TESTS_LIFTED_H

#include <stdbool.h>
#include <stddef.h>

#include "api/lift.h"
#include "core/arena.h"
#include "core/error.h"

struct lifted {
    char *text; /* owned */
    struct arena arena;
    struct error err;
    struct lift lift; /* holds where lifted_init returned true */
};

/* Copies `text` and scans it. Returns what lift_scan returned. */
bool lifted_init(struct lifted *lifted, const char *text, size_t text_bytes);
void lifted_done(struct lifted *lifted);

/* Reads array `index` as `dtype` at the pointer "/x". Returns its elements, the caller's to free; NULL where it failed,
 * lifted->err then says why. */
void *lifted_read(struct lifted *lifted, size_t index, enum dtype dtype);

#endif
