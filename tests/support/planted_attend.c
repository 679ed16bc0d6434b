/* planted_attend.c: what no request can say: changed inputs by head, and attention from masked scores on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/planted.h"
#include "tests/support/view.h"

/* ---- inputs ---- */

/* Rotates each token of (B,H,T,D) by its position. */
static void rotate(struct json_tensor *t, const int64_t *positions, size_t item_stride, int64_t shift, json_t *rope)
{
    const size_t H = t->shape[1], T = t->shape[2], D = t->shape[3];
    json_t *dims_json = json_object_get(rope, "dims"), *base_json = json_object_get(rope, "base");
    bool half = strcmp(json_string_value(json_object_get(rope, "style")), "half") == 0;
    size_t dims = json_is_number(dims_json) ? (size_t)json_number_value(dims_json) : D;
    double base = json_is_number(base_json) ? json_number_value(base_json) : 10000;
    for (size_t row = 0; D > 0 && row < t->count / D; row++) {
        for (size_t i = 0; i < dims / 2; i++) {
            double *a = &t->values[row * D + (half ? i : 2 * i)], *b = &t->values[row * D + (half ? i + dims / 2 : 2 * i + 1)];
            int64_t position = positions[row / T / H * item_stride + row % T] + shift;
            double angle = (double)position * pow(base, -2 * (double)i / (double)dims);
            double x = *a, y = *b;
            *a = x * cos(angle) - y * sin(angle);
            *b = x * sin(angle) + y * cos(angle);
        }
    }
}

/* Puts the numbers of an item's [T,H,D] memory to [H,T,D] as `at` says: the place in [T,H*D] of head h, token t, dimension d. */
static void permute(struct json_tensor *t, bool viewed)
{
    const size_t B = t->shape[0], H = t->shape[1], T = t->shape[2], D = t->shape[3], item = H * T * D;
    double *memory = test_alloc(t->count, sizeof *memory);
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < T; i++)
                for (size_t d = 0; d < D; d++)
                    memory[b * item + (i * H + h) * D + d] = t->values[((b * H + h) * T + i) * D + d];
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < T; i++)
                for (size_t d = 0; d < D; d++)
                    t->values[((b * H + h) * T + i) * D + d] =
                        memory[b * item + (viewed ? (h * T + i) * D + d : i * H * D + d * H + h)];
    free(memory);
}

void planted_change_inputs(void *context, struct request_answer *answer)
{
    struct planted *p = context;
    struct json_tensor *const inputs[] = {&answer->query, &answer->key, &answer->value, &answer->past_key, &answer->past_value};
    for (size_t i = 0; i < 5 && (p->packed_inputs || p->viewed_inputs); i++)
        if (inputs[i]->count > 0 && inputs[i]->rank == 4)
            permute(inputs[i], p->viewed_inputs);
    if (p->rope == NULL)
        return;
    if (!p->unrotated_query)
        rotate(&answer->query, answer->query_positions, answer->Tq, p->query_shift, p->rope);
    if (!p->unrotated_key)
        rotate(&answer->key, answer->key_positions + answer->Tpast, answer->Tk, p->key_shift, p->rope);
}

/* ---- attention ---- */

/* Keys or values of every query head: head h has those of h mod Hkv. New. */
static struct tensor tile(const struct tensor *t, size_t H)
{
    const size_t B = t->shape[0], Hkv = t->shape[1], head = t->shape[2] * t->shape[3];
    const size_t shape[4] = {B, H, t->shape[2], t->shape[3]};
    const double *from = t->data;
    double *to = test_alloc(B * H * head, sizeof *to);
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            memcpy(to + (b * H + h) * head, from + (b * Hkv + h % Hkv) * head, head * sizeof *to);
    return tensor_contiguous(to, DTYPE_F64, 4, shape);
}

/* A causal mask of its own, with the request's prefix and spans. */
static bool causal_masks(const struct planted *p, const struct attention_params *params, size_t b, size_t i, size_t j)
{
    return p->last_keys != NULL && (int64_t)j > p->last_keys[i] && !oracle_extends_causal(params, b, i, j);
}

static void mask_more(const struct planted *p, const struct attention_params *params, double *masked)
{
    const size_t H = params->query.shape[1], Tq = params->query.shape[2], Tk = params->key.shape[2];
    for (size_t row = 0; row < params->query.shape[0] * H * Tq; row++)
        for (size_t j = 0; j < Tk; j++) {
            double *s = &masked[row * Tk + j];
            if (causal_masks(p, params, row / Tq / H, row % Tq, j))
                *s = -(double)INFINITY;
            if (p->left_lengths != NULL && j < Tk - p->left_lengths[row / Tq / H])
                *s = -(double)INFINITY;
            if (p->softcap > 0)
                *s = p->softcap * tanh(*s / p->softcap);
        }
}

/* Scores number `count`, `stride` apart, to weights; a sink in the denominator. Returns the logarithm of it. */
static double soften(const double *s, size_t count, size_t stride, const double *sink, char unseen, double *w)
{
    double max = sink != NULL ? *sink : -(double)INFINITY, sum = 0;
    bool none = true;
    for (size_t j = 0; j < count; j++) {
        none &= s[j * stride] == -(double)INFINITY;
        max = fmax(max, s[j * stride]);
    }
    for (size_t j = 0; j < count; j++)
        sum += s[j * stride] == -(double)INFINITY ? 0 : exp(s[j * stride] - max);
    sum += sink != NULL ? exp(*sink - max) : 0;
    for (size_t j = 0; j < count; j++) {
        w[j * stride] = s[j * stride] == -(double)INFINITY ? 0 : exp(s[j * stride] - max) / sum;
        if (none && unseen != 0)
            w[j * stride] = unseen == 'n' ? (double)NAN : 1 / (double)count;
    }
    return none && sink == NULL ? -(double)INFINITY : max + log(sum);
}

