/* budget_test.c: memory for all requests: what is granted, what waits, what is refused. */
#include "server/work/budget.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"

/* Fails the test unless the queue's next item is `expected`; then releases its grant. */
static void assert_served(struct budget *budget, struct work_item *expected)
{
    assert_true(queue_length(budget->queue) > 0);
    assert_ptr_equal(queue_pop(budget->queue, WORK_SMALL), expected);
    assert_int_equal(expected->grant.bytes, expected->wanted_bytes);
    budget_release_grant(budget, expected);
}

/* ---- one pool ---- */

static void test_bodies_have_a_share(void **state)
{
    struct budget budget;
    struct budget_share body = {.pool = WORK_LARGE}, other = {.pool = WORK_LARGE};
    struct work_item item = {0};
    (void)state;
    budget_init(&budget, 100, 60, 0, NULL);
    assert_true(budget_reserve_body(&budget, &body, 40));
    assert_false(budget_reserve_body(&budget, &other, 1));
    assert_true(budget_grant_now(&budget, &item, 60)); /* the largest grant fits beside any bodies */
    budget_release_body(&budget, &body);
    assert_true(budget_reserve_body(&budget, &body, 40));
    budget_release_body(&budget, &body);
    budget_release_body(&budget, &body); /* is empty by now */
    budget_release_grant(&budget, &item);
    budget_release_grant(&budget, &item);
    budget_done(&budget);
}

static void test_grants_leave_less_for_bodies(void **state)
{
    struct budget budget;
    struct budget_share body = {.pool = WORK_LARGE};
    struct work_item items[2] = {{.next = NULL}};
    (void)state;
    budget_init(&budget, 100, 50, 0, NULL);
    assert_true(budget_grant_now(&budget, &items[0], 50));
    assert_true(budget_grant_now(&budget, &items[1], 40));
    assert_true(budget_reserve_body(&budget, &body, 10));
    assert_false(budget_reserve_body(&budget, &body, 1));
    assert_int_equal(body.bytes, 10);
    budget_release_grant(&budget, &items[0]);
    assert_true(budget_reserve_body(&budget, &body, 40));
    budget_release_body(&budget, &body);
    budget_release_grant(&budget, &items[1]);
    budget_done(&budget);
}

static void test_refused_at_once(void **state)
{
    struct budget budget;
    struct work_item item = {0};
    (void)state;
    budget_init(&budget, 100, 60, 0, NULL);
    assert_false(budget_grant_now(&budget, &item, 101));
    assert_false(budget_grant_now(&budget, &item, SIZE_MAX));
    assert_int_equal(item.grant.bytes, 0);

    /* Its own grant does not count as another request's. */
    assert_true(budget_grant_now(&budget, &item, 50));
    assert_false(budget_grant_now(&budget, &item, 60));
    assert_false(budget_grant_now(&budget, &item, SIZE_MAX));
    assert_int_equal(item.grant.bytes, 50);
    assert_true(budget_grant_now(&budget, &item, 50));
    budget_release_grant(&budget, &item);
    budget_done(&budget);
}

/* First come, first served, even when a later one would fit. */
static void test_waits_in_line(void **state)
{
    struct budget budget;
    struct queue queue;
    struct work_item first = {0}, large = {0}, small = {0}, late = {0};
    (void)state;
    queue_init(&queue, 1);
    budget_init(&budget, 100, 80, 0, &queue);
    assert_true(budget_grant_now(&budget, &first, 60));
    budget_wait(&budget, &large, 80);
    budget_wait(&budget, &small, 30);
    assert_false(budget_grant_now(&budget, &late, 10));
    assert_int_equal(queue_length(&queue), 0);
    budget_release_grant(&budget, &first);
    assert_served(&budget, &large);
    assert_served(&budget, &small);
    budget_wait(&budget, &late, 80); /* at once */
    assert_served(&budget, &late);
    budget_done(&budget);
    queue_done(&queue);
}

