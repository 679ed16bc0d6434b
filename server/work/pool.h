/* pool.h: one thread pool for the whole process, used by one large work item at a time.
 *
 * An item that finds the pool in use runs its tasks on its own worker, one after the other, and moves to the pool if that
 * becomes free in between: no item ever waits for another's threads. Small work stays on its worker: the pool's threads have
 * the priority of large work.
 *
 * Waking a thread takes some 50 microseconds, a large part of an item that takes a few hundred. While such short items follow each
 * other, one at a time, the threads wait awake for the next; the library ends that after some 50 ms. Otherwise they sleep.
 *
 * Threads  any number of items at a time. */
#ifndef ATTND_SERVER_WORK_POOL_H
#define ATTND_SERVER_WORK_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "core/executor.h"
#include "server/work/work_item.h"

struct pthreadpool;
struct pool_run;

struct pool {
    struct pthreadpool *threads;     /* owned; NULL for one thread */
    size_t thread_count;             /* the calling worker included */
    pthread_mutex_t taken;           /* held by the item that uses the threads */
    struct pool_run *run;            /* that item's, guarded by taken */
    atomic_size_t fence;             /* orders the reads and writes of the item and the threads around a run */
    atomic_size_t use_count;         /* large items in work */
    atomic_int_least64_t entered_ns; /* when the last of them began: clock_ns */
};

/* A work item's use of the pool. */
struct pool_use {
    struct pool *pool;           /* borrowed */
    struct work_item *work_item; /* borrowed */
    bool counted;                /* in use_count */
    bool follows;                /* began soon after the one before, which has ended */
};

bool pool_start(struct pool *pool, size_t thread_count, struct error *err) __attribute__((warn_unused_result));

/* The executor for one work item, which needs it until pool_leave; `use` must outlive it. */
struct executor pool_enter(struct pool_use *use);
void pool_leave(const struct pool_use *use);

void pool_stop(struct pool *pool);

#endif
