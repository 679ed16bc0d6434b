/* What holds of attention whatever the numbers are: no oracle here, core against itself, mostly bit by bit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"
#include "tests/support/worker_pool.h"

#define SEED_COUNT 24

static const unsigned option_mixes[] = {
    0,
    CASE_CAUSAL,
    CASE_CAUSAL | CASE_OFFSETS | CASE_LENGTHS | CASE_STRIDES,
    CASE_BOOL_MASK | CASE_STRIDES,
    CASE_ADDED_MASK | CASE_SINKS,
    CASE_WINDOW | CASE_SOFTCAP | CASE_ALIBI,
    CASE_OPTIONS_ALL & ~(unsigned)CASE_ADDED_MASK,
    CASE_OPTIONS_ALL,
};
#define MIX_COUNT (sizeof option_mixes / sizeof *option_mixes)

/* Sizes that span a tile or two, with each mix of options. */
static void draw_case(struct attention_case *c, uint64_t seed)
{
    struct draw draw = {seed};
    kernel_in_turn(seed / MIX_COUNT);
    struct attention_dims dims = {
        .dtype = seed % 3 == 0 ? DTYPE_F64 : DTYPE_F32,
        .B = draw_size(&draw, 1, 3),
        .Hkv = draw_size(&draw, 1, 2),
        .Tq = draw_size(&draw, 1, 200),
        .Tk = draw_chance(&draw, 0.2) ? draw_size(&draw, 500, 700) : draw_size(&draw, 1, 200),
        .D = draw_size(&draw, 1, 40),
        .Dv = draw_size(&draw, 1, 40),
    };
    dims.H = dims.Hkv * draw_size(&draw, 1, 2);
    if (dims.Tq * dims.Tk > 1000 && seed % 4 != 0)
        attention_dims_outgrow_double(&dims);
    attention_case_init(c, &dims, option_mixes[seed % MIX_COUNT], seed);
}

static void compute(const struct attention_case *c, unsigned wanted, const struct executor *executor, struct case_results *ret)
{
    case_results_init(ret, &c->dims, wanted, NULL);
    check_compute(c, ret, executor);
}

/* A row's weights are in [0, 1] and sum to 1; to less with a sink; to 0 where all is masked. */
static void rows_sum_to_one(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEED_COUNT; seed += environment_step(1, 5)) {
        struct attention_case c;
        struct case_results r;
        draw_case(&c, seed);
        compute(&c, 1U << RESULT_WEIGHTS | 1U << RESULT_LSE, NULL, &r);
        double *weights = view_values(&r.results.weights), *lse = view_values(&r.results.lse);
        size_t masked_row_count = 0;
        for (size_t row = 0; row < c.dims.B * c.dims.H * c.dims.Tq; row++) {
            double sum = 0, expected = 1;
            for (size_t j = 0; j < c.dims.Tk; j++) {
                double w = weights[row * c.dims.Tk + j];
                assert_true(w >= 0 && w <= 1);
                sum += w;
            }
            if (c.params.sinks)
                expected = 1 - exp(c.params.sinks[row / c.dims.Tq % c.dims.H] - lse[row]);
            if (sum == 0) {
                size_t b = row / c.dims.Tq / c.dims.H;
                masked_row_count += c.params.query_lengths == NULL || row % c.dims.Tq < c.params.query_lengths[b];
                expected = 0;
            }
            if (!(fabs(sum - expected) <= 4e-6))
                fail_msg("%s: row %zu sums to %.9g, not %.9g", c.text, row, sum, expected);
        }
        assert_true(r.results.masked_row_count == masked_row_count);
        free(weights);
        free(lse);
        case_results_done(&r);
        attention_case_done(&c);
    }
}

static void check_near(const struct attention_case *c, const char *what, const double *a, const double *b, size_t count)
{
    double tolerance = c->dims.dtype == DTYPE_F32 ? 8e-6 : 1e-14;
    for (size_t k = 0; k < count; k++) {
        if (a[k] != b[k] && !(fabs(a[k] - b[k]) <= tolerance * fmax(1, fabs(a[k]))))
            fail_msg("%s: %s: element %zu is %.17g here and %.17g there", c->text, what, k, a[k], b[k]);
    }
}

