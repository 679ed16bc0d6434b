/* Reductions against the weights of the same call: within 1e-6 of what follows from them, whatever the options; and their second
 * sweep stops where it is told to. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/attention/top_keys.h"
#include "core/size.h"
#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"

#define CASE_COUNT 1000
#define REDUCTIONS                                                                                                             \
    (1U << RESULT_KEY_SUMS | 1U << RESULT_ENTROPY | 1U << RESULT_TOP_INDICES | 1U << RESULT_TOP_WEIGHTS |                      \
     1U << RESULT_POOLED_WEIGHTS)

static double worst; /* over all cases, times max(1, |value|) */

static void check_near(const struct attention_case *c, const char *what, double got, double want)
{
    double off = fabs(got - want) / fmax(1, fabs(want));
    worst = fmax(worst, off);
    if (!(off <= 1e-6))
        fail_msg("%s: %s is %.9g, the weights come to %.9g", c->text, what, got, want);
}

/* One head's weights, [Tq,Tk], to its sums, entropies and places. */
static void check_head(const struct attention_case *c, const double *weights, const double *sums, const double *entropy,
                       const double *indices, const double *top_weights)
{
    const size_t Tq = c->dims.Tq, Tk = c->dims.Tk, top = attention_dims_top(&c->dims);
    double *want = test_alloc(Tk, sizeof *want);
    for (size_t i = 0; i < Tq; i++) {
        double sum = 0;
        for (size_t j = 0; j < Tk; j++) {
            double w = weights[i * Tk + j];
            want[j] += w;
            sum -= w > 0 ? w * log(w) : 0;
        }
        check_near(c, "entropy", entropy[i], sum);
        for (size_t k = 0; k < top; k++) {
            double index = indices[i * top + k];
            check_near(c, "a largest weight", top_weights[i * top + k], index < 0 ? 0 : weights[i * Tk + (size_t)index]);
        }
    }
    for (size_t j = 0; j < Tk; j++)
        check_near(c, "key_sums", sums[j], want[j]);
    free(want);
}

static void check_drawn(const struct attention_dims *dims, unsigned options, uint64_t seed)
{
    struct attention_case c;
    struct case_results r;
    attention_case_init(&c, dims, options, seed);
    case_results_init(&r, dims, REDUCTIONS | 1U << RESULT_WEIGHTS, NULL);
    check_compute(&c, &r, NULL);
    double *values[RESULT_COUNT] = {0};
    for (enum result_name name = 0; name < RESULT_COUNT; name++)
        if (result_at(&r.results, name)->data != NULL)
            values[name] = view_values(result_at(&r.results, name));
    const size_t Tq = dims->Tq, Tk = dims->Tk, top = attention_dims_top(dims);
    for (size_t head = 0; head < dims->B * dims->H; head++)
        check_head(&c, values[RESULT_WEIGHTS] + head * Tq * Tk, values[RESULT_KEY_SUMS] + head * Tk,
                   values[RESULT_ENTROPY] + head * Tq, values[RESULT_TOP_INDICES] + head * Tq * top,
                   values[RESULT_TOP_WEIGHTS] + head * Tq * top);
    for (enum result_name name = 0; name < RESULT_COUNT; name++)
        free(values[name]);
    case_results_done(&r);
    attention_case_done(&c);
}

static void reductions_follow_from_the_weights(void **state)
{
    (void)state;
    size_t count = environment_cases(CASE_COUNT, 4, 10);
    for (uint64_t seed = 0; seed < count; seed++) {
        struct draw draw = {seed + 4711};
        kernel_in_turn(seed);
        struct attention_dims dims = {
            .dtype = draw_chance(&draw, 0.7) ? DTYPE_F32 : DTYPE_F64,
            .B = draw_size(&draw, 1, 2),
            .Hkv = draw_size(&draw, 1, 2),
            .Tq = draw_size(&draw, 1, draw_chance(&draw, 0.2) ? 300 : 60),
            .Tk = draw_size(&draw, 1, draw_chance(&draw, 0.2) ? 1100 : 60),
            .D = draw_size(&draw, 1, 64),
            .Dv = 4,
        };
        dims.H = dims.Hkv * draw_size(&draw, 1, 2);
        unsigned options = (unsigned)draw_u64(&draw) & (unsigned)draw_u64(&draw) & CASE_OPTIONS_ALL & ~(unsigned)CASE_ALIBI;
        check_drawn(&dims, options, seed);
    }
    print_message("%zu cases: at most %.2g off, of 1 or the value\n", count, worst);
}

static void ties_go_to_the_lower_index(void **state)
{
    (void)state;
    double scores[2];
    int64_t keys[2];
    struct top_keys top = {.scores = scores, .keys = keys, .capacity = 2};
    top_keys_insert(&top, 1, 3);
    top_keys_insert(&top, 1, 5);
    assert_true(keys[0] == 3 && keys[1] == 5);
    top_keys_insert(&top, 2, 6);
    top_keys_insert(&top, 2, 9);
    top_keys_insert(&top, 2, 11);
    assert_true(top.count == 2 && keys[0] == 6 && keys[1] == 9);
}

/* Asked for the n-th time whether to go on, it says no. */
struct limit {
    size_t asked, most;
};

static bool limit_passed(void *context)
{
    struct limit *limit = context;
    return limit->asked++ >= limit->most;
}

/* 40 stops over the whole of a call, whose second half is the second sweep. */
static void both_sweeps_stop(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 600, 2500, 32, 32};
    struct attention_case c;
    struct case_results r;
    struct limit limit = {.most = SIZE_MAX};
    const struct executor executor = {.worker_count = 1, .stopped = limit_passed, .context = &limit};
    attention_case_init(&c, &dims, 0, 1);
    case_results_init(&r, &dims, REDUCTIONS, NULL);
    check_compute(&c, &r, &executor);
    size_t asked = limit.asked;
    assert_true(asked > 40);
    for (size_t part = 0; part < 40; part++) {
        struct arena arena;
        struct error err;
        error_init(&err);
        limit = (struct limit){.most = part * asked / 40};
        arena_init(&arena, attention_scratch_cost(&c.params, &r.results, &executor));
        assert_false(attention_compute(&c.params, &r.results, &arena, &executor, &err));
        assert_int_equal(err.code, ERROR_DEADLINE);
        assert_true(limit.asked <= limit.most + 200); /* nothing goes on for long */
        arena_done(&arena);
    }
    case_results_done(&r);
    attention_case_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_follow_from_the_weights),
        cmocka_unit_test(ties_go_to_the_lower_index),
        cmocka_unit_test(both_sweeps_stop),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
