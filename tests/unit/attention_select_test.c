/* A selection of heads, queries and keys: what is stored has the bits that it has in the whole, no other result changes, and what
 * is not selected costs neither memory nor time. */
#include <stdlib.h>
#include <string.h>

#include "core/attention/plan.h"
#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"
#include "tests/support/worker_pool.h"

#define STAGES                                                                                                                 \
    (1U << RESULT_WEIGHTS | 1U << RESULT_MEAN_WEIGHTS | 1U << RESULT_SCORES | 1U << RESULT_CAPPED_SCORES |                     \
     1U << RESULT_MASKED_SCORES)
#define HEADS_MAX 8

struct drawn_selection {
    struct attention_selection selection;
    size_t places[HEADS_MAX], heads[HEADS_MAX], head_count;
};

static void draw_range(struct draw *draw, size_t count, size_t *ret_first, size_t *ret_count)
{
    *ret_first = draw_size(draw, 0, count - 1);
    *ret_count = draw_size(draw, 1, count - *ret_first);
}

/* Some heads in a drawn order, or all in their own. */
static void draw_selection(struct draw *draw, const struct attention_dims *dims, struct drawn_selection *ret)
{
    *ret = (struct drawn_selection){.head_count = dims->H};
    draw_range(draw, dims->Tq, &ret->selection.query_first, &ret->selection.query_count);
    draw_range(draw, dims->Tk, &ret->selection.key_first, &ret->selection.key_count);
    for (size_t h = 0; h < dims->H; h++)
        ret->heads[h] = h;
    if (draw_chance(draw, 0.3))
        return;
    ret->selection.head_places = ret->places;
    ret->head_count = draw_size(draw, 1, dims->H);
    for (size_t h = 0; h < dims->H; h++)
        ret->places[h] = SIZE_MAX;
    for (size_t place = 0; place < ret->head_count; place++) {
        size_t other = draw_size(draw, place, dims->H - 1), head = ret->heads[other];
        ret->heads[other] = ret->heads[place];
        ret->heads[place] = head;
        ret->places[head] = place;
    }
}

/* Results as those of the whole case, but stages of the selection's shape. */
static void selected_results(struct case_results *r, const struct attention_case *c, const struct drawn_selection *drawn,
                             unsigned wanted, struct draw *layout)
{
    const struct attention_selection *selection = &drawn->selection;
    struct attention_dims part = c->dims;
    part.H = drawn->head_count;
    part.Tq = selection->query_count;
    part.Tk = selection->key_count;
    case_results_init(r, &c->dims, wanted & ~STAGES, layout);
    struct case_results stages;
    case_results_init(&stages, &part, wanted & STAGES, layout);
    for (enum result_name name = 0; name < RESULT_COUNT; name++)
        if ((STAGES >> name) & 1U)
            *result_at(&r->results, name) = *result_at(&stages.results, name);
    for (size_t k = 0; k < stages.pool.count; k++) { /* theirs are ours now */
        r->pool.blocks[r->pool.count] = stages.pool.blocks[k];
        r->pool.block_bytes[r->pool.count++] = stages.pool.block_bytes[k];
    }
    r->results.selection = selection;
}

/* The part of a whole result that the selection's head `place` takes. */
static struct tensor part_of(const struct tensor *whole, enum result_name name, const struct drawn_selection *drawn,
                             size_t place)
{
    const struct attention_selection *selection = &drawn->selection;
    size_t axis = name == RESULT_MEAN_WEIGHTS ? 1 : 2;
    struct tensor part = view_slice(whole, axis, selection->query_first, selection->query_count);
    part = view_slice(&part, axis + 1, selection->key_first, selection->key_count);
    return name == RESULT_MEAN_WEIGHTS ? part : view_slice(&part, 1, drawn->heads[place], 1);
}

static void check_stage(const struct attention_case *c, enum result_name name, const struct tensor *whole,
                        const struct tensor *selected, const struct drawn_selection *drawn)
{
    size_t heads = name == RESULT_MEAN_WEIGHTS ? 1 : drawn->head_count;
    for (size_t place = 0; place < heads; place++) {
        struct tensor want = part_of(whole, name, drawn, place);
        struct tensor got = name == RESULT_MEAN_WEIGHTS ? *selected : view_slice(selected, 1, place, 1);
        double *a = view_values(&want), *b = view_values(&got);
        check_same_bits(c, result_text(name), a, b, tensor_count(&want));
        free(a);
        free(b);
    }
}

static void check_whole(const struct attention_case *c, enum result_name name, const struct tensor *whole,
                        const struct tensor *selected)
{
    double *a = view_values(whole), *b = view_values(selected);
    check_same_bits(c, result_text(name), a, b, tensor_count(whole));
    free(a);
    free(b);
}

static void check_selection(const struct attention_dims *dims, unsigned options, unsigned wanted, uint64_t seed,
                            const struct executor *executor)
{
    struct draw draw = {seed};
    struct drawn_selection drawn;
    struct attention_case c;
    struct case_results whole, some;
    kernel_in_turn(seed);
    attention_case_init(&c, dims, options, seed);
    draw_selection(&draw, dims, &drawn);
    case_results_init(&whole, dims, wanted, NULL);
    selected_results(&some, &c, &drawn, wanted, (options & CASE_STRIDES) ? &draw : NULL);
    check_compute(&c, &whole, NULL);
    check_compute(&c, &some, executor);
    assert_int_equal(whole.results.masked_row_count, some.results.masked_row_count);
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        const struct tensor *a = result_at(&whole.results, name), *b = result_at(&some.results, name);
        if (a->data == NULL)
            continue;
        if ((STAGES >> name) & 1U)
            check_stage(&c, name, a, b, &drawn);
        else
            check_whole(&c, name, a, b);
        if (!view_gaps_untouched(&some.pool, b))
            fail_msg("%s: something was written between the elements of %s", c.text, result_text(name));
    }
    attention_case_done(&c);
    case_results_done(&whole);
    case_results_done(&some);
}

