/* Scores beyond float32: the right softmax all the same.
 *
 * Inputs are powers of two or single channels, so the oracle's double scores are exact and the bound need not grow with
 * them. What a float32 result cannot hold is infinite there, as a conversion makes it. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"

#define TOLERANCE 2e-6
#define ROWS 30

/* Fills (T,D) of one head: element [t,d] is values[t % value_count] in channel 0 and `rest` in the others. */
static void fill(const struct tensor *view, const double *values, size_t value_count, double rest)
{
    size_t T = view->shape[2], D = view->shape[3];
    double *all = test_alloc(T * D, sizeof *all);
    for (size_t k = 0; k < T * D; k++)
        all[k] = k % D == 0 ? values[k / D % value_count] : rest;
    view_store(view, all);
    free(all);
}

static void check_near(const struct attention_case *c, const char *what, double got, double expected, double tolerance)
{
    double want = c->dims.dtype == DTYPE_F32 ? (double)(float)expected : expected;
    if (got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= tolerance * fmax(1, fabs(want)))
        return;
    fail_msg("%s: %s is %.9g, the oracle has %.9g", c->text, what, got, want);
}

/* The score of the key that place k of top_indices names; 0 where it names none. */
static double top_score(const struct attention_case *c, const struct oracle_results *expected, size_t k, double index)
{
    size_t row = k / attention_dims_top(&c->dims);
    return index < 0 ? 0 : expected->masked_scores[row * c->dims.Tk + (size_t)index];
}

/* All results against the oracle's at TOLERANCE, relative above 1: scores here are far above 1 and well-conditioned. */
static void check_exact(const struct attention_case *c)
{
    for (unsigned wanted = 1U << RESULT_OUTPUT; wanted; wanted = wanted == RESULTS_ALL ? 0 : RESULTS_ALL) {
        struct case_results r;
        struct oracle_results expected;
        size_t pool_rows, pool_columns;
        bool largest;
        case_results_init(&r, &c->dims, wanted, NULL);
        check_compute(c, &r, NULL);
        oracle_attention(&c->params, &expected);
        attention_dims_pool(&c->dims, &pool_rows, &pool_columns, &largest);
        oracle_reduce(&c->params, attention_dims_top(&c->dims), pool_rows, pool_columns, largest, &expected);
        const double *const oracle[RESULT_COUNT] = {
            expected.output,        expected.weights,       expected.mean_weights, expected.scores,
            expected.capped_scores, expected.masked_scores, expected.lse,          expected.key_sums,
            expected.entropy,       expected.top_indices,   expected.top_weights,  expected.pooled_weights,
        };
        for (enum result_name name = 0; name < RESULT_COUNT; name++) {
            const struct tensor *view = result_at(&r.results, name);
            if (!view->data)
                continue;
            double *got = view_values(view);
            for (size_t k = 0; k < tensor_count(view); k++) {
                if (name == RESULT_TOP_INDICES) /* scores that are equal in float32 may come in another order */
                    check_near(c, "score of top_indices", top_score(c, &expected, k, got[k]),
                               top_score(c, &expected, k, expected.top_indices[k]), TOLERANCE);
                else
                    check_near(c, result_text(name), got[k], oracle[name][k], TOLERANCE);
            }
            free(got);
        }
        oracle_results_done(&expected);
        case_results_done(&r);
    }
}

struct extreme {
    double query[3]; /* channel 0 of the three queries */
    double key[4];   /* channel 0 of the first four keys; the other keys hold key[3] */
    double rest;     /* the other channels of both */
    double scale;
    double softcap;
};

