/* job_numbers.c: the numbers of a job: read from the body, drawn from the seed, computed. */
#include "api/request/evaluation.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/projection.h"
#include "core/random.h"
#include "core/rope.h"
#include "core/size.h"

/* Where the numbers of a request's tensor belong: query, key and value are results at the same time. */
static struct tensor *tensor_of(struct evaluation *evaluation, enum request_tensor which)
{
    switch (which) {
    case REQUEST_QUERY:
        return &evaluation->results[RESULT_QUERY];
    case REQUEST_KEY:
        return &evaluation->results[RESULT_KEY];
    case REQUEST_VALUE:
        return &evaluation->results[RESULT_VALUE];
    default:
        return &evaluation->tensors[which];
    }
}

static bool read_key_lengths(struct evaluation *evaluation, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    const struct request *request = plan->request;
    for (size_t b = 0; evaluation->key_lengths != NULL && b < plan->B; b++)
        evaluation->key_lengths[b] = plan->Tk;
    if (!request->has_key_lengths)
        return true;
    assert(evaluation->key_lengths != NULL);
    if (!request->key_lengths_is_list) {
        evaluation->key_lengths[0] = (size_t)request->key_length;
        return true;
    }
    struct tensor reals = tensor_contiguous(evaluation->key_length_reals, DTYPE_F64, 1, &plan->B);
    if (!tensor_input_load(evaluation->extract, &request->key_lengths_list, NULL, &reals, err))
        return false;
    for (size_t b = 0; b < plan->B; b++) {
        char place[ERROR_POINTER_BYTES_MAX];
        double length = evaluation->key_length_reals[b];
        if (!(length >= 0 && length <= (double)plan->Tk) || length != floor(length))
            return error_set_at(err, ERROR_INVALID, tensor_input_place(&request->key_lengths_list, b, place),
                                "%.17g for item %zu, where an integer from 0 to %zu, the number of keys, is expected", length,
                                b, plan->Tk);
        evaluation->key_lengths[b] = (size_t)length;
    }
    return true;
}

/* Offsets of the queries, and where a mask ends early. Both follow from the lengths, so they come after them. */
static void resolve_positions(struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct tensor_input *mask = &plan->request->tensors[REQUEST_MASK];
    for (size_t b = 0; b < plan->B; b++) {
        evaluation->query_offsets[b] = plan->query_offset;
        if (plan->request->offset_from_lengths)
            evaluation->query_offsets[b] = (int64_t)evaluation->key_lengths[b] - (int64_t)plan->Tq;
        if (plan->request->mask_ends_early && mask->kind != TENSOR_INPUT_ABSENT && mask->rank > 0)
            evaluation->key_lengths[b] = size_min(evaluation->key_lengths[b], mask->shape[mask->rank - 1]);
    }
}

/* Numbers one a head, as the precision holds them. */
static bool read_per_head(const struct evaluation *evaluation, const struct tensor_input *tensor_input, double *ret,
                          struct error *err)
{
    const struct plan *plan = evaluation->plan;
    if (tensor_input->kind == TENSOR_INPUT_ABSENT)
        return true;
    struct tensor reals = tensor_contiguous(ret, DTYPE_F64, 1, &plan->H);
    if (!tensor_input_load(evaluation->extract, tensor_input, NULL, &reals, err))
        return false;
    for (size_t h = 0; h < plan->H; h++) {
        char place[ERROR_POINTER_BYTES_MAX];
        double given = ret[h];
        ret[h] = plan->dtype == DTYPE_F32 ? (double)(float)given : given;
        if (!isfinite(given))
            return error_set_at(err, ERROR_INVALID, tensor_input_place(tensor_input, h, place),
                                "a number that is not finite, where a finite one is expected");
        if (!isfinite(ret[h]))
            return error_set_at(err, ERROR_INVALID, tensor_input_place(tensor_input, h, place), "%.9g overflows float32",
                                given);
    }
    return true;
}

/* The slopes of the paper, as the precision holds them: a geometric sequence from 2^(-8/n); where H is no power of two, those of the
 * power below it, then every other one of the power above. */
