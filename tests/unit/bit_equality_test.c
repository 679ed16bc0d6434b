/* The promise that an item has the same bits alone or in a batch, on one thread or several, with or without the weights or any
 * other result asked for: over every option alone, every two of them, and all together.
 *
 * One batch of 8, all results, on the caller is what everything else is held against. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"
#include "tests/support/worker_pool.h"

#define BATCH 8
#define OPTION_COUNT 11

/* One after the other: computed in double throughout; in float32 over several tiles, with weights that are stored past the caches;
 * float64; few queries over two splits of the keys; values unpacked and scores as the product leaves them. */
static const struct attention_dims sizes[] = {
    {DTYPE_F32, BATCH, 4, 2, 9, 11, 5, 3},      {DTYPE_F32, BATCH, 2, 1, 131, 1041, 6, 5},
    {DTYPE_F64, BATCH, 3, 3, 129, 140, 4, 7},   {DTYPE_F32, BATCH, 6, 2, 4, 2060, 32, 32},
    {DTYPE_F32, BATCH, 2, 1, 140, 544, 16, 64},
};
#define SIZE_COUNT (sizeof sizes / sizeof *sizes)

static void compute(const struct attention_case *c, unsigned wanted, const struct executor *executor, struct case_results *ret)
{
    case_results_init(ret, &c->dims, wanted, NULL);
    check_compute(c, ret, executor);
}

/* Item `b` of the whole batch's results against one's results that hold it alone. */
static void check_item(const struct attention_case *c, const char *what, struct case_results *whole, size_t b,
                       struct case_results *alone)
{
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        const struct tensor *theirs = result_at(&alone->results, name);
        if (!theirs->data)
            continue;
        struct tensor mine = view_slice(result_at(&whole->results, name), 0, b, 1);
        char text[100];
        (void)snprintf(text, sizeof text, "%s: item %zu: %s", what, b, result_text(name));
        double *a = view_values(&mine), *e = view_values(theirs);
        check_same_bits(c, text, a, e, tensor_count(&mine));
        free(a);
        free(e);
    }
}

static void check_threads(const struct attention_case *c, struct case_results *whole)
{
    static const size_t thread_counts[] = {1, 2, 5};
    for (size_t k = 0; k < 3; k++) {
        struct worker_pool pool;
        struct case_results r;
        char text[40];
        worker_pool_init(&pool, thread_counts[k]);
        pool.backwards = k % 2 == 1;
        (void)snprintf(text, sizeof text, "%zu threads", thread_counts[k]);
        compute(c, RESULTS_ALL, &pool.executor, &r);
        check_same_results(c, text, whole, &r);
        case_results_done(&r);
    }
}

/* Three items alone: with all results, and with the output alone, on five threads. */
static void check_alone(const struct attention_case *c, struct case_results *whole)
{
    static const size_t items[] = {0, 3, BATCH - 1};
    for (size_t k = 0; k < 3; k++) {
        struct attention_case item = attention_case_item(c, items[k]);
        struct worker_pool pool;
        struct case_results r;
        worker_pool_init(&pool, 5);
        compute(&item, RESULTS_ALL, NULL, &r);
        check_item(c, "alone", whole, items[k], &r);
        case_results_done(&r);
        compute(&item, 1U << RESULT_OUTPUT, &pool.executor, &r);
        check_item(c, "alone, output only, 5 threads", whole, items[k], &r);
        case_results_done(&r);
    }
}

/* The weights on and off, with all others and with none; then every result by itself. */
static void check_wanted(const struct attention_case *c, struct case_results *whole)
{
    const unsigned both = 1U << RESULT_WEIGHTS | 1U << RESULT_MEAN_WEIGHTS;
    unsigned sets[3 + RESULT_COUNT] = {RESULTS_ALL & ~both, RESULTS_ALL & ~(1U << RESULT_WEIGHTS),
                                       1U << RESULT_OUTPUT | 1U << RESULT_WEIGHTS};
    for (unsigned name = 0; name < RESULT_COUNT; name++)
        sets[3 + name] = 1U << name;
    for (size_t k = 0; k < 3 + RESULT_COUNT; k++) {
        struct case_results r;
        char text[40];
        (void)snprintf(text, sizeof text, "results %#x", sets[k]);
        compute(c, sets[k], NULL, &r);
        check_same_results(c, text, whole, &r);
        case_results_done(&r);
    }
}

static void check_variant(unsigned options, size_t size)
{
    struct attention_case c;
    struct case_results whole;
    attention_case_init(&c, &sizes[size], options, options + size);
    kernel_in_turn(options % 3 + size);
    compute(&c, RESULTS_ALL, NULL, &whole);
    check_threads(&c, &whole);
    check_alone(&c, &whole);
    check_wanted(&c, &whole);
    case_results_done(&whole);
    attention_case_done(&c);
}

static void no_option_each_option_and_all(void **state)
{
    (void)state;
    for (size_t size = 0; size < (environment_slow() ? 1 : SIZE_COUNT); size++) {
        check_variant(0, size);
        for (unsigned option = 0; option < OPTION_COUNT; option++)
            if (size == 0 || (size + option) % environment_step(3, 1) == 0)
                check_variant(1U << option, size);
        check_variant(CASE_OPTIONS_ALL & ~(unsigned)CASE_ADDED_MASK, size);
        check_variant(CASE_OPTIONS_ALL, size);
    }
}

/* On small items, and some on each of the larger ones. */
static void every_two_options(void **state)
{
    (void)state;
    size_t pair = 0, step = environment_step(2, 1);
    for (unsigned one = 0; one < OPTION_COUNT; one++) {
        for (unsigned other = one + 1; other < OPTION_COUNT; other++, pair++) {
            check_variant(1U << one | 1U << other, 0);
            if (!environment_slow() && pair % (8 * step) == 0)
                check_variant(1U << one | 1U << other, 1 + pair / (8 * step) % (SIZE_COUNT - 1));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_option_each_option_and_all),
        cmocka_unit_test(every_two_options),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
