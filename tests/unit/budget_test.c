/* budget_test.c: memory for all requests: what is granted, what waits, what is refused. */
#include "server/work/budget.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/support/check.h"

static struct work_item work_until(int64_t deadline_ms)
{
    struct work_item work_item;
    memset(&work_item, 0, sizeof work_item);
    work_item.deadline_ms = deadline_ms;
    return work_item;
}

static void rest_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

/* A request for memory on a thread of its own. */
struct asker {
    struct budget *budget;
    struct budget_grant grant;
    struct work_item work_item;
    size_t bytes;
    struct error err;
    bool granted;
    atomic_bool answered;
    pthread_t thread;
};

static void *client(void *argument)
{
    struct asker *asker = argument;
    asker->granted = budget_grant(asker->budget, &asker->grant, asker->bytes, &asker->work_item, &asker->err);
    atomic_store(&asker->answered, true);
    return NULL;
}

static void asker_start(struct asker *asker, struct budget *budget, size_t bytes)
{
    memset(asker, 0, sizeof *asker);
    asker->budget = budget;
    asker->bytes = bytes;
    asker->work_item = work_until(clock_ms() + 60000);
    assert_int_equal(pthread_create(&asker->thread, NULL, client, asker), 0);
    rest_ms(100); /* so that it is in line before the next one */
}

static void asker_end(struct asker *asker)
{
    assert_int_equal(pthread_join(asker->thread, NULL), 0);
}

static void take(struct budget *budget, struct budget_grant *grant, size_t bytes)
{
    struct error err = {0};
    struct work_item work_item = work_until(clock_ms() + 60000);
    assert_true(budget_grant(budget, grant, bytes, &work_item, &err));
}

static void test_bodies_have_a_share(void **state)
{
    struct budget budget;
    struct budget_grant grant = {0};
    (void)state;
    budget_init(&budget, 100, 60);
    assert_true(budget_reserve_body(&budget, 40));
    assert_false(budget_reserve_body(&budget, 1));
    take(&budget, &grant, 60); /* the largest grant fits beside any bodies */
    budget_release_body(&budget, 40);
    assert_true(budget_reserve_body(&budget, 40));
    budget_release_body(&budget, 40);
    budget_release_grant(&budget, &grant);
    budget_release_grant(&budget, &grant); /* is empty by now */
    budget_done(&budget);
}

static void test_grants_leave_less_for_bodies(void **state)
{
    struct budget budget;
    struct budget_grant grants[2] = {{0}};
    (void)state;
    budget_init(&budget, 100, 50);
    take(&budget, &grants[0], 50);
    take(&budget, &grants[1], 40);
    assert_true(budget_reserve_body(&budget, 10));
    assert_false(budget_reserve_body(&budget, 1));
    budget_release_grant(&budget, &grants[0]);
    assert_true(budget_reserve_body(&budget, 40));
    budget_release_body(&budget, 50);
    budget_release_grant(&budget, &grants[1]);
    budget_done(&budget);
}

/* When no request will release memory, waiting is of no use. */
static void test_refused_at_once(void **state)
{
    struct budget budget;
    struct budget_grant grant = {0};
    struct error err = {0};
    struct work_item work_item = work_until(clock_ms() + 60000);
    (void)state;
    budget_init(&budget, 100, 60);
    assert_false(budget_grant(&budget, &grant, 101, &work_item, &err));
    assert_int_equal(err.code, ERROR_NO_MEMORY);
    assert_int_equal(grant.bytes, 0);
    error_init(&err);
    assert_false(budget_grant(&budget, &grant, SIZE_MAX, &work_item, &err));
    assert_int_equal(err.code, ERROR_NO_MEMORY);

    /* Its own grant does not count as another request's. */
    error_init(&err);
    take(&budget, &grant, 50);
    assert_false(budget_grant(&budget, &grant, 60, &work_item, &err));
    assert_int_equal(err.code, ERROR_NO_MEMORY);
    assert_int_equal(grant.bytes, 50);
    budget_release_grant(&budget, &grant);
    budget_done(&budget);
}

