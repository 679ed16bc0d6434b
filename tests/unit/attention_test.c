/* Attention against the oracle: sizes on both sides of the tiles' edges, layouts, masks of every form, each result alone. */
#include "core/attention/attention.h"

#include <math.h>
#include <stdlib.h>

#include "core/attention/plan.h"
#include "core/size.h"
#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"

#define PAIRS_MAX ((size_t)200000) /* of a query and a key, about: what keeps the oracle quick */
#define CASE_EVERYTHING (CASE_OPTIONS_ALL & ~(unsigned)CASE_ADDED_MASK)

static void check_drawn(const struct attention_dims *dims, unsigned options, unsigned wanted, uint64_t seed)
{
    struct attention_case c;
    kernel_in_turn(seed);
    attention_case_init(&c, dims, options, seed);
    check_case(&c, wanted, NULL);
    attention_case_done(&c);
}

static const enum dtype both[] = {DTYPE_F32, DTYPE_F64};

static void sizes_across_tile_edges(void **state)
{
    (void)state;
    static const size_t tokens[][2] = {{1, 1},     {1, 1500},  {2, 127},   {127, 128}, {128, 127},  {128, 128}, {129, 129},
                                       {255, 511}, {256, 512}, {257, 513}, {300, 300}, {130, 1025}, {3, 2049},  {300, 1500}};
    static const size_t channels[][2] = {{1, 1}, {64, 64}, {7, 80}, {80, 3}, {16, 17}, {33, 32}};
    for (size_t k = 0; k < sizeof tokens / sizeof *tokens; k++) {
        for (size_t t = 0; t < 6; t++) { /* each precision with each table of kernels */
            if (environment_slow() && t != k % 6)
                continue;
            const size_t *d = channels[(6 * k + t) % (sizeof channels / sizeof *channels)];
            struct attention_dims dims = {both[t % 2], 1, 1, 1, tokens[k][0], tokens[k][1], d[0], d[1]};
            if ((k + t) % 2) {
                check_drawn(&dims, 0, RESULTS_ALL, t);
                check_drawn(&dims, CASE_CAUSAL, 1U << RESULT_OUTPUT, t);
            } else {
                check_drawn(&dims, CASE_CAUSAL | CASE_OFFSETS, RESULTS_ALL, t);
                check_drawn(&dims, CASE_EVERYTHING, RESULTS_ALL, t);
            }
        }
    }
}

static size_t draw_divisor(struct draw *draw, size_t of)
{
    size_t divisor = draw_size(draw, 1, of);
    while (of % divisor != 0)
        divisor--;
    return divisor;
}

static void drawn_sizes(void **state)
{
    (void)state;
    for (uint64_t seed = 1000; seed < 1040; seed += environment_step(2, 7)) {
        struct draw draw = {seed};
        struct attention_dims dims = {
            .dtype = both[draw_size(&draw, 0, 1)],
            .B = draw_size(&draw, 1, 3),
            .Tq = draw_size(&draw, 1, 300),
            .Tk = draw_chance(&draw, 0.2) ? draw_size(&draw, 1400, 1600) : draw_size(&draw, 1, 300),
            .D = draw_size(&draw, 1, 80),
            .Dv = draw_size(&draw, 1, 80),
        };
        dims.H = draw_size(&draw, 1, size_min(12, 1 + PAIRS_MAX / (dims.B * dims.Tq * dims.Tk)));
        dims.Hkv = draw_divisor(&draw, dims.H);
        check_drawn(&dims, (unsigned)draw_u64(&draw) & CASE_OPTIONS_ALL, RESULTS_ALL, seed);
    }
}

/* Channels on both sides of what one product takes, of the queries and of the values. */
static void channels_across_product_edges(void **state)
{
    (void)state;
    static const size_t channels[][2] = {{511, 16}, {512, 512}, {513, 511}, {1025, 513}, {17, 1030}};
    for (size_t k = 0; k < sizeof channels / sizeof *channels; k++) {
        for (size_t t = 0; t < 6; t++) {
            struct attention_dims dims = {both[t % 2], 1, 2, 1, 30, 40, channels[k][0], channels[k][1]};
            check_drawn(&dims, t >= 3 ? CASE_STRIDES | CASE_CAUSAL : 0, RESULTS_ALL, t);
            dims.Tq = dims.Tk = 6;
            check_drawn(&dims, 0, RESULTS_ALL, t);
        }
    }
}

