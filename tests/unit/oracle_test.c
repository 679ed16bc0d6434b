/* The oracle against numbers worked out by hand. Where a name says so, the numbers are the public bug report's that the
 * case was drawn from: what another attention got wrong. */
#include "tests/support/oracle.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/test_data.h"
#include "tests/support/view.h"

#define MASKED (-INFINITY)

/* One head's (T,D). */
static struct tensor head(double *data, size_t T, size_t D)
{
    return tensor_contiguous(data, DTYPE_F64, 4, (const size_t[]){1, 1, T, D});
}

/* One head over all-zero queries and keys: every visible key weighs the same. */
static struct attention_params uniform(size_t Tq, size_t Tk, double *value)
{
    static double zeros[16];
    return (struct attention_params){
        .query = head(zeros, Tq, 1),
        .key = head(zeros, Tk, 1),
        .value = head(value, Tk, 1),
        .scale = 1,
        .window_left = -1,
        .window_right = -1,
    };
}

static void check_numbers(const double *got, const double *expected, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (!(got[k] == expected[k] || fabs(got[k] - expected[k]) <= 1e-12))
            fail_msg("element %zu is %.17g, not %.17g", k, got[k], expected[k]);
    }
}

static void check(const struct attention_params *params, const double *output, const double *weights)
{
    struct oracle_results got;
    oracle_attention(params, &got);
    size_t rows = params->query.shape[1] * params->query.shape[2];
    check_numbers(got.output, output, rows * params->value.shape[3]);
    check_numbers(got.weights, weights, rows * params->key.shape[2]);
    oracle_results_done(&got);
}

/* pytorch#103963, onnx#8068; exp(1) / (exp(1) + exp(2)) = 0.2689... */
static void fully_masked_row_is_zero(void **state)
{
    (void)state;
    unsigned char keep[] = {1, 1, 0, 0};
    struct attention_params params = {
        .query = head((double[]){1, 1}, 2, 1),
        .key = head((double[]){1, 2}, 2, 1),
        .value = head((double[]){10, 20}, 2, 1),
        .scale = 1,
        .window_left = -1,
        .window_right = -1,
        .mask = tensor_contiguous(keep, DTYPE_BOOL, 4, (const size_t[]){1, 1, 2, 2}),
    };
    check(&params, (double[]){17.31058578630005, 0}, (double[]){0.26894142136999512, 0.73105857863000488, 0, 0});
    struct oracle_results got;
    oracle_attention(&params, &got);
    assert_true(got.masked_row_count == 1);
    check_numbers(got.scores, (double[]){1, 2, 1, 2}, 4);
    check_numbers(got.masked_scores, (double[]){1, 2, MASKED, MASKED}, 4);
    check_numbers(got.lse, (double[]){2.31326168751822286, MASKED}, 2);
    oracle_results_done(&got);
}

/* mlx#2835, flash-attention#517: the two corners of a causal 2x4. */
static void causal_corners(void **state)
{
    (void)state;
    double value[] = {1, 2, 3, 4};
    struct attention_params params = uniform(2, 4, value);
    params.causal = true;
    check(&params, (double[]){1, 1.5}, (double[]){1, 0, 0, 0, 0.5, 0.5, 0, 0});
    params.query_positions.first = (const int64_t[]){2};
    const double third = 1.0 / 3;
    check(&params, (double[]){2, 2.5}, (double[]){third, third, third, 0, 0.25, 0.25, 0.25, 0.25});
    params.query_positions.first = (const int64_t[]){-1};
    check(&params, (double[]){0, 1}, (double[]){0, 0, 0, 0, 1, 0, 0, 0});
}

/* pytorch#100709, with the padding first. */
static void causal_meets_padding(void **state)
{
    (void)state;
    double value[] = {1, 2, 3};
    unsigned char keep[] = {0, 1, 1};
    struct attention_params params = uniform(3, 3, value);
    params.causal = true;
    params.mask = tensor_contiguous(keep, DTYPE_BOOL, 4, (const size_t[]){1, 1, 3, 3});
    params.mask.stride[2] = 0;
    check(&params, (double[]){0, 2, 2.5}, (double[]){0, 0, 0, 0, 1, 0, 0, 0.5, 0.5});
}

