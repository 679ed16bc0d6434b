#include "tests/support/attention_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

/* What is promised for inputs of unit variance. A score is off by its terms' magnitude times some 8 roundings of 2^-24
 * (2^-53), so where that magnitude is above MAGNITUDE_FREE, the bound grows with it. */
#define TOLERANCE_F32 2e-6
#define TOLERANCE_F64 2e-14
#define MAGNITUDE_FREE 4.0

/* These options take a case out of what the promise is about. */
#define CASE_NOT_UNIT_VARIANCE (CASE_SCALE | CASE_ALIBI | CASE_ADDED_MASK | CASE_TERMS)

void check_compute(const struct attention_case *c, struct case_results *r, const struct executor *executor)
{
    struct arena arena;
    struct error err;
    error_init(&err);
    arena_init(&arena, attention_scratch_cost(&c->params, &r->results, executor));
    bool done = attention_compute(&c->params, &r->results, &arena, executor, &err);
    arena_done(&arena);
    if (!done)
        fail_msg("%s: %s", c->text, err.text);
    if (err.code != ERROR_NONE)
        fail_msg("%s: success, but the error says %s", c->text, err.text);
}

static const double *oracle_at(const struct oracle_results *expected, enum result_name name)
{
    const double *const members[RESULT_COUNT] = {
        expected->output,        expected->weights,       expected->mean_weights, expected->scores,
        expected->capped_scores, expected->masked_scores, expected->lse,          expected->key_sums,
        expected->entropy,       expected->top_indices,   expected->top_weights,  expected->pooled_weights,
    };
    return members[name];
}

/* What rounding may do to result `name` at row-major position `k`. */
static double tolerance_at(const struct attention_case *c, const struct oracle_results *expected, enum result_name name,
                           size_t k, double value_magnitude)
{
    const struct attention_dims *n = &c->dims;
    double unit = n->dtype == DTYPE_F32 ? TOLERANCE_F32 : TOLERANCE_F64, magnitude = 0;
    if (name == RESULT_OUTPUT)
        unit *= value_magnitude;
    bool promised = name == RESULT_OUTPUT || name == RESULT_WEIGHTS || name == RESULT_MEAN_WEIGHTS;
    if (promised && !(c->options & CASE_NOT_UNIT_VARIANCE))
        return unit;
    if (name == RESULT_KEY_SUMS || name == RESULT_POOLED_WEIGHTS) { /* of many rows */
        unit *= fmax(1, oracle_at(expected, name)[k]);
        for (size_t row = 0; row < n->B * n->H * n->Tq; row++)
            magnitude = fmax(magnitude, expected->magnitudes[row]);
    } else if (name == RESULT_TOP_WEIGHTS) {
        magnitude = expected->magnitudes[k / attention_dims_top(n)];
    } else if (name == RESULT_ENTROPY) {
        unit *= fmax(1, expected->entropy[k]);
        magnitude = expected->magnitudes[k];
    } else if (name == RESULT_OUTPUT) {
        magnitude = expected->magnitudes[k / n->Dv];
    } else if (name == RESULT_MEAN_WEIGHTS) {
        size_t i = k / n->Tk % n->Tq, b = k / n->Tk / n->Tq;
        for (size_t h = 0; h < n->H; h++)
            magnitude = fmax(magnitude, expected->magnitudes[(b * n->H + h) * n->Tq + i]);
    } else if (name == RESULT_LSE) {
        magnitude = expected->magnitudes[k];
    } else if (name == RESULT_SCORES || name == RESULT_CAPPED_SCORES) {
        magnitude = expected->pair_magnitudes[k];
    } else {
        magnitude = expected->magnitudes[k / n->Tk];
    }
    return unit * fmax(1, magnitude / MAGNITUDE_FREE);
}

/* Of two keys whose scores are within rounding of each other either may come first. */
static void check_index(const struct attention_case *c, const struct oracle_results *expected, const double *got, size_t k)
{
    const size_t top = attention_dims_top(&c->dims), Tk = c->dims.Tk;
    const double *scores = expected->masked_scores + k / top * Tk, want = expected->top_indices[k];
    if (got[k] == want)
        return;
    if (got[k] < 0 || want < 0 || got[k] >= (double)Tk)
        fail_msg("%s: top_indices[%zu] is %g, the oracle has %g", c->text, k, got[k], want);
    double off = fabs(scores[(size_t)got[k]] - scores[(size_t)want]);
    if (!(off <= 2 * tolerance_at(c, expected, RESULT_LSE, k / top, 0)))
        fail_msg("%s: top_indices[%zu] is %g, the oracle has %g, whose score is off by %.3g", c->text, k, got[k], want, off);
    for (size_t other = k / top * top; other < k; other++)
        if (got[other] == got[k])
            fail_msg("%s: top_indices[%zu] and [%zu] are both %g", c->text, other, k, got[k]);
}

