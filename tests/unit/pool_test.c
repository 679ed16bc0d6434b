/* pool_test.c: every task of an item runs once, and the threads wait awake only between items that follow each other, one at a time. */
#include "server/work/pool.h"

#include <string.h>
#include <unistd.h>

#include "server/work/clock.h"
#include "tests/support/check.h"

#define TASKS 64
#define MORE_THAN_FOLLOWS_US 20000

static void count_run(void *argument, size_t task, size_t worker)
{
    atomic_size_t *runs = argument;
    assert_true(worker < 2);
    (void)atomic_fetch_add(&runs[task], 1);
}

static struct pool_use enter(struct pool *pool, struct work_item *item)
{
    struct pool_use use = {.pool = pool, .work_item = item};
    atomic_size_t runs[TASKS] = {0};
    struct executor executor = pool_enter(&use);
    executor_run(&executor, TASKS, count_run, runs);
    for (size_t i = 0; i < TASKS; i++)
        assert_true(runs[i] == 1);
    return use;
}

static void test_items_follow_each_other(void **state)
{
    struct pool pool;
    struct work_item large, small;
    struct error err = {0};
    (void)state;
    memset(&large, 0, sizeof large);
    memset(&small, 0, sizeof small);
    large.class = WORK_LARGE;
    large.deadline_ms = small.deadline_ms = CLOCK_NEVER_MS;
    small.class = WORK_SMALL;
    assert_true(pool_start(&pool, 2, &err));
    struct pool_use first = enter(&pool, &large);
    struct pool_use beside = enter(&pool, &large), of_small = enter(&pool, &small);
    assert_false(beside.follows); /* the first has not ended */
    assert_false(of_small.follows);
    pool_leave(&of_small);
    pool_leave(&beside);
    pool_leave(&first);
    (void)usleep(MORE_THAN_FOLLOWS_US);
    struct pool_use late = enter(&pool, &large);
    assert_false(late.follows);
    pool_leave(&late);
    struct pool_use next = {.pool = &pool, .work_item = &large};
    bool follows = false; /* a machine full of other work may take longer than that at a time */
    for (int i = 0; i < 1000 && !follows; i++) {
        (void)pool_enter(&next);
        follows = next.follows;
        pool_leave(&next);
    }
    assert_true(follows);
    pool_stop(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_items_follow_each_other)};
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