static void parts_have_the_bits_of_the_whole(void **state)
{
    (void)state;
    static const size_t tokens[] = {1, 7, 40, 121, 260, 600};
    struct worker_pool workers;
    worker_pool_init(&workers, 3);
    size_t count = environment_cases(600, 4, 10);
    for (uint64_t seed = 0; seed < count; seed++) {
        struct draw draw = {seed + 77};
        struct attention_dims dims = {
            .dtype = draw_chance(&draw, 0.7) ? DTYPE_F32 : DTYPE_F64,
            .B = draw_size(&draw, 1, 2),
            .Hkv = draw_size(&draw, 1, 2),
            .Tq = tokens[draw_size(&draw, 0, 4)],
            .Tk = tokens[draw_size(&draw, 0, 5)] + draw_size(&draw, 0, 9),
            .D = draw_chance(&draw, 0.5) ? 32 : draw_size(&draw, 1, 9),
            .Dv = draw_chance(&draw, 0.5) ? 32 : draw_size(&draw, 1, 9),
        };
        dims.H = dims.Hkv * draw_size(&draw, 1, 3);
        if (seed % 9 == 0) { /* few queries over several splits of the keys */
            dims.Tq = draw_size(&draw, 1, 2);
            dims.Tk = SPLIT_KV_KEYS + draw_size(&draw, 1, 700);
            dims.D = dims.Dv = 32;
        }
        unsigned options = (unsigned)draw_u64(&draw) & (unsigned)draw_u64(&draw) & CASE_OPTIONS_ALL;
        unsigned wanted = draw_chance(&draw, 0.4) ? RESULTS_ALL : (unsigned)draw_size(&draw, 1, RESULTS_ALL);
        check_selection(&dims, options, wanted, seed, seed % 3 == 0 ? &workers.executor : NULL);
    }
}

/* One row of 16384 by 16384 weights: scratch for it, and not for the tokens' square, nor for all keys. */
static void what_is_not_selected_costs_nothing(void **state)
{
    (void)state;
    struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 16384, 16384, 8, 8};
    struct attention_selection selection = {.query_first = 9, .query_count = 1, .key_first = 100, .key_count = 20};
    struct attention_case c;
    struct case_results r;
    attention_case_init(&c, &dims, 0, 1);
    case_results_init(&r, &dims, 1U << RESULT_OUTPUT, NULL);
    size_t without = attention_scratch_cost(&c.params, &r.results, NULL);
    r.results.weights = tensor_contiguous(c.params.query.data, DTYPE_F32, 4, (const size_t[]){1, 1, 1, 20});
    r.results.selection = &selection;
    size_t cost = attention_scratch_cost(&c.params, &r.results, NULL);
    assert_in_range(cost, without, without + (size_t)QUERY_TILE * 2 * KERNEL_ROW_STRIDE * sizeof(float));
    case_results_done(&r);
    attention_case_done(&c);
}

/* How often the work asks whether to go on, which it does for each tile of keys. */
static size_t tiles_computed(const struct attention_case *c, struct case_results *r,
                             const struct attention_selection *selection)
{
    struct worker_pool workers;
    worker_pool_init(&workers, 1);
    r->results.selection = selection;
    check_compute(c, r, &workers.executor);
    return workers.asked;
}

/* Rows that nobody asked for are not computed, unless another result needs them; those with every key masked are counted. */
static void what_is_not_selected_is_not_computed(void **state)
{
    (void)state;
    static const enum result_name others[] = {RESULT_WEIGHTS, RESULT_OUTPUT, RESULT_LSE, RESULT_ENTROPY, RESULT_KEY_SUMS};
    struct attention_dims dims = {DTYPE_F32, 1, 1, 1, 20 * QUERY_TILE, 5 * KEY_TILE, 8, 8};
    struct attention_selection selection = {.query_first = 9, .query_count = 1, .key_count = dims.Tk};
    struct attention_case c;
    attention_case_init(&c, &dims, 0, 1);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        struct case_results r;
        case_results_init(&r, &dims, 1U << RESULT_WEIGHTS | 1U << others[k], NULL);
        size_t all = tiles_computed(&c, &r, NULL), some = tiles_computed(&c, &r, &selection);
        if ((some < all / 3) != (others[k] == RESULT_WEIGHTS))
            fail_msg("with %s: %zu tiles for one row, %zu for all", result_text(others[k]), some, all);
        case_results_done(&r);
    }
    struct case_results r;
    case_results_init(&r, &dims, 1U << RESULT_WEIGHTS, NULL);
    c.params.key_lengths = (const size_t[]){0};
    (void)tiles_computed(&c, &r, &selection);
    assert_int_equal(r.results.masked_row_count, dims.Tq);
    case_results_done(&r);
    attention_case_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_have_the_bits_of_the_whole),
        cmocka_unit_test(what_is_not_selected_costs_nothing),
        cmocka_unit_test(what_is_not_selected_is_not_computed),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