/* Requests that each have what the other needs do not wait for each other: only those without a grant wait. */
static void test_no_deadlock(void **state)
{
    struct budget budget;
    struct queue queue;
    struct work_item a = {0}, b = {0}, third = {0};
    (void)state;
    queue_init(&queue, 1);
    budget_init(&budget, 100, 100, 0, &queue);
    assert_true(budget_grant_now(&budget, &a, 50));
    assert_true(budget_grant_now(&budget, &b, 50));
    assert_false(budget_grant_now(&budget, &a, 30));
    assert_false(budget_grant_now(&budget, &b, 30));
    budget_wait(&budget, &third, 100);
    budget_release_grant(&budget, &a);
    assert_int_equal(queue_length(&queue), 0);
    budget_release_grant(&budget, &b);
    assert_served(&budget, &third);
    budget_done(&budget);
    queue_done(&queue);
}

/* An item that leaves the line makes way for those behind it. */
static void test_stopped_while_waiting(void **state)
{
    struct budget budget;
    struct queue queue;
    struct work_item first = {0}, gone = {0}, next = {0};
    (void)state;
    queue_init(&queue, 1);
    budget_init(&budget, 100, 80, 0, &queue);
    assert_true(budget_grant_now(&budget, &first, 60));
    assert_false(budget_remove(&budget, &first));
    budget_wait(&budget, &gone, 80);
    budget_wait(&budget, &next, 40);
    assert_true(budget_remove(&budget, &gone));
    assert_false(budget_remove(&budget, &gone));
    assert_served(&budget, &next);
    assert_false(budget_remove(&budget, &next));
    budget_release_grant(&budget, &first);
    budget_done(&budget);
    queue_done(&queue);
}

/* What an inflated body replaces no longer takes from the bodies' part. */
static void test_body_becomes_a_grant(void **state)
{
    struct budget budget;
    struct budget_share sent = {.pool = WORK_LARGE}, inflated = {.pool = WORK_LARGE};
    struct work_item item = {0};
    (void)state;
    budget_init(&budget, 100, 60, 0, NULL);
    assert_true(budget_reserve_body(&budget, &sent, 30));
    assert_false(budget_reserve_body(&budget, &inflated, 40));
    budget_body_to_grant(&budget, &sent, &item);
    assert_true(budget_reserve_body(&budget, &inflated, 40));
    budget_release_body(&budget, &sent); /* is empty */
    budget_release_grant(&budget, &item);
    assert_true(budget_grant_now(&budget, &item, 60));
    budget_release_grant(&budget, &item);
    budget_release_body(&budget, &inflated);
    budget_done(&budget);
}

/* ---- small and large ---- */

#define SMALL_BYTES ((size_t)64 << 10) /* bodies of up to 4 KiB, grants of up to 16 KiB */
#define KIB ((size_t)1024)

static void test_small_bodies_have_a_pool(void **state)
{
    struct budget budget;
    struct budget_share large = {.pool = WORK_LARGE}, small = {0}, grows = {0};
    struct work_item item = {0};
    (void)state;
    budget_init(&budget, 100 * KIB, 50 * KIB, SMALL_BYTES, NULL);
    assert_int_equal(budget_class_of_body(&budget, 4 * KIB), WORK_SMALL);
    assert_int_equal(budget_class_of_body(&budget, 4 * KIB + 1), WORK_LARGE);
    assert_true(budget_reserve_body(&budget, &large, 48 * KIB));
    assert_true(budget_reserve_body(&budget, &small, 4 * KIB));
    assert_int_equal(small.pool, WORK_SMALL);

    /* One that grows moves as a whole, or stays as it is. */
    assert_true(budget_reserve_body(&budget, &grows, 3 * KIB));
    assert_false(budget_reserve_body(&budget, &grows, 2 * KIB));
    assert_int_equal(grows.pool, WORK_SMALL);
    assert_int_equal(grows.bytes, 3 * KIB);
    budget_release_body(&budget, &large);
    assert_true(budget_reserve_body(&budget, &grows, 47 * KIB));
    assert_int_equal(grows.pool, WORK_LARGE);
    assert_int_equal(grows.bytes, 50 * KIB);
    assert_false(budget_reserve_body(&budget, &grows, 1));
    assert_true(budget_grant_now(&budget, &item, 50 * KIB));
    budget_release_grant(&budget, &item);
    budget_release_body(&budget, &grows);
    budget_release_body(&budget, &small);
    budget_done(&budget);
}

