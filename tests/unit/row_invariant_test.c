/* The promise of params.row_invariant: a row of a drawn case has the same bits where only a part of the case is computed: some of the
 * queries or one, of one item, sequence and key head, over fewer keys, some of them changed where no query of the part sees them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/size.h"
#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"
#include "tests/support/worker_pool.h"

#define CASES 240
#define PARTS 3 /* of each case */
#define ROW_RESULTS (RESULTS_ALL & ~RESULTS_OVER_ROWS)

struct part {
    const struct attention_case *whole;
    const double *scores;               /* of the whole, (B,H,Tq,Tk); -infinity: the key is masked */
    size_t b, first_head, heads, group; /* of its item; group: query heads of a key head */
    size_t first_query, queries, first_key, keys;

    struct attention_case c; /* the part as a case of its own */
    struct view_pool results_pool;
    struct attention_results results;
    int64_t *positions[2], prefix_length;
    size_t query_length, key_length;
};

static bool row_sees(const struct part *p, size_t h, size_t i, size_t j)
{
    const struct attention_dims *n = &p->whole->dims;
    size_t row = (p->b * n->H + p->first_head + h) * n->Tq + p->first_query + i;
    return p->scores[row * n->Tk + p->first_key + j] > -INFINITY;
}

/* True where some row of the part sees the key. */
static bool part_sees(const struct part *p, size_t j)
{
    for (size_t h = 0; h < p->heads; h++)
        for (size_t i = 0; i < p->queries; i++)
            if (row_sees(p, h, i, j))
                return true;
    return false;
}

/* Draws which queries, and as many keys as they see at least. */
static void part_draw(struct part *p, const struct attention_case *whole, const double *scores, struct draw *draw)
{
    const struct attention_dims *n = &whole->dims;
    size_t queries = n->Tq, keys = n->Tk, end;
    memset(p, 0, sizeof *p);
    p->whole = whole;
    p->scores = scores;
    p->b = draw_size(draw, 0, n->B - 1);
    p->group = n->H / n->Hkv;
    p->heads = draw_chance(draw, 0.5) ? n->H : p->group;
    p->first_head = p->heads == n->H ? 0 : draw_size(draw, 0, n->Hkv - 1) * p->group;
    if (whole->params.sequences != NULL) {
        const struct attention_sequence *s = &whole->params.sequences[draw_size(draw, 0, whole->params.sequence_count - 1)];
        p->prefix_length = whole->prefix_lengths == NULL ? 0 : whole->prefix_lengths[s - whole->params.sequences];
        p->first_query = s->first_query;
        p->first_key = s->first_key;
        queries = s->queries;
        keys = s->keys;
    } else if (whole->prefix_lengths != NULL) {
        p->prefix_length = whole->prefix_lengths[p->b];
    }
    size_t first = draw_size(draw, 0, queries > 0 ? queries - 1 : 0);
    p->first_query += first;
    p->queries = draw_chance(draw, 0.5) ? size_min(1, queries) : draw_size(draw, 0, queries - first);
    for (end = keys; end > 0 && !part_sees(p, end - 1); end--)
        ;
    p->keys = draw_chance(draw, 0.7) ? end : draw_size(draw, end, keys);
}

/* A copy of keys or values in storage of its own; what no row of the part sees is something else there. */
static void tensor_change(struct part *p, struct tensor *tensor, struct draw *draw)
{
    static const double others[] = {0, -0.0, 1e-42, -7, 3e38, INFINITY, NAN};
    struct tensor from = *tensor;
    *tensor = (p->whole->options & CASE_STRIDES) ? view_drawn(&p->c.pool, from.dtype, 4, from.shape, draw, 0)
                                                 : view_contiguous(&p->c.pool, from.dtype, 4, from.shape);
    double *values = view_values(&from);
    for (size_t j = 0; j < p->keys; j++) {
        if (part_sees(p, j))
            continue;
        double other = others[draw_size(draw, 0, sizeof others / sizeof *others - 1)];
        for (size_t h = 0; h < from.shape[1]; h++)
            for (size_t d = 0; d < from.shape[3]; d++)
                values[(h * p->keys + j) * from.shape[3] + d] = other;
    }
    view_store(tensor, values);
    free(values);
}

