/* What a masked key or its value holds reaches nothing; what is not masked and not a number stays in its rows.
 *
 * A clean case is computed, then some of its inputs are poisoned and it is computed again: rows that see no poison must
 * keep their bits, and the oracle says what becomes of the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"

#define SEED_COUNT 24

/* All but the stages before the mask, which do show what a masked key holds. */
#define POISONED_RESULTS (RESULTS_ALL & ~(1U << RESULT_SCORES | 1U << RESULT_CAPPED_SCORES))

static const double poisons[] = {NAN, INFINITY, -INFINITY};
#define POISON_COUNT (sizeof poisons / sizeof *poisons)

static void store(const struct tensor *view, size_t b, size_t h, size_t t, size_t d, double value)
{
    void *at = view_at(view, (const size_t[]){b, h, t, d});
    if (view->dtype == DTYPE_F32)
        *(float *)at = (float)value;
    else
        *(double *)at = value;
}

/* True where row (b,h,i) sees a poisoned key; `poisoned` is [B,Hkv,Tk]. */
static bool row_sees(const struct attention_case *c, const bool *poisoned, size_t b, size_t h, size_t i)
{
    size_t g = h / (c->dims.H / c->dims.Hkv);
    for (size_t j = 0; j < c->dims.Tk; j++) {
        if (poisoned[(b * c->dims.Hkv + g) * c->dims.Tk + j] && !oracle_is_masked(&c->params, b, h, i, j))
            return true;
    }
    return false;
}

/* Row (b,h,i) of each result holds the same bits in both; sums over rows are left out. */
static void check_row_kept(const struct attention_case *c, struct case_results *clean, struct case_results *poisoned, size_t b,
                           size_t h, size_t i)
{
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        struct tensor rows[2] = {*result_at(&clean->results, name), *result_at(&poisoned->results, name)};
        if (!rows[0].data || ((RESULTS_OVER_ROWS >> name) & 1U))
            continue;
        double *values[2];
        for (size_t k = 0; k < 2; k++) {
            rows[k] = view_slice(&rows[k], 0, b, 1);
            rows[k] = view_slice(&rows[k], 1, h, 1);
            rows[k] = view_slice(&rows[k], 2, i, 1);
            values[k] = view_values(&rows[k]);
        }
        check_same_bits(c, result_text(name), values[0], values[1], tensor_count(&rows[0]));
        free(values[0]);
        free(values[1]);
    }
}

static void check_unseeing_rows(const struct attention_case *c, const bool *poisoned_keys, struct case_results *clean,
                                struct case_results *poisoned)
{
    for (size_t b = 0; b < c->dims.B; b++) {
        for (size_t h = 0; h < c->dims.H; h++) {
            for (size_t i = 0; i < c->dims.Tq; i++) {
                if (!row_sees(c, poisoned_keys, b, h, i))
                    check_row_kept(c, clean, poisoned, b, h, i);
            }
        }
    }
    if (clean->results.masked_row_count != poisoned->results.masked_row_count)
        fail_msg("%s: the count of masked rows changed", c->text);
}

static void draw_case(struct attention_case *c, uint64_t seed)
{
    static const unsigned mixes[] = {
        CASE_CAUSAL,
        CASE_CAUSAL | CASE_OFFSETS,
        CASE_LENGTHS,
        CASE_WINDOW,
        CASE_BOOL_MASK,
        CASE_ADDED_MASK,
        CASE_CAUSAL | CASE_LENGTHS | CASE_BOOL_MASK | CASE_ALIBI,
        CASE_WINDOW | CASE_ADDED_MASK | CASE_SINKS | CASE_SOFTCAP,
    };
    struct draw draw = {seed};
    kernel_in_turn(seed / (sizeof mixes / sizeof *mixes));
    struct attention_dims dims = {
        .dtype = draw_chance(&draw, 0.7) ? DTYPE_F32 : DTYPE_F64,
        .B = draw_size(&draw, 1, 2),
        .Hkv = draw_size(&draw, 1, 2),
        .Tq = draw_size(&draw, 1, 140),
        .Tk = draw_chance(&draw, 0.2) ? draw_size(&draw, 500, 600) : draw_size(&draw, 1, 140),
        .D = draw_size(&draw, 1, 20),
        .Dv = draw_size(&draw, 1, 20),
    };
    dims.H = dims.Hkv * draw_size(&draw, 1, 2);
    if (dims.Tq * dims.Tk > 1000 && draw_chance(&draw, 0.7))
        attention_dims_outgrow_double(&dims);
    attention_case_init(c, &dims, mixes[seed % (sizeof mixes / sizeof *mixes)], seed);
}

