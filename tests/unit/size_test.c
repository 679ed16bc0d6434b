/* Sizes saturate at SIZE_MAX instead of wrapping around. */
#include "core/size.h"
#include "tests/support/check.h"

static const size_t half = (size_t)1 << (sizeof(size_t) * 4); /* half * half is one past SIZE_MAX */

static void adds(void **state)
{
    (void)state;
    assert_true(size_add(2, 3) == 5);
    assert_true(size_add(SIZE_MAX, 0) == SIZE_MAX);
    assert_true(size_add(SIZE_MAX - 1, 1) == SIZE_MAX);
    assert_true(size_add(SIZE_MAX, 1) == SIZE_MAX);
    assert_true(size_add(SIZE_MAX, SIZE_MAX) == SIZE_MAX);
}

static void multiplies(void **state)
{
    (void)state;
    assert_true(size_multiply(6, 7) == 42);
    assert_true(size_multiply(half, half) == SIZE_MAX);
    assert_true(size_multiply(half, half - 1) == half * (half - 1));
    assert_true(size_multiply(SIZE_MAX, 1) == SIZE_MAX);
    assert_true(size_multiply(SIZE_MAX, 2) == SIZE_MAX);
    assert_true(size_multiply(SIZE_MAX, SIZE_MAX) == SIZE_MAX);
    assert_true(size_multiply(0, SIZE_MAX) == 0);
}

static void overflow_stays_through_a_sum(void **state)
{
    (void)state;
    assert_true(size_add(size_multiply(half, half), 1) == SIZE_MAX);
    assert_true(size_multiply(size_add(SIZE_MAX, 1), 4) == SIZE_MAX);
}

static void rounds_up_to_a_unit(void **state)
{
    (void)state;
    assert_true(size_round_up(0, 64) == 0 && size_round_up(1, 64) == 64 && size_round_up(64, 64) == 64);
    assert_true(size_round_up(65, 64) == 128 && size_round_up(SIZE_MAX - 64, 64) == SIZE_MAX - 63);
    assert_true(size_round_up(SIZE_MAX - 62, 64) == SIZE_MAX && size_round_up(SIZE_MAX, 64) == SIZE_MAX);
}

static void picks_the_smaller_and_the_larger(void **state)
{
    (void)state;
    assert_true(size_min(2, 3) == 2 && size_min(3, 2) == 2 && size_min(3, 3) == 3);
    assert_true(size_max(2, 3) == 3 && size_max(3, 2) == 3 && size_max(3, 3) == 3);
    assert_true(size_min(0, SIZE_MAX) == 0 && size_max(0, SIZE_MAX) == SIZE_MAX);
}

static void says_an_overflow_without_a_number(void **state)
{
    (void)state;
    char text[SIZE_TEXT_BYTES_MAX];
    assert_string_equal(size_text(0, text), "0");
    assert_string_equal(size_text(SIZE_MAX - 1, text), "18446744073709551614");
    assert_string_equal(size_text(size_multiply(SIZE_MAX, 2), text), "2^64 or more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds),
        cmocka_unit_test(multiplies),
        cmocka_unit_test(overflow_stays_through_a_sum),
        cmocka_unit_test(rounds_up_to_a_unit),
        cmocka_unit_test(picks_the_smaller_and_the_larger),
        cmocka_unit_test(says_an_overflow_without_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
