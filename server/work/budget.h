/* budget.h: accounts for the memory of all requests together: their bodies, and the grants that computations run on.
 *
 *   bodies + grants <= total_bytes        bodies <= bodies_bytes_max = total_bytes - the largest grant
 *
 * So bodies in the queue can never keep the largest request from being computed: once nothing else computes, it fits. A body that
 * does not fit is refused at once. A grant that does not fit waits its turn, first come, first served, as long as at least one
 * request owns a grant without waiting for more: that one computes or sends its reply, and will release its grant. When every owner
 * waits, the first in line is refused, which releases its grant, and so on: no deadlock.
 *
 * Memory is freed before it is released here, but the C library may keep it as fragments between live blocks. Before those
 * fragments and the memory in use could exceed the total together, or after a second in which nothing was in use, the C library
 * is made to return them to the system (malloc_trim).
 *
 * The last large mapping of a body is cached for the next large body, whose pages then need not be zeroed: zeroing costs as much
 * as receiving. The system may reclaim the cached pages at any time (MADV_FREE), so the cache takes memory from no one.
 *
 * Threads  every function from any thread. */
#ifndef ATTND_SERVER_WORK_BUDGET_H
#define ATTND_SERVER_WORK_BUDGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "server/work/work_item.h"

struct budget_grant {
    size_t bytes;
};

struct budget_waiter;

struct budget {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t total_bytes, bodies_bytes_max;
    size_t bodies_bytes, grants_bytes;  /* in use */
    size_t freed_bytes;                 /* released since the last malloc_trim: the C library may still hold them */
    int64_t freed_at_ms;                /* of the last release */
    size_t owner_count;                 /* requests that own a grant and do not wait for more */
    struct budget_waiter *first, *last; /* waiting for a grant */
    void *mapping;                      /* owned: the cached mapping, or NULL */
    size_t mapping_bytes;
    bool mapping_is_free; /* the system may reclaim its pages */
};

void budget_init(struct budget *budget, size_t total_bytes, size_t grant_bytes_max);

/* Reserves `bytes` more for a request's body. Returns false when they do not fit. */
bool budget_reserve_body(struct budget *budget, size_t bytes) __attribute__((warn_unused_result));
void budget_release_body(struct budget *budget, size_t bytes);

/* Caches a mapping from mmap whose content is no longer needed, if it is larger than the cached one. Takes ownership of *mapped and
 * *bytes, and sets them to the mapping that it displaced or declined, which the caller owns; NULL: none. Makes no system call. */
void budget_cache_mapping(struct budget *budget, void **mapped, size_t *bytes);

/* Lets the system reclaim the cached mapping's pages when it runs short. */
void budget_mark_mapping_free(struct budget *budget);

/* Returns the cached mapping, now the caller's, if it has at least *bytes, and sets *bytes to its size; NULL: none. */
void *budget_take_mapping(struct budget *budget, size_t *bytes);

/* Adds `bytes` to the request's grant; waits for other requests to release memory, under the rules above.
 * Fails  no_memory: no request will release enough. deadline: the work was stopped while it waited. */
bool budget_grant(struct budget *budget, struct budget_grant *grant, size_t bytes, struct work_item *work_item,
                  struct error *err) __attribute__((warn_unused_result));

/* The same for memory the request can do without: never waits, and returns false when `bytes` are not free, or others wait in line.
 * The request must own a grant already. */
bool budget_grant_now(struct budget *budget, struct budget_grant *grant, size_t bytes) __attribute__((warn_unused_result));

/* Releases the whole grant. Safe on an empty one. */
void budget_release_grant(struct budget *budget, struct budget_grant *grant);

/* Returns freed and cached memory to the system once nothing has been in use for a second. */
void budget_trim_when_idle(struct budget *budget);

/* False while budget_trim_when_idle still has memory to return. */
bool budget_is_trimmed(struct budget *budget);

/* The bytes in use. */
void budget_usage(struct budget *budget, size_t *ret_bodies_bytes, size_t *ret_grants_bytes);

void budget_done(struct budget *budget);

#endif
