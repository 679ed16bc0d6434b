/* pool.h: one pool of threads for the whole process, lent to one job at a time.
 *
 * A job that finds the pool taken runs its tasks on its own worker, one after the other, and moves over to the pool when
 * that becomes free in between: so a job never waits for another's threads.
 *
 * Threads  any number of jobs at a time. Idle threads sleep in the kernel; they do not spin. */
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
    pthread_mutex_t taken;       /* held by the job that has the threads */
    struct pool_run *run;        /* that job's, guarded by taken */
    atomic_size_t fence;         /* orders what the job and the threads read and write around a run */
};

/* A job's use of the pool. */
struct pool_use {
    struct pool *pool;           /* borrowed */
    struct work_item *work_item; /* borrowed */
};

bool pool_start(struct pool *pool, size_t thread_count, struct error *err) __attribute__((warn_unused_result));

/* The executor for one job; `use` must outlive it. */
struct executor pool_executor(struct pool_use *use);

void pool_stop(struct pool *pool);

#endif
