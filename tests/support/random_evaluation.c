#include "tests/support/random_evaluation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/tensor.h"
#include "tests/support/view.h"

double evaluation_bound(const struct evaluation *e, double magnitude)
{
    return e->unit * fmax(1, magnitude / MAGNITUDE_FREE);
}

struct heads heads_new(const struct random_request *c, size_t count, size_t tokens, size_t width)
{
    size_t size = c->B * count * tokens * width;
    return (struct heads){count, tokens, width, test_alloc(size, sizeof(double)), test_alloc(size, sizeof(double))};
}

void heads_done(struct heads *heads)
{
    free(heads->values);
    free(heads->allowed);
}

static size_t head_row(const struct heads *heads, size_t b, size_t h, size_t t)
{
    return ((b * heads->count + h) * heads->tokens + t) * heads->width;
}

/* Where the row lies in the request and the reply. */
static size_t request_row(const struct random_request *c, const struct heads *heads, size_t b, size_t h, size_t t)
{
    return c->heads_first ? head_row(heads, b, h, t) : ((b * heads->tokens + t) * heads->count + h) * heads->width;
}

void heads_rearrange(const struct random_request *c, const struct heads *heads, double *request, double *own, bool back)
{
    for (size_t b = 0; b < c->B; b++) {
        for (size_t h = 0; h < heads->count; h++) {
            for (size_t t = 0; t < heads->tokens; t++) {
                double *from = own + head_row(heads, b, h, t), *to = request + request_row(c, heads, b, h, t);
                memcpy(back ? to : from, back ? from : to, heads->width * sizeof(double));
            }
        }
    }
}

void evaluation_project(const struct evaluation *e, const double *tokens, size_t token_count, enum random_request_name weight,
                        double *ret, double *ret_allowed)
{
    const struct random_request_tensor *w = &e->c->tensors[weight];
    const struct random_request_tensor *bias = &e->c->tensors[weight - COMPOSED_WEIGHT_KEY + COMPOSED_BIAS_KEY];
    size_t out = w->shape[0], in = w->shape[1];
    for (size_t t = 0; t < token_count; t++) {
        for (size_t o = 0; o < out; o++) {
            double sum = bias->values ? bias->values[o] : 0, magnitude = fabs(sum);
            for (size_t i = 0; i < in; i++) {
                double term = tokens[t * in + i] * w->values[o * in + i];
                sum += term;
                magnitude += fabs(term);
            }
            ret[t * out + o] = sum;
            ret_allowed[t * out + o] = evaluation_bound(e, magnitude);
        }
    }
}

/* Queries, keys or values: given, the tokens themselves, or projected. */
static struct heads take_heads(const struct evaluation *e, enum random_request_name given, enum random_request_name tokens_name,
                               enum random_request_name weight, size_t count, size_t tokens, size_t width)
{
    const struct random_request *c = e->c;
    struct heads heads = heads_new(c, count, tokens, width);
    if (!c->from_tokens || c->identity) {
        heads_rearrange(c, &heads, c->tensors[c->from_tokens ? tokens_name : given].values, heads.values, false);
        return heads;
    }
    size_t size = c->B * count * tokens * width;
    double *packed = test_alloc(size, sizeof *packed), *allowed = test_alloc(size, sizeof *allowed);
    evaluation_project(e, c->tensors[tokens_name].values, c->B * tokens, weight, packed, allowed);
    heads_rearrange(c, &heads, packed, heads.values, false);
    heads_rearrange(c, &heads, allowed, heads.allowed, false);
    free(packed);
    free(allowed);
    return heads;
}