/* The first `length` rows, and keys, of each result present in both; the same bits, or nearly the same numbers. */
static void check_prefix(const struct attention_case *c, struct case_results *whole, struct case_results *prefix, size_t length,
                         bool same_bits)
{
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        struct tensor a = *result_at(&whole->results, name), b = *result_at(&prefix->results, name);
        if (!a.data)
            continue;
        bool has_keys = name >= RESULT_WEIGHTS && name < RESULT_LSE;
        size_t row_axis = name == RESULT_MEAN_WEIGHTS ? 1 : 2;
        a = view_slice(&a, row_axis, 0, length);
        b = view_slice(&b, row_axis, 0, length);
        if (has_keys) {
            a = view_slice(&a, row_axis + 1, 0, length);
            b = view_slice(&b, row_axis + 1, 0, length);
        }
        double *values_a = view_values(&a), *values_b = view_values(&b);
        if (same_bits)
            check_same_bits(c, "causal prefix", values_a, values_b, tensor_count(&a));
        else
            check_near(c, "causal prefix cut off", values_a, values_b, tensor_count(&a));
        free(values_a);
        free(values_b);
    }
}

/* All but the stages before the mask, which show the later keys. */
#define PREFIX_RESULTS                                                                                                         \
    (RESULTS_ALL & ~(1U << RESULT_SCORES | 1U << RESULT_CAPPED_SCORES | 1U << RESULT_KEY_SUMS | 1U << RESULT_TOP_INDICES |     \
                     1U << RESULT_TOP_WEIGHTS | 1U << RESULT_POOLED_WEIGHTS))

/* Under a causal mask the first tokens don't see the later ones: not a bit of their results depends on the later numbers, and
 * nothing but rounding on how many there are. */
static void causal_prefix_is_unchanged_by_later_tokens(void **state)
{
    (void)state;
    static const size_t lengths[][2] = {{1, 2}, {5, 8}, {127, 129}, {128, 256}, {128, 700}, {129, 140}, {300, 513}};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        for (size_t t = 0; t < 6; t += environment_step(1, 3)) {
            size_t length = lengths[k][0], T = lengths[k][1];
            struct attention_dims dims = {t % 2 == 0 ? DTYPE_F32 : DTYPE_F64, 1, 1, 1, T, T, 24, 20};
            kernel_in_turn(t);
            struct attention_case c;
            struct case_results whole, changed, cut;
            attention_case_init(&c, &dims, CASE_CAUSAL, k);
            compute(&c, PREFIX_RESULTS, NULL, &whole);

            struct draw draw = {k + 77};
            struct tensor *const inputs[] = {&c.params.query, &c.params.key, &c.params.value};
            for (size_t tensor = 0; tensor < 3; tensor++) {
                struct tensor later = view_slice(inputs[tensor], 2, length, T - length);
                view_store_normal(&later, &draw);
            }
            compute(&c, PREFIX_RESULTS, NULL, &changed);
            check_prefix(&c, &whole, &changed, length, true);

            for (size_t tensor = 0; tensor < 3; tensor++)
                *inputs[tensor] = view_slice(inputs[tensor], 2, 0, length);
            c.dims.Tq = c.dims.Tk = length;
            compute(&c, PREFIX_RESULTS, NULL, &cut);
            check_prefix(&c, &whole, &cut, length, false);
            case_results_done(&whole);
            case_results_done(&changed);
            case_results_done(&cut);
            attention_case_done(&c);
        }
    }
}

static void check_item(const struct attention_case *c, const char *what, struct case_results *batch, size_t b,
                       struct case_results *alone)
{
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        struct tensor mine = view_slice(result_at(&batch->results, name), 0, b, 1);
        double *a = view_values(&mine), *e = view_values(result_at(&alone->results, name));
        check_same_bits(c, what, a, e, tensor_count(&mine));
        free(a);
        free(e);
    }
}

static void items_alone_and_in_a_batch_are_bit_equal(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEED_COUNT; seed += environment_step(1, 5)) {
        struct attention_case c;
        struct case_results batch;
        draw_case(&c, seed);
        compute(&c, RESULTS_ALL, NULL, &batch);
        size_t masked_row_count = 0;
        for (size_t b = 0; b < c.dims.B; b++) {
            struct attention_case item = attention_case_item(&c, b);
            struct case_results alone;
            compute(&item, RESULTS_ALL, NULL, &alone);
            check_item(&c, "an item alone", &batch, b, &alone);
            masked_row_count += alone.results.masked_row_count;
            case_results_done(&alone);
        }
        assert_true(batch.results.masked_row_count == masked_row_count);
        case_results_done(&batch);
        attention_case_done(&c);
    }
}