/* Where the small pool is full of bodies, the large one takes more; grants still fit. */
static void test_small_bodies_overflow(void **state)
{
    struct budget budget;
    struct budget_share bodies[13] = {{WORK_SMALL, 0}};
    struct work_item item = {0};
    (void)state;
    budget_init(&budget, 100 * KIB, 50 * KIB, SMALL_BYTES, NULL);
    for (size_t i = 0; i < 13; i++) {
        assert_true(budget_reserve_body(&budget, &bodies[i], 4 * KIB));
        assert_int_equal(bodies[i].pool, i < 12 ? WORK_SMALL : WORK_LARGE);
    }
    assert_true(budget_grant_now(&budget, &item, 16 * KIB));
    assert_int_equal(item.grant.pool, WORK_SMALL);
    budget_release_grant(&budget, &item);
    for (size_t i = 0; i < 13; i++)
        budget_release_body(&budget, &bodies[i]);
    budget_done(&budget);
}

/* Large items in line, and large grants that nobody releases, do not keep small ones waiting. */
static void test_small_passes_large(void **state)
{
    struct budget budget;
    struct queue queue;
    struct work_item held = {0}, waiting = {0}, small = {0};
    (void)state;
    queue_init(&queue, 1);
    budget_init(&budget, 100 * KIB, 80 * KIB, SMALL_BYTES, &queue);
    assert_true(budget_grant_now(&budget, &held, 80 * KIB));
    budget_wait(&budget, &waiting, 80 * KIB);
    assert_true(budget_grant_now(&budget, &small, 16 * KIB));
    assert_int_equal(queue_length(&queue), 0);
    budget_release_grant(&budget, &small);
    assert_int_equal(queue_length(&queue), 0);
    budget_release_grant(&budget, &held);
    assert_served(&budget, &waiting);
    budget_done(&budget);
    queue_done(&queue);
}

/* Small ones wait for the small pool, and take from the large one what no large one waits for. */
static void test_small_uses_free_large(void **state)
{
    struct budget budget;
    struct queue queue;
    struct work_item small[4] = {{.next = NULL}}, held = {0}, waiting = {0}, late[2] = {{.next = NULL}};
    (void)state;
    queue_init(&queue, 1);
    budget_init(&budget, 100 * KIB, 100 * KIB, SMALL_BYTES, &queue);
    for (size_t i = 0; i < 4; i++)
        assert_true(budget_grant_now(&budget, &small[i], 16 * KIB));
    assert_false(budget_grant_now(&budget, &late[0], 10 * KIB));
    budget_wait(&budget, &late[0], 10 * KIB);
    assert_served(&budget, &late[0]);

    assert_true(budget_grant_now(&budget, &held, 50 * KIB));
    budget_wait(&budget, &waiting, 60 * KIB);
    budget_wait(&budget, &late[0], 10 * KIB);
    budget_wait(&budget, &late[1], 10 * KIB);
    assert_int_equal(queue_length(&queue), 0);
    budget_release_grant(&budget, &small[0]);
    assert_served(&budget, &late[0]);
    assert_true(budget_remove(&budget, &waiting)); /* now there is room in the large pool, had it not been served */
    assert_served(&budget, &late[1]);
    budget_release_grant(&budget, &held);
    for (size_t i = 1; i < 4; i++)
        budget_release_grant(&budget, &small[i]);
    budget_done(&budget);
    queue_done(&queue);
}

/* ---- many threads ---- */

#define JOBS 600
#define RUNNERS 4
#define LARGE_TOTAL ((size_t)1000)
#define SMALL_TOTAL ((size_t)400) /* bodies of up to 25, grants of up to 100 */

struct job {
    struct work_item item; /* first */
    struct budget *budget;
    struct budget_share body;
    size_t body_bytes, grant_bytes, more_bytes;
    atomic_size_t *granted_bytes, *done_count;
    atomic_bool done;
};

static void rest_us(long us)
{
    const struct timespec time = {.tv_nsec = us * 1000};
    (void)nanosleep(&time, NULL);
}

static void finish(struct job *job)
{
    (void)atomic_fetch_sub(job->granted_bytes, job->item.grant.bytes);
    budget_release_grant(job->budget, &job->item);
    budget_release_body(job->budget, &job->body);
    atomic_store(&job->done, true);
    (void)atomic_fetch_add(job->done_count, 1);
}