/* 12 query heads over 1, 2, 3, 4, 6 and 12 key heads. */
static void grouped_heads(void **state)
{
    (void)state;
    for (size_t Hkv = 1; Hkv <= 12; Hkv++) {
        if (12 % Hkv != 0)
            continue;
        for (size_t t = 0; t < 6; t++) {
            struct attention_dims dims = {both[t % 2], 2, 12, Hkv, 20, 24, 8, 9};
            check_drawn(&dims, 0, RESULTS_ALL, t);
            check_drawn(&dims, CASE_ALIBI | CASE_SINKS | CASE_BOOL_MASK, RESULTS_ALL, t);
        }
    }
}

static void each_option_alone(void **state)
{
    (void)state;
    for (unsigned option = 1; option < CASE_OPTIONS_ALL; option <<= 1) {
        for (uint64_t seed = 0; seed < 6; seed += environment_step(1, 4)) {
            struct attention_dims dims = {both[seed % 2], 2, 2, 1, 40 + 50 * seed, 70 + 30 * seed, 12, 10};
            check_drawn(&dims, option, RESULTS_ALL, seed);
        }
    }
}

static void each_result_alone(void **state)
{
    (void)state;
    static const unsigned options[] = {0, CASE_CAUSAL, CASE_EVERYTHING, CASE_ADDED_MASK | CASE_SOFTCAP | CASE_SINKS};
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
            for (size_t t = 0; t < 6; t += environment_step(3, 5)) {
                struct attention_dims dims = {both[t % 2], 1, 2, 2, 133, 130, 22, 10};
                check_drawn(&dims, options[k], 1U << name, t);
            }
        }
    }
}

/* A caller may want nothing but the count of masked rows. */
static void no_result_at_all(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 2, 3, 3, 133, 130, 12, 10};
    check_drawn(&dims, 0, 0, 1);
    check_drawn(&dims, CASE_CAUSAL | CASE_OFFSETS | CASE_LENGTHS | CASE_BOOL_MASK, 0, 2);
}

/* All 16 ways to broadcast a mask along the axes of (B,H,Tq,Tk), both kinds of mask. */
static void masks_of_every_form(void **state)
{
    (void)state;
    for (unsigned form = 0; form < 32; form++) {
        bool added = form >= 16;
        struct attention_dims dims = {both[form % 2], 2, 4, 2, 37, 150, 60, 60};
        struct attention_case c;
        kernel_in_turn(form / 2);
        attention_case_init(&c, &dims, (form & 1U) ? CASE_CAUSAL : 0, form);
        struct draw draw = {form};
        const size_t whole[] = {dims.B, dims.H, dims.Tq, dims.Tk};
        size_t shape[4];
        for (size_t axis = 0; axis < 4; axis++)
            shape[axis] = (form >> axis) & 1U ? whole[axis] : 1;
        struct tensor small = view_contiguous(&c.pool, added ? dims.dtype : DTYPE_BOOL, 4, shape);
        double *values = test_alloc(tensor_count(&small), sizeof *values);
        for (size_t k = 0; k < tensor_count(&small); k++) {
            bool masked = draw_chance(&draw, 0.3);
            if (added)
                values[k] = masked ? -INFINITY : draw_normal(&draw);
            else
                values[k] = !masked;
        }
        view_store(&small, values);
        free(values);
        assert_true(tensor_broadcast(&small, 4, whole, &c.params.mask));
        check_case(&c, RESULTS_ALL, NULL);
        attention_case_done(&c);
    }
}