static const struct extreme extremes[] = {
    /* 1e40 against 0 and -1e40: the largest wins */
    {{1e20, 0, -1e20}, {1e20, 0, -1e20, 1}, 0, 1, 0},
    /* all the same 1e40: they share */
    {{1e20, 1e20, 1e20}, {1e20, 1e20, 1e20, 1e20}, 0, 1, 0},
    /* all -1e40 but one */
    {{1e20, 1, 0}, {-1e20, -1e20, 1, -1e20}, 0, 1, 0},
    /* all -1e40 */
    {{1e20, -1e20, 1}, {-1e20, -1e20, -1e20, -1e20}, 0, 1, 0},
    /* products of 1e60 that the scale brings back */
    {{0x1p100, 0x1p99, -0x1p100}, {0x1p100, 0x1p99, -0x1p100, 0}, 0, 0x1p-120, 0},
    {{0x1p100, 0x1p99, -0x1p100}, {0x1p-100, 0x1p-99, 0x1p27, 0}, 0, 0x1p-126, 0},
    {{1e30, 1, 1e-30}, {1, -1, 0.5, 0}, 0, 1e-30, 0},
    /* a scale of 0 over products that overflow: uniform */
    {{1e30, 1e38, -1e30}, {1e30, 1e38, -1e38, 0}, 0, 0, 0},
    /* query * scale overflows, the score does not */
    {{1e30, -1e30, 1}, {1e-38, 0, -1e-38, 1e-30}, 0, 1e9, 0},
    {{1e30, -1e30, 0}, {0, 0x1p-100, -0x1p-100, 0}, 0, 1e30, 0},
    /* differences of a few units on top of a huge score cannot be seen; those of the scores' own size can */
    {{1e20, 2e20, 3e20}, {1e20, 1.5e20, 1e19, -1e20}, 0, 1, 0},
    /* many channels, each product near the largest float */
    {{0x1p63, 0x1p63, -0x1p63}, {0x1p63, 0x1p62, -0x1p63, 0}, 0x1p63, 1, 0},
    /* softcap over an overflow */
    {{1e20, -1e20, 0}, {1e20, 0, -1e20, 1}, 0, 1, 30},
    {{1e30, 1, -1e30}, {1e30, 0, -1e30, 1e30}, 0, 1, 1e30},
    /* close below the overflow: nothing to repair */
    {{1e19, -1e19, 1}, {1e19, 0, -1e19, 1}, 0, 1, 0},
};

static void check_extreme(const struct extreme *e, enum dtype dtype, size_t Tk, size_t D, unsigned options, uint64_t seed)
{
    struct attention_dims dims = {dtype, 1, 1, 1, 135, Tk, D, 5};
    struct attention_case c;
    if (seed % 2 == 0 || Tk > 100)
        attention_dims_outgrow_double(&dims);
    attention_case_init(&c, &dims, options, seed);
    double *keys = test_alloc(Tk, sizeof *keys);
    for (size_t j = 0; j < Tk; j++)
        keys[j] = e->key[j < 4 ? j : 3];
    fill(&c.params.query, e->query, 3, e->rest);
    fill(&c.params.key, keys, Tk, e->rest);
    c.params.scale = dtype == DTYPE_F32 ? (double)(float)e->scale : e->scale;
    c.params.softcap = dtype == DTYPE_F32 ? (double)(float)e->softcap : e->softcap;
    check_exact(&c);
    free(keys);
    attention_case_done(&c);
}

static void extremes_equal_the_oracle(void **state)
{
    (void)state;
    static const size_t lengths[] = {4, 640, 130, 600, 17, 128}; /* whole panels of keys (640, 128), and others */
    for (size_t k = 0; k < sizeof extremes / sizeof *extremes; k++) {
        for (size_t length = 0; length < 6; length += environment_step(1, 2)) {
            for (size_t D = 1; D <= 16; D += 15) {
                kernel_in_turn(k + length);
                check_extreme(&extremes[k], DTYPE_F32, lengths[length], D, 0, k);
                check_extreme(&extremes[k], DTYPE_F64, lengths[length], D, 0, k);
            }
        }
    }
}

static void extremes_with_bans(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof extremes / sizeof *extremes; k++) {
        kernel_in_turn(k);
        check_extreme(&extremes[k], DTYPE_F32, 40, 1, CASE_CAUSAL | CASE_OFFSETS, k);
        check_extreme(&extremes[k], DTYPE_F32, 40, 1, CASE_BOOL_MASK | CASE_LENGTHS, k);
        check_extreme(&extremes[k], DTYPE_F32, 40, 1, CASE_SINKS | CASE_WINDOW, k);
    }
}

/* Products that overflow and are scaled back to a few units, where terms of a few units count. */
static void biases_and_query_scales_of_overflows(void **state)
{
    (void)state;
    static const struct extreme overflows[] = {
        {{0x1p100, -0x1p100, 1}, {0x1p28, 0, -0x1p28, 0x1p27}, 0, 0x1p-126, 0},
        {{0x1p100, -0x1p100, 1}, {0x1p28, 0, -0x1p28, 0x1p27}, 0, 0x1p-126, 4},
    };
    static const unsigned options[] = {CASE_BIAS, CASE_RELATIVE_BIAS | CASE_OFFSETS, CASE_QUERY_SCALES, CASE_TERMS};
    for (size_t k = 0; k < 24; k++) {
        kernel_in_turn(k / 8);
        check_extreme(&overflows[k % 2], DTYPE_F32, 40, 1, options[k / 2 % 4], 2 * k);
    }
}

