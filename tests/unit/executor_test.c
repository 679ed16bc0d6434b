/* Every task runs once, whoever runs it; and the tests' own pool keeps its promises. */
#include "core/executor.h"
#include "tests/support/check.h"
#include "tests/support/worker_pool.h"

#define TASK_COUNT_MAX 200

struct record {
    atomic_size_t runs[TASK_COUNT_MAX];
    atomic_size_t started;            /* tasks begun so far */
    size_t order[TASK_COUNT_MAX];     /* order[task]: how many tasks began before it */
    size_t worker_of[TASK_COUNT_MAX]; /* the worker that ran the task */
    atomic_size_t busy[WORKER_COUNT_MAX];
    atomic_bool collided; /* two tasks had one worker number at the same time */
};

static void record_task(void *argument, size_t task, size_t worker)
{
    struct record *record = argument;
    if (atomic_fetch_add(&record->busy[worker], 1) != 0)
        atomic_store(&record->collided, true);
    record->order[task] = atomic_fetch_add(&record->started, 1);
    record->worker_of[task] = worker;
    atomic_fetch_add(&record->runs[task], 1);
    atomic_fetch_sub(&record->busy[worker], 1);
}

static void check_all_ran(const struct record *record, size_t task_count, size_t worker_count)
{
    assert_true(record->started == task_count);
    for (size_t task = 0; task < task_count; task++) {
        assert_true(record->runs[task] == 1);
        assert_true(record->worker_of[task] < worker_count);
    }
    assert_false(record->collided);
}

static void check_in_order(const struct record *record, size_t task_count)
{
    for (size_t task = 0; task < task_count; task++) {
        assert_true(record->order[task] == task);
        assert_true(record->worker_of[task] == 0);
    }
}

static void without_one_the_caller_works(void **state)
{
    (void)state;
    struct record record = {0};
    assert_true(executor_worker_count(NULL) == 1);
    assert_false(executor_stopped(NULL));
    executor_run(NULL, 50, record_task, &record);
    check_all_ran(&record, 50, 1);
    check_in_order(&record, 50);
}

static void without_run_the_caller_works(void **state)
{
    (void)state;
    struct record record = {0};
    struct executor executor = {.worker_count = 3};
    assert_true(executor_worker_count(&executor) == 1);
    assert_false(executor_stopped(&executor));
    executor_run(&executor, 50, record_task, &record);
    check_all_ran(&record, 50, 1);
    check_in_order(&record, 50);
}

static void no_tasks_are_fine(void **state)
{
    (void)state;
    struct record record = {0};
    struct worker_pool pool;
    worker_pool_init(&pool, 2);
    executor_run(NULL, 0, record_task, &record);
    executor_run(&pool.executor, 0, record_task, &record);
    assert_true(record.started == 0);
}

static bool context_is_true(void *context)
{
    return *(const bool *)context;
}

static void stopped_asks_with_its_context(void **state)
{
    (void)state;
    bool stop = false;
    struct executor executor = {.worker_count = 1, .stopped = context_is_true, .context = &stop};
    assert_false(executor_stopped(&executor));
    stop = true;
    assert_true(executor_stopped(&executor));

    struct record record = {0};
    executor_run(&executor, 5, record_task, &record);
    check_all_ran(&record, 5, 1); /* stopping is for the tasks to notice: a run is never cut short */
}

static void pool_runs_every_task_once(void **state)
{
    (void)state;
    for (size_t worker_count = 1; worker_count <= WORKER_COUNT_MAX; worker_count++) {
        struct worker_pool pool;
        worker_pool_init(&pool, worker_count);
        assert_true(executor_worker_count(&pool.executor) == worker_count);
        for (size_t task_count = 0; task_count <= TASK_COUNT_MAX; task_count += 40) {
            struct record record = {0};
            executor_run(&pool.executor, task_count, record_task, &record);
            check_all_ran(&record, task_count, worker_count);
        }
    }
}

static void pool_goes_backwards(void **state)
{
    (void)state;
    struct record record = {0};
    struct worker_pool pool;
    worker_pool_init(&pool, 1);
    pool.backwards = true;
    executor_run(&pool.executor, 10, record_task, &record);
    check_all_ran(&record, 10, 1);
    for (size_t task = 0; task < 10; task++)
        assert_true(record.order[task] == 9 - task);
}

static void pool_stops_after_so_many_calls(void **state)
{
    (void)state;
    struct worker_pool pool;
    worker_pool_init(&pool, 1);
    pool.stop_after = 2;
    assert_false(executor_stopped(&pool.executor));
    assert_false(executor_stopped(&pool.executor));
    assert_true(executor_stopped(&pool.executor));
    assert_true(executor_stopped(&pool.executor));
    assert_true(pool.asked == 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_one_the_caller_works),
        cmocka_unit_test(without_run_the_caller_works),
        cmocka_unit_test(no_tasks_are_fine),
        cmocka_unit_test(stopped_asks_with_its_context),
        cmocka_unit_test(pool_runs_every_task_once),
        cmocka_unit_test(pool_goes_backwards),
        cmocka_unit_test(pool_stops_after_so_many_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