/* Heads packed in the last axis, [B,T,H*D] seen as (B,H,T,D), inputs and output: how requests of rank 3 arrive. */
static void packed_heads(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 2, 3, 3, 150, 150, 16, 16};
    struct attention_case c;
    struct case_results r;
    struct oracle_results expected;
    attention_case_init(&c, &dims, CASE_CAUSAL, 5);
    case_results_init(&r, &dims, 1U << RESULT_OUTPUT, NULL);
    struct tensor *const views[] = {&c.params.query, &c.params.key, &c.params.value, &r.results.output};
    for (size_t k = 0; k < 4; k++) {
        views[k]->stride[1] = 16;
        views[k]->stride[2] = 48;
    }
    check_compute(&c, &r, NULL);
    oracle_attention(&c.params, &expected);
    check_against_oracle(&c, &r, &expected);
    oracle_results_done(&expected);
    case_results_done(&r);
    attention_case_done(&c);
}

/* Query, key and value one tensor, and channels repeated: whole numbers, so that every score is exact. */
static void repeated_channels(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 140, 140, 24, 24};
    struct attention_case c;
    attention_case_init(&c, &dims, CASE_CAUSAL, 6);
    double *values = test_alloc(dims.Tq * dims.D, sizeof *values);
    for (size_t k = 0; k < dims.Tq * dims.D; k++)
        values[k] = (double)(k / dims.D % 5) - 2;
    view_store(&c.params.query, values);
    free(values);
    c.params.query.stride[3] = 0;
    c.params.key = c.params.value = c.params.query;
    c.params.scale = 0.0625;
    check_case(&c, RESULTS_ALL, NULL);
    attention_case_done(&c);
}

/* Few queries over splits of the keys, of which the last holds the largest scores: each split counts by the maximum of all. A sink,
 * which weighs about as much as all keys, counts once. */
static void splits_of_the_keys(void **state)
{
    (void)state;
    for (size_t k = 0; k < 6; k++) {
        struct attention_dims dims = {both[k % 2], 1, 4, 2, 2, 2 * SPLIT_KV_KEYS + 300, 32, 32};
        const int64_t last_position = (int64_t)dims.Tk - 2;
        struct attention_case c;
        kernel_in_turn(k);
        attention_case_init(&c, &dims, k < 3 ? CASE_ALIBI : CASE_ALIBI | CASE_SINKS, k);
        c.params.query_positions.first = &last_position;
        for (size_t h = 0; h < dims.H; h++) {
            c.alibi_slopes[h] = h % 2 == 0 ? 0.02 : 0.001; /* the second split's share is near 1, or a third */
            if (c.params.sinks)
                c.sinks[h] = h % 2 == 0 ? 4 : 7;
        }
        check_case(&c, k % 3 == 0 ? RESULTS_ALL & ~(1U << RESULT_MEAN_WEIGHTS) : 1U << RESULT_OUTPUT | 1U << RESULT_LSE, NULL);
        attention_case_done(&c);
    }
}

/* Positions and windows as far out as a request can name them. */
static void far_positions(void **state)
{
    (void)state;
    static const int64_t offsets[] = {INT64_MAX / 2, INT64_MIN / 2, (int64_t)1 << 32, -((int64_t)1 << 32)};
    static const int64_t windows[] = {-1, 0, 3, (int64_t)1 << 32, INT64_MAX};
    struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 9, 17, 4, 4};
    for (size_t o = 0; o < 4; o++) {
        for (size_t left = 0; left < 5; left++) {
            for (size_t right = 0; right < 5; right++) {
                struct attention_case c;
                attention_case_init(&c, &dims, 0, o);
                c.params.causal = (left + right) % 2 == 1;
                c.params.query_positions.first = &offsets[o];
                c.params.window_left = windows[left];
                c.params.window_right = windows[right];
                check_case(&c, RESULTS_ALL, NULL);
                attention_case_done(&c);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_across_tile_edges),
        cmocka_unit_test(drawn_sizes),
        cmocka_unit_test(channels_across_product_edges),
        cmocka_unit_test(grouped_heads),
        cmocka_unit_test(each_option_alone),
        cmocka_unit_test(each_result_alone),
        cmocka_unit_test(no_result_at_all),
        cmocka_unit_test(masks_of_every_form),
        cmocka_unit_test(packed_heads),
        cmocka_unit_test(repeated_channels),
        cmocka_unit_test(splits_of_the_keys),
        cmocka_unit_test(far_positions),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
