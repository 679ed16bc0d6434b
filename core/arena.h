/* arena.h: one request's memory. Allocations grow until the cap and are freed all at once.
 *
 * Memory   blocks come from the operating system as they are asked for; untouched pages cost nothing. Blocks of megabytes get
 *          huge pages where the system has them: memory touched there counts by 2 MB, never past the block.
 * Fails    no_memory, past the cap or where the system has none.
 * Threads  one arena belongs to one thread at a time. */
#ifndef ATTND_CORE_ARENA_H
#define ATTND_CORE_ARENA_H

#include <stddef.h>

#include "core/error.h"

#define ARENA_ALIGNMENT_BYTES 64

struct arena_block;

struct arena {
    struct arena_block *newest; /* owned; a list towards older blocks */
    size_t used_bytes;          /* what the allocations took, headers and alignment included; never above cap_bytes */
    size_t cap_bytes;
};

void arena_init(struct arena *arena, size_t cap_bytes);

/* Returns `bytes` bytes at a multiple of ARENA_ALIGNMENT_BYTES, their content undefined; they live until arena_done.
 * 0 bytes give a pointer that must not be read. NULL on failure. */
void *arena_alloc(struct arena *arena, size_t bytes, struct error *err) __attribute__((warn_unused_result));

/* The most that arena_alloc(bytes) takes of the cap: sums of it are a request's computed cost. */
size_t arena_cost(size_t bytes);

void arena_done(struct arena *arena);

#endif