/* Added after the scale, before the softcap: tanh(2 * 0.5 * 3 - 1) and tanh(2 * 0.5 * 1 + 2 + 3). */
static void biases_and_query_scales(void **state)
{
    (void)state;
    double value[] = {0, 1}, bias[] = {-1, 2};
    const struct relative_bias_range ranges[] = {{INT64_MIN, 1}, {1, 0}};
    const double table[] = {3, 0};
    const struct relative_bias relative = {.ranges = ranges, .count = 2, .table = table, .stride = 1};
    struct attention_params params = uniform(1, 2, value);
    params.query = head((double[]){1}, 1, 1);
    params.key = head((double[]){3, 1}, 2, 1);
    params.scale = 2;
    params.query_scales = (const double[]){0.5};
    params.softcap = 1;
    params.bias = head(bias, 1, 2);
    params.relative_bias = relative;
    struct oracle_results got;
    oracle_attention(&params, &got);
    check_numbers(got.scores, (double[]){3, 1}, 2);
    check_numbers(got.capped_scores, (double[]){tanh(2), tanh(6)}, 2);
    check_numbers(got.masked_scores, (double[]){tanh(2), tanh(6)}, 2);
    oracle_results_done(&got);
}

static void key_lengths_cut(void **state)
{
    (void)state;
    double value[] = {1, 2, 3};
    struct attention_params params = uniform(1, 3, value);
    params.key_lengths = (const size_t[]){2};
    check(&params, (double[]){1.5}, (double[]){0.5, 0.5, 0});
    params.key_lengths = (const size_t[]){0};
    check(&params, (double[]){0}, (double[]){0, 0, 0});
}

/* pytorch#21518: numbers are added; pytorch#41508: -infinity among them masks. */
static void additive_mask(void **state)
{
    (void)state;
    double value[] = {0, 1}, added[] = {1, 0, 0, MASKED};
    struct attention_params params = uniform(2, 2, value);
    params.mask = tensor_contiguous(added, DTYPE_F64, 4, (const size_t[]){1, 1, 2, 2});
    check(&params, (double[]){0.26894142136999512, 0}, (double[]){0.73105857863000488, 0.26894142136999512, 1, 0});
}

/* lattice#361: a kept score far below any sentinel. */
static void no_finite_sentinel(void **state)
{
    (void)state;
    unsigned char keep[] = {1, 0, 1, 0};
    struct attention_params params = {
        .query = head((double[]){-20000, 0}, 2, 1),
        .key = head((double[]){1, NAN}, 2, 1),
        .value = head((double[]){1, INFINITY}, 2, 1),
        .scale = 1,
        .window_left = -1,
        .window_right = -1,
        .mask = tensor_contiguous(keep, DTYPE_BOOL, 4, (const size_t[]){1, 1, 2, 2}),
    };
    check(&params, (double[]){1, 1}, (double[]){1, 0, 1, 0});
}

/* onnx#7865: capped at 2, the mask afterwards: score 4 -> 2 tanh(2) = 1.928055..., + 1, against 0. */
static void softcap_comes_before_the_mask(void **state)
{
    (void)state;
    struct attention_params params = {
        .query = head((double[]){4}, 1, 1),
        .key = head((double[]){1, 0}, 2, 1),
        .value = head((double[]){1, 0}, 2, 1),
        .scale = 1,
        .softcap = 2,
        .window_left = -1,
        .window_right = -1,
        .mask = tensor_contiguous((double[]){1, 0}, DTYPE_F64, 4, (const size_t[]){1, 1, 1, 2}),
    };
    double w = 0.9492160059666221;
    struct oracle_results got;
    oracle_attention(&params, &got);
    check_numbers(got.scores, (double[]){4, 0}, 2);
    check_numbers(got.capped_scores, (double[]){1.9280551601516338, 0}, 2);
    check_numbers(got.masked_scores, (double[]){2.9280551601516338, 0}, 2);
    check_numbers(got.weights, (double[]){w, 1 - w}, 2);
    oracle_results_done(&got);
}

