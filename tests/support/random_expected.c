/* random_expected.c: what the reply to a drawn request must hold, and how far off it may be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/size.h"
#include "core/tensor.h"
#include "tests/support/random_evaluation.h"
#include "tests/support/view.h"

static void want(struct random_request_wanted *w, size_t rank, const size_t *shape)
{
    w->rank = rank;
    memcpy(w->shape, shape, rank * sizeof *shape);
    w->values = test_alloc(shape_count(rank, shape), sizeof *w->values);
    w->allowed = test_alloc(shape_count(rank, shape), sizeof *w->allowed);
}

/* Heads, as the request has them: on an axis of their own, or packed in the last one. */
static void want_heads(const struct evaluation *e, enum random_request_result name, const struct heads *heads,
                       struct random_expected *ret)
{
    const struct random_request *c = e->c;
    struct random_request_wanted *w = &ret->results[name];
    if (c->rank4)
        want(w, 4,
             (const size_t[]){c->B, c->heads_first ? heads->count : heads->tokens,
                              c->heads_first ? heads->tokens : heads->count, heads->width});
    else if (c->has_batch)
        want(w, 3, (const size_t[]){c->B, heads->tokens, heads->count * heads->width});
    else
        want(w, 2, (const size_t[]){heads->tokens, heads->count * heads->width});
    heads_rearrange(c, heads, w->values, heads->values, true);
    heads_rearrange(c, heads, w->allowed, heads->allowed, true);
}

/* What the request gave comes back as it was. */
static void want_given(const struct evaluation *e, enum random_request_result name, enum random_request_name given,
                       struct random_expected *ret)
{
    const struct random_request_tensor *t = &e->c->tensors[given];
    if (!t->given)
        return;
    want(&ret->results[name], t->rank, t->shape);
    memcpy(ret->results[name].values, t->values, shape_count(t->rank, t->shape) * sizeof *t->values);
}

/* A stage of the scores; `magnitudes` has an entry for every `per` numbers. */
static void want_stage(const struct evaluation *e, enum random_request_result name, const double *values, size_t last_axis,
                       const double *magnitudes, size_t per, struct random_expected *ret)
{
    const struct random_request *c = e->c;
    struct random_request_wanted *w = &ret->results[name];
    size_t shape[4], rank = 0;
    if (c->has_batch)
        shape[rank++] = c->B;
    if (c->has_heads && name != GIVES_MEAN_WEIGHTS)
        shape[rank++] = c->H;
    shape[rank++] = c->Tq;
    if (name != GIVES_LSE)
        shape[rank++] = last_axis;
    want(w, rank, shape);
    size_t count = shape_count(rank, shape);
    for (size_t k = 0; k < count; k++) {
        w->values[k] = values[k];
        w->allowed[k] = evaluation_bound(e, magnitudes[k / per]);
    }
}

/* The largest magnitude over the heads, for each query. New. */
static double *query_magnitudes(const struct evaluation *e)
{
    const struct random_request *c = e->c;
    double *largest = test_alloc(c->B * c->Tq, sizeof *largest);
    for (size_t row = 0; row < c->B * c->H * c->Tq; row++) {
        double *of_query = &largest[row / c->Tq / c->H * c->Tq + row % c->Tq];
        *of_query = fmax(*of_query, e->oracle.magnitudes[row]);
    }
    return largest;
}

static void want_stages(const struct evaluation *e, struct random_expected *ret)
{
    const struct oracle_results *o = &e->oracle;
    size_t Tk = e->c->Tpast + e->c->Tnew;
    double *of_queries = query_magnitudes(e);
    want_stage(e, GIVES_WEIGHTS, o->weights, Tk, o->magnitudes, Tk, ret);
    want_stage(e, GIVES_MEAN_WEIGHTS, o->mean_weights, Tk, of_queries, Tk, ret);
    want_stage(e, GIVES_SCORES, o->scores, Tk, o->pair_magnitudes, 1, ret);
    want_stage(e, GIVES_CAPPED_SCORES, o->capped_scores, Tk, o->pair_magnitudes, 1, ret);
    want_stage(e, GIVES_MASKED_SCORES, o->masked_scores, Tk, o->magnitudes, Tk, ret);
    want_stage(e, GIVES_LSE, o->lse, 1, o->magnitudes, 1, ret);
    free(of_queries);
}

