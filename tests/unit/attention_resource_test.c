/* Memory and time: no allocation fails unnoticed, the cost is a bound, and a computation that was stopped returns an error. */
#include <stdlib.h>

#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"
#include "tests/support/worker_pool.h"

static const unsigned option_mixes[] = {
    0,
    CASE_CAUSAL,
    CASE_BOOL_MASK | CASE_STRIDES,
    CASE_OPTIONS_ALL,
};
#define MIX_COUNT (sizeof option_mixes / sizeof *option_mixes)

static const unsigned wanted_sets[] = {
    1U << RESULT_OUTPUT,
    1U << RESULT_WEIGHTS,
    1U << RESULT_MEAN_WEIGHTS | 1U << RESULT_LSE,
    1U << RESULT_SCORES | 1U << RESULT_MASKED_SCORES,
    RESULTS_ALL,
};
#define WANTED_COUNT (sizeof wanted_sets / sizeof *wanted_sets)

/* Computes with a cap; returns success, and what the arena then had given out. */
static bool compute(const struct attention_case *c, struct case_results *r, const struct executor *executor, size_t cap_bytes,
                    struct error *err, size_t *ret_used_bytes)
{
    struct arena arena;
    arena_init(&arena, cap_bytes);
    error_init(err);
    bool done = attention_compute(&c->params, &r->results, &arena, executor, err);
    *ret_used_bytes = arena.used_bytes;
    arena_done(&arena);
    return done;
}

/* From what success takes, the cap goes down below the last allocation that fitted, until none does: each allocation
 * fails once. */
static void check_every_allocation(const struct attention_case *c, struct case_results *r, const struct executor *executor)
{
    struct error err;
    size_t used_bytes, cap_bytes = attention_scratch_cost(&c->params, &r->results, executor);
    if (!compute(c, r, executor, cap_bytes, &err, &used_bytes))
        fail_msg("%s: %s", c->text, err.text);
    assert_true(used_bytes <= cap_bytes);
    while (used_bytes > 0) {
        cap_bytes = used_bytes - 1;
        if (compute(c, r, executor, cap_bytes, &err, &used_bytes))
            fail_msg("%s: succeeded in %zu bytes", c->text, cap_bytes);
        if (err.code != ERROR_NO_MEMORY)
            fail_msg("%s: error %d in %zu bytes: %s", c->text, (int)err.code, cap_bytes, err.text);
        assert_true(used_bytes <= cap_bytes);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct worker_pool workers;
    worker_pool_init(&workers, 3);
    for (size_t k = 0; k < MIX_COUNT * WANTED_COUNT * 2; k += environment_step(1, 3)) {
        struct attention_dims dims = {k % 2 ? DTYPE_F32 : DTYPE_F64, 2, 2, 1, 20 + 13 * k, 30 + 17 * k, 12, 10};
        struct attention_case c;
        struct case_results r;
        kernel_in_turn(k / 2);
        attention_case_init(&c, &dims, option_mixes[k / 2 % MIX_COUNT], k);
        case_results_init(&r, &dims, wanted_sets[k / 2 / MIX_COUNT], NULL);
        check_every_allocation(&c, &r, NULL);
        check_every_allocation(&c, &r, &workers.executor);
        case_results_done(&r);
        attention_case_done(&c);
    }
}

/* Rows computed again in double may want memory of their own. */
static void every_allocation_of_an_overflow_may_fail(void **state)
{
    (void)state;
    struct worker_pool workers;
    worker_pool_init(&workers, 2);
    for (size_t k = 0; k < WANTED_COUNT; k++) {
        struct attention_dims dims = {DTYPE_F32, 1, 2, 1, 150, 600, 12, 10};
        struct attention_case c;
        struct case_results r;
        attention_case_init(&c, &dims, option_mixes[k % MIX_COUNT], k);
        c.params.scale = 1e38;
        case_results_init(&r, &dims, wanted_sets[k], NULL);
        check_every_allocation(&c, &r, NULL);
        check_every_allocation(&c, &r, &workers.executor);
        case_results_done(&r);
        attention_case_done(&c);
    }
}

/* Stops at the n-th call of stopped, for every n until there is no further call; `workers` says how many threads take part. */
static void check_every_stop(const struct attention_case *c, struct case_results *r, size_t worker_count)
{
    struct error err;
    size_t used_bytes;
    for (size_t stop_after = 0;; stop_after++) {
        struct worker_pool workers;
        worker_pool_init(&workers, worker_count);
        workers.stop_after = stop_after;
        bool done = compute(c, r, &workers.executor, SIZE_MAX, &err, &used_bytes);
        if (workers.asked <= stop_after) {
            assert_true(done);
            assert_true(stop_after > 0);
            return;
        }
        if (done || err.code != ERROR_DEADLINE)
            fail_msg("%s: stopped at question %zu of %zu, but %s", c->text, stop_after + 1, (size_t)workers.asked,
                     done ? "it went on" : err.text);
    }
}

static void every_stop_is_a_deadline(void **state)
{
    (void)state;
    for (size_t k = 0; k < MIX_COUNT * WANTED_COUNT; k += environment_step(1, 3)) {
        struct attention_dims dims = {k % 2 ? DTYPE_F32 : DTYPE_F64, 2, 2, 1, 150, 530, 8, 8};
        struct attention_case c;
        struct case_results r;
        kernel_in_turn(k);
        attention_case_init(&c, &dims, option_mixes[k % MIX_COUNT], k);
        case_results_init(&r, &dims, wanted_sets[k / MIX_COUNT], NULL);
        check_every_stop(&c, &r, 1);
        check_every_stop(&c, &r, 3);
        case_results_done(&r);
        attention_case_done(&c);
    }
}

/* The work between two calls of stopped is bounded: a large computation makes many. */
static void large_problems_ask_often(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 2048, 2048, 4, 4};
    struct attention_case c;
    struct case_results r;
    struct error err;
    size_t used_bytes;
    struct worker_pool workers;
    worker_pool_init(&workers, 1);
    attention_case_init(&c, &dims, 0, 1);
    case_results_init(&r, &dims, 1U << RESULT_OUTPUT, NULL);
    assert_true(compute(&c, &r, &workers.executor, SIZE_MAX, &err, &used_bytes));
    size_t asked = workers.asked;
    assert_true(asked >= 8);

    worker_pool_init(&workers, 1);
    workers.stop_after = 0;
    assert_false(compute(&c, &r, &workers.executor, SIZE_MAX, &err, &used_bytes));
    assert_true(workers.asked < asked); /* and once told, it does not go on */
    case_results_done(&r);
    attention_case_done(&c);
}