/* Poisons drawn rows of `view`, key or value, all their channels or one. Returns which: [B,Hkv,Tk], new. */
static bool *poison_rows(const struct attention_case *c, const struct tensor *view, struct draw *draw, double poison)
{
    const struct attention_dims *n = &c->dims;
    bool *poisoned = test_alloc(n->B * n->Hkv * n->Tk, sizeof *poisoned);
    double chance = draw_chance(draw, 0.5) ? 0.5 : 1.5 / (double)n->Tk;
    bool one_channel = draw_chance(draw, 0.5);
    for (size_t row = 0; row < n->B * n->Hkv * n->Tk; row++) {
        if (!draw_chance(draw, chance))
            continue;
        poisoned[row] = true;
        size_t only = draw_size(draw, 0, view->shape[3] - 1);
        for (size_t d = 0; d < view->shape[3]; d++) {
            if (!one_channel || d == only)
                store(view, row / n->Tk / n->Hkv, row / n->Tk % n->Hkv, row % n->Tk, d, poison);
        }
    }
    return poisoned;
}

static void check_poisoned(bool poison_the_value)
{
    for (uint64_t seed = 0; seed < SEED_COUNT; seed += environment_step(1, 3)) {
        for (size_t p = 0; p < POISON_COUNT; p++) {
            struct attention_case c;
            struct case_results clean, poisoned;
            struct draw draw = {seed + 1000};
            draw_case(&c, seed);
            case_results_init(&clean, &c.dims, POISONED_RESULTS, NULL);
            case_results_init(&poisoned, &c.dims, POISONED_RESULTS, NULL);
            check_compute(&c, &clean, NULL);
            bool *rows = poison_rows(&c, poison_the_value ? &c.params.value : &c.params.key, &draw, poisons[p]);
            check_compute(&c, &poisoned, NULL);
            check_unseeing_rows(&c, rows, &clean, &poisoned);
            check_case(&c, RESULTS_ALL, NULL);
            free(rows);
            case_results_done(&clean);
            case_results_done(&poisoned);
            attention_case_done(&c);
        }
    }
}

static void poisoned_keys(void **state)
{
    (void)state;
    check_poisoned(false);
}

static void poisoned_values(void **state)
{
    (void)state;
    check_poisoned(true);
}

static void poisoned_queries_spoil_their_rows_only(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEED_COUNT; seed += environment_step(1, 3)) {
        struct attention_case c;
        struct case_results clean, poisoned;
        struct draw draw = {seed + 1000};
        draw_case(&c, seed);
        case_results_init(&clean, &c.dims, RESULTS_ALL, NULL);
        case_results_init(&poisoned, &c.dims, RESULTS_ALL, NULL);
        check_compute(&c, &clean, NULL);
        size_t b = draw_size(&draw, 0, c.dims.B - 1), h = draw_size(&draw, 0, c.dims.H - 1);
        size_t i = draw_size(&draw, 0, c.dims.Tq - 1);
        store(&c.params.query, b, h, i, draw_size(&draw, 0, c.dims.D - 1), poisons[seed % POISON_COUNT]);
        check_compute(&c, &poisoned, NULL);
        for (size_t row = 0; row < c.dims.B * c.dims.H * c.dims.Tq; row++) {
            size_t row_b = row / c.dims.Tq / c.dims.H, row_h = row / c.dims.Tq % c.dims.H, row_i = row % c.dims.Tq;
            if (row_b != b || row_h != h || row_i != i)
                check_row_kept(&c, &clean, &poisoned, row_b, row_h, row_i);
        }
        check_case(&c, RESULTS_ALL, NULL);
        case_results_done(&clean);
        case_results_done(&poisoned);
        attention_case_done(&c);
    }
}

/* A value that is not finite changes the output of the rows that see it, and no other result: asked with or without the
 * output, these have the same bits. */
static void poisoned_values_leave_the_weights_alone(void **state)
{
    (void)state;
    for (size_t p = 0; p < POISON_COUNT * 2; p++) {
        struct attention_dims dims = {DTYPE_F32, 1, 2, 1, 130, 140, 8, 8};
        struct attention_case c;
        struct case_results clean, poisoned;
        if (p % 2)
            dims.D = dims.Dv = 64; /* computed in float32, from values as they lie */
        attention_case_init(&c, &dims, CASE_CAUSAL, p);
        case_results_init(&clean, &dims, RESULTS_ALL & ~(1U << RESULT_OUTPUT), NULL);
        case_results_init(&poisoned, &dims, RESULTS_ALL, NULL);
        check_compute(&c, &clean, NULL);
        store(&c.params.value, 0, 0, 70, 3, poisons[p / 2]);
        check_compute(&c, &poisoned, NULL);
        check_same_results(&c, "a poisoned value", &clean, &poisoned);
        case_results_done(&clean);
        case_results_done(&poisoned);
        attention_case_done(&c);
    }
}