/* The layout in memory changes no number: inputs copied to contiguous memory, results to other layouts. */
static void layouts_are_bit_equal(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEED_COUNT; seed += environment_step(1, 5)) {
        struct attention_case c;
        struct case_results r, other;
        struct draw layout = {seed};
        draw_case(&c, seed);
        compute(&c, RESULTS_ALL, NULL, &r);
        struct tensor *const inputs[] = {&c.params.query, &c.params.key, &c.params.value, &c.params.mask};
        for (size_t k = 0; k < 4; k++) {
            if (!inputs[k]->data)
                continue;
            double *values = view_values(inputs[k]);
            *inputs[k] = view_contiguous(&c.pool, inputs[k]->dtype, 4, inputs[k]->shape);
            view_store(inputs[k], values);
            free(values);
        }
        case_results_init(&other, &c.dims, RESULTS_ALL, &layout);
        check_compute(&c, &other, NULL);
        check_same_results(&c, "another layout", &r, &other);
        case_results_done(&r);
        case_results_done(&other);
        attention_case_done(&c);
    }
}

/* Any set of results, each bit-equal to the same result among all. */
static void results_asked_for_or_not_are_bit_equal(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEED_COUNT; seed += environment_step(1, 5)) {
        struct attention_case c;
        struct case_results all, some;
        draw_case(&c, seed);
        compute(&c, RESULTS_ALL, NULL, &all);
        for (unsigned name = 0; name < RESULT_COUNT; name++) {
            compute(&c, 1U << name, NULL, &some);
            check_same_results(&c, "alone", &all, &some);
            case_results_done(&some);
            compute(&c, 1U << name | 1U << RESULT_OUTPUT, NULL, &some);
            check_same_results(&c, "with the output", &all, &some);
            case_results_done(&some);
            compute(&c, RESULTS_ALL & ~(1U << name), NULL, &some);
            check_same_results(&c, "without one", &all, &some);
            case_results_done(&some);
        }
        case_results_done(&all);
        attention_case_done(&c);
    }
}

static void executors_are_bit_equal(void **state)
{
    (void)state;
    static const size_t worker_counts[] = {1, 2, 5};
    for (uint64_t seed = 0; seed < SEED_COUNT; seed += environment_step(1, 5)) {
        struct attention_case c;
        struct case_results alone, spread;
        draw_case(&c, seed);
        unsigned wanted = seed % 2 ? RESULTS_ALL : 1U << RESULT_OUTPUT | 1U << RESULT_MEAN_WEIGHTS;
        compute(&c, wanted, NULL, &alone);
        for (size_t k = 0; k < 6; k++) {
            struct worker_pool workers;
            worker_pool_init(&workers, worker_counts[k / 2]);
            workers.backwards = k % 2 == 1;
            compute(&c, wanted, &workers.executor, &spread);
            check_same_results(&c, workers.backwards ? "workers, backwards" : "workers", &alone, &spread);
            case_results_done(&spread);
        }
        case_results_done(&alone);
        attention_case_done(&c);
    }
}

/* Reverses the keys' order: sums are taken in another order, so only nearly the same comes out. */
static void order_of_keys_does_not_matter(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEED_COUNT; seed += environment_step(1, 5)) {
        struct attention_dims dims = {seed % 2 ? DTYPE_F32 : DTYPE_F64, 1, 2, 1, 20, 3 + 40 * seed, 16, 16};
        struct attention_case c;
        struct case_results forwards, backwards;
        attention_case_init(&c, &dims, 0, seed);
        compute(&c, 1U << RESULT_OUTPUT, NULL, &forwards);
        struct tensor *const inputs[] = {&c.params.key, &c.params.value};
        for (size_t k = 0; k < 2; k++) {
            inputs[k]->data = view_at(inputs[k], (const size_t[]){0, 0, dims.Tk - 1, 0});
            inputs[k]->stride[2] = -inputs[k]->stride[2];
        }
        compute(&c, 1U << RESULT_OUTPUT, NULL, &backwards);
        double *a = view_values(&forwards.results.output), *b = view_values(&backwards.results.output);
        check_near(&c, "keys backwards", a, b, tensor_count(&forwards.results.output));
        free(a);
        free(b);
        case_results_done(&forwards);
        case_results_done(&backwards);
        attention_case_done(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_sum_to_one),
        cmocka_unit_test(causal_prefix_is_unchanged_by_later_tokens),
        cmocka_unit_test(items_alone_and_in_a_batch_are_bit_equal),
        cmocka_unit_test(layouts_are_bit_equal),
        cmocka_unit_test(results_asked_for_or_not_are_bit_equal),
        cmocka_unit_test(executors_are_bit_equal),
        cmocka_unit_test(order_of_keys_does_not_matter),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
