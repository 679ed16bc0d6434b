/* The rules that say what a query may see, and the terms of a score, over several tiles of keys and blocks of queries, against the oracle. */
#include "core/attention/plan.h"
#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"
#include "tests/support/worker_pool.h"

/* More than three tiles and three blocks, neither of them full. */
#define KEYS (3 * KEY_TILE + 100)
#define QUERIES (3 * QUERY_TILE + 50)

static void check_rules(unsigned options, uint64_t seed, size_t queries)
{
    struct attention_dims dims = {seed % 3 == 0 ? DTYPE_F64 : DTYPE_F32, 1, 2, 1, queries, KEYS, 16, 32};
    struct worker_pool workers;
    struct attention_case c;
    struct oracle_results expected;
    worker_pool_init(&workers, 2);
    attention_case_init(&c, &dims, options, seed);
    oracle_attention(&c.params, &expected);
    for (size_t kernel = 0; kernels_at(kernel) != NULL; kernel += environment_step(1, 3)) {
        kernel_in_turn(kernel);
        check_case_expected(&c, 1U << RESULT_OUTPUT | 1U << RESULT_LSE, &workers.executor, &expected);
        if (seed % 4 == 0)
            check_case_expected(&c, RESULTS_ALL, NULL, &expected);
    }
    oracle_results_done(&expected);
    attention_case_done(&c);
}

static void each_rule(void **state)
{
    (void)state;
    static const unsigned beside[] = {0, CASE_CAUSAL, CASE_WINDOW, CASE_CAUSAL | CASE_WINDOW};
    uint64_t seed = 1;
    for (unsigned rule = 1; rule <= CASE_TERMS; rule <<= 1)
        for (size_t k = rule & CASE_TERMS ? 2 : 0; k < 4 && (rule & (CASE_RULES | CASE_TERMS | CASE_KEY_POSITIONS)); k++)
            check_rules(rule | beside[k], seed++, QUERIES);
}

/* Several at once, queries of one block or of a few rows. */
static void drawn_rules(void **state)
{
    (void)state;
    struct draw draw = {11};
    size_t count = environment_cases(16, 2, 8);
    for (size_t k = 0; k < count; k++) {
        unsigned options = draw_chance(&draw, 0.6) ? CASE_CAUSAL : 0;
        for (unsigned option = 1; option <= CASE_TERMS; option <<= 1)
            options |= option != CASE_SCALE && draw_chance(&draw, 0.2) ? option : 0;
        check_rules(options, 100 + k, draw_chance(&draw, 0.3) ? draw_size(&draw, 1, 8) : QUERIES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule),
        cmocka_unit_test(drawn_rules),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