/* An additive mask may hold anything where causal, a window or padding ban already. */
static void poisoned_mask_at_masked_keys(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEED_COUNT; seed += environment_step(1, 3)) {
        struct attention_case c;
        struct case_results clean, poisoned;
        struct attention_dims dims = {seed % 2 ? DTYPE_F32 : DTYPE_F64, 2, 2, 2, 60, 60 + 4 * seed, 8, 8};
        if (seed % 4 == 1)
            attention_dims_outgrow_double(&dims);
        attention_case_init(&c, &dims, CASE_CAUSAL | CASE_LENGTHS | CASE_WINDOW, seed);
        const size_t shape[] = {dims.B, dims.H, dims.Tq, dims.Tk};
        struct tensor mask = view_contiguous(&c.pool, dims.dtype, 4, shape);
        struct draw draw = {seed};
        view_store_normal(&mask, &draw);
        c.params.mask = mask;
        case_results_init(&clean, &dims, RESULTS_ALL, NULL);
        case_results_init(&poisoned, &dims, RESULTS_ALL, NULL);
        check_compute(&c, &clean, NULL);
        for (size_t k = 0; k < tensor_count(&mask); k++) {
            size_t j = k % dims.Tk, i = k / dims.Tk % dims.Tq, h = k / dims.Tk / dims.Tq % dims.H,
                   b = k / dims.Tk / dims.Tq / dims.H;
            if (oracle_is_masked(&c.params, b, h, i, j))
                store(&mask, b, h, i, j, poisons[k % 2]);
        }
        check_compute(&c, &poisoned, NULL);
        check_same_results(&c, "a mask's poison at masked keys", &clean, &poisoned);
        case_results_done(&clean);
        case_results_done(&poisoned);
        attention_case_done(&c);
    }
}

/* The diagonal, and a window's left edge, at every place of a panel of keys: the last two rows make a product of their own, of which
 * one may see a whole number of panels and the other one key less. */
static void edges_at_every_place_of_a_panel(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 26, 608, 40, 40};
    for (int64_t place = 0; place < 40; place += (int64_t)environment_step(1, 3)) {
        struct attention_case c;
        const int64_t offset = 540 + place;
        kernel_in_turn((size_t)place / 8);
        attention_case_init(&c, &dims, CASE_CAUSAL, (uint64_t)place);
        c.params.query_positions.first = &offset;
        if (place % 2 == 1)
            c.params.window_left = 300;
        check_case(&c, 1U << RESULT_OUTPUT, NULL);
        check_case(&c, RESULTS_ALL, NULL);
        attention_case_done(&c);
    }
}

/* NaN everywhere and every key masked, by each of the ways to mask one: zeros, -infinity, and a count. */
static void fully_masked_rows_are_zero(void **state)
{
    (void)state;
    static const size_t no_keys[] = {0, 0};
    static const int64_t before_all[] = {-1000, -1000};
    for (unsigned way = 0; way < 10; way++) {
        struct attention_dims dims = {way % 2 ? DTYPE_F32 : DTYPE_F64, 2, 2, 1, 135, 140, 5, 6};
        struct attention_case c;
        attention_case_init(&c, &dims, way == 8 ? CASE_SINKS : 0, way);
        struct tensor *const inputs[] = {&c.params.query, &c.params.key, &c.params.value};
        for (size_t k = 0; k < 3; k++)
            *inputs[k] = view_contiguous(&c.pool, dims.dtype, 4, inputs[k]->shape); /* unset: NaN */
        struct tensor mask = view_contiguous(&c.pool, way < 2 ? DTYPE_BOOL : dims.dtype, 4, (const size_t[]){1, 1, 1, 1});
        const double nothing = way < 2 ? 0 : -INFINITY;
        view_store(&mask, &nothing);
        if (way < 4)
            assert_true(tensor_broadcast(&mask, 4, (const size_t[]){2, 2, 135, 140}, &c.params.mask));
        else if (way < 6)
            c.params.causal = true;
        else if (way < 8)
            c.params.window_right = 3;
        else
            c.params.key_lengths = no_keys;
        c.params.query_positions.first = before_all;
        check_case(&c, RESULTS_ALL, NULL);

        struct case_results r;
        case_results_init(&r, &dims, RESULTS_ALL, NULL);
        check_compute(&c, &r, NULL);
        assert_true(r.results.masked_row_count == dims.B * dims.H * dims.Tq);
        double *output = view_values(&r.results.output), *lse = view_values(&r.results.lse);
        for (size_t k = 0; k < tensor_count(&r.results.output); k++)
            assert_true(output[k] == 0);
        for (size_t k = 0; k < tensor_count(&r.results.lse); k++)
            assert_true(c.params.sinks ? isfinite(lse[k]) : lse[k] == -INFINITY);
        free(output);
        free(lse);
        case_results_done(&r);
        attention_case_done(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poisoned_keys),
        cmocka_unit_test(poisoned_values),
        cmocka_unit_test(poisoned_queries_spoil_their_rows_only),
        cmocka_unit_test(poisoned_values_leave_the_weights_alone),
        cmocka_unit_test(poisoned_mask_at_masked_keys),
        cmocka_unit_test(edges_at_every_place_of_a_panel),
        cmocka_unit_test(fully_masked_rows_are_zero),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
