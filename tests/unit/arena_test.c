/* The arena's cap, its alignment, and what it does when memory runs out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/size.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"

#define ALLOCATION_COUNT 300

static bool is_aligned(const void *memory)
{
    return (uintptr_t)memory % ARENA_ALIGNMENT_BYTES == 0;
}

static void allocations_are_aligned_and_apart(void **state)
{
    (void)state;
    struct arena arena;
    struct error err;
    struct draw draw = {1};
    unsigned char *memory[ALLOCATION_COUNT];
    size_t bytes[ALLOCATION_COUNT];
    arena_init(&arena, SIZE_MAX);
    error_init(&err);
    for (size_t k = 0; k < ALLOCATION_COUNT; k++) {
        bytes[k] = draw_size(&draw, 1, (size_t)1 << draw_size(&draw, 0, 17));
        memory[k] = arena_alloc(&arena, bytes[k], &err);
        assert_non_null(memory[k]);
        assert_true(is_aligned(memory[k]));
        memset(memory[k], (int)(k % 251), bytes[k]);
    }
    for (size_t k = 0; k < ALLOCATION_COUNT; k++) {
        for (size_t byte = 0; byte < bytes[k]; byte++)
            assert_true(memory[k][byte] == k % 251);
    }
    assert_int_equal(err.code, ERROR_NONE);
    arena_done(&arena);
}

static void nothing_used_before_the_first_allocation(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 1000);
    assert_true(arena.used_bytes == 0);
    assert_true(arena.cap_bytes == 1000);
    arena_done(&arena);
}

static void no_bytes_give_a_pointer(void **state)
{
    (void)state;
    struct arena arena;
    struct error err;
    arena_init(&arena, 4096);
    error_init(&err);
    assert_non_null(arena_alloc(&arena, 0, &err));
    assert_int_equal(err.code, ERROR_NONE);
    arena_done(&arena);
}

/* Where a small allocation opens a block, the large one after it still fits. */
static void costs_suffice_small_before_large(void **state)
{
    (void)state;
    struct arena arena;
    struct error err;
    arena_init(&arena, size_add(arena_cost(100), arena_cost(100000)));
    error_init(&err);
    assert_non_null(arena_alloc(&arena, 100, &err));
    assert_non_null(arena_alloc(&arena, 100000, &err));
    arena_done(&arena);
}

/* A sum of costs is enough of a cap, and the cap is never passed. */
static void costs_suffice(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct draw draw = {seed};
        size_t bytes[40], cap_bytes = 0;
        for (size_t k = 0; k < 40; k++) {
            bytes[k] = draw_size(&draw, 0, (size_t)1 << draw_size(&draw, 0, 16));
            assert_true(arena_cost(bytes[k]) >= bytes[k]);
            cap_bytes = size_add(cap_bytes, arena_cost(bytes[k]));
        }
        struct arena arena;
        struct error err;
        arena_init(&arena, cap_bytes);
        error_init(&err);
        for (size_t k = 0; k < 40; k++) {
            size_t used_before = arena.used_bytes;
            assert_non_null(arena_alloc(&arena, bytes[k], &err));
            assert_true(arena.used_bytes - used_before <= arena_cost(bytes[k]));
            assert_true(arena.used_bytes >= used_before + bytes[k]);
            assert_true(arena.used_bytes <= cap_bytes);
        }
        arena_done(&arena);
    }
}

static void cost_saturates(void **state)
{
    (void)state;
    assert_true(arena_cost(SIZE_MAX) == SIZE_MAX);
    assert_true(arena_cost(SIZE_MAX - 1) == SIZE_MAX);
    for (size_t bytes = 0; bytes < 4096; bytes++)
        assert_true(arena_cost(bytes) <= arena_cost(bytes + 1));
}