static void paper_slopes(size_t heads, enum dtype dtype, double *ret)
{
    size_t power = 1;
    while (power * 2 <= heads)
        power *= 2;
    for (size_t h = 0; h < heads; h++) {
        double step = h < power ? (double)(h + 1) : (double)(h - power) + 0.5;
        double slope = exp2(-8 * step / (double)power);
        ret[h] = dtype == DTYPE_F32 ? (double)(float)slope : slope;
    }
}

/* All mask numbers are 0 or 1, with a 1 among them: likely meant as booleans. */
static bool looks_boolean(const struct tensor *mask)
{
    bool one = false;
    size_t count = tensor_count(mask);
    for (size_t i = 0; i < count; i++) {
        double x = mask->dtype == DTYPE_F32 ? (double)((const float *)mask->data)[i] : ((const double *)mask->data)[i];
        if (x != 0 && x != 1)
            return false;
        one |= x == 1;
    }
    return one;
}

static void resolve_mask(struct evaluation *evaluation)
{
    struct tensor *mask = &evaluation->tensors[REQUEST_MASK];
    if (mask->data == NULL)
        return;
    if (mask->dtype != DTYPE_BOOL) {
        evaluation->mask_looks_boolean = looks_boolean(mask);
        return;
    }
    unsigned char *keeps = mask->data;
    size_t count = tensor_count(mask);
    for (size_t i = 0; evaluation->plan->request->mask_drops && i < count; i++)
        keeps[i] ^= 1;
}

bool evaluation_read(struct evaluation *evaluation, const struct executor *executor, struct error *err)
{
    const struct request *request = evaluation->plan->request;
    for (size_t i = 0; i < REQUEST_TENSORS; i++)
        if (tensor_input_is_given(&request->tensors[i]) &&
            !tensor_input_load(evaluation->extract, &request->tensors[i], executor,
                               tensor_of(evaluation, (enum request_tensor)i), err))
            return false;
    for (size_t i = 0; i < PROJECTIONS; i++) {
        const struct tensor_input *weight = &request->weights[i], *bias = &request->biases[i];
        if (tensor_input_is_given(weight) &&
            !tensor_input_load(evaluation->extract, weight, executor, &evaluation->weights[i], err))
            return false;
        if (tensor_input_is_given(bias) && !tensor_input_load(evaluation->extract, bias, executor, &evaluation->biases[i], err))
            return false;
    }
    resolve_mask(evaluation);
    if (request->alibi && request->alibi_slopes.kind == TENSOR_INPUT_ABSENT)
        paper_slopes(evaluation->plan->H, evaluation->plan->dtype, evaluation->alibi_slopes);
    if (!read_key_lengths(evaluation, err))
        return false;
    resolve_positions(evaluation);
    return read_per_head(evaluation, &request->alibi_slopes, evaluation->alibi_slopes, err) &&
           read_per_head(evaluation, &request->sinks, evaluation->sinks, err);
}

/* What the seed draws, in its order: x, context, key, query, value, output. */
static void draw(struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct request *request = plan->request;
    struct random random;
    random_init(&random, request->seed);
    for (size_t i = REQUEST_X; i <= REQUEST_VALUE; i++)
        if (request->tensors[i].kind == TENSOR_INPUT_DRAWN)
            random_normal(&random, tensor_of(evaluation, (enum request_tensor)i));
    for (size_t i = 0; i < PROJECTIONS; i++)
        if (plan_projects(plan, (enum request_projection)i) && !tensor_input_is_given(&request->weights[i]))
            random_linear(&random, &evaluation->weights[i]);
}

/* A (B,T,C) view of tokens that may lack their batch axis. */
static struct tensor batched(void *data, enum dtype dtype, size_t B, size_t T, size_t C)
{
    const size_t shape[3] = {B, T, C};
    return tensor_contiguous(data, dtype, 3, shape);
}

static bool project(struct evaluation *evaluation, enum request_projection which, void *from, size_t tokens, void *to,
                    const struct executor *executor, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    if (!plan_projects(plan, which))
        return true;
    struct tensor x = batched(from, plan->dtype, plan->B, tokens, plan->weight_shape[which][1]);
    struct tensor out = batched(to, plan->dtype, plan->B, tokens, plan->weight_shape[which][0]);
    return projection_apply(&x, &evaluation->weights[which], &evaluation->biases[which], executor, &out, err);
}