static struct tensor view_of_nothing(enum dtype dtype, size_t rank, const size_t *shape)
{
    static double nothing;
    return tensor_contiguous(&nothing, dtype, rank, shape);
}

/* A problem's cost needs no memory to be worked out: views of nothing, of the sizes given. No executor for 0 workers. */
static size_t cost_of(const struct attention_dims *n, unsigned options, unsigned wanted, size_t worker_count)
{
    struct worker_pool workers;
    worker_pool_init(&workers, worker_count > 0 ? worker_count : 1);
    const size_t pairs_shape[] = {n->B, n->H, n->Tq, n->Tk};
    struct attention_params params = {
        .query = view_of_nothing(n->dtype, 4, (const size_t[]){n->B, n->H, n->Tq, n->D}),
        .key = view_of_nothing(n->dtype, 4, (const size_t[]){n->B, n->Hkv, n->Tk, n->D}),
        .value = view_of_nothing(n->dtype, 4, (const size_t[]){n->B, n->Hkv, n->Tk, n->Dv}),
        .scale = 1,
        .causal = (options & CASE_CAUSAL) != 0,
        .window_left = -1,
        .window_right = -1,
    };
    if (options & CASE_ADDED_MASK)
        params.mask = view_of_nothing(n->dtype, 4, pairs_shape);
    struct attention_results results = {.masked_row_count = 0};
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        if (!((wanted >> name) & 1U))
            continue;
        struct tensor view = view_of_nothing(n->dtype, 4, pairs_shape);
        if (name == RESULT_OUTPUT)
            view = view_of_nothing(n->dtype, 4, (const size_t[]){n->B, n->H, n->Tq, n->Dv});
        else if (name == RESULT_MEAN_WEIGHTS)
            view = view_of_nothing(n->dtype, 3, (const size_t[]){n->B, n->Tq, n->Tk});
        else if (name == RESULT_LSE || name == RESULT_ENTROPY)
            view = view_of_nothing(n->dtype, 3, pairs_shape);
        else if (name == RESULT_KEY_SUMS)
            view = view_of_nothing(n->dtype, 3, (const size_t[]){n->B, n->H, n->Tk});
        else if (name == RESULT_TOP_INDICES || name == RESULT_TOP_WEIGHTS)
            view =
                view_of_nothing(name == RESULT_TOP_INDICES ? DTYPE_I64 : n->dtype, 4, (const size_t[]){n->B, n->H, n->Tq, 8});
        else if (name == RESULT_POOLED_WEIGHTS)
            view = view_of_nothing(n->dtype, 4, (const size_t[]){n->B, n->H, 1024, 1024});
        *result_at(&results, name) = view;
    }
    return attention_scratch_cost(&params, &results, worker_count > 0 ? &workers.executor : NULL);
}

#define MEBIBYTE ((size_t)1 << 20)
#define QUERY_BYTES 17 /* what the rules leave each query of an item, and a bit for the item */

