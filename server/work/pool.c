#include "server/work/pool.h"

#include <pthreadpool.h>
#include <string.h>

#include "server/work/clock.h"
#include "server/work/priority.h"
#include "server/work/sync.h"

/* An item follows another that began not longer ago. */
#define POOL_FOLLOWS_NS 5000000

/* One run: the lanes, one for each thread of the pool, take tasks from a shared counter. */
struct pool_run {
    executor_task *task;
    void *argument;
    size_t task_count;
    atomic_size_t next;
};

/* On a thread of its own, from which the pool's inherit their priority. */
static void *create(void *argument)
{
    struct pool *pool = argument;
    priority_lower();
    pool->threads = pthreadpool_create(pool->thread_count);
    return NULL;
}

bool pool_start(struct pool *pool, size_t thread_count, struct error *err)
{
    memset(pool, 0, sizeof *pool);
    pool->thread_count = thread_count;
    if (thread_count > 1) {
        pthread_t creator;
        if (pthread_create(&creator, NULL, create, pool) == 0)
            (void)pthread_join(creator, NULL);
        if (pool->threads == NULL)
            return error_set(err, ERROR_INTERNAL, "cannot start a pool of %zu threads", thread_count);
    }
    sync_must(pthread_mutex_init(&pool->taken, NULL));
    return true;
}

/* No two threads run the same lane at once, so its number serves as the tasks' worker number.
 *
 * The library wakes the threads and waits for them with primitives of its own. The fence states in C11's terms what they guarantee:
 * the lanes see what the caller wrote before the run, and the caller, whose run lives on its stack, sees what the lanes wrote. */
static void run_lane(void *argument, size_t lane)
{
    struct pool *pool = argument;
    size_t task;
    (void)atomic_load_explicit(&pool->fence, memory_order_acquire);
    struct pool_run *run = pool->run;
    while ((task = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed)) < run->task_count)
        run->task(run->argument, task, lane);
    (void)atomic_fetch_add_explicit(&pool->fence, 1, memory_order_release);
}

static void run_on_pool(const struct pool_use *use, struct pool_run *run)
{
    struct pool *pool = use->pool;
    bool awake = use->follows && atomic_load(&pool->use_count) == 1;
    pool->run = run;
    (void)atomic_fetch_add_explicit(&pool->fence, 1, memory_order_release);
    pthreadpool_parallelize_1d(pool->threads, run_lane, pool, pool->thread_count, awake ? 0 : PTHREADPOOL_FLAG_YIELD_WORKERS);
    (void)atomic_load_explicit(&pool->fence, memory_order_acquire);
}

static void pool_run(void *context, size_t task_count, executor_task *task, void *argument)
{
    const struct pool_use *use = context;
    struct pool *pool = use->pool;
    for (size_t i = 0; i < task_count; i++) {
        if (pthread_mutex_trylock(&pool->taken) == 0) {
            struct pool_run run = {.task = task, .argument = argument, .task_count = task_count, .next = i};
            run_on_pool(use, &run);
            sync_unlock(&pool->taken);
            return;
        }
        task(argument, i, 0);
    }
}

static bool pool_stopped(void *context)
{
    return work_item_stopped(((struct pool_use *)context)->work_item);
}

struct executor pool_enter(struct pool_use *use)
{
    bool alone = use->pool->threads == NULL || use->work_item->class == WORK_SMALL;
    use->counted = !alone;
    if (!alone) {
        int64_t now_ns = clock_ns(), last_ns = atomic_exchange(&use->pool->entered_ns, now_ns);
        use->follows = atomic_fetch_add(&use->pool->use_count, 1) == 0 && now_ns - last_ns <= POOL_FOLLOWS_NS;
    }
    return (struct executor){
        .worker_count = alone ? 1 : use->pool->thread_count,
        .run = alone ? NULL : pool_run,
        .stopped = pool_stopped,
        .context = use,
    };
}

void pool_leave(const struct pool_use *use)
{
    if (use->counted)
        (void)atomic_fetch_sub(&use->pool->use_count, 1);
}

void pool_stop(struct pool *pool)
{
    pthreadpool_destroy(pool->threads);
    sync_must(pthread_mutex_destroy(&pool->taken));
    memset(pool, 0, sizeof *pool);
}