/* Tokens to query, key and value. */
static bool project_tokens(struct evaluation *evaluation, const struct executor *executor, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    void *x = evaluation->tensors[REQUEST_X].data;
    void *from = evaluation->tensors[REQUEST_CONTEXT].data != NULL ? evaluation->tensors[REQUEST_CONTEXT].data : x;
    struct tensor *query = &evaluation->results[RESULT_QUERY], *key = &evaluation->results[RESULT_KEY],
                  *value = &evaluation->results[RESULT_VALUE];
    if (plan->request->identity && query->data != x) { /* they will be turned, the tokens not */
        memcpy(query->data, x, tensor_count(query) * dtype_bytes(plan->dtype));
        memcpy(key->data, from, tensor_count(key) * dtype_bytes(plan->dtype));
    }
    return project(evaluation, PROJECTION_KEY, from, plan->Tnew, key->data, executor, err) &&
           project(evaluation, PROJECTION_QUERY, x, plan->Tq, query->data, executor, err) &&
           project(evaluation, PROJECTION_VALUE, from, plan->Tnew, value->data, executor, err);
}

/* Queries turn at their positions; new keys at theirs, after the past. */
static void turn(struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    if (plan->rope_dims == 0)
        return;
    const struct rope rope = {.interleaved = plan->request->rope_style == ROPE_INTERLEAVED,
                              .dims = plan->rope_dims,
                              .base = plan->request->rope_base};
    struct tensor key =
        plan_heads_view(plan, plan->memory, evaluation->results[RESULT_KEY].data, plan->Hkv, plan->Tnew, plan->D);
    rope_apply(&rope, &evaluation->params.query, plan->query_offset);
    rope_apply(&rope, &key, (int64_t)plan->Tpast);
}

/* Copies past and new tokens behind each other into `present`, a (B,Hkv,Tk,width) view. */
static void concatenate(const struct evaluation *evaluation, const struct tensor *present, void *past, void *newer)
{
    const struct plan *plan = evaluation->plan;
    size_t width = present->shape[3];
    struct tensor old_part = *present, new_part = *present;
    old_part.shape[2] = plan->Tpast;
    new_part.shape[2] = plan->Tnew;
    new_part.data = tensor_row(present, 0, 0, plan->Tpast);
    struct tensor old_tokens = plan_heads_view(plan, plan->cache_memory, past, plan->Hkv, plan->Tpast, width);
    struct tensor new_tokens = plan_heads_view(plan, plan->memory, newer, plan->Hkv, plan->Tnew, width);
    if (past != NULL)
        tensor_copy(&old_tokens, &old_part);
    tensor_copy(&new_tokens, &new_part);
}

static bool attention_wanted(const struct evaluation *evaluation)
{
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++)
        if (evaluation->results[i].data != NULL)
            return true;
    return false;
}

bool evaluation_compute(struct evaluation *evaluation, struct arena *arena, const struct executor *executor, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    draw(evaluation);
    if (plan->from_tokens && !project_tokens(evaluation, executor, err))
        return false;
    turn(evaluation);
    if (plan_concatenates(plan)) {
        concatenate(evaluation, &evaluation->params.key, evaluation->tensors[REQUEST_PAST_KEY].data,
                    evaluation->results[RESULT_KEY].data);
        concatenate(evaluation, &evaluation->params.value, evaluation->tensors[REQUEST_PAST_VALUE].data,
                    evaluation->results[RESULT_VALUE].data);
    }
    if (executor_stopped(executor))
        return executor_set_stopped(err);
    if (attention_wanted(evaluation) && !attention_compute(&evaluation->params, &evaluation->attention, arena, executor, err))
        return false;
    return evaluation->heads_output.data == NULL || project(evaluation, PROJECTION_OUTPUT, evaluation->heads_output.data,
                                                            plan->Tq, evaluation->results[RESULT_OUTPUT].data, executor, err);
}