static void part_tensors(struct part *p, struct draw *draw)
{
    struct attention_params *params = &p->c.params;
    struct tensor *const inputs[] = {&params->query, &params->key, &params->value, &params->mask, &params->bias};
    for (size_t k = 0; k < 5; k++) {
        size_t group = k == 1 || k == 2 ? p->group : 1;
        if (inputs[k]->data == NULL)
            continue;
        *inputs[k] = view_slice(inputs[k], 0, p->b, 1);
        *inputs[k] = view_slice(inputs[k], 1, p->first_head / group, p->heads / group);
        *inputs[k] = k == 1 || k == 2 ? view_slice(inputs[k], 2, p->first_key, p->keys)
                                      : view_slice(inputs[k], 2, p->first_query, p->queries);
        if (k >= 3)
            *inputs[k] = view_slice(inputs[k], 3, p->first_key, p->keys);
    }
    tensor_change(p, &params->key, draw);
    tensor_change(p, &params->value, draw);
}

/* Listed, since those of a part may begin anywhere. */
static void part_positions(struct part *p, struct positions *positions, size_t which, size_t first, size_t count)
{
    p->positions[which] = test_alloc(count, sizeof *p->positions[which]);
    for (size_t k = 0; k < count; k++)
        p->positions[which][k] = positions_at(positions, p->b, first + k);
    *positions = (struct positions){.given = p->positions[which], .item_stride = count};
}

static size_t length_within(size_t length, size_t first, size_t count)
{
    return length > first ? size_min(length - first, count) : 0;
}

static void part_rules(struct part *p)
{
    struct attention_params *params = &p->c.params;
    struct token_ids *const ids[] = {&params->query_segments, &params->query_spans, &params->key_segments, &params->key_spans};
    for (size_t k = 0; k < 4; k++)
        if (ids[k]->ids != NULL)
            ids[k]->ids += p->b * ids[k]->item_stride + (k < 2 ? p->first_query : p->first_key);
    part_positions(p, &params->query_positions, 0, p->first_query, p->queries);
    if (params->key_positions.given != NULL || p->first_key > 0)
        part_positions(p, &params->key_positions, 1, p->first_key, p->keys);
    params->sequences = NULL;
    params->sequence_count = 0;
    if (params->prefix_lengths != NULL)
        params->prefix_lengths = &p->prefix_length;
    if (params->query_lengths != NULL) {
        p->query_length = length_within(params->query_lengths[p->b], p->first_query, p->queries);
        params->query_lengths = &p->query_length;
    }
    if (params->key_lengths != NULL) {
        p->key_length = length_within(params->key_lengths[p->b], p->first_key, p->keys);
        params->key_lengths = &p->key_length;
    }
    if (params->alibi_slopes != NULL)
        params->alibi_slopes += p->first_head;
    if (params->relative_bias.table != NULL)
        params->relative_bias.table += p->first_head;
    if (params->query_scales != NULL)
        params->query_scales += p->b * params->query_scale_stride + p->first_query;
    if (params->sinks != NULL)
        params->sinks += p->first_head;
}

static void part_results(struct part *p, unsigned wanted)
{
    const struct attention_dims *n = &p->c.dims;
    size_t top = attention_dims_top(&p->whole->dims);
    const size_t last[RESULT_COUNT] = {[RESULT_OUTPUT] = n->Dv, [RESULT_TOP_INDICES] = top, [RESULT_TOP_WEIGHTS] = top};
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        const size_t shape[4] = {1, n->H, n->Tq, last[name] > 0 ? last[name] : n->Tk};
        size_t rank = name == RESULT_LSE || name == RESULT_ENTROPY ? 3 : 4;
        enum dtype dtype = name == RESULT_TOP_INDICES ? DTYPE_I64 : n->dtype;
        if ((wanted >> name) & 1U)
            *result_at(&p->results, name) = view_contiguous(&p->results_pool, dtype, rank, shape);
    }
}

static void part_compute(struct part *p, struct draw *draw)
{
    struct worker_pool workers;
    struct arena arena;
    struct error err;
    p->c = *p->whole;
    memset(&p->c.pool, 0, sizeof p->c.pool);
    p->c.dims = (struct attention_dims){p->whole->dims.dtype, 1,       p->heads,         p->heads / p->group,
                                        p->queries,           p->keys, p->whole->dims.D, p->whole->dims.Dv};
    part_tensors(p, draw);
    part_rules(p);
    part_results(p, draw_chance(draw, 0.3) ? 1U << RESULT_OUTPUT | 1U << RESULT_LSE : ROW_RESULTS);
    worker_pool_init(&workers, draw_size(draw, 1, 2));
    error_init(&err);
    arena_init(&arena, attention_scratch_cost(&p->c.params, &p->results, &workers.executor));
    if (!attention_compute(&p->c.params, &p->results, &arena, &workers.executor, &err))
        fail_msg("%s: %s", p->whole->text, err.text);
    arena_done(&arena);
}

static void part_done(struct part *p)
{
    view_pool_done(&p->c.pool);
    view_pool_done(&p->results_pool);
    free(p->positions[0]);
    free(p->positions[1]);
}

