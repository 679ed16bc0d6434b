/* T5's buckets as transformers has them, offset by offset. */
#include "core/relative_bias.h"

#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/test_data.h"

static int64_t integer_of(json_t *test, const char *name)
{
    return json_integer_value(conformance_at(test, name));
}

static size_t bucket_at(const struct relative_bias *bias, int64_t offset)
{
    return bias->ranges[relative_bias_find(bias, offset)].bucket;
}

/* Each range of offsets with one bucket: its first, its last, and the middle. */
static void check_case(json_t *test)
{
    size_t buckets = (size_t)integer_of(test, "buckets"), count;
    bool bidirectional = json_is_true(conformance_at(test, "bidirectional"));
    int64_t max_distance = integer_of(test, "max_distance"), last = integer_of(test, "last");
    struct relative_bias_range *ranges = calloc(buckets, sizeof *ranges);
    struct relative_bias bias = {.ranges = ranges};
    assert_non_null(ranges);
    bias.count = relative_bias_ranges(buckets, bidirectional, max_distance, ranges);
    double *starts = conformance_numbers(conformance_at(test, "starts"), &count);
    double *expected = conformance_numbers(conformance_at(test, "bucket"), &count);
    assert_int_equal(bias.count, count);
    for (size_t i = 0; i < count; i++) {
        int64_t from = (int64_t)starts[i], to = i + 1 < count ? (int64_t)starts[i + 1] - 1 : last;
        const int64_t offsets[] = {from, to, from + (to - from) / 2};
        for (size_t k = 0; k < 3; k++)
            if (bucket_at(&bias, offsets[k]) != (size_t)expected[i])
                fail_msg("%zu buckets%s up to %lld: offset %lld is in %zu, not %g", buckets,
                         bidirectional ? ", bidirectional," : "", (long long)max_distance, (long long)offsets[k],
                         bucket_at(&bias, offsets[k]), expected[i]);
    }
    assert_int_equal(bucket_at(&bias, INT64_MIN), (size_t)expected[0]);
    assert_int_equal(bucket_at(&bias, INT64_MAX), (size_t)expected[count - 1]);
    free(starts);
    free(expected);
    free(ranges);
}

static void buckets_of_transformers(void **state)
{
    (void)state;
    json_t *root = conformance_load("t5_buckets.json"), *test;
    size_t i;
    json_array_foreach(conformance_at(root, "cases"), i, test)
    {
        check_case(test);
    }
    assert_true(i > 20);
    json_decref(root);
}

/* The table's row is the bucket's, its column the head's. */
static void table_by_head(void **state)
{
    (void)state;
    const struct relative_bias_range ranges[] = {{INT64_MIN, 1}, {0, 0}, {3, 2}};
    const double table[] = {0, 1, 10, 11, 20, 21};
    const struct relative_bias bias = {.ranges = ranges, .count = 3, .table = table, .stride = 2};
    assert_true(relative_bias_at(&bias, 0, -1) == 10 && relative_bias_at(&bias, 1, -1) == 11);
    assert_true(relative_bias_at(&bias, 1, 0) == 1 && relative_bias_at(&bias, 1, 2) == 1);
    assert_true(relative_bias_at(&bias, 0, 3) == 20);
}

static void distances_of_their_own(void **state)
{
    (void)state;
    assert_int_equal(relative_bias_exact(32, true), 8);
    assert_int_equal(relative_bias_exact(32, false), 16);
    assert_int_equal(relative_bias_exact(3, false), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_of_transformers),
        cmocka_unit_test(table_by_head),
        cmocka_unit_test(distances_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
