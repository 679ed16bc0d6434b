/* memory_cache_test.c: what the process keeps of freed memory, and when it returns it. */
#include "server/work/memory_cache.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "server/work/budget.h"
#include "tests/support/check.h"

#define PAGE_BYTES ((size_t)65536)

static void *map(size_t bytes)
{
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    return memset(mapped, 1, bytes);
}

static void rest_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

static void test_caches_the_largest_mapping(void **state)
{
    struct memory_cache cache;
    void *small = map(PAGE_BYTES), *large = map(2 * PAGE_BYTES), *mapped = small;
    size_t bytes = PAGE_BYTES;
    (void)state;
    memory_cache_init(&cache);
    assert_null(memory_cache_take(&cache, &bytes));
    memory_cache_put(&cache, &mapped, &bytes);
    assert_null(mapped);
    assert_int_equal(bytes, 0);

    mapped = large;
    bytes = 2 * PAGE_BYTES;
    memory_cache_put(&cache, &mapped, &bytes);
    assert_ptr_equal(mapped, small);
    assert_int_equal(bytes, PAGE_BYTES);
    memory_cache_put(&cache, &mapped, &bytes);
    assert_ptr_equal(mapped, small);
    memory_cache_mark_free(&cache);
    memory_cache_mark_free(&cache);

    bytes = 3 * PAGE_BYTES;
    assert_null(memory_cache_take(&cache, &bytes));
    bytes = 10;
    assert_ptr_equal(memory_cache_take(&cache, &bytes), large);
    assert_int_equal(bytes, 2 * PAGE_BYTES);
    assert_null(memory_cache_take(&cache, &bytes));
    memory_cache_mark_free(&cache);
    memset(large, 2, bytes);
    assert_int_equal(munmap(large, bytes), 0);
    memory_cache_put(&cache, &mapped, &(size_t){PAGE_BYTES});
    memory_cache_done(&cache);
}

/* The cached mapping counts as released, and is unmapped when others need the memory. */
static void test_unmaps_when_memory_is_needed(void **state)
{
    struct budget budget;
    struct budget_share body = {.pool = WORK_LARGE};
    void *mapped = map(PAGE_BYTES);
    size_t bytes = PAGE_BYTES;
    (void)state;
    budget_init(&budget, 2 * PAGE_BYTES, 0, 0, NULL);
    assert_true(budget_reserve_body(&budget, &body, PAGE_BYTES));
    memory_cache_put(&budget.cache, &mapped, &bytes);
    budget_release_body(&budget, &body);
    assert_true(budget_reserve_body(&budget, &body, 2 * PAGE_BYTES));
    bytes = 1;
    assert_null(memory_cache_take(&budget.cache, &bytes));
    budget_release_body(&budget, &body);
    budget_done(&budget);
}

/* Cached while there are requests, and unmapped after a second without any. */
static void test_unmaps_when_idle(void **state)
{
    struct budget budget;
    struct budget_share body = {.pool = WORK_LARGE}, other = {.pool = WORK_LARGE};
    void *mapped = map(PAGE_BYTES);
    size_t bytes = PAGE_BYTES;
    (void)state;
    budget_init(&budget, 4 * PAGE_BYTES, 0, 0, NULL);
    assert_true(memory_cache_is_trimmed(&budget.cache));
    assert_true(budget_reserve_body(&budget, &body, PAGE_BYTES));
    assert_true(budget_reserve_body(&budget, &other, PAGE_BYTES));
    memory_cache_put(&budget.cache, &mapped, &bytes);
    budget_release_body(&budget, &body);
    budget_trim_when_idle(&budget);
    assert_false(memory_cache_is_trimmed(&budget.cache));
    rest_ms(1200);
    budget_trim_when_idle(&budget);
    assert_false(memory_cache_is_trimmed(&budget.cache)); /* the other body is in use */
    budget_release_body(&budget, &other);
    budget_trim_when_idle(&budget);
    assert_false(memory_cache_is_trimmed(&budget.cache));
    rest_ms(1200);
    budget_trim_when_idle(&budget);
    assert_true(memory_cache_is_trimmed(&budget.cache));
    bytes = 1;
    assert_null(memory_cache_take(&budget.cache, &bytes));
    budget_done(&budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_caches_the_largest_mapping),
        cmocka_unit_test(test_unmaps_when_memory_is_needed),
        cmocka_unit_test(test_unmaps_when_idle),
    };
    return cmocka_run_group_tests_name("memory_cache", tests, NULL, NULL);
}