/* Turns each pair of the first `dims` channels by its position times base^(-2 pair / dims). */
static void turn(const struct evaluation *e, struct heads *heads, int64_t first_position)
{
    const struct random_request *c = e->c;
    size_t dims = c->has_rope ? c->rope_dims : 0;
    for (size_t row = 0; row < c->B * heads->count * heads->tokens; row++) {
        int64_t position = first_position + (int64_t)(row % heads->tokens);
        for (size_t pair = 0; pair < dims / 2; pair++) {
            size_t one = row * heads->width + (c->rope_half ? pair : 2 * pair);
            size_t other = one + (c->rope_half ? dims / 2 : 1);
            double angle = (double)position * pow(c->rope_base, -2 * (double)pair / (double)dims);
            double a = heads->values[one], b = heads->values[other];
            double allowed = heads->allowed[one] + heads->allowed[other] + evaluation_bound(e, fabs(a) + fabs(b));
            heads->values[one] = a * cos(angle) - b * sin(angle);
            heads->values[other] = a * sin(angle) + b * cos(angle);
            heads->allowed[one] = heads->allowed[other] = allowed;
        }
    }
}

/* The past before the new. */
static struct heads concatenate(const struct random_request *c, enum random_request_name past, const struct heads *newer)
{
    struct heads old = heads_new(c, newer->count, c->Tpast, newer->width);
    struct heads all = heads_new(c, newer->count, c->Tpast + newer->tokens, newer->width);
    if (c->tensors[past].given)
        heads_rearrange(c, &old, c->tensors[past].values, old.values, false);
    for (size_t b = 0; b < c->B; b++) {
        for (size_t h = 0; h < newer->count; h++) {
            size_t to = head_row(&all, b, h, 0), from = head_row(newer, b, h, 0), past_size = c->Tpast * newer->width;
            memcpy(all.values + to, old.values + head_row(&old, b, h, 0), past_size * sizeof(double));
            memcpy(all.values + to + past_size, newer->values + from, newer->tokens * newer->width * sizeof(double));
            memcpy(all.allowed + to + past_size, newer->allowed + from, newer->tokens * newer->width * sizeof(double));
        }
    }
    heads_done(&old);
    return all;
}

/* Press et al. 2022: a geometric sequence for powers of two; for other counts n that of the power below, then every other one of
 * the power above. */
static void paper_slopes(size_t n, double *ret)
{
    size_t below = 1;
    while (2 * below <= n)
        below *= 2;
    for (size_t h = 0; h < n; h++) {
        bool first = h < below;
        double ratio = pow(2, -8.0 / (double)(first ? below : 2 * below));
        ret[h] = pow(ratio, first ? (double)(h + 1) : (double)(2 * (h - below) + 1));
    }
}

/* The mask's number for (b,h,i,j) under NumPy's broadcasting to the weights' shape, whose axes may lack B and H. */
static double mask_at(const struct random_request *c, const size_t index[4])
{
    const struct random_request_tensor *t = &c->tensors[COMPOSED_MASK];
    const bool there[4] = {c->has_batch, c->has_heads, true, true};
    size_t at = 0, stride = 1, axis = t->rank;
    for (size_t k = 4; k-- > 0 && axis > 0;) {
        if (!there[k])
            continue;
        axis--;
        at += (t->shape[axis] == 1 ? 0 : index[k]) * stride;
        stride *= t->shape[axis];
    }
    return t->values[at];
}

static void expand_mask(struct evaluation *e)
{
    const struct random_request *c = e->c;
    const struct random_request_tensor *t = &c->tensors[COMPOSED_MASK];
    size_t Tk = c->Tpast + c->Tnew, count = c->B * c->H * c->Tq * Tk;
    bool drops = c->mask_semantics && strcmp(c->mask_semantics, "drop") == 0;
    if (!t->given)
        return;
    if (t->boolean)
        e->keeps = test_alloc(count, 1);
    else
        e->mask = test_alloc(count, sizeof *e->mask);
    for (size_t at = 0; at < count; at++) {
        const size_t index[4] = {at / Tk / c->Tq / c->H, at / Tk / c->Tq % c->H, at / Tk % c->Tq, at % Tk};
        double x = mask_at(c, index);
        if (t->boolean)
            e->keeps[at] = (x != 0) != drops;
        else
            e->mask[at] = x;
    }
}

