/* The linear layer against the oracle, and its promises: items and executors don't matter, a stop is an error. */
#include "core/projection.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/oracle.h"
#include "tests/support/view.h"
#include "tests/support/worker_pool.h"

struct layer {
    struct view_pool pool;
    struct tensor x, weight, bias, ret;
    size_t B, T, C, O;
    bool row_invariant;
    char text[100];
};

/* Tokens and bias of unit variance, weights of variance 1/C. */
static void layer_init(struct layer *l, enum dtype dtype, const size_t sizes[4], bool with_bias, uint64_t seed)
{
    memset(l, 0, sizeof *l);
    l->B = sizes[0];
    l->T = sizes[1];
    l->C = sizes[2];
    l->O = sizes[3];
    struct draw draw = {seed};
    l->x = view_contiguous(&l->pool, dtype, 3, (const size_t[]){l->B, l->T, l->C});
    l->weight = view_contiguous(&l->pool, dtype, 2, (const size_t[]){l->O, l->C});
    l->ret = view_contiguous(&l->pool, dtype, 3, (const size_t[]){l->B, l->T, l->O});
    l->bias = (struct tensor){.dtype = dtype, .rank = 1, .shape = {l->O}};
    view_store_normal(&l->x, &draw);
    view_store_normal(&l->weight, &draw);
    double *weights = view_values(&l->weight);
    for (size_t k = 0; k < l->O * l->C; k++)
        weights[k] /= sqrt((double)l->C);
    view_store(&l->weight, weights);
    free(weights);
    if (with_bias) {
        l->bias = view_contiguous(&l->pool, dtype, 1, &l->O);
        view_store_normal(&l->bias, &draw);
    }
    (void)snprintf(l->text, sizeof l->text, "seed %llu float%zu B %zu T %zu C %zu O %zu%s", (unsigned long long)seed,
                   8 * dtype_bytes(dtype), l->B, l->T, l->C, l->O, with_bias ? ", bias" : "");
}

static void apply(struct layer *l, const struct executor *executor)
{
    struct error err;
    error_init(&err);
    if (!projection_apply(&l->x, &l->weight, &l->bias, l->row_invariant, executor, &l->ret, &err))
        fail_msg("%s: %s", l->text, err.text);
    assert_int_equal(err.code, ERROR_NONE);
}

static void check_against_oracle(struct layer *l)
{
    size_t count = l->B * l->T * l->O;
    double *expected = test_alloc(count, sizeof *expected), *magnitudes = test_alloc(count, sizeof *magnitudes);
    oracle_projection(&l->x, &l->weight, &l->bias, expected, magnitudes);
    double *got = view_values(&l->ret);
    double unit = l->x.dtype == DTYPE_F32 ? 2e-6 : 2e-14;
    for (size_t k = 0; k < count; k++) {
        double off = fabs(got[k] - expected[k]), allowed = unit * fmax(1, magnitudes[k] / 4);
        if (!(off <= allowed) && !(isnan(got[k]) && isnan(expected[k])))
            fail_msg("%s: out[%zu] is %.9g, the oracle has %.9g: off by %.3g, %.3g is allowed", l->text, k, got[k], expected[k],
                     off, allowed);
    }
    free(got);
    free(expected);
    free(magnitudes);
}

static void layer_done(struct layer *l)
{
    view_pool_done(&l->pool);
}

static void sizes_across_tile_edges(void **state)
{
    (void)state;
    static const size_t sizes[][4] = {{1, 1, 1, 1},     {1, 2, 3, 4},      {2, 127, 5, 7},   {2, 128, 32, 16}, {3, 129, 33, 17},
                                      {1, 300, 80, 64}, {1, 257, 512, 24}, {2, 40, 1500, 3}, {1, 3, 64, 1000}, {5, 1, 16, 48}};
    for (size_t k = 0; k < 8 * sizeof sizes / sizeof *sizes; k++) {
        struct layer l;
        layer_init(&l, k % 2 ? DTYPE_F64 : DTYPE_F32, sizes[k / 8], k % 4 >= 2, k);
        l.row_invariant = k % 8 >= 4;
        kernel_in_turn(k / 8);
        apply(&l, NULL);
        check_against_oracle(&l);
        layer_done(&l);
    }
}

static void drawn_sizes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct draw draw = {seed};
        size_t sizes[4] = {draw_size(&draw, 1, 3), draw_size(&draw, 1, 300), draw_size(&draw, 1, 100),
                           draw_size(&draw, 1, 100)};
        struct layer l;
        layer_init(&l, seed % 2 ? DTYPE_F64 : DTYPE_F32, sizes, draw_chance(&draw, 0.5), seed);
        l.row_invariant = draw_chance(&draw, 0.5);
        apply(&l, NULL);
        check_against_oracle(&l);
        layer_done(&l);
    }
}

/* C = 0 leaves the bias, or 0; the others leave nothing to compute. */
static void dimensions_of_zero(void **state)
{
    (void)state;
    for (unsigned zero = 0; zero < 16; zero++) {
        const size_t sizes[4] = {(zero & 1U) ? 0 : 2, (zero & 2U) ? 0 : 3, (zero & 4U) ? 0 : 4, (zero & 8U) ? 0 : 5};
        for (unsigned k = 0; k < 4; k++) {
            struct layer l;
            layer_init(&l, k % 2 ? DTYPE_F64 : DTYPE_F32, sizes, k >= 2, zero);
            l.row_invariant = zero % 3 == 0;
            apply(&l, NULL);
            check_against_oracle(&l);
            layer_done(&l);
        }
    }
}

