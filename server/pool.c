#include "server/pool.h"

#include <pthreadpool.h>
#include <stdatomic.h>

#include "server/sync.h"

/* One run: the lanes take tasks from a shared counter. Counting up with acquire and release also orders, in C11's terms,
 * what the caller wrote before what a lane reads, and what lanes wrote before what the caller reads after. */
struct run {
    executor_task *task;
    void *argument;
    size_t task_count;
    atomic_size_t next;
};

bool pool_start(struct pool *pool, size_t thread_count, struct error *err)
{
    *pool = (struct pool){.thread_count = thread_count};
    if (thread_count > 1) {
        pool->threads = pthreadpool_create(thread_count);
        if (pool->threads == NULL)
            return error_set(err, ERROR_INTERNAL, "cannot start a pool of %zu threads", thread_count);
    }
    sync_must(pthread_mutex_init(&pool->taken, NULL));
    return true;
}

/* A lane is never run twice at a time, so its number serves as the tasks' worker number. */
static void run_lane(void *argument, size_t lane)
{
    struct run *run = argument;
    size_t task;
    while ((task = atomic_fetch_add_explicit(&run->next, 1, memory_order_acq_rel)) < run->task_count)
        run->task(run->argument, task, lane);
}

static void run_on_pool(struct pool *pool, struct run *run)
{
    pthreadpool_parallelize_1d(pool->threads, run_lane, run, pool->thread_count, PTHREADPOOL_FLAG_YIELD_WORKERS);
    (void)atomic_load_explicit(&run->next, memory_order_acquire);
}

static void pool_run(void *context, size_t task_count, executor_task *task, void *argument)
{
    struct pool *pool = ((struct pool_job *)context)->pool;
    struct run run = {.task = task, .argument = argument, .task_count = task_count};
    for (size_t i = 0; i < task_count; i++) {
        if (pthread_mutex_trylock(&pool->taken) == 0) {
            atomic_store_explicit(&run.next, i, memory_order_release);
            run_on_pool(pool, &run);
            sync_unlock(&pool->taken);
            return;
        }
        task(argument, i, 0);
    }
}

static bool pool_stopped(void *context)
{
    return job_stopped(((struct pool_job *)context)->job);
}

struct executor pool_executor(struct pool_job *use)
{
    return (struct executor){
        .worker_count = use->pool->thread_count,
        .run = use->pool->threads != NULL ? pool_run : NULL,
        .stopped = pool_stopped,
        .context = use,
    };
}

void pool_stop(struct pool *pool)
{
    pthreadpool_destroy(pool->threads);
    sync_must(pthread_mutex_destroy(&pool->taken));
    *pool = (struct pool){0};
}
