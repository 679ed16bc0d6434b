/* The generator against the C++ standard's check value, and the draws against what torch drew. */
#include "core/random.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/test_data.h"
#include "tests/support/view.h"
#include "tests/support/worker_pool.h"

#define TOLERANCE 1e-6
#define RANK_MAX 4

static void check_outputs(uint64_t seed, const uint32_t *first, size_t first_count, uint32_t ten_thousandth)
{
    struct random random;
    random_init(&random, seed);
    for (size_t k = 1; k < 10000; k++) {
        uint32_t output = random_u32(&random);
        if (k <= first_count)
            assert_true(output == first[k - 1]);
    }
    assert_true(random_u32(&random) == ten_thousandth);
}

static void integers_are_exact(void **state)
{
    (void)state;
    check_outputs(5489, (const uint32_t[]){3499211612U, 581869302U, 3890346734U, 3586334585U}, 4, 4123659995U);
    check_outputs(1, (const uint32_t[]){1791095845U, 4282876139U, 3093770124U, 4005303368U}, 4, 1237896635U);
    check_outputs(1337, (const uint32_t[]){1125387415U, 2407456957U, 681542492U, 913057000U}, 4, 1178112253U);
    check_outputs(4294967295U, (const uint32_t[]){419326371U, 479346978U}, 2, 1117955853U);
}

static void only_the_low_half_of_a_seed_counts(void **state)
{
    (void)state;
    check_outputs(((uint64_t)1 << 32) + 5489, (const uint32_t[]){3499211612U}, 1, 4123659995U);
    check_outputs((uint64_t)INT64_MAX, (const uint32_t[]){419326371U, 479346978U}, 2, 1117955853U);
}

/* Draws like `draw` of the file, in `dtype`. New array: the caller frees it. */
static double *draw_like(struct random *random, json_t *draw, enum dtype dtype, size_t *ret_count)
{
    size_t shape[RANK_MAX];
    size_t rank = conformance_shape(conformance_at(draw, "shape"), shape, RANK_MAX);
    struct view_pool pool = {.count = 0};
    struct tensor view = view_contiguous(&pool, dtype, rank, shape);
    if (json_string_value(conformance_at(draw, "op"))[0] == 'r')
        random_normal(random, &view, NULL);
    else
        random_linear(random, &view);
    *ret_count = tensor_count(&view);
    double *values = view_values(&view);
    view_pool_done(&pool);
    return values;
}

static void draws_are_torchs(void **state)
{
    (void)state;
    json_t *root = conformance_load("torch_random.json"), *one, *draw;
    size_t case_index, draw_index;
    json_array_foreach(conformance_at(root, "cases"), case_index, one)
    {
        uint64_t seed = (uint64_t)json_integer_value(conformance_at(one, "seed"));
        struct random single, wide;
        random_init(&single, seed);
        random_init(&wide, seed);
        json_array_foreach(conformance_at(one, "draws"), draw_index, draw)
        {
            size_t expected_count, count;
            double *expected = conformance_numbers(conformance_at(draw, "data"), &expected_count);
            double *got = draw_like(&single, draw, DTYPE_F32, &count);
            double *widened = draw_like(&wide, draw, DTYPE_F64, &count);
            assert_true(count == expected_count);
            for (size_t k = 0; k < count; k++) {
                if (!(fabs(got[k] - expected[k]) <= TOLERANCE))
                    fail_msg("seed %llu, draw %zu, element %zu: %.9g, torch has %.9g", (unsigned long long)seed, draw_index, k,
                             got[k], expected[k]);
                assert_true(widened[k] == got[k]);
            }
            free(expected);
            free(got);
            free(widened);
        }
    }
    json_decref(root);
}

/* Draws `count` normals of float32 into `ret`. */
static void normals(struct random *random, size_t count, float *ret)
{
    struct tensor view = tensor_contiguous(ret, DTYPE_F32, 1, &count);
    random_normal(random, &view, NULL);
}

/* The second normal number of a pair is kept for the next small draw, also over a large draw in between. */
static void spare_normal_waits_for_the_next_small_draw(void **state)
{
    (void)state;
    struct random random;
    float pair[2], first, second, block[16];
    random_init(&random, 7);
    normals(&random, 2, pair);

    random_init(&random, 7);
    normals(&random, 1, &first);
    normals(&random, 1, &second);
    assert_true(first == pair[0] && second == pair[1]);

    random_init(&random, 7);
    normals(&random, 1, &first);
    normals(&random, 16, block);
    normals(&random, 1, &second);
    assert_true(first == pair[0] && second == pair[1]);
}

static void init_forgets_the_spare(void **state)
{
    (void)state;
    struct random random;
    float first, again;
    random_init(&random, 7);
    normals(&random, 1, &first);
    random_init(&random, 7);
    normals(&random, 1, &again);
    assert_true(first == again);
}