/* As a request's: takes its grant, or waits for it without a thread; takes more if there is more. */
static void run_job(struct work_item *item)
{
    struct job *job = (struct job *)item;
    if (work_item_stopped(item)) {
        (void)atomic_fetch_add(job->granted_bytes, item->grant.bytes);
        finish(job);
        return;
    }
    if (item->grant.bytes == 0 && !budget_grant_now(job->budget, item, job->grant_bytes)) {
        budget_wait(job->budget, item, job->grant_bytes);
        return;
    }
    if (budget_grant_now(job->budget, item, job->more_bytes))
        rest_us(20);
    size_t granted_bytes = atomic_fetch_add(job->granted_bytes, item->grant.bytes) + item->grant.bytes;
    assert_true(granted_bytes <= LARGE_TOTAL + SMALL_TOTAL);
    rest_us((long)(job->grant_bytes % 100));
    finish(job);
}

static void *runner(void *argument)
{
    struct queue *queue = argument;
    struct work_item *item;
    while ((item = queue_pop(queue, WORK_SMALL)) != NULL)
        item->run(item);
    return NULL;
}

static struct job *draw_jobs(struct draw *draw, struct budget *budget, size_t count, atomic_size_t *granted_bytes,
                             atomic_size_t *done_count)
{
    struct job *jobs = calloc(count, sizeof *jobs);
    assert_non_null(jobs);
    for (size_t i = 0; i < count; i++) {
        size_t most = draw_chance(draw, 0.5) ? 100 : 800;
        jobs[i].item.run = run_job;
        jobs[i].item.deadline_ms = CLOCK_NEVER_MS;
        jobs[i].budget = budget;
        jobs[i].body_bytes = draw_size(draw, 0, draw_chance(draw, 0.5) ? 25 : 200);
        jobs[i].grant_bytes = draw_size(draw, 1, most);
        jobs[i].more_bytes = draw_size(draw, 0, 100);
        jobs[i].granted_bytes = granted_bytes;
        jobs[i].done_count = done_count;
    }
    return jobs;
}

/* Every item is run to its end, whatever sizes come in what order and whichever are stopped meanwhile. */
static void test_many_threads(void **state)
{
    struct budget budget;
    struct queue queue;
    struct draw draw = {.state = 7};
    pthread_t threads[RUNNERS];
    atomic_size_t granted_bytes = 0, done_count = 0;
    size_t count = environment_slow() ? JOBS / 4 : JOBS;
    (void)state;
    queue_init(&queue, JOBS);
    budget_init(&budget, LARGE_TOTAL, 800, SMALL_TOTAL, &queue);
    struct job *jobs = draw_jobs(&draw, &budget, count, &granted_bytes, &done_count);
    for (size_t i = 0; i < RUNNERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, runner, &queue), 0);
    for (size_t i = 0; i < count; i++) {
        while (!budget_reserve_body(&budget, &jobs[i].body, jobs[i].body_bytes))
            rest_us(100);
        assert_true(queue_push(&queue, &jobs[i].item));
        struct job *stopped = &jobs[draw_size(&draw, 0, i)];
        if (!draw_chance(&draw, 0.2) || atomic_load(&stopped->done))
            continue;
        work_item_stop(&stopped->item, WORK_CLIENT_GONE);
        if (queue_remove(&queue, &stopped->item) || budget_remove(&budget, &stopped->item))
            run_job(&stopped->item);
    }
    for (size_t i = 0; i < 60000 && atomic_load(&done_count) < count; i++)
        rest_us(1000);
    assert_int_equal(atomic_load(&done_count), count);
    queue_close(&queue);
    for (size_t i = 0; i < RUNNERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    budget_done(&budget); /* asserts that nothing is left */
    queue_done(&queue);
    free(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies_have_a_share),   cmocka_unit_test(test_grants_leave_less_for_bodies),
        cmocka_unit_test(test_refused_at_once),       cmocka_unit_test(test_waits_in_line),
        cmocka_unit_test(test_no_deadlock),           cmocka_unit_test(test_stopped_while_waiting),
        cmocka_unit_test(test_body_becomes_a_grant),  cmocka_unit_test(test_small_bodies_have_a_pool),
        cmocka_unit_test(test_small_bodies_overflow), cmocka_unit_test(test_small_passes_large),
        cmocka_unit_test(test_small_uses_free_large), cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
