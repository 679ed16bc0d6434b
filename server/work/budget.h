/* budget.h: accounts for the memory of all requests together: their bodies, and the grants that computations run on.
 *
 * There are two pools, so that large requests cannot keep small ones out. In each:
 *
 *   bodies + grants <= total_bytes        bodies <= total_bytes - grant_bytes_max
 *
 * Bodies   A body never waits: one that does not fit is refused. Small ones go to the small pool, and to the large one when that
 *          is full. A body that outgrows the small pool moves to the large one as a whole.
 * Grants   A grant is taken at once or waited for in line, in the pool of its size. The line holds work items, not threads: when
 *          memory is released, the first in line gets its grant and goes back to the queue, before all others. Each pool serves
 *          its line first come, first served, so no request is passed by forever. When no one waits for the large pool, those in the
 *          small pool's line may use it, too.
 *
 * No deadlock: an item waits only while it has no grant. Whoever has one computes or sends its reply, waits for no memory, and ends
 * by its deadline or the connection's. So all grants of a pool are released in time; and then even the largest fits, since bodies
 * leave room for it. Small items do not wait for large ones at all while the small pool has memory.
 *
 * Memory is freed before it is released here; what the process keeps of it is the memory cache's (memory_cache.h).
 *
 * Threads  every function from any thread. Locks the queue and the memory cache while it holds its own mutex. */
#ifndef ATTND_SERVER_WORK_BUDGET_H
#define ATTND_SERVER_WORK_BUDGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/work/memory_cache.h"
#include "server/work/queue.h"
#include "server/work/work_item.h"
#include "server/work/work_list.h"

struct budget_pool {
    size_t total_bytes;
    size_t body_bytes_max, grant_bytes_max; /* of one request */
    size_t bodies_bytes, grants_bytes;      /* in use */
    struct work_list waiting;               /* for a grant */
};

struct budget {
    pthread_mutex_t mutex;
    struct budget_pool pools[WORK_CLASSES];
    struct queue *queue; /* borrowed */
    struct memory_cache cache;
};

/* `grant_bytes_max` bounds a request's grant; the small pool has `small_bytes` beside `large_bytes`. */
void budget_init(struct budget *budget, size_t large_bytes, size_t grant_bytes_max, size_t small_bytes, struct queue *queue);

/* The pool that a body of so many bytes starts in. */
enum work_class budget_class_of_body(const struct budget *budget, size_t body_bytes);

/* Reserves `bytes` more for a request's body, not in the small pool where body->pool is WORK_LARGE. Returns false when they do not fit;
 * `body` is then as it was. */
bool budget_reserve_body(struct budget *budget, struct budget_share *body, size_t bytes) __attribute__((warn_unused_result));
void budget_release_body(struct budget *budget, struct budget_share *body);

/* Counts a body as the item's grant from now on, which must be empty: what replaces the body may then use the bodies' part. */
void budget_body_to_grant(struct budget *budget, struct budget_share *body, struct work_item *work_item);

/* Adds `bytes` to the item's grant, if they are free now and no one waits for them. */
bool budget_grant_now(struct budget *budget, struct work_item *work_item, size_t bytes) __attribute__((warn_unused_result));

/* Takes over an item without a grant, and puts it back into the queue once it has one of `bytes`, at most grant_bytes_max. */
void budget_wait(struct budget *budget, struct work_item *work_item, size_t bytes);

/* Removes an item from the line, which the caller then runs. Returns false when it is not in line. */
bool budget_remove(struct budget *budget, struct work_item *work_item) __attribute__((warn_unused_result));

/* Releases the item's whole grant. Safe on an empty one. */
void budget_release_grant(struct budget *budget, struct work_item *work_item);

/* Has the memory cache return what it keeps, when nothing has been in use for a second. */
void budget_trim_when_idle(struct budget *budget);

/* Of both pools together. */
struct budget_usage {
    size_t bodies_bytes, grants_bytes;
    size_t waiting; /* items in line */
};
struct budget_usage budget_usage(struct budget *budget);

void budget_done(struct budget *budget);

#endif
