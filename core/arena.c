#include "core/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/size.h"

/* Small allocations share blocks of this size; a larger one gets a block of its own. */
#define ARENA_BLOCK_BYTES ((size_t)64 * 1024)

/* A block of this size is worth huge pages: the page faults of small ones cost more than zeroing them. */
#define ARENA_HUGE_BLOCK_BYTES_MIN ((size_t)4 << 20)
#define ARENA_HUGE_PAGE_BYTES ((size_t)2 << 20)

struct arena_block {
    struct arena_block *older;
    size_t bytes; /* of the block, this header included */
    size_t used;  /* from the block's start */
};

#define ARENA_HEADER_BYTES ARENA_ALIGNMENT_BYTES
_Static_assert(sizeof(struct arena_block) <= ARENA_HEADER_BYTES, "a block's header fits before its first allocation");

void arena_init(struct arena *arena, size_t cap_bytes)
{
    *arena = (struct arena){.cap_bytes = cap_bytes};
}

/* Each allocation is charged this, whether or not it opens a block, so sums of costs hold in any order. A small one counts
 * twice, for the space that stays unused where the next one opens a block; the block being filled is not charged. */
size_t arena_cost(size_t bytes)
{
    size_t rounded = size_round_up(bytes, ARENA_ALIGNMENT_BYTES);
    if (rounded >= ARENA_BLOCK_BYTES / 2)
        return size_add(rounded, ARENA_HEADER_BYTES);
    return size_multiply(2, size_add(rounded, ARENA_HEADER_BYTES));
}

/* A large block gets huge pages as far as whole ones fit into its bytes: it then takes addresses beyond its size, but no
 * memory. */
static void *allocate(size_t bytes)
{
    if (bytes < ARENA_HUGE_BLOCK_BYTES_MIN)
        return aligned_alloc(ARENA_ALIGNMENT_BYTES, bytes);
    size_t pages = bytes / ARENA_HUGE_PAGE_BYTES;
    if (bytes > PTRDIFF_MAX - ARENA_HUGE_PAGE_BYTES) /* no object is as large */
        return NULL;
    void *memory = aligned_alloc(ARENA_HUGE_PAGE_BYTES, (pages + 1) * ARENA_HUGE_PAGE_BYTES);
    if (memory != NULL)
        (void)madvise(memory, pages * ARENA_HUGE_PAGE_BYTES, MADV_HUGEPAGE);
    return memory;
}

static struct arena_block *block_add(struct arena *arena, size_t bytes, struct error *err)
{
    struct arena_block *block = allocate(bytes);
    if (block == NULL) {
        (void)error_set(err, ERROR_NO_MEMORY, "the machine has no %zu bytes of memory left", bytes);
        return NULL;
    }
    *block = (struct arena_block){.older = arena->newest, .bytes = bytes, .used = ARENA_HEADER_BYTES};
    arena->newest = block;
    return block;
}

/* A block for one large allocation goes behind the newest, which keeps its free space. */
static void block_put_behind(struct arena *arena, struct arena_block *shared)
{
    struct arena_block *own = arena->newest;
    if (shared == NULL)
        return;
    own->older = shared->older;
    shared->older = own;
    arena->newest = shared;
}

/* Returns a block with `rounded` free bytes, a new one where the newest has less. */
static struct arena_block *block_with_space(struct arena *arena, size_t rounded, struct error *err)
{
    struct arena_block *shared = arena->newest;
    if (shared != NULL && rounded <= shared->bytes - shared->used)
        return shared;
    if (rounded < ARENA_BLOCK_BYTES / 2)
        return block_add(arena, ARENA_BLOCK_BYTES, err);
    struct arena_block *own = block_add(arena, rounded + ARENA_HEADER_BYTES, err);
    if (own != NULL)
        block_put_behind(arena, shared);
    return own;
}

void *arena_alloc(struct arena *arena, size_t bytes, struct error *err)
{
    size_t cost = arena_cost(bytes);
    if (cost == SIZE_MAX) {
        (void)error_set(err, ERROR_NO_MEMORY, "%zu bytes are more than can be addressed", bytes);
        return NULL;
    }
    if (cost > arena->cap_bytes - arena->used_bytes) {
        (void)error_set(err, ERROR_NO_MEMORY, "the request needs more memory than the %zu bytes computed for it",
                        arena->cap_bytes);
        return NULL;
    }
    size_t rounded = size_round_up(bytes, ARENA_ALIGNMENT_BYTES);
    struct arena_block *block = block_with_space(arena, rounded, err);
    if (block == NULL)
        return NULL;
    arena->used_bytes += cost;
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