static void take_conventions(struct evaluation *e)
{
    const struct random_request *c = e->c;
    const struct random_request_tensor *alibi = &c->tensors[COMPOSED_ALIBI], *lengths = &c->tensors[COMPOSED_KEY_LENGTHS];
    if (alibi->given || (c->alibi && strcmp(c->alibi, "true") == 0))
        e->slopes = test_alloc(c->H, sizeof *e->slopes);
    if (alibi->given)
        memcpy(e->slopes, alibi->values, c->H * sizeof *e->slopes);
    else if (e->slopes)
        paper_slopes(c->H, e->slopes);
    e->query_offsets = test_alloc(c->B, sizeof *e->query_offsets);
    e->key_lengths = lengths->given ? test_alloc(c->B, sizeof *e->key_lengths) : NULL;
    for (size_t b = 0; b < c->B; b++) {
        e->query_offsets[b] = c->query_offset;
        if (e->key_lengths)
            e->key_lengths[b] = (size_t)lengths->values[b];
    }
    expand_mask(e);
}

static struct tensor heads_tensor(const struct random_request *c, const struct heads *heads)
{
    return tensor_contiguous(heads->values, DTYPE_F64, 4, (const size_t[]){c->B, heads->count, heads->tokens, heads->width});
}

static void attend(struct evaluation *e)
{
    const struct random_request *c = e->c;
    const size_t pairs[4] = {c->B, c->H, c->Tq, c->Tpast + c->Tnew};
    struct attention_params params = {
        .query = heads_tensor(c, &e->query),
        .key = heads_tensor(c, &e->all_keys),
        .value = heads_tensor(c, &e->all_values),
        .scale = c->scale,
        .softcap = c->softcap,
        .causal = c->causal && strcmp(c->causal, "false") != 0,
        .window_left = c->window_left,
        .window_right = c->window_right,
        .query_offsets = e->query_offsets,
        .key_lengths = e->key_lengths,
        .alibi_slopes = e->slopes,
        .sinks = c->tensors[COMPOSED_SINKS].values,
    };
    if (e->mask)
        params.mask = tensor_contiguous(e->mask, DTYPE_F64, 4, pairs);
    if (e->keeps)
        params.mask = tensor_contiguous(e->keeps, DTYPE_BOOL, 4, pairs);
    oracle_attention(&params, &e->oracle);
}

void evaluation_init(struct evaluation *e, const struct random_request *c)
{
    *e = (struct evaluation){.c = c, .unit = c->wide ? TOLERANCE_F64 : TOLERANCE_F32};
    enum random_request_name from = c->tensors[RANDOM_CONTEXT].given ? RANDOM_CONTEXT : COMPOSED_X;
    e->query = take_heads(e, COMPOSED_QUERY, COMPOSED_X, COMPOSED_WEIGHT_QUERY, c->H, c->Tq, c->D);
    e->key = take_heads(e, COMPOSED_KEY, from, COMPOSED_WEIGHT_KEY, c->Hkv, c->Tnew, c->D);
    e->value = take_heads(e, COMPOSED_VALUE, from, COMPOSED_WEIGHT_VALUE, c->Hkv, c->Tnew, c->Dv);
    turn(e, &e->query, c->query_offset);
    turn(e, &e->key, (int64_t)c->Tpast);
    e->all_keys = concatenate(c, COMPOSED_PAST_KEY, &e->key);
    e->all_values = concatenate(c, COMPOSED_PAST_VALUE, &e->value);
    take_conventions(e);
    attend(e);
}

void evaluation_done(struct evaluation *e)
{
    struct heads *const all[5] = {&e->query, &e->key, &e->value, &e->all_keys, &e->all_values};
    for (size_t k = 0; k < 5; k++)
        heads_done(all[k]);
    free(e->slopes);
    free(e->mask);
    free(e->keeps);
    free(e->key_lengths);
    free(e->query_offsets);
    oracle_results_done(&e->oracle);
}