static double largest_value(const struct evaluation *e)
{
    const struct heads *v = &e->all_values;
    size_t count = e->c->B * v->count * v->tokens * v->width;
    double largest = 0;
    for (size_t k = 0; k < count; k++)
        if (isfinite(v->values[k]))
            largest = fmax(largest, fabs(v->values[k]));
    return largest;
}

/* The heads' output, and the output projection of it where there is one. */
static void want_output(const struct evaluation *e, struct random_expected *ret)
{
    const struct random_request *c = e->c;
    const struct random_request_tensor *w = &c->tensors[COMPOSED_WEIGHT_OUTPUT];
    struct heads out = heads_new(c, c->H, c->Tq, c->Dv);
    size_t count = c->B * c->H * c->Tq * c->Dv;
    double value = largest_value(e);
    for (size_t k = 0; k < count; k++) {
        out.values[k] = e->oracle.output[k];
        out.allowed[k] = value * evaluation_bound(e, e->oracle.magnitudes[k / c->Dv]);
    }
    want_heads(e, GIVES_OUTPUT, &out, ret);
    heads_done(&out);
    if (!w->given)
        return;
    struct random_request_wanted heads_output = ret->results[GIVES_OUTPUT], *last = &ret->results[GIVES_OUTPUT];
    size_t shape[3] = {c->B, c->Tq, c->output_size}, width = c->H * c->Dv;
    want(last, c->has_batch ? 3 : 2, c->has_batch ? shape : shape + 1);
    evaluation_project(e, heads_output.values, c->B * c->Tq, COMPOSED_WEIGHT_OUTPUT, last->values, last->allowed);
    for (size_t k = 0; k < c->B * c->Tq * c->output_size; k++)
        for (size_t i = 0; i < width; i++)
            last->allowed[k] +=
                heads_output.allowed[k / c->output_size * width + i] * fabs(w->values[k % c->output_size * width + i]);
    free(heads_output.values);
    free(heads_output.allowed);
}

/* Only numbers, all of them 0 or 1, and a 1 among them. */
static bool looks_boolean(const struct random_request_tensor *mask)
{
    bool one = false;
    size_t count = shape_count(mask->rank, mask->shape);
    for (size_t k = 0; mask->given && !mask->boolean && k < count; k++) {
        if (mask->values[k] != 0 && mask->values[k] != 1)
            return false;
        one |= mask->values[k] == 1;
    }
    return one;
}

/* `decimals` rounds what is written. */
static void allow_decimals(const struct random_request *c, struct random_expected *ret)
{
    for (size_t name = 0; c->decimals >= 0 && name < GIVES; name++) {
        struct random_request_wanted *w = &ret->results[name];
        size_t count = w->values ? shape_count(w->rank, w->shape) : 0;
        for (size_t k = 0; k < count; k++)
            w->allowed[k] += 0.5 * pow(10, -c->decimals) + (isfinite(w->values[k]) ? 1e-7 * fabs(w->values[k]) : 0);
    }
}

void random_request_expect(const struct random_request *c, struct random_expected *ret)
{
    struct evaluation e;
    *ret = (struct random_expected){.mask_looks_boolean = looks_boolean(&c->tensors[COMPOSED_MASK])};
    evaluation_init(&e, c);
    want_output(&e, ret);
    want_stages(&e, ret);
    want_heads(&e, GIVES_QUERY, &e.query, ret);
    want_heads(&e, GIVES_KEY, &e.key, ret);
    want_heads(&e, GIVES_VALUE, &e.value, ret);
    want_given(&e, GIVES_X, COMPOSED_X, ret);
    want_given(&e, GIVES_CONTEXT, RANDOM_CONTEXT, ret);
    want_heads(&e, GIVES_PRESENT_KEY, &e.all_keys, ret);
    want_heads(&e, GIVES_PRESENT_VALUE, &e.all_values, ret);
    allow_decimals(c, ret);
    for (size_t name = GIVES_OUTPUT; name <= GIVES_LSE; name++)
        if (c->wanted[name])
            ret->masked_row_count = e.oracle.masked_row_count;
    evaluation_done(&e);
}

void random_expected_done(struct random_expected *expected)
{
    for (size_t name = 0; name < GIVES; name++) {
        free(expected->results[name].values);
        free(expected->results[name].allowed);
    }
}