/* The stages before the masks hold masked keys, too, which are not the same: they count as 0 in both. */
static void forget_masked(const struct part *p, size_t h, size_t i, double *a, double *b)
{
    for (size_t j = 0; j < p->keys; j++)
        if (!row_sees(p, h, i, j))
            a[j] = b[j] = 0;
}

static void check_row(struct part *p, struct attention_results *whole, enum result_name name, size_t h, size_t i)
{
    struct tensor mine = *result_at(&p->results, name), theirs = *result_at(whole, name);
    const size_t places[3] = {p->b, p->first_head + h, p->first_query + i}, own[3] = {0, h, i};
    char text[160];
    for (size_t axis = 0; axis < 3; axis++) {
        mine = view_slice(&mine, axis, own[axis], 1);
        theirs = view_slice(&theirs, axis, places[axis], 1);
    }
    bool pairs =
        name == RESULT_WEIGHTS || name == RESULT_SCORES || name == RESULT_CAPPED_SCORES || name == RESULT_MASKED_SCORES;
    if (pairs)
        theirs = view_slice(&theirs, 3, p->first_key, p->keys);
    double *a = view_values(&theirs), *b = view_values(&mine);
    size_t count = tensor_count(&mine);
    if (name == RESULT_SCORES || name == RESULT_CAPPED_SCORES)
        forget_masked(p, h, i, a, b);
    for (size_t k = 0; k < count && name == RESULT_TOP_INDICES; k++)
        b[k] += b[k] < 0 ? 0 : (double)p->first_key;
    (void)snprintf(text, sizeof text, "item %zu, heads from %zu, queries %zu to %zu, keys %zu to %zu: head %zu, query %zu: %s",
                   p->b, p->first_head, p->first_query, p->first_query + p->queries, p->first_key, p->first_key + p->keys, h, i,
                   result_text(name));
    check_same_bits(p->whole, text, a, b, count);
    free(a);
    free(b);
}

static void check_part(const struct attention_case *whole, const double *scores, struct attention_results *results,
                       struct draw *draw)
{
    struct part p;
    part_draw(&p, whole, scores, draw);
    part_compute(&p, draw);
    for (enum result_name name = 0; name < RESULT_COUNT; name++)
        for (size_t h = 0; h < p.heads && result_at(&p.results, name)->data != NULL; h++)
            for (size_t i = 0; i < p.queries; i++)
                check_row(&p, results, name, h, i);
    part_done(&p);
}

/* Numbers whose products and sums overflow, underflow or are none. */
static void plant(const struct tensor *tensor, struct draw *draw)
{
    static const double planted[] = {1e30, -3e38, 1e-42, -1e-45, INFINITY, NAN};
    double *values = view_values(tensor);
    size_t count = tensor_count(tensor);
    for (size_t k = draw_size(draw, 1, 3); k > 0 && count > 0; k--)
        values[draw_size(draw, 0, count - 1)] = planted[draw_size(draw, 0, sizeof planted / sizeof *planted - 1)];
    view_store(tensor, values);
    free(values);
}

static struct attention_dims drawn_dims(struct draw *draw)
{
    static const size_t widths[] = {1, 3, 8, 16, 32, 33, 64};
    size_t Hkv = draw_size(draw, 1, 2);
    struct attention_dims dims = {
        .dtype = draw_chance(draw, 0.3) ? DTYPE_F64 : DTYPE_F32,
        .B = draw_size(draw, 1, 2),
        .H = Hkv * draw_size(draw, 1, 3),
        .Hkv = Hkv,
        .Tq = draw_size(draw, 1, draw_chance(draw, 0.3) ? 260 : 20),
        .Tk = draw_size(draw, 1, draw_chance(draw, 0.2) ? 2200 : 600),
        .D = draw_chance(draw, 0.05) ? 1030 : widths[draw_size(draw, 0, 6)],
        .Dv = widths[draw_size(draw, 0, 6)],
    };
    return dims;
}

/* Before anything is planted that makes a score infinite. */
static double *masked_scores(const struct attention_case *c)
{
    struct case_results r;
    case_results_init(&r, &c->dims, 1U << RESULT_MASKED_SCORES, NULL);
    check_compute(c, &r, NULL);
    double *scores = view_values(&r.results.masked_scores);
    case_results_done(&r);
    return scores;
}

