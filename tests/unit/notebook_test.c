/* The seed notebook on core alone: its draws, its projections, its head and its running averages, to its 4 decimals. */
#include <math.h>
#include <stdlib.h>

#include "core/attention/attention.h"
#include "core/projection.h"
#include "core/random.h"
#include "tests/support/attention_case.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/test_data.h"
#include "tests/support/view.h"

#define HALF_A_DIGIT 0.51e-4

/* The first numbers of `view` are those at `path`. */
static void check_printed(json_t *root, const char *path, const struct tensor *view)
{
    size_t count;
    double *expected = conformance_numbers(conformance_at(root, path), &count);
    double *got = view_values(view);
    assert_true(count <= tensor_count(view));
    for (size_t k = 0; k < count; k++) {
        if (!(got[k] == expected[k] || fabs(got[k] - expected[k]) <= HALF_A_DIGIT))
            fail_msg("%s: number %zu is %.6f, the notebook prints %.4f", path, k, got[k], expected[k]);
    }
    free(got);
    free(expected);
}

/* (B,T,C) as one head of (B,1,T,C). */
static struct tensor as_head(const struct tensor *x)
{
    return tensor_contiguous(x->data, x->dtype, 4, (const size_t[]){x->shape[0], 1, x->shape[1], x->shape[2]});
}

static void attend(struct attention_params *params, struct case_results *r)
{
    struct arena arena;
    struct error err;
    params->causal = true;
    params->window_left = params->window_right = -1;
    error_init(&err);
    arena_init(&arena, attention_scratch_cost(params, &r->results, NULL));
    assert_true(attention_compute(params, &r->results, &arena, NULL, &err));
    arena_done(&arena);
}

static void running_averages(enum dtype dtype)
{
    json_t *root = conformance_load("notebook.json");
    struct view_pool pool = {.count = 0};
    struct random random;
    struct tensor x = view_contiguous(&pool, dtype, 3, (const size_t[]){4, 8, 2});
    random_init(&random, 1337);
    random_normal(&random, &x, NULL);
    struct tensor head = as_head(&x);
    struct attention_params params = {.query = head, .key = head, .value = head, .scale = 0};
    struct attention_dims dims = {dtype, 4, 1, 1, 8, 8, 2, 2};
    struct case_results r;
    case_results_init(&r, &dims, 1U << RESULT_OUTPUT | 1U << RESULT_WEIGHTS, NULL);
    attend(&params, &r);
    check_printed(root, "averaging/x_batch0", &x);
    check_printed(root, "averaging/running_means", &r.results.output);
    check_printed(root, "averaging/weights", &r.results.weights);
    case_results_done(&r);
    view_pool_done(&pool);
    json_decref(root);
}

/* Draws a Linear's weight and applies it: [4, 8, 32] to [4, 8, 16]. */
static struct tensor project(struct view_pool *pool, struct random *random, const struct tensor *x)
{
    const struct tensor no_bias = {.data = NULL};
    struct error err;
    struct tensor weight = view_contiguous(pool, x->dtype, 2, (const size_t[]){16, 32});
    struct tensor ret = view_contiguous(pool, x->dtype, 3, (const size_t[]){4, 8, 16});
    random_linear(random, &weight);
    error_init(&err);
    assert_true(projection_apply(x, &weight, &no_bias, false, NULL, &ret, &err));
    return ret;
}

static void head(enum dtype dtype)
{
    json_t *root = conformance_load("notebook.json");
    struct view_pool pool = {.count = 0};
    struct random random;
    struct tensor x = view_contiguous(&pool, dtype, 3, (const size_t[]){4, 8, 32});
    random_init(&random, 1337);
    random_normal(&random, &x, NULL);
    struct tensor key = project(&pool, &random, &x), query = project(&pool, &random, &x), value = project(&pool, &random, &x);
    struct attention_params params = {.query = as_head(&query), .key = as_head(&key), .value = as_head(&value), .scale = 1};
    struct attention_dims dims = {dtype, 4, 1, 1, 8, 8, 16, 16};
    struct case_results r;
    case_results_init(&r, &dims, RESULTS_ALL, NULL);
    attend(&params, &r);
    check_printed(root, "head/scores_batch0", &r.results.scores);
    check_printed(root, "head/masked_scores_batch0", &r.results.masked_scores);
    check_printed(root, "head/weights_batch0", &r.results.weights);
    case_results_done(&r);
    view_pool_done(&pool);
    json_decref(root);
}

static void running_averages_in_both_precisions(void **state)
{
    (void)state;
    running_averages(DTYPE_F32);
    running_averages(DTYPE_F64);
}

static void head_in_both_precisions(void **state)
{
    (void)state;
    head(DTYPE_F32);
    head(DTYPE_F64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_averages_in_both_precisions),
        cmocka_unit_test(head_in_both_precisions),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
