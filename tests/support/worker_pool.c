#include "tests/support/worker_pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct run {
    executor_task *task;
    void *argument;
    size_t task_count;
    bool backwards;
    atomic_size_t next;
};

struct worker {
    struct run *run;
    size_t number;
};

static void *worker_main(void *context)
{
    const struct worker *worker = context;
    struct run *run = worker->run;
    for (size_t k; (k = atomic_fetch_add(&run->next, 1)) < run->task_count;)
        run->task(run->argument, run->backwards ? run->task_count - 1 - k : k, worker->number);
    return NULL;
}

static void pool_run(void *context, size_t task_count, executor_task *task, void *argument)
{
    const struct worker_pool *pool = context;
    struct run run = {.task = task, .argument = argument, .task_count = task_count, .backwards = pool->backwards};
    struct worker workers[WORKER_COUNT_MAX];
    pthread_t threads[WORKER_COUNT_MAX];
    assert(pool->executor.worker_count >= 1);
    for (size_t k = 0; k < pool->executor.worker_count; k++)
        workers[k] = (struct worker){.run = &run, .number = k};
    for (size_t k = 1; k < pool->executor.worker_count; k++) {
        if (pthread_create(&threads[k], NULL, worker_main, &workers[k]) != 0)
            abort();
    }
    (void)worker_main(&workers[0]);
    for (size_t k = 1; k < pool->executor.worker_count; k++)
        (void)pthread_join(threads[k], NULL);
}

static bool pool_stopped(void *context)
{
    struct worker_pool *pool = context;
    return atomic_fetch_add(&pool->asked, 1) >= pool->stop_after;
}

void worker_pool_init(struct worker_pool *pool, size_t worker_count)
{
    assert(worker_count >= 1 && worker_count <= WORKER_COUNT_MAX);
    pool->executor = (struct executor){
        .worker_count = worker_count,
        .run = pool_run,
        .stopped = pool_stopped,
        .context = pool,
    };
    pool->backwards = false;
    atomic_init(&pool->asked, 0);
    pool->stop_after = SIZE_MAX;
}
