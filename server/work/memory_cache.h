/* memory_cache.h: memory that requests have freed, but that the process has not returned to the system yet.
 *
 * The C library keeps freed blocks, some as fragments between live ones; the next request takes them without page faults. The
 * last large mapping of a body is kept as a whole: its pages need not be zeroed again, which costs as much as receiving the bytes.
 * The system may reclaim them at any time (MADV_FREE), so they take memory from no one. All of it is returned before it and
 * the memory in use could exceed what requests may use together, and after a second in which nothing was in use.
 *
 * Threads  every function from any thread. */
#ifndef ATTND_SERVER_WORK_MEMORY_CACHE_H
#define ATTND_SERVER_WORK_MEMORY_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_cache {
    pthread_mutex_t mutex;
    size_t freed_bytes;  /* since the last malloc_trim: the C library may still hold them */
    int64_t freed_at_ms; /* when the last of them were */
    void *mapping;       /* owned: NULL or the kept one */
    size_t mapping_bytes;
    bool mapping_is_free; /* the system may reclaim its pages */
};

void memory_cache_init(struct memory_cache *cache);

/* Counts `bytes` that were freed. */
void memory_cache_count(struct memory_cache *cache, size_t bytes);

/* Returns all memory to the system if more than `bytes_max` are kept. */
void memory_cache_limit(struct memory_cache *cache, size_t bytes_max);

/* Returns all memory to the system if the last was freed a second ago. Called while nothing is in use. */
void memory_cache_trim_when_idle(struct memory_cache *cache);

/* False while memory_cache_trim_when_idle still has memory to return. */
bool memory_cache_is_trimmed(struct memory_cache *cache);

/* Keeps a mapping from mmap whose content is no longer needed, if it is no smaller than the kept one. Takes ownership of *mapped and
 * *bytes, and sets them to the mapping that it displaced or declined, which the caller owns; NULL: none. Makes no system call. */
void memory_cache_put(struct memory_cache *cache, void **mapped, size_t *bytes);

/* Lets the system reclaim the kept mapping's pages when it runs short. */
void memory_cache_mark_free(struct memory_cache *cache);

/* Returns the kept mapping, now the caller's, if it has at least *bytes, and sets *bytes to its size; NULL: none. */
void *memory_cache_take(struct memory_cache *cache, size_t *bytes);

void memory_cache_done(struct memory_cache *cache);

#endif