/* A query that is padding; one of a negative segment unless rows with every key masked are something else. */
static bool is_padding(const struct planted *p, const struct attention_params *params, size_t b, size_t i)
{
    const struct token_ids *segments = &params->query_segments;
    return (params->query_lengths != NULL && i >= params->query_lengths[b]) ||
           (segments->ids != NULL && p->masked_rows == 0 && !p->over_queries &&
            segments->ids[b * segments->item_stride + i] < 0);
}

static void pad(struct oracle_results *r, size_t row, size_t Tk)
{
    r->lse[row] = -(double)INFINITY;
    memset(r->weights + row * Tk, 0, Tk * sizeof *r->weights);
}

static void weigh(const struct planted *p, const struct attention_params *params, struct oracle_results *r)
{
    const size_t B = params->query.shape[0], H = params->query.shape[1], Tq = params->query.shape[2], Tk = params->key.shape[2];
    for (size_t row = 0; row < B * H * Tq; row++) {
        const double *sink = params->sinks != NULL ? &params->sinks[row / Tq % H] : NULL;
        const size_t query = row / Tq / H * params->query_scale_stride + row % Tq;
        const double scale = params->scale * (params->query_scales != NULL ? params->query_scales[query] : 1);
        const bool unscaled = p->lse_unscaled && scale != 0;
        double *scratch = test_alloc(Tk, sizeof *scratch);
        r->lse[row] = soften(r->masked_scores + row * Tk, Tk, 1, sink, p->masked_rows, r->weights + row * Tk);
        for (size_t j = 0; j < Tk && unscaled; j++) {
            scratch[j] = r->masked_scores[row * Tk + j];
            scratch[j] += isfinite(scratch[j]) ? r->scores[row * Tk + j] * (1 / scale - 1) : 0;
        }
        if (unscaled) {
            double *unused = test_alloc(Tk, sizeof *unused);
            r->lse[row] = soften(scratch, Tk, 1, sink, 0, unused);
            free(unused);
        }
        r->lse[row] *= (params->lse_base_2 ? 1 / log(2) : 1) * (p->lse_factor != 0 ? p->lse_factor : 1);
        for (size_t j = 0; j < Tk && p->no_softmax; j++) {
            double s = r->masked_scores[row * Tk + j];
            r->weights[row * Tk + j] = s == -(double)INFINITY ? 0 : s;
        }
        free(scratch);
    }
    for (size_t head = 0; head < B * H && p->over_queries; head++)
        for (size_t j = 0; j < Tk; j++)
            (void)soften(r->masked_scores + head * Tq * Tk + j, Tq, Tk, NULL, 'n', r->weights + head * Tq * Tk + j);
    for (size_t row = 0; row < B * H * Tq; row++)
        if (is_padding(p, params, row / Tq / H, row % Tq))
            pad(r, row, Tk);
}

static void mix(const struct attention_params *params, struct oracle_results *r)
{
    const size_t B = params->query.shape[0], H = params->query.shape[1], Tq = params->query.shape[2], Tk = params->key.shape[2],
                 Dv = params->value.shape[3], group = params->value.shape[1] > 0 ? H / params->value.shape[1] : 1;
    const double *value = params->value.data;
    for (size_t row = 0; row < B * H * Tq; row++)
        for (size_t d = 0; d < Dv; d++) {
            double sum = 0;
            for (size_t j = 0; j < Tk; j++) {
                double w = r->weights[row * Tk + j];
                sum += w == 0 ? 0 : w * value[(row / Tq / group * Tk + j) * Dv + d];
            }
            r->output[row * Dv + d] = sum;
        }
    memset(r->mean_weights, 0, B * Tq * Tk * sizeof(double));
    for (size_t k = 0; k < B * H * Tq * Tk; k++)
        r->mean_weights[k / (H * Tq * Tk) * Tq * Tk + k % (Tq * Tk)] += r->weights[k] / (double)H;
}

void planted_attend(void *context, const struct attention_params *params, struct oracle_results *ret)
{
    const struct planted *p = context;
    struct attention_params own = *params;
    if (p->tiled) {
        own.key = tile(&params->key, params->query.shape[1]);
        own.value = tile(&params->value, params->query.shape[1]);
    }
    oracle_attention(&own, ret);
    bool finishes = p->last_keys != NULL || p->left_lengths != NULL || p->softcap > 0 || p->over_queries || p->no_softmax ||
                    p->masked_rows != 0 || p->lse_factor != 0 || p->lse_unscaled;
    if (finishes) {
        mask_more(p, &own, ret->masked_scores);
        weigh(p, &own, ret);
        mix(&own, ret);
    }
    if (p->tiled) {
        free(own.key.data);
        free(own.value.data);
    }
}

void planted_change_output(void *context, struct request_answer *answer, double *heads)
{
    const struct planted *p = context;
    const size_t shape[4] = {answer->B, answer->H, answer->Tq, answer->Dv};
    const size_t B = shape[0], H = shape[1], T = shape[2], D = shape[3], item = H * T * D;
    if (!p->packed_output && !p->viewed_output)
        return;
    double *was = test_alloc(B * item, sizeof *was);
    memcpy(was, heads, B * item * sizeof *was);
    for (size_t b = 0; b < B; b++)
        for (size_t i = 0; i < T; i++)
            for (size_t f = 0; f < H * D; f++) { /* feature f of token i, which is dimension f % D of head f / D */
                size_t from = p->packed_output ? (f % H * T + i) * D + f / H : i * H * D + f;
                heads[b * item + (f / D * T + i) * D + f % D] = was[b * item + from];
            }
    free(was);
}