/* Over tiles in which nothing is masked; exponentials against the maximum of q.k alone would all be 0, or infinite. */
static void biases_far_from_the_scores(void **state)
{
    (void)state;
    static const struct relative_bias_range everywhere[] = {{INT64_MIN, 0}};
    static const double far[] = {-300, 300};
    for (size_t k = 0; k < 12; k++) {
        kernel_in_turn(k / 4);
        struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 60, 512, 16, 8};
        struct attention_case c;
        attention_dims_outgrow_double(&dims);
        attention_case_init(&c, &dims, 0, k);
        c.options |= CASE_TERMS; /* for the bounds */
        float number = (float)far[k % 2];
        if (k / 2 % 2 == 0)
            c.params.bias = (struct tensor){.data = &number, .dtype = DTYPE_F32, .rank = 4, .shape = {1, 1, 60, 512}};
        else
            c.params.relative_bias =
                (struct relative_bias){.ranges = everywhere, .count = 1, .table = &far[k % 2], .stride = 1};
        check_case(&c, RESULTS_ALL, NULL);
        attention_case_done(&c);
    }
}

/* The smallest and largest finite numbers as masks, as libraries write them for "masked": finite, so added. */
static void finite_sentinels_in_the_mask(void **state)
{
    (void)state;
    static const double sentinels[] = {-FLT_MAX, -1e30, FLT_MAX};
    for (size_t s = 0; s < 3; s++) {
        for (size_t t = 0; t < 2; t++) {
            struct attention_dims dims = {t ? DTYPE_F64 : DTYPE_F32, 1, 1, 1, ROWS, 40, 4, 4};
            attention_dims_outgrow_double(&dims);
            struct attention_case c;
            attention_case_init(&c, &dims, 0, s);
            struct tensor mask = view_contiguous(&c.pool, dims.dtype, 4, (const size_t[]){1, 1, ROWS, 40});
            double values[ROWS * 40] = {0};
            for (size_t j = 0; j < 40; j++) {
                values[j] = j % 2 ? sentinels[s] : 0; /* half of the first row */
                values[40 + j] = sentinels[s];        /* all of the second: uniform */
            }
            view_store(&mask, values);
            c.params.mask = mask;
            check_exact(&c);
            attention_case_done(&c);
        }
    }
}

/* A score near the largest float and a mask near it, too: their sum overflows, the softmax does not. */
static void sums_that_overflow(void **state)
{
    (void)state;
    static const double signs[] = {1, -1};
    for (size_t s = 0; s < 2; s++) {
        struct attention_dims dims = {DTYPE_F32, 1, 1, 1, ROWS, 40, 1, 4};
        attention_dims_outgrow_double(&dims);
        struct attention_case c;
        attention_case_init(&c, &dims, 0, s);
        fill(&c.params.key, (const double[]){0x1p63}, 1, 0);
        fill(&c.params.query, (const double[]){signs[s] * 0x1.8p64, signs[s] * 0x1p64, 1}, 3, 0);
        struct tensor mask = view_contiguous(&c.pool, dims.dtype, 4, (const size_t[]){1, 1, ROWS, 40});
        double values[ROWS * 40];
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            values[k] = signs[s] * (k % 7 == 0 ? 0x1.8p127 : 0x1p127);
        view_store(&mask, values);
        c.params.mask = mask;
        check_exact(&c);
        attention_case_done(&c);
    }
}