/* onnx#7274: query heads 0 and 1 read key head 0. */
static void grouped_heads_are_interleaved(void **state)
{
    (void)state;
    double zeros[4] = {0}, value[] = {10, 20};
    struct attention_params params = {
        .query = tensor_contiguous(zeros, DTYPE_F64, 4, (const size_t[]){1, 4, 1, 1}),
        .key = tensor_contiguous(zeros, DTYPE_F64, 4, (const size_t[]){1, 2, 1, 1}),
        .value = tensor_contiguous(value, DTYPE_F64, 4, (const size_t[]){1, 2, 1, 1}),
        .scale = 1,
        .window_left = -1,
        .window_right = -1,
    };
    check(&params, (double[]){10, 10, 20, 20}, (double[]){1, 1, 1, 1});
}

/* zml#763: the position and one before. */
static void window(void **state)
{
    (void)state;
    double value[] = {1, 2, 3, 4};
    struct attention_params params = uniform(4, 4, value);
    params.window_left = 1;
    params.window_right = 0;
    check(&params, (double[]){1, 1.5, 2.5, 3.5}, (double[]){1, 0, 0, 0, 0.5, 0.5, 0, 0, 0, 0.5, 0.5, 0, 0, 0, 0.5, 0.5});
    params.window_left = 0;
    params.window_right = -1;
    check(&params, (double[]){2.5, 3, 3.5, 4},
          (double[]){0.25, 0.25, 0.25, 0.25, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3, 0, 0, 0.5, 0.5, 0, 0, 0, 1});
}

/* Slope ln 2: each step away halves a key's share. */
static void alibi_halves(void **state)
{
    (void)state;
    double value[] = {0, 0, 7};
    struct attention_params params = uniform(1, 3, value);
    params.alibi_slopes = (const double[]){log(2)};
    params.query_positions.first = (const int64_t[]){1};
    check(&params, (double[]){1.75}, (double[]){0.25, 0.5, 0.25});
}

/* A sink of ln 2 counts as two more keys of score 0. */
static void sink_takes_its_share(void **state)
{
    (void)state;
    double value[] = {8, 4};
    struct attention_params params = uniform(1, 2, value);
    params.sinks = (const double[]){log(2)};
    check(&params, (double[]){3}, (double[]){0.25, 0.25});
    params.key_lengths = (const size_t[]){0};
    struct oracle_results got;
    oracle_attention(&params, &got);
    check_numbers(got.output, (double[]){0}, 1);
    check_numbers(got.lse, (double[]){log(2)}, 1);
    assert_true(got.masked_row_count == 1);
    oracle_results_done(&got);
}

static void mean_weights_are_over_heads(void **state)
{
    (void)state;
    double query[] = {0, 40}, key[] = {1, 0}, value[] = {0, 0};
    struct attention_params params = {
        .query = tensor_contiguous(query, DTYPE_F64, 4, (const size_t[]){1, 2, 1, 1}),
        .key = head(key, 2, 1),
        .value = head(value, 2, 1),
        .scale = 1,
        .window_left = -1,
        .window_right = -1,
    };
    struct oracle_results got;
    oracle_attention(&params, &got);
    check_numbers(got.mean_weights, (double[]){0.75, 0.25}, 2);
    oracle_results_done(&got);
}

