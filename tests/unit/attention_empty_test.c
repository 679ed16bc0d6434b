/* No batch, no heads, no tokens, no channels: each of the dimensions 0, with every option. */
#include <math.h>
#include <stdlib.h>

#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/worker_pool.h"

static const unsigned option_mixes[] = {
    0,
    CASE_CAUSAL | CASE_OFFSETS,
    CASE_LENGTHS | CASE_WINDOW | CASE_STRIDES,
    CASE_BOOL_MASK | CASE_ALIBI | CASE_SOFTCAP,
    CASE_ADDED_MASK | CASE_SINKS,
    CASE_SINKS,
    CASE_OPTIONS_ALL,
};

static void check_dims(const struct attention_dims *dims)
{
    struct worker_pool workers;
    worker_pool_init(&workers, 2);
    for (size_t k = 0; k < sizeof option_mixes / sizeof *option_mixes; k++) {
        struct attention_case c;
        kernel_in_turn(k);
        attention_case_init(&c, dims, option_mixes[k], k);
        check_case(&c, RESULTS_ALL, NULL);
        check_case(&c, 1U << RESULT_OUTPUT, &workers.executor);
        check_case(&c, 1U << RESULT_MEAN_WEIGHTS, NULL);
        check_case(&c, 0, NULL);
        attention_case_done(&c);
    }
}

/* Each of B, H, Tq, Tk, D, Dv 0, alone and with each other, at a few sizes of the rest. */
static void dimensions_of_zero(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 3, 130};
    for (unsigned zero = 0; zero < 64; zero++) {
        for (size_t k = 0; k < 3; k++) {
            size_t H = (zero & 2U) ? 0 : 2, T = sizes[k];
            struct attention_dims dims = {
                .dtype = (zero + k) % 2 ? DTYPE_F64 : DTYPE_F32,
                .B = (zero & 1U) ? 0 : 2,
                .H = H,
                .Hkv = H / 2,
                .Tq = (zero & 4U) ? 0 : T,
                .Tk = (zero & 8U) ? 0 : T,
                .D = (zero & 16U) ? 0 : 5,
                .Dv = (zero & 32U) ? 0 : 4,
            };
            check_dims(&dims);
        }
    }
}

/* Without keys every row is one with every key masked: zeros, -infinity or the sink, and counted. */
static void no_keys_ban_every_row(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 2, 2, 1, 5, 0, 3, 4};
    for (unsigned with_sinks = 0; with_sinks < 2; with_sinks++) {
        struct attention_case c;
        struct case_results r;
        attention_case_init(&c, &dims, with_sinks ? CASE_SINKS : 0, 1);
        case_results_init(&r, &dims, RESULTS_ALL, NULL);
        check_compute(&c, &r, NULL);
        assert_true(r.results.masked_row_count == 2 * 2 * 5);
        double *output = view_values(&r.results.output), *lse = view_values(&r.results.lse);
        for (size_t k = 0; k < tensor_count(&r.results.output); k++)
            assert_true(output[k] == 0);
        for (size_t row = 0; row < tensor_count(&r.results.lse); row++)
            assert_true(lse[row] == (with_sinks ? (double)(float)c.params.sinks[row / 5 % 2] : -(double)INFINITY));
        free(output);
        free(lse);
        case_results_done(&r);
        attention_case_done(&c);
    }
}

/* Without channels every score is 0, so all keys weigh the same. */
static void no_channels_weigh_alike(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 3, 8, 0, 2};
    struct attention_case c;
    struct case_results r;
    attention_case_init(&c, &dims, 0, 1);
    case_results_init(&r, &dims, 1U << RESULT_WEIGHTS | 1U << RESULT_SCORES, NULL);
    check_compute(&c, &r, NULL);
    double *weights = view_values(&r.results.weights), *scores = view_values(&r.results.scores);
    for (size_t k = 0; k < 24; k++)
        assert_true(fabs(weights[k] - 0.125) <= 1e-7 && scores[k] == 0);
    free(weights);
    free(scores);
    case_results_done(&r);
    attention_case_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dimensions_of_zero),
        cmocka_unit_test(no_keys_ban_every_row),
        cmocka_unit_test(no_channels_weigh_alike),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