static void past_the_cap_fails_and_takes_nothing(void **state)
{
    (void)state;
    struct arena arena;
    struct error err;
    size_t cap_bytes = arena_cost(1000) + arena_cost(100);
    arena_init(&arena, cap_bytes);
    error_init(&err);
    assert_non_null(arena_alloc(&arena, 1000, &err));
    size_t used_bytes = arena.used_bytes;
    assert_null(arena_alloc(&arena, cap_bytes, &err));
    assert_int_equal(err.code, ERROR_NO_MEMORY);
    assert_true(err.text[0] != '\0');
    assert_true(arena.used_bytes == used_bytes);

    error_init(&err);
    assert_non_null(arena_alloc(&arena, 100, &err));
    assert_int_equal(err.code, ERROR_NONE);
    arena_done(&arena);
}

static void no_cap_admits_nothing(void **state)
{
    (void)state;
    struct arena arena;
    struct error err;
    arena_init(&arena, 0);
    error_init(&err);
    assert_null(arena_alloc(&arena, 1, &err));
    assert_int_equal(err.code, ERROR_NO_MEMORY);
    assert_true(arena.used_bytes == 0);
    arena_done(&arena);
}

static void check_refused(size_t cap_bytes, size_t bytes)
{
    struct arena arena;
    struct error err;
    arena_init(&arena, cap_bytes);
    error_init(&err);
    assert_null(arena_alloc(&arena, bytes, &err));
    assert_int_equal(err.code, ERROR_NO_MEMORY);
    assert_true(arena.used_bytes == 0);
    arena_done(&arena);
}

/* Sizes whose alignment or header would overflow; nothing wraps around to a small allocation. */
static void absurd_sizes_fail(void **state)
{
    (void)state;
    for (size_t below = 0; below < 300; below++)
        check_refused(4096, SIZE_MAX - below);
    check_refused(SIZE_MAX, SIZE_MAX);
    check_refused(SIZE_MAX, SIZE_MAX - ARENA_ALIGNMENT_BYTES);
    check_refused(SIZE_MAX, SIZE_MAX - 4 * ARENA_ALIGNMENT_BYTES);
}

/* Within the cap, but more than any address space has: the system's refusal is an error, not an end. (The sanitizers'
 * allocators refuse likewise under allocator_may_return_null=1.) */
static void system_without_room_fails(void **state)
{
    (void)state;
    struct arena arena;
    struct error err;
    arena_init(&arena, SIZE_MAX);
    error_init(&err);
    assert_null(arena_alloc(&arena, (size_t)1 << 62, &err));
    assert_int_equal(err.code, ERROR_NO_MEMORY);
    assert_true(arena.used_bytes == 0);
    assert_non_null(arena_alloc(&arena, 10, &err));
    arena_done(&arena);
}

static void earlier_error_stays(void **state)
{
    (void)state;
    struct arena arena;
    struct error err;
    arena_init(&arena, 0);
    error_init(&err);
    assert_false(error_set(&err, ERROR_INVALID, "earlier"));
    assert_null(arena_alloc(&arena, 1, &err));
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.text, "earlier");
    arena_done(&arena);
}

static size_t resident_bytes(void)
{
    char text[128];
    size_t resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    if (fgets(text, sizeof text, file)) {
        char *after_total;
        (void)strtoull(text, &after_total, 10);
        resident = (size_t)strtoull(after_total, NULL, 10);
    }
    (void)fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void untouched_pages_cost_nothing(void **state)
{
    (void)state;
    struct arena arena;
    struct error err;
    arena_init(&arena, SIZE_MAX);
    error_init(&err);
    size_t before = resident_bytes();
    assert_non_null(arena_alloc(&arena, (size_t)1 << 30, &err));
    assert_true(resident_bytes() < before + ((size_t)64 << 20));
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_aligned_and_apart),
        cmocka_unit_test(nothing_used_before_the_first_allocation),
        cmocka_unit_test(no_bytes_give_a_pointer),
        cmocka_unit_test(costs_suffice),
        cmocka_unit_test(costs_suffice_small_before_large),
        cmocka_unit_test(cost_saturates),
        cmocka_unit_test(past_the_cap_fails_and_takes_nothing),
        cmocka_unit_test(no_cap_admits_nothing),
        cmocka_unit_test(absurd_sizes_fail),
        cmocka_unit_test(system_without_room_fails),
        cmocka_unit_test(earlier_error_stays),
        cmocka_unit_test(untouched_pages_cost_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
