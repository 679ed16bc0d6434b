#include "core/arena.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/size.h"

/* Small allocations share blocks of this size; a larger one gets a block of its own. */
#define ARENA_BLOCK_BYTES ((size_t)64 * 1024)

struct arena_block {
    struct arena_block *older;
    size_t bytes; /* of the block, this header included */
    size_t used;  /* from the block's start */
};

static size_t round_up(size_t bytes)
{
    return size_add(bytes, ARENA_ALIGNMENT_BYTES - 1) & ~(size_t)(ARENA_ALIGNMENT_BYTES - 1);
}

#define ARENA_HEADER_BYTES ARENA_ALIGNMENT_BYTES
_Static_assert(sizeof(struct arena_block) <= ARENA_HEADER_BYTES, "a block's header fits before its first allocation");

void arena_init(struct arena *arena, size_t cap_bytes)
{
    *arena = (struct arena){.cap_bytes = cap_bytes};
}

/* A small allocation may open a block that later ones don't fill, so it counts as its share of two; a large one has a
 * header of its own. Sums of costs therefore bound what a sequence of allocations takes, up to one started block. */
size_t arena_cost(size_t bytes)
{
    size_t rounded = round_up(bytes);
    if (rounded >= ARENA_BLOCK_BYTES / 2)
        return size_add(rounded, ARENA_HEADER_BYTES);
    return size_multiply(2, size_add(rounded, ARENA_HEADER_BYTES));
}

static struct arena_block *block_add(struct arena *arena, size_t bytes, struct error *err)
{
    if (bytes > arena->cap_bytes - arena->used_bytes) {
        (void)error_set(err, ERROR_NO_MEMORY, "the request needs more memory than the %zu bytes computed for it",
                        arena->cap_bytes);
        return NULL;
    }
    struct arena_block *block = aligned_alloc(ARENA_ALIGNMENT_BYTES, bytes);
    if (block == NULL) {
        (void)error_set(err, ERROR_NO_MEMORY, "the machine has no %zu bytes of memory left", bytes);
        return NULL;
    }
    *block = (struct arena_block){.older = arena->newest, .bytes = bytes, .used = ARENA_HEADER_BYTES};
    arena->used_bytes += bytes;
    arena->newest = block;
    return block;
}

/* A block for one large allocation goes behind the newest, which keeps its free room. */
static void block_put_behind(struct arena *arena, struct arena_block *shared)
{
    struct arena_block *own = arena->newest;
    if (shared == NULL)
        return;
    own->older = shared->older;
    shared->older = own;
    arena->newest = shared;
}

void *arena_alloc(struct arena *arena, size_t bytes, struct error *err)
{
    size_t rounded = round_up(bytes);
    struct arena_block *block = arena->newest;
    if (block == NULL || rounded > block->bytes - block->used) {
        if (rounded >= ARENA_BLOCK_BYTES / 2) {
            if (rounded > SIZE_MAX - ARENA_HEADER_BYTES) {
                (void)error_set(err, ERROR_NO_MEMORY, "%zu bytes are more than can be addressed", bytes);
                return NULL;
            }
            struct arena_block *shared = block;
            block = block_add(arena, rounded + ARENA_HEADER_BYTES, err);
            if (block == NULL)
                return NULL;
            block_put_behind(arena, shared);
        } else {
            size_t room = arena->cap_bytes - arena->used_bytes;
            size_t wanted = rounded + ARENA_HEADER_BYTES;
            size_t block_bytes = size_max(wanted, size_min(ARENA_BLOCK_BYTES, room & ~(size_t)(ARENA_ALIGNMENT_BYTES - 1)));
            block = block_add(arena, block_bytes, err);
            if (block == NULL)
                return NULL;
        }
    }
    void *memory = (char *)block + block->used;
    block->used += rounded;
    return memory;
}

void arena_done(struct arena *arena)
{
    while (arena->newest != NULL) {
        struct arena_block *block = arena->newest;
        arena->newest = block->older;
        free(block);
    }
    arena->used_bytes = 0;
}