/* One row overflows among many that don't: the others keep their bits. */
static void overflow_stays_in_its_row(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 1, 2, 1, 140, 160, 8, 24};
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct attention_case c;
        struct case_results before, after;
        kernel_in_turn(seed);
        attention_case_init(&c, &dims, seed % 2 ? CASE_CAUSAL : 0, seed);
        case_results_init(&before, &dims, RESULTS_ALL & ~RESULTS_OVER_ROWS, NULL);
        case_results_init(&after, &dims, RESULTS_ALL & ~RESULTS_OVER_ROWS, NULL);
        check_compute(&c, &before, NULL);
        struct tensor row = view_slice(&c.params.query, 2, 17 * seed, 1);
        row = view_slice(&row, 1, seed % 2, 1);
        double huge[8];
        for (size_t d = 0; d < 8; d++)
            huge[d] = d % 2 ? 0x1p127 : -0x1.8p127;
        view_store(&row, huge);
        check_compute(&c, &after, NULL);
        for (enum result_name name = 0; name < RESULT_COUNT; name++) {
            const struct tensor *a = result_at(&before.results, name), *b = result_at(&after.results, name);
            if (!a->data)
                continue;
            double *values_a = view_values(a), *values_b = view_values(b);
            size_t row_length = tensor_count(a) / 280, touched = (seed % 2 * 140 + 17 * seed) * row_length;
            check_same_bits(&c, result_text(name), values_a, values_b, touched);
            size_t rest = touched + row_length;
            check_same_bits(&c, result_text(name), values_a + rest, values_b + rest, tensor_count(a) - rest);
            free(values_a);
            free(values_b);
        }
        case_results_done(&before);
        case_results_done(&after);
        attention_case_done(&c);
    }
}

/* A scale of 0, or one that is 0 in float32, still makes NaN of a NaN that is not masked. */
static void no_scale_hides_nothing(void **state)
{
    (void)state;
    static const double scales[] = {0, 1e-50, 1e-40};
    for (size_t s = 0; s < 3; s++) {
        struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 130, 160, 8, 8};
        struct attention_case c;
        kernel_in_turn(s);
        attention_dims_outgrow_double(&dims);
        attention_case_init(&c, &dims, s == 1 ? 0 : CASE_CAUSAL, s);
        const double nan = NAN;
        struct tensor key = view_slice(&c.params.key, 2, 50, 1);
        key = view_slice(&key, 3, 2, 1);
        view_store(&key, &nan);
        c.params.scale = scales[s];
        check_case(&c, RESULTS_ALL, NULL);
        attention_case_done(&c);
    }
}

/* Values near the largest float: their weighted mean is no larger than they are. */
static void huge_values(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 140, 150, 4, 3};
    attention_dims_outgrow_double(&dims);
    struct attention_case c;
    attention_case_init(&c, &dims, CASE_CAUSAL, 3);
    double values[150];
    for (size_t j = 0; j < 150; j++)
        values[j] = j % 3 == 0 ? -0x1p126 : 0x1.fp126;
    fill(&c.params.value, values, 150, 0x1p126);
    check_case(&c, RESULTS_ALL, NULL);
    attention_case_done(&c);
}

/* An infinity among the values whose weight vanishes in float32, or was 1 until a larger score was found: infinite as long as
 * double has a weight for it, and NaN beyond. */
static void infinity_of_a_small_weight(void **state)
{
    (void)state;
    static const double differences[] = {1, 50, 110, 600, 800};
    for (size_t k = 0; k < 10; k++) {
        struct attention_dims dims = {k % 3 == 2 ? DTYPE_F64 : DTYPE_F32, 1, 1, 1, 20, 1100, 64, 64};
        struct attention_case c;
        double keys[1100];
        const double one = 1, infinity = k % 4 == 0 ? -INFINITY : INFINITY;
        kernel_in_turn(k / 2);
        attention_case_init(&c, &dims, 0, k);
        for (size_t j = 0; j < 1100; j++)
            keys[j] = j == 5 || (k % 2 == 1 && j < 600) ? -differences[k / 2] : 0;
        fill(&c.params.query, &one, 1, 0);
        fill(&c.params.key, keys, 1100, 0);
        struct tensor value = view_slice(&c.params.value, 2, 5, 1);
        value = view_slice(&value, 3, 3, 1);
        view_store(&value, &infinity);
        c.params.scale = 1;
        check_exact(&c);
        attention_case_done(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extremes_equal_the_oracle),
        cmocka_unit_test(extremes_with_bans),
        cmocka_unit_test(biases_and_query_scales_of_overflows),
        cmocka_unit_test(biases_far_from_the_scores),
        cmocka_unit_test(finite_sentinels_in_the_mask),
        cmocka_unit_test(sums_that_overflow),
        cmocka_unit_test(overflow_stays_in_its_row),
        cmocka_unit_test(no_scale_hides_nothing),
        cmocka_unit_test(huge_values),
        cmocka_unit_test(infinity_of_a_small_weight),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