/* First come, first served, even when a later one would fit. */
static void test_waits_in_line(void **state)
{
    struct budget budget;
    struct budget_grant first = {0};
    struct asker large, small;
    (void)state;
    budget_init(&budget, 100, 80);
    take(&budget, &first, 60);
    asker_start(&large, &budget, 80);
    asker_start(&small, &budget, 10);
    assert_false(atomic_load(&large.answered));
    assert_false(atomic_load(&small.answered));
    budget_release_grant(&budget, &first);
    asker_end(&large);
    asker_end(&small);
    assert_true(large.granted && small.granted);
    budget_release_grant(&budget, &large.grant);
    budget_release_grant(&budget, &small.grant);
    budget_done(&budget);
}

/* Two that each own what the other needs: the first in line is refused, then the other is served. */
static void test_no_deadlock(void **state)
{
    struct budget budget;
    struct asker a, b;
    (void)state;
    budget_init(&budget, 100, 100);
    asker_start(&a, &budget, 50);
    asker_end(&a);
    asker_start(&b, &budget, 50);
    asker_end(&b);
    a.bytes = 30;
    b.bytes = 30;
    atomic_store(&a.answered, false);
    assert_int_equal(pthread_create(&a.thread, NULL, client, &a), 0);
    rest_ms(100);
    assert_false(atomic_load(&a.answered)); /* b may release its grant */
    assert_int_equal(pthread_create(&b.thread, NULL, client, &b), 0);
    asker_end(&a);
    assert_false(a.granted);
    assert_int_equal(a.err.code, ERROR_NO_MEMORY);
    budget_release_grant(&budget, &a.grant);
    asker_end(&b);
    assert_true(b.granted);
    assert_int_equal(b.grant.bytes, 80);
    budget_release_grant(&budget, &b.grant);
    budget_done(&budget);
}

static void test_stopped_while_waiting(void **state)
{
    struct budget budget;
    struct budget_grant first = {0}, none = {0};
    struct error err = {0};
    struct asker gone;
    (void)state;
    budget_init(&budget, 100, 80);
    take(&budget, &first, 60);
    struct work_item late = work_until(clock_ms() + 50);
    assert_false(budget_grant(&budget, &none, 80, &late, &err));
    assert_int_equal(err.code, ERROR_DEADLINE);
    assert_int_equal(work_item_why_stopped(&late), WORK_DEADLINE);

    asker_start(&gone, &budget, 80);
    assert_false(atomic_load(&gone.answered));
    work_item_stop(&gone.work_item, WORK_CLIENT_GONE);
    asker_end(&gone);
    assert_false(gone.granted);
    assert_int_equal(gone.err.code, ERROR_DEADLINE);
    budget_release_grant(&budget, &first);
    budget_done(&budget);
}

/* Many at once: the sum stays under the total, and all is released. */
static void *take_and_return(void *argument)
{
    struct budget *budget = argument;
    for (size_t i = 0; i < 300; i++) {
        struct budget_grant grant = {0};
        struct error err = {0};
        struct work_item work_item = work_until(clock_ms() + 60000);
        bool body = budget_reserve_body(budget, i % 20);
        if (!budget_grant(budget, &grant, 1 + i * 7 % 60, &work_item, &err))
            assert_int_equal(err.code, ERROR_NO_MEMORY);
        budget_release_grant(budget, &grant);
        if (body)
            budget_release_body(budget, i % 20);
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    struct budget budget;
    pthread_t threads[6];
    (void)state;
    budget_init(&budget, 100, 60);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_return, &budget), 0);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    budget_done(&budget); /* asserts that nothing is left */
}

/* ---- The cached mapping ---- */

#define PAGE_BYTES ((size_t)65536)

static void *map(size_t bytes)
{
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    return memset(mapped, 1, bytes);
}