/* The notebook's running averages: x is its own value, every visible token weighs the same. */
static void notebooks_running_averages(void **state)
{
    (void)state;
    json_t *root = conformance_load("notebook.json");
    size_t count, weight_count;
    double *x = conformance_numbers(conformance_at(root, "averaging/x_batch0"), &count);
    double *expected = conformance_numbers(conformance_at(root, "averaging/xbow_batch0"), &count);
    double *weights = conformance_numbers(conformance_at(root, "averaging/weights"), &weight_count);
    struct attention_params params = {
        .query = head(x, 8, 2),
        .key = head(x, 8, 2),
        .value = head(x, 8, 2),
        .scale = 0,
        .causal = true,
        .window_left = -1,
        .window_right = -1,
    };
    assert_true(count == 16 && weight_count == 64);
    struct oracle_results got;
    oracle_attention(&params, &got);
    for (size_t k = 0; k < count; k++)
        assert_true(fabs(got.output[k] - expected[k]) <= 1.01e-4); /* the inputs are rounded to 4 decimals, too */
    for (size_t k = 0; k < weight_count; k++)
        assert_true(fabs(got.weights[k] - weights[k]) <= 0.51e-4);
    oracle_results_done(&got);
    free(x);
    free(expected);
    free(weights);
    json_decref(root);
}

/* Two keys, three queries: weights 1/2 1/2, 1/4 3/4 and, masked, 0 1. */
static void reductions(void **state)
{
    (void)state;
    struct attention_params params = {
        .query = head((double[]){0, 1, 1}, 3, 1),
        .key = head((double[]){0, log(3)}, 2, 1),
        .value = head((double[]){0, 0}, 2, 1),
        .scale = 1,
        .window_left = -1,
        .window_right = -1,
    };
    unsigned char keep[6] = {1, 1, 1, 1, 0, 1};
    params.mask = tensor_contiguous(keep, DTYPE_BOOL, 4, (const size_t[]){1, 1, 3, 2});
    struct oracle_results got;
    oracle_attention(&params, &got);
    check_numbers(got.key_sums, (double[]){0.75, 2.25}, 2);
    check_numbers(got.entropy, (double[]){log(2), log(4) - 0.75 * log(3), 0}, 3);
    oracle_reduce(&params, 2, 2, 1, false, &got);
    check_numbers(got.top_indices, (double[]){0, 1, 1, 0, 1, -1}, 6);
    check_numbers(got.top_weights, (double[]){0.5, 0.5, 0.75, 0.25, 1, 0}, 6);
    check_numbers(got.pooled_weights, (double[]){0.5, 0.5}, 2); /* rows 0, and 1 to 2 */
    oracle_results_done(&got);
}

static void projection(void **state)
{
    (void)state;
    double ret[4], magnitudes[4];
    struct tensor x = tensor_contiguous((double[]){1, 2, 3, -4}, DTYPE_F64, 3, (const size_t[]){1, 2, 2});
    struct tensor weight = tensor_contiguous((double[]){1, 10, 100, 1000}, DTYPE_F64, 2, (const size_t[]){2, 2});
    struct tensor bias = tensor_contiguous((double[]){0.5, -0.5}, DTYPE_F64, 1, (const size_t[]){2});
    oracle_projection(&x, &weight, &bias, ret, magnitudes);
    check_numbers(ret, (double[]){21.5, 2099.5, -36.5, -3700.5}, 4);
    check_numbers(magnitudes, (double[]){21.5, 2100.5, 43.5, 4300.5}, 4);
    bias.data = NULL;
    oracle_projection(&x, &weight, &bias, ret, magnitudes);
    check_numbers(ret, (double[]){21, 2100, -37, -3700}, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fully_masked_row_is_zero),
        cmocka_unit_test(causal_corners),
        cmocka_unit_test(causal_meets_padding),
        cmocka_unit_test(biases_and_query_scales),
        cmocka_unit_test(key_lengths_cut),
        cmocka_unit_test(additive_mask),
        cmocka_unit_test(no_finite_sentinel),
        cmocka_unit_test(softcap_comes_before_the_mask),
        cmocka_unit_test(grouped_heads_are_interleaved),
        cmocka_unit_test(window),
        cmocka_unit_test(alibi_halves),
        cmocka_unit_test(sink_takes_its_share),
        cmocka_unit_test(mean_weights_are_over_heads),
        cmocka_unit_test(notebooks_running_averages),
        cmocka_unit_test(reductions),
        cmocka_unit_test(projection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
