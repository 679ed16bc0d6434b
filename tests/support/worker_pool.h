/* worker_pool.h: an executor of real threads for the tests, as plain as can be.
 *
 * Each run starts worker_count - 1 threads and works along as worker 0; tasks are handed out one by one, so that the
 * sanitizers see whatever two tasks share. The tasks of one run must not start another.
 *
 * Threads  one run at a time. */
#ifndef ATTND_TESTS_SUPPORT_WORKER_POOL_H
#define ATTND_TESTS_SUPPORT_WORKER_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/executor.h"

#define WORKER_COUNT_MAX 8

struct worker_pool {
    struct executor executor; /* hand this to core */
    bool backwards;           /* the last task goes first */
    atomic_size_t asked;      /* calls of executor.stopped so far */
    size_t stop_after;        /* that many calls of stopped say no, all later ones yes; SIZE_MAX: always no */
};

void worker_pool_init(struct worker_pool *pool, size_t worker_count);

#endif
