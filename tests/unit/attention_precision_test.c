/* The promise about float32: for inputs of unit variance, no output is off by more than 2e-6 * max|value|, and the error
 * does not grow with the number of keys. Small items' outputs are the nearest floats. */
#include <math.h>
#include <stdlib.h>

#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"

#define PROMISE 2e-6

/* The largest error of the output, against the oracle, in units of the largest value. */
static double output_error(const struct attention_case *c)
{
    struct case_results r;
    struct oracle_results expected;
    case_results_init(&r, &c->dims, 1U << RESULT_OUTPUT, NULL);
    check_compute(c, &r, NULL);
    oracle_attention(&c->params, &expected);
    double *got = view_values(&r.results.output), *value = view_values(&c->params.value);
    size_t count = tensor_count(&r.results.output);
    for (size_t k = 0; k < count; k++)
        got[k] -= expected.output[k];
    double error = largest_magnitude(got, count) / largest_magnitude(value, tensor_count(&c->params.value));
    free(got);
    free(value);
    oracle_results_done(&expected);
    case_results_done(&r);
    return error;
}

/* Values of one sign: their mean stays where it is while keys are added, so nothing hides an error that grows. */
static void make_positive(const struct tensor *value)
{
    double *values = view_values(value);
    for (size_t k = 0; k < tensor_count(value); k++)
        values[k] = fabs(values[k]);
    view_store(value, values);
    free(values);
}

static void error_does_not_grow_with_keys(void **state)
{
    (void)state;
    static const size_t lengths[] = {1024, 4096, 16384, 65536};
    size_t length_count = environment_slow() ? 2 : 4;
    for (unsigned positive = 0; positive < 2; positive++) {
        double first = 0;
        kernel_in_turn(positive);
        for (size_t k = 0; k < length_count; k++) {
            struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 24, lengths[k], 64, 64};
            struct attention_case c;
            attention_case_init(&c, &dims, 0, 5);
            if (positive)
                make_positive(&c.params.value);
            double error = output_error(&c);
            first = k == 0 ? error : first;
            print_message("%s, %zu keys: %.2g of the largest value\n", positive ? "positive" : "normal", lengths[k], error);
            if (!(error <= PROMISE && error <= 2 * first))
                fail_msg("%s: off by %.3g of the largest value; %.3g with %zu keys", c.text, error, first, lengths[0]);
            attention_case_done(&c);
        }
    }
}

/* Scores of any width of channel, from a few to more than models have. */
static void promise_holds_for_all_head_sizes(void **state)
{
    (void)state;
    static const size_t channels[] = {2, 8, 16, 32, 64, 80, 128, 256, 512};
    for (size_t k = 0; k < sizeof channels / sizeof *channels; k++) {
        for (unsigned table = 0; table < 3; table++) {
            struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 150, 700, channels[k], 64};
            struct attention_case c;
            kernel_in_turn(table);
            attention_case_init(&c, &dims, k % 2 ? CASE_CAUSAL : 0, k);
            double error = output_error(&c);
            if (!(error <= PROMISE))
                fail_msg("%s: off by %.3g of the largest value", c.text, error);
            attention_case_done(&c);
        }
    }
}

/* Softcaps from one that bends every score to one that bends none; a sink beside them. */
static void promise_holds_with_softcap_and_sinks(void **state)
{
    (void)state;
    static const double caps[] = {1, 20, 50, 1000};
    for (size_t k = 0; k < sizeof caps / sizeof *caps; k++) {
        struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 150, 700, 64, 64};
        struct attention_case c;
        kernel_in_turn(k);
        attention_case_init(&c, &dims, CASE_SINKS, k);
        c.params.softcap = caps[k];
        double error = output_error(&c);
        if (!(error <= PROMISE))
            fail_msg("%s, softcap %g: off by %.3g of the largest value", c.text, caps[k], error);
        attention_case_done(&c);
    }
}

static size_t outputs_not_nearest(const struct attention_case *c)
{
    struct case_results r;
    struct oracle_results expected;
    size_t count = 0;
    case_results_init(&r, &c->dims, 1U << RESULT_OUTPUT, NULL);
    check_compute(c, &r, NULL);
    oracle_attention(&c->params, &expected);
    double *got = view_values(&r.results.output);
    for (size_t k = 0; k < tensor_count(&r.results.output); k++)
        count += (float)got[k] != (float)expected.output[k];
    free(got);
    oracle_results_done(&expected);
    case_results_done(&r);
    return count;
}

/* Few queries count as many: one of them over a few hundred keys is no small example but decoding. */
static void small_items_are_the_nearest(void **state)
{
    (void)state;
    static const struct {
        size_t Tq, Tk, D;
        bool small;
    } items[] = {{64, 64, 64, true},  {1, 128, 64, true},  {5, 7, 512, true},
                 {1, 129, 64, false}, {1, 160, 64, false}, {65, 65, 64, false}};
    for (size_t k = 0; k < sizeof items / sizeof *items; k++) {
        struct attention_dims dims = {DTYPE_F32, 1, 4, 2, items[k].Tq, items[k].Tk, items[k].D, items[k].D};
        struct attention_case c;
        kernel_in_turn(k);
        attention_case_init(&c, &dims, 0, k);
        size_t count = outputs_not_nearest(&c);
        if ((count == 0) != items[k].small)
            fail_msg("%s: %zu outputs are not the nearest", c.text, count);
        attention_case_done(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_does_not_grow_with_keys),
        cmocka_unit_test(promise_holds_for_all_head_sizes),
        cmocka_unit_test(promise_holds_with_softcap_and_sinks),
        cmocka_unit_test(small_items_are_the_nearest),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