static void items_alone_and_in_a_batch_are_bit_equal(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 5, 127, 128, 129, 200};
    for (size_t k = 0; k < 2 * sizeof lengths / sizeof *lengths; k++) {
        const size_t sizes[4] = {3, lengths[k / 2], 48, 33};
        struct layer l;
        layer_init(&l, k % 2 ? DTYPE_F64 : DTYPE_F32, sizes, k % 4 == 0, k);
        apply(&l, NULL);
        for (size_t b = 0; b < 3; b++) {
            struct layer alone = l;
            alone.B = 1;
            alone.x = view_slice(&l.x, 0, b, 1);
            alone.ret = view_contiguous(&l.pool, l.ret.dtype, 3, (const size_t[]){1, l.T, l.O});
            apply(&alone, NULL);
            struct tensor mine = view_slice(&l.ret, 0, b, 1);
            assert_memory_equal(mine.data, alone.ret.data, l.T * l.O * dtype_bytes(l.ret.dtype));
        }
        layer_done(&l);
    }
}

/* row_invariant: tokens [first, first + count) of the only item, as part of an item of their own. */
static void tokens_alone_and_among_others_are_bit_equal(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct draw draw = {seed};
        const size_t sizes[4] = {1, draw_size(&draw, 1, 300), draw_size(&draw, 1, draw_chance(&draw, 0.3) ? 600 : 140),
                                 draw_size(&draw, 1, 100)};
        struct layer l;
        kernel_in_turn(seed);
        layer_init(&l, seed % 2 ? DTYPE_F64 : DTYPE_F32, sizes, draw_chance(&draw, 0.5), seed);
        l.row_invariant = true;
        apply(&l, NULL);
        for (size_t part = 0; part < 4; part++) {
            struct layer alone = l;
            size_t first = draw_size(&draw, 0, l.T - 1);
            alone.T = draw_chance(&draw, 0.5) ? 1 : draw_size(&draw, 1, l.T - first);
            alone.x = view_slice(&l.x, 1, first, alone.T);
            alone.ret = view_contiguous(&l.pool, l.ret.dtype, 3, (const size_t[]){1, alone.T, l.O});
            apply(&alone, NULL);
            struct tensor mine = view_slice(&l.ret, 1, first, alone.T);
            if (memcmp(mine.data, alone.ret.data, alone.T * l.O * dtype_bytes(l.ret.dtype)) != 0)
                fail_msg("%s: tokens %zu to %zu have other bits alone", l.text, first, first + alone.T);
        }
        layer_done(&l);
    }
}

static void executors_are_bit_equal(void **state)
{
    (void)state;
    static const size_t worker_counts[] = {1, 2, 5};
    const size_t sizes[4] = {3, 300, 48, 33};
    for (unsigned k = 0; k < 6; k++) {
        struct layer l, spread;
        layer_init(&l, k % 2 ? DTYPE_F64 : DTYPE_F32, sizes, true, k);
        layer_init(&spread, k % 2 ? DTYPE_F64 : DTYPE_F32, sizes, true, k);
        l.row_invariant = spread.row_invariant = k < 2;
        struct worker_pool workers;
        worker_pool_init(&workers, worker_counts[k / 2]);
        workers.backwards = k % 2 == 1;
        apply(&l, NULL);
        apply(&spread, &workers.executor);
        assert_memory_equal(l.ret.data, spread.ret.data, tensor_count(&l.ret) * dtype_bytes(l.ret.dtype));
        layer_done(&l);
        layer_done(&spread);
    }
}

static void every_stop_is_a_deadline(void **state)
{
    (void)state;
    const size_t sizes[4] = {2, 300, 16, 16};
    struct layer l;
    layer_init(&l, DTYPE_F32, sizes, true, 1);
    for (size_t worker_count = 1; worker_count <= 3; worker_count += 2) {
        for (size_t stop_after = 0;; stop_after++) {
            struct worker_pool workers;
            struct error err;
            worker_pool_init(&workers, worker_count);
            workers.stop_after = stop_after;
            error_init(&err);
            bool done = projection_apply(&l.x, &l.weight, &l.bias, l.row_invariant, &workers.executor, &l.ret, &err);
            if (workers.asked <= stop_after) {
                assert_true(done && stop_after > 1);
                break;
            }
            assert_false(done);
            assert_int_equal(err.code, ERROR_DEADLINE);
        }
    }
    layer_done(&l);
}

/* A token that is not a number spoils its own row; a weight its own column. */
static void nan_stays_in_its_place(void **state)
{
    (void)state;
    const size_t sizes[4] = {1, 140, 20, 24};
    for (unsigned k = 0; k < 8; k++) {
        struct layer l;
        layer_init(&l, k % 2 ? DTYPE_F64 : DTYPE_F32, sizes, k % 4 >= 2, k);
        l.row_invariant = k >= 4;
        const double nan = NAN;
        struct tensor token = view_slice(&l.x, 1, 131, 1), weight = view_slice(&l.weight, 0, 7, 1);
        token = view_slice(&token, 2, 19, 1);
        weight = view_slice(&weight, 1, 0, 1);
        view_store(&token, &nan);
        view_store(&weight, &nan);
        apply(&l, NULL);
        check_against_oracle(&l);
        double *got = view_values(&l.ret);
        for (size_t at = 0; at < 140 * 24; at++)
            assert_true(isnan(got[at]) == (at / 24 == 131 || at % 24 == 7));
        free(got);
        layer_done(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_across_tile_edges), cmocka_unit_test(drawn_sizes),
        cmocka_unit_test(dimensions_of_zero),      cmocka_unit_test(items_alone_and_in_a_batch_are_bit_equal),
        cmocka_unit_test(executors_are_bit_equal), cmocka_unit_test(every_stop_is_a_deadline),
        cmocka_unit_test(nan_stays_in_its_place),  cmocka_unit_test(tokens_alone_and_among_others_are_bit_equal),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