/* 16384 tokens of 64 channels, causal: T*T floats would be 1 GiB. */
static void cost_grows_with_keys_only(void **state)
{
    (void)state;
    struct attention_dims small = {DTYPE_F32, 1, 1, 1, 4096, 4096, 64, 64}, large = small, huge = small;
    large.Tq = large.Tk = 16384;
    huge.Tq = huge.Tk = (size_t)1 << 30;
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        if (name == RESULT_MEAN_WEIGHTS)
            continue;
        size_t cost = cost_of(&small, CASE_CAUSAL, 1U << name, 2);
        size_t bytes_per_key = 4 * (small.D + small.Dv) + 1; /* the packed copy of keys and values, and a mark */
        if (name == RESULT_KEY_SUMS || name == RESULT_POOLED_WEIGHTS)
            bytes_per_key += 24; /* a row's maximum and denominator */
        if (name == RESULT_WEIGHTS)
            bytes_per_key += 2 * 121 * 4 * 33 / 32; /* a block's rows of scores, 528 for 512 keys, of two workers */
        assert_true(cost <= 4 * MEBIBYTE + bytes_per_key * small.Tk);
        assert_true(cost_of(&large, CASE_CAUSAL, 1U << name, 2) <= cost + bytes_per_key * large.Tk);
        assert_true(cost_of(&huge, CASE_CAUSAL, 1U << name, 2) <= cost + bytes_per_key * huge.Tk);
    }
}

/* Panels hold one group of heads, however many heads there are. */
static void cost_does_not_grow_with_heads(void **state)
{
    (void)state;
    struct attention_dims few = {DTYPE_F32, 1, 2, 2, 4096, 4096, 64, 64}, many = few;
    many.H = many.Hkv = 16;
    assert_true(cost_of(&few, CASE_CAUSAL, 1U << RESULT_OUTPUT, 2) == cost_of(&many, CASE_CAUSAL, 1U << RESULT_OUTPUT, 2));
    many.B = 8;
    assert_true(cost_of(&many, CASE_CAUSAL, 1U << RESULT_OUTPUT, 2) <=
                cost_of(&few, CASE_CAUSAL, 1U << RESULT_OUTPUT, 2) + QUERY_BYTES * (many.B - few.B) * many.Tq);
    assert_true(cost_of(&few, CASE_CAUSAL, 1U << RESULT_OUTPUT, 1) < cost_of(&many, CASE_CAUSAL, 1U << RESULT_OUTPUT, 2));
}

static void cost_of_mean_weights_grows_with_keys_only(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 1, 4, 4, 4096, 4096, 64, 64}, longer = dims;
    longer.Tq = (size_t)1 << 30;
    unsigned wanted = 1U << RESULT_MEAN_WEIGHTS;
    assert_true(cost_of(&longer, 0, wanted, 2) <= cost_of(&dims, 0, wanted, 2) + QUERY_BYTES * longer.Tq);
    longer.Tk = (size_t)1 << 40;
    assert_true(cost_of(&longer, 0, wanted, 2) >= cost_of(&dims, 0, wanted, 2));
}

/* Sizes whose products overflow give SIZE_MAX, or a cost that is honest: never a small one wrapped around. */
static void cost_saturates(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F64, 1, 1, 1, 1, 1, 1, 1};
    size_t *const sizes[] = {&dims.Tk, &dims.D, &dims.Dv};
    for (size_t k = 0; k < 3; k++) {
        size_t before = 0;
        for (size_t shift = 0; shift < 62; shift++) {
            *sizes[k] = (size_t)1 << shift;
            size_t cost = cost_of(&dims, CASE_ADDED_MASK, RESULTS_ALL & ~(1U << RESULT_WEIGHTS), 4);
            assert_true(cost >= before / 2); /* small allocations cost twice their size */
            before = cost;
        }
        *sizes[k] = 1;
    }
}

static void cost_is_per_worker_at_most(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 4, 4, 4, 1000, 1000, 64, 64};
    size_t alone = cost_of(&dims, 0, 1U << RESULT_OUTPUT, 0);
    assert_true(cost_of(&dims, 0, 1U << RESULT_OUTPUT, 1) == alone);
    assert_true(cost_of(&dims, 0, 1U << RESULT_OUTPUT, 8) <= 8 * alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_allocation_of_an_overflow_may_fail),
        cmocka_unit_test(every_stop_is_a_deadline),
        cmocka_unit_test(large_problems_ask_often),
        cmocka_unit_test(cost_grows_with_keys_only),
        cmocka_unit_test(cost_does_not_grow_with_heads),
        cmocka_unit_test(cost_of_mean_weights_grows_with_keys_only),
        cmocka_unit_test(cost_saturates),
        cmocka_unit_test(cost_is_per_worker_at_most),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