static void no_elements_draw_nothing(void **state)
{
    (void)state;
    struct random random;
    float none;
    random_init(&random, 7);
    normals(&random, 0, &none);
    uint32_t next = random_u32(&random);
    random_init(&random, 7);
    assert_true(next == random_u32(&random));
}

/* [a, b] draws as [a * b] does: only the count matters. */
static void shape_does_not_matter(void **state)
{
    (void)state;
    float flat[21], shaped[21];
    struct random random;
    random_init(&random, 3);
    normals(&random, 21, flat);
    struct tensor view = tensor_contiguous(shaped, DTYPE_F32, 3, (const size_t[]){3, 1, 7});
    random_init(&random, 3);
    random_normal(&random, &view, NULL);
    assert_memory_equal(flat, shaped, sizeof flat);
}

/* Mean 0, variance 1 and no NaN over many draws; a Linear's weights within +-1/sqrt(in). */
static void draws_have_their_distribution(void **state)
{
    (void)state;
    size_t count = 100000;
    float *numbers = test_alloc(count, sizeof *numbers);
    struct random random;
    double sum = 0, squares = 0;
    random_init(&random, 99);
    normals(&random, count, numbers);
    for (size_t k = 0; k < count; k++) {
        assert_true(isfinite(numbers[k]));
        sum += (double)numbers[k];
        squares += (double)numbers[k] * (double)numbers[k];
    }
    assert_true(fabs(sum / (double)count) < 0.02);
    assert_true(fabs(squares / (double)count - 1) < 0.02);

    struct tensor weight = tensor_contiguous(numbers, DTYPE_F32, 2, (const size_t[]){1000, 100});
    random_linear(&random, &weight);
    double largest = 0;
    for (size_t k = 0; k < count; k++) {
        assert_true(fabs((double)numbers[k]) <= 0.1 + TOLERANCE);
        largest = fmax(largest, fabs((double)numbers[k]));
    }
    assert_true(largest > 0.0999);
    free(numbers);
}

/* Many normals, made of the draw by several threads, are those of one; and so is the draw that follows. */
static void threads_draw_the_same(void **state)
{
    (void)state;
    enum { COUNT = 100003 };
    float *one = test_alloc(COUNT, sizeof *one), *many = test_alloc(COUNT, sizeof *many);
    struct worker_pool workers;
    struct random random, other;
    worker_pool_init(&workers, 3);
    random_init(&random, 5);
    random_init(&other, 5);
    normals(&random, COUNT, one);
    const struct tensor view = tensor_contiguous(many, DTYPE_F32, 2, (const size_t[]){1, COUNT});
    random_normal(&other, &view, &workers.executor);
    assert_memory_equal(one, many, COUNT * sizeof *one);
    assert_true(random_u32(&random) == random_u32(&other));
    free(one);
    free(many);
}

/* Draws of every length from every place of the state, in vectors or not: the same numbers as one at a time. */
static void draws_in_pieces_are_the_same(void **state)
{
    (void)state;
    enum { COUNT = 3 * RANDOM_STATE_WORDS };
    float whole[COUNT], pieces[COUNT];
    struct random random;
    const struct tensor all = tensor_contiguous(whole, DTYPE_F32, 2, (const size_t[]){1, COUNT});
    random_init(&random, 11);
    random_linear(&random, &all);
    random_init(&random, 11);
    for (size_t first = 0, length = 1; first < COUNT; first += length, length = length % 13 + 1) {
        size_t count = COUNT - first < length ? COUNT - first : length;
        const struct tensor piece = tensor_contiguous(pieces + first, DTYPE_F32, 2, (const size_t[]){count, 1});
        random_linear(&random, &piece);
    }
    float bound = (float)(1 / sqrt((double)COUNT));
    random_init(&random, 11);
    for (size_t i = 0; i < COUNT; i++) {
        float uniform = (float)(random_u32(&random) & 0xffffffU) * 0x1p-24F;
        assert_true(pieces[i] == uniform * 2 - 1);
        assert_true(whole[i] == uniform * (bound - -bound) - bound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact),     cmocka_unit_test(only_the_low_half_of_a_seed_counts),
        cmocka_unit_test(draws_are_torchs),       cmocka_unit_test(spare_normal_waits_for_the_next_small_draw),
        cmocka_unit_test(init_forgets_the_spare), cmocka_unit_test(no_elements_draw_nothing),
        cmocka_unit_test(shape_does_not_matter),  cmocka_unit_test(draws_have_their_distribution),
        cmocka_unit_test(threads_draw_the_same),  cmocka_unit_test(draws_in_pieces_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