static void test_caches_the_largest_mapping(void **state)
{
    struct budget budget;
    void *small = map(PAGE_BYTES), *large = map(2 * PAGE_BYTES), *mapped = small;
    size_t bytes = PAGE_BYTES;
    (void)state;
    budget_init(&budget, 4 * PAGE_BYTES, 0);
    assert_null(budget_take_mapping(&budget, &bytes));
    budget_cache_mapping(&budget, &mapped, &bytes);
    assert_null(mapped);
    assert_int_equal(bytes, 0);

    mapped = large;
    bytes = 2 * PAGE_BYTES;
    budget_cache_mapping(&budget, &mapped, &bytes);
    assert_ptr_equal(mapped, small);
    assert_int_equal(bytes, PAGE_BYTES);
    budget_cache_mapping(&budget, &mapped, &bytes);
    assert_ptr_equal(mapped, small);
    budget_mark_mapping_free(&budget);
    budget_mark_mapping_free(&budget);

    bytes = 3 * PAGE_BYTES;
    assert_null(budget_take_mapping(&budget, &bytes));
    bytes = 10;
    assert_ptr_equal(budget_take_mapping(&budget, &bytes), large);
    assert_int_equal(bytes, 2 * PAGE_BYTES);
    assert_null(budget_take_mapping(&budget, &bytes));
    budget_mark_mapping_free(&budget);
    memset(large, 2, bytes);
    assert_int_equal(munmap(large, bytes), 0);
    budget_cache_mapping(&budget, &mapped, &(size_t){PAGE_BYTES});
    budget_done(&budget);
}

/* The cached mapping counts as released, and is unmapped when others need the memory. */
static void test_unmaps_when_memory_is_needed(void **state)
{
    struct budget budget;
    void *mapped = map(PAGE_BYTES);
    size_t bytes = PAGE_BYTES;
    (void)state;
    budget_init(&budget, 2 * PAGE_BYTES, 0);
    assert_true(budget_reserve_body(&budget, PAGE_BYTES));
    budget_cache_mapping(&budget, &mapped, &bytes);
    budget_release_body(&budget, PAGE_BYTES);
    assert_true(budget_reserve_body(&budget, 2 * PAGE_BYTES));
    bytes = 1;
    assert_null(budget_take_mapping(&budget, &bytes));
    budget_release_body(&budget, 2 * PAGE_BYTES);
    budget_done(&budget);
}

/* Cached while there are requests, and unmapped after a second without any. */
static void test_unmaps_when_idle(void **state)
{
    struct budget budget;
    void *mapped = map(PAGE_BYTES);
    size_t bytes = PAGE_BYTES;
    (void)state;
    budget_init(&budget, 4 * PAGE_BYTES, 0);
    assert_true(budget_is_trimmed(&budget));
    assert_true(budget_reserve_body(&budget, PAGE_BYTES));
    assert_true(budget_reserve_body(&budget, PAGE_BYTES));
    budget_cache_mapping(&budget, &mapped, &bytes);
    budget_release_body(&budget, PAGE_BYTES);
    budget_trim_when_idle(&budget);
    assert_false(budget_is_trimmed(&budget));
    rest_ms(1200);
    budget_trim_when_idle(&budget);
    assert_false(budget_is_trimmed(&budget)); /* the other body is in use */
    budget_release_body(&budget, PAGE_BYTES);
    budget_trim_when_idle(&budget);
    assert_false(budget_is_trimmed(&budget));
    rest_ms(1200);
    budget_trim_when_idle(&budget);
    assert_true(budget_is_trimmed(&budget));
    bytes = 1;
    assert_null(budget_take_mapping(&budget, &bytes));
    budget_done(&budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies_have_a_share),
        cmocka_unit_test(test_grants_leave_less_for_bodies),
        cmocka_unit_test(test_refused_at_once),
        cmocka_unit_test(test_waits_in_line),
        cmocka_unit_test(test_no_deadlock),
        cmocka_unit_test(test_stopped_while_waiting),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_caches_the_largest_mapping),
        cmocka_unit_test(test_unmaps_when_memory_is_needed),
        cmocka_unit_test(test_unmaps_when_idle),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
