/* Results that the caller rounds once more, to 16 bits: what is computed in double comes out as one rounding would leave it. */
#include <math.h>
#include <stdlib.h>

#include "api/number/element_type.h"
#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"

static const enum result_name narrowed[] = {RESULT_OUTPUT, RESULT_WEIGHTS, RESULT_SCORES, RESULT_CAPPED_SCORES,
                                            RESULT_MASKED_SCORES};
#define NARROWED (sizeof narrowed / sizeof *narrowed)

static double rounded(enum element_type type, double x)
{
    return type == ELEMENT_F16 ? element_f16_to(element_f16_from(x)) : element_bf16_to(element_bf16_from(x));
}

/* Weights below a float32's normal numbers may be 0. */
static void check_result(const struct attention_case *c, enum result_name name, const struct tensor *view,
                         const double *expected)
{
    static const enum element_type types[] = {ELEMENT_F16, ELEMENT_BF16};
    double *got = view_values(view);
    for (size_t k = 0; k < 2 * tensor_count(view); k++) {
        double x = got[k / 2], want = expected[k / 2];
        if (isnan(want) || fabs(want) < 0x1p-120)
            continue;
        if (rounded(types[k % 2], x) != rounded(types[k % 2], want))
            fail_msg("%s: %s[%zu] is %.9g in %s, %.17g rounded once is %.9g", c->text, result_text(name), k / 2,
                     rounded(types[k % 2], x), element_names[ELEMENT_NAMES_PLAIN][types[k % 2]], want,
                     rounded(types[k % 2], want));
    }
    free(got);
}

/* All results that are narrowed are the oracle's, rounded once. */
static void check_rounded_once(const struct attention_case *c, struct draw *layout)
{
    struct case_results r;
    struct oracle_results expected;
    unsigned wanted = 0;
    for (size_t k = 0; k < NARROWED; k++)
        wanted |= 1U << narrowed[k];
    case_results_init(&r, &c->dims, wanted, layout);
    r.results.rounded_again = true;
    check_compute(c, &r, NULL);
    oracle_attention(&c->params, &expected);
    const double *const oracle[RESULT_COUNT] = {[RESULT_OUTPUT] = expected.output,
                                                [RESULT_WEIGHTS] = expected.weights,
                                                [RESULT_SCORES] = expected.scores,
                                                [RESULT_CAPPED_SCORES] = expected.capped_scores,
                                                [RESULT_MASKED_SCORES] = expected.masked_scores};
    for (size_t k = 0; k < NARROWED; k++)
        check_result(c, narrowed[k], result_at(&r.results, narrowed[k]), oracle[narrowed[k]]);
    oracle_results_done(&expected);
    case_results_done(&r);
}

/* One of 8,192 float16 results is off where it is rounded twice; a case has some 20,000. */
static void small_items_are_rounded_once(void **state)
{
    (void)state;
    static const unsigned options[] = {0, CASE_CAUSAL | CASE_SOFTCAP | CASE_ADDED_MASK, CASE_SCALE | CASE_STRIDES | CASE_ALIBI};
    for (size_t seed = 0; seed < (environment_slow() ? 3 : 12); seed++) {
        struct attention_dims dims = {DTYPE_F32, 2, 4, 2, 20, 24, 16, 48};
        struct attention_case c;
        struct draw layout = {seed};
        kernel_in_turn(seed);
        attention_case_init(&c, &dims, options[seed % 3], seed);
        check_rounded_once(&c, seed / 3 % 2 ? &layout : NULL);
        attention_case_done(&c);
    }
}

/* Rows of larger items whose scores overflow float32: two keys share each row's weight, and the mean of their values, with a
 * little of two others, lies just above the middle of two float16, and of two bfloat16. */
static void rows_computed_again_are_rounded_once(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 64, 64, 8, 8};
    attention_dims_outgrow_double(&dims);
    struct attention_case c;
    attention_case_init(&c, &dims, 0, 1);
    c.params.scale = 1;
    double *query = test_alloc(dims.Tq * dims.D, sizeof *query), *key = test_alloc(dims.Tk * dims.D, sizeof *key);
    double *value = test_alloc(dims.Tk * dims.Dv, sizeof *value);
    const double means[][4] = {{2, 2 + 0x1p-9, 0x1p-24, 0}, {2, 2 + 0x1p-6, 0x1p-24, 0}};
    for (size_t i = 0; i < dims.Tq; i++)
        query[i * dims.D] = 0x1p100;
    for (size_t j = 0; j < dims.Tk; j++)
        key[j * dims.D] = j < 4 ? 0x1p100 : 0;
    for (size_t k = 0; k < 4 * dims.Dv; k++)
        value[k] = means[k % 2][k / dims.Dv];
    view_store(&c.params.query, query);
    view_store(&c.params.key, key);
    view_store(&c.params.value, value);
    check_rounded_once(&c, NULL);
    free(query);
    free(key);
    free(value);
    attention_case_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_items_are_rounded_once),
        cmocka_unit_test(rows_computed_again_are_rounded_once),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
