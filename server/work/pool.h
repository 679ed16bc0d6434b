/* pool.h: one thread pool for the whole process, used by one large work item at a time.
 *
 * An item that finds the pool in use runs its tasks on its own worker, one after the other, and moves to the pool if that
 * becomes free in between: no item ever waits for another's threads. Small work stays on its worker: the pool's threads have
 * the priority of large work.
 *
 * Threads  any number of items at a time. Idle threads sleep in the kernel; they do not spin. */
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
    struct pthreadpool *threads; /* owned; NULL for one thread */
    size_t thread_count;         /* the calling worker included */
    pthread_mutex_t taken;       /* held by the item that uses the threads */
    struct pool_run *run;        /* that item's, guarded by taken */
    atomic_size_t fence;         /* orders the reads and writes of the item and the threads around a run */
};

/* A work item's use of the pool. */
struct pool_use {
    struct pool *pool;           /* borrowed */
    struct work_item *work_item; /* borrowed */
};

bool pool_start(struct pool *pool, size_t thread_count, struct error *err) __attribute__((warn_unused_result));

/* The executor for one work item; `use` must outlive it. */
struct executor pool_executor(struct pool_use *use);

void pool_stop(struct pool *pool);

#endif