static void check_one_result(const struct attention_case *c, const struct tensor *got_view, enum result_name name,
                             const struct oracle_results *expected, double value_magnitude)
{
    double *got = view_values(got_view);
    size_t count = tensor_count(got_view);
    for (size_t k = 0; k < count; k++) {
        double want = oracle_at(expected, name)[k];
        if (name == RESULT_TOP_INDICES) {
            check_index(c, expected, got, k);
            continue;
        }
        if (c->dims.dtype == DTYPE_F32)
            want = (double)(float)want;
        if (got[k] == want || (isnan(got[k]) && isnan(want)))
            continue;
        bool masked = name == RESULT_WEIGHTS && isinf(expected->masked_scores[k]) && expected->masked_scores[k] < 0;
        if (masked)
            fail_msg("%s: %s[%zu] is %.9g where the key is masked", c->text, result_text(name), k, got[k]);
        double off = fabs(got[k] - want), allowed = tolerance_at(c, expected, name, k, value_magnitude);
        if (!(off <= allowed))
            fail_msg("%s: %s[%zu] is %.9g, the oracle has %.9g: off by %.3g, %.3g is allowed", c->text, result_text(name), k,
                     got[k], want, off, allowed);
    }
    free(got);
}

static void reduce_if_asked(const struct attention_case *c, const struct attention_results *asked,
                            struct oracle_results *expected)
{
    size_t pool_rows, pool_columns;
    bool largest;
    attention_dims_pool(&c->dims, &pool_rows, &pool_columns, &largest);
    if (asked->top_indices.data || asked->top_weights.data || asked->pooled_weights.data)
        oracle_reduce(&c->params, attention_dims_top(&c->dims), pool_rows, pool_columns, largest, expected);
}

void check_against_oracle(const struct attention_case *c, struct case_results *r, const struct oracle_results *expected)
{
    struct oracle_results all = *expected;
    reduce_if_asked(c, &r->results, &all);
    double *value = view_values(&c->params.value);
    double value_magnitude = largest_magnitude(value, tensor_count(&c->params.value));
    free(value);
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        const struct tensor *view = result_at(&r->results, name);
        if (view->data)
            check_one_result(c, view, name, &all, value_magnitude);
    }
    free(all.top_indices);
    free(all.top_weights);
    free(all.pooled_weights);
    if (r->results.masked_row_count != expected->masked_row_count)
        fail_msg("%s: %zu masked rows, the oracle counts %zu", c->text, r->results.masked_row_count,
                 expected->masked_row_count);
}

void check_case_expected(const struct attention_case *c, unsigned wanted, const struct executor *executor,
                         const struct oracle_results *expected)
{
    struct draw layout = {c->seed ^ 0x5eed};
    struct case_results r;
    case_results_init(&r, &c->dims, wanted, (c->options & CASE_STRIDES) ? &layout : NULL);
    check_compute(c, &r, executor);
    check_against_oracle(c, &r, expected);
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        const struct tensor *view = result_at(&r.results, name);
        if (view->data && !view_gaps_untouched(&r.pool, view))
            fail_msg("%s: something was written between the elements of %s", c->text, result_text(name));
    }
    case_results_done(&r);
}

void check_case(const struct attention_case *c, unsigned wanted, const struct executor *executor)
{
    struct oracle_results expected;
    oracle_attention(&c->params, &expected);
    check_case_expected(c, wanted, executor, &expected);
    oracle_results_done(&expected);
}

void check_same_bits(const struct attention_case *c, const char *what, const double *a, const double *b, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (isnan(a[k]) && isnan(b[k]))
            continue;
        if (memcmp(&a[k], &b[k], sizeof a[k]) != 0)
            fail_msg("%s: %s: element %zu is %.17g here and %.17g there", c->text, what, k, a[k], b[k]);
    }
}

void check_same_results(const struct attention_case *c, const char *what, struct case_results *a, struct case_results *b)
{
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        const struct tensor *view_a = result_at(&a->results, name), *view_b = result_at(&b->results, name);
        if (!view_a->data || !view_b->data)
            continue;
        double *values_a = view_values(view_a), *values_b = view_values(view_b);
        char text[100];
        (void)snprintf(text, sizeof text, "%s: %s", what, result_text(name));
        check_same_bits(c, text, values_a, values_b, tensor_count(view_a));
        free(values_a);
        free(values_b);
    }
    if (a->results.masked_row_count != b->results.masked_row_count)
        fail_msg("%s: %s: %zu masked rows here and %zu there", c->text, what, a->results.masked_row_count,
                 b->results.masked_row_count);
}

double largest_magnitude(const double *values, size_t count)
{
    double largest = 0;
    for (size_t k = 0; k < count; k++) {
        if (isfinite(values[k]))
            largest = fmax(largest, fabs(values[k]));
    }
    return largest;
}