static void check_drawn(uint64_t seed)
{
    struct draw draw = {seed};
    struct worker_pool workers;
    struct attention_case c;
    struct case_results r;
    struct attention_dims dims = drawn_dims(&draw);
    unsigned options = draw_chance(&draw, 0.6) ? CASE_CAUSAL : 0;
    for (unsigned option = 1; option <= CASE_TERMS; option <<= 1)
        options |= draw_chance(&draw, 0.12) ? option : 0;
    if ((options & CASE_SEQUENCES) || draw_chance(&draw, 0.2)) {
        options |= CASE_SEQUENCES;
        dims.B = 1;
    }
    kernel_in_turn(seed);
    attention_case_init(&c, &dims, options, seed);
    c.params.row_invariant = true;
    double *scores = masked_scores(&c);
    if (draw_chance(&draw, 0.3))
        plant(&c.params.query, &draw);
    if (draw_chance(&draw, 0.3))
        plant(&c.params.key, &draw);
    if (draw_chance(&draw, 0.3))
        plant(&c.params.value, &draw);
    worker_pool_init(&workers, draw_size(&draw, 1, 2));
    case_results_init(&r, &c.dims, RESULTS_ALL, NULL);
    check_compute(&c, &r, &workers.executor);
    for (size_t k = 0; k < PARTS; k++)
        check_part(&c, scores, &r.results, &draw);
    free(scores);
    case_results_done(&r);
    attention_case_done(&c);
}

static void parts_are_bit_equal(void **state)
{
    (void)state;
    size_t count = environment_size("ROWS_CASES", environment_cases(CASES, 2, 12));
    for (uint64_t seed = environment_size("ROWS_SEED", 0); count > 0; count--)
        check_drawn(seed++);
}

/* A sum that underflows to -0, beside a masked value of either sign, whose weight is 0. */
static void zeros_are_bit_equal(void **state)
{
    (void)state;
    for (size_t k = 0; k < 6; k++) {
        const struct attention_dims dims = {k % 2 == 0 ? DTYPE_F32 : DTYPE_F64, 1, 1, 1, 3, 3, 1, 1};
        const double tiny = dims.dtype == DTYPE_F32 ? 1e-45 : 5e-324, queries[] = {1, 1, 1}, keys[] = {0, -1, 1};
        struct attention_case c;
        double *outputs[2];
        kernel_in_turn(k / 2);
        attention_case_init(&c, &dims, CASE_CAUSAL, k);
        c.params.row_invariant = true;
        view_store(&c.params.query, queries);
        view_store(&c.params.key, keys);
        for (size_t sign = 0; sign < 2; sign++) {
            const double values[] = {0, -tiny, sign == 0 ? 1 : -1};
            struct case_results r;
            view_store(&c.params.value, values);
            case_results_init(&r, &dims, 1U << RESULT_OUTPUT, NULL);
            check_compute(&c, &r, NULL);
            outputs[sign] = view_values(&r.results.output);
            case_results_done(&r);
        }
        check_same_bits(&c, "a sign that only the last query sees", outputs[0], outputs[1], 2);
        free(outputs[0]);
        free(outputs[1]);
        attention_case_done(&c);
    }
}

/* A score of -0 stays one where masks leave the key, whatever else they look at: a boolean mask that is not contiguous; keys out of
 * order, whose positions are looked at one by one. */
static void negative_zeros_stay(void **state)
{
    (void)state;
    for (size_t k = 0; k < 12; k++) {
        const struct attention_dims dims = {k % 2 == 0 ? DTYPE_F32 : DTYPE_F64, 1, 1, 1, 1, 3, 1, 1};
        static const double queries[] = {1}, keys[] = {0, 0, 0}, minus_zeros[] = {-0.0, -0.0};
        static const int64_t positions[] = {0, 7, 0};
        static unsigned char mask[] = {1, 9, 0, 9, 1, 9};
        const bool by_key = k % 4 < 2;
        struct attention_case c;
        struct case_results r;
        kernel_in_turn(k / 4);
        attention_case_init(&c, &dims, by_key ? CASE_CAUSAL : 0, k);
        c.params.row_invariant = true;
        c.params.scale = -1;
        view_store(&c.params.query, queries);
        view_store(&c.params.key, keys);
        if (by_key)
            c.params.key_positions.given = positions;
        else
            c.params.mask = (struct tensor){mask, DTYPE_BOOL, 4, {1, 1, 1, 3}, {0, 0, 0, 2}};
        case_results_init(&r, &dims, 1U << RESULT_MASKED_SCORES, NULL);
        check_compute(&c, &r, NULL);
        double *scores = view_values(&r.results.masked_scores), visible[] = {scores[0], scores[2]};
        check_same_bits(&c, "scores of -0", minus_zeros, visible, 2);
        assert_true(scores[1] == -INFINITY);
        free(scores);
        case_results_done(&r);
        attention_case_done(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_bit_equal),
        cmocka_unit_test(zeros_are_bit_equal),
        cmocka_unit_test(negative_zeros_stay),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
