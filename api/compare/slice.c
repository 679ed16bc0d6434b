#include "api/compare/slice.h"

#include <math.h>
#include <string.h>

#include "api/compare/finish.h"
#include "core/projection.h"
#include "core/size.h"

#define SLICE_TOKENS_MAX 64
#define SLICE_NUMBERS_MAX ((size_t)1 << 22) /* of one stage */

/* The numbers of one token of each result, and in `*ret_heads` of its heads' output. */
static void token_numbers(const struct plan *plan, size_t ret[RESULTS], size_t *ret_heads)
{
    size_t rows = size_multiply(plan->B, plan->H), stage = size_multiply(rows, plan->Tk);
    static const enum request_result stages[] = {RESULT_WEIGHTS, RESULT_SCORES, RESULT_CAPPED_SCORES, RESULT_MASKED_SCORES};
    memset(ret, 0, RESULTS * sizeof *ret);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        ret[stages[i]] = stage;
    ret[RESULT_MEAN_WEIGHTS] = size_multiply(plan->B, plan->Tk);
    ret[RESULT_LSE] = rows;
    *ret_heads = size_multiply(rows, plan->Dv);
    ret[RESULT_OUTPUT] = *ret_heads;
    if (plan_projects(plan, PROJECTION_OUTPUT))
        ret[RESULT_OUTPUT] = size_max(*ret_heads, size_multiply(plan->B, plan->weight_shape[PROJECTION_OUTPUT][0]));
}

static size_t tokens_max(const struct plan *plan)
{
    size_t stage = size_max(size_multiply(size_multiply(plan->B, plan->H), size_add(plan->Tk, plan->Dv)), 1);
    size_t fitting = size_max(SLICE_NUMBERS_MAX / stage, 1);
    return size_max(size_min(size_min(fitting, SLICE_TOKENS_MAX), plan->Tq), 1);
}

/* ---- what core computes ---- */

static bool is_needed(const struct slice *slice, enum request_result which)
{
    return slice->wanted[which] || which == RESULT_SCORES || which == RESULT_MASKED_SCORES || which == RESULT_WEIGHTS;
}

/* The (B,heads,count,Tk) part of a stage's buffer. */
static struct tensor stage_view(const struct slice *slice, const struct plan *plan, enum request_result which, size_t count,
                                size_t head, size_t heads)
{
    const size_t shape[4] = {plan->B, plan->H, count, plan->Tk};
    struct tensor view = tensor_contiguous(slice->buffers[which], DTYPE_F64, 4, shape);
    if (view.data != NULL)
        view.data = tensor_row(&view, 0, head, 0);
    view.shape[1] = heads;
    return view;
}

/* Core's call for some tokens and heads. What a finished row does not take from core is not asked for. */
static void core_call(const struct slice *slice, const struct variant *variant, size_t first, size_t count, size_t head,
                      size_t heads, struct attention_params *ret_params, struct attention_results *ret_results)
{
    const struct plan *plan = &variant->plan;
    const bool finishes = deviation_finishes(&variant->deviation);
    struct attention_params params = variant->evaluation.params;
    params.query.data = tensor_row(&params.query, 0, head, first);
    params.query.shape[1] = heads;
    params.query.shape[2] = count;
    if (params.query_positions.given != NULL)
        params.query_positions.given += first;
    else
        params.query_positions.first = slice->query_offsets;
    params.query_lengths = params.query_lengths != NULL ? slice->query_lengths : NULL;
    params.query_segments.ids = params.query_segments.ids != NULL ? params.query_segments.ids + first : NULL;
    params.query_spans.ids = params.query_spans.ids != NULL ? params.query_spans.ids + first : NULL;
    params.query_scales = params.query_scales != NULL ? params.query_scales + first : NULL;
    params.relative_bias.table = params.relative_bias.table != NULL ? params.relative_bias.table + head : NULL;
    params.alibi_slopes = params.alibi_slopes != NULL ? params.alibi_slopes + head : NULL;
    params.sinks = params.sinks != NULL ? params.sinks + head : NULL;
    struct tensor *const pairs[] = {&params.mask, &params.bias};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (pairs[i]->data == NULL)
            continue;
        pairs[i]->data = tensor_row(pairs[i], 0, head, first);
        pairs[i]->shape[1] = heads;
        pairs[i]->shape[2] = count;
    }
    struct attention_results results = {0};
    struct tensor *const stages[RESULTS] = {[RESULT_WEIGHTS] = &results.weights,
                                            [RESULT_SCORES] = &results.scores,
                                            [RESULT_CAPPED_SCORES] = &results.capped_scores,
                                            [RESULT_MASKED_SCORES] = &results.masked_scores};
    for (size_t i = 0; i < RESULTS; i++) {
        bool asked = slice->wanted[i] || (finishes && (i == RESULT_SCORES || i == RESULT_MASKED_SCORES));
        if (stages[i] != NULL && asked)
            *stages[i] = stage_view(slice, plan, (enum request_result)i, count, head, heads);
    }
    const size_t rows[3] = {plan->B, plan->H, count}, outputs[4] = {plan->B, plan->H, count, plan->Dv};
    const size_t mean[3] = {plan->B, count, plan->Tk};
    if (slice->wanted[RESULT_LSE]) {
        results.lse = tensor_contiguous(slice->buffers[RESULT_LSE] + head * count, DTYPE_F64, 3, rows);
        results.lse.shape[1] = heads;
    }
    if (slice->wanted[RESULT_OUTPUT] && !finishes) {
        results.output = tensor_contiguous(slice->buffers[RESULT_OUTPUT], DTYPE_F64, 4, outputs);
        results.output.data = tensor_row(&results.output, 0, head, 0);
        results.output.shape[1] = heads;
    }
    if (slice->wanted[RESULT_MEAN_WEIGHTS] && heads == plan->H)
        results.mean_weights = tensor_contiguous(slice->buffers[RESULT_MEAN_WEIGHTS], DTYPE_F64, 3, mean);
    *ret_params = params;
    *ret_results = results;
}

static size_t sequences_cost(const struct attention_params *params)
{
    return arena_cost(size_multiply(params->sequence_count, sizeof *params->sequences));
}

/* Packed sequences with the queries that the slice has of each, none of some. */
static bool slice_sequences(struct attention_params *params, size_t first, size_t count, struct arena *arena, struct error *err)
{
    struct attention_sequence *own = arena_alloc(arena, params->sequence_count * sizeof *own, err);
    for (size_t s = 0; own != NULL && s < params->sequence_count; s++) {
        const struct attention_sequence *whole = &params->sequences[s];
        const size_t begin = size_min(size_max(whole->first_query, first), first + count);
        const size_t end = size_max(size_min(whole->first_query + whole->queries, first + count), begin);
        own[s] = *whole;
        own[s].first_query = begin - first;
        own[s].queries = end - begin;
    }
    params->sequences = own;
    return own != NULL;
}

static bool core_run(struct slice *slice, struct variant *variant, size_t first, size_t count, size_t head, size_t heads,
                     struct error *err)
{
    struct attention_params params;
    struct attention_results results;
    struct arena scratch;
    core_call(slice, variant, first, count, head, heads, &params, &results);
    arena_init(&scratch, size_add(attention_scratch_cost(&params, &results, variant->executor), sequences_cost(&params)));
    bool done = (params.sequences == NULL || slice_sequences(&params, first, count, &scratch, err)) &&
                attention_compute(&params, &results, &scratch, variant->executor, err);
    arena_done(&scratch);
    return done;
}

/* Scores, and where nothing deviates all that is wanted. */
static bool core_compute(struct slice *slice, struct variant *variant, size_t first, size_t count, struct error *err)
{
    const struct plan *plan = &variant->plan;
    const size_t heads = variant->deviation.heads_tiled ? plan->Hkv : plan->H;
    const struct attention_params *whole = &variant->evaluation.params;
    for (size_t b = 0; b < plan->B; b++) {
        const size_t length = whole->query_lengths != NULL ? whole->query_lengths[b] : plan->Tq;
        slice->query_offsets[b] = positions_at(&whole->query_positions, b, first);
        slice->query_lengths[b] = size_min(length - size_min(length, first), count);
    }
    for (size_t head = 0; head < plan->H; head += heads)
        if (!core_run(slice, variant, first, count, head, heads, err))
            return false;
    return true;
}

/* ---- what is needed of all tokens before one is finished ---- */

/* The largest score of each key's column and its denominator, over all queries. */
static bool column_sums(struct slice *slice, struct variant *variant, struct error *err)
{
    const struct plan *plan = &variant->plan;
    const size_t columns = plan->B * plan->H * plan->Tk, capacity = slice_capacity(slice, variant);
    variant->column_max = variant_alloc(variant, columns * sizeof(double));
    variant->column_sum = variant_alloc(variant, columns * sizeof(double));
    if (variant->column_max == NULL || variant->column_sum == NULL)
        return error_set(err, ERROR_NO_MEMORY, "no memory left for the sums over queries");
    for (size_t i = 0; i < columns; i++) {
        variant->column_max[i] = -(double)INFINITY;
        variant->column_sum[i] = 0;
    }
    for (size_t first = 0; first < plan->Tq; first += capacity) {
        size_t count = size_min(capacity, plan->Tq - first);
        if (!core_compute(slice, variant, first, count, err))
            return false;
        finish_scores(slice, variant, first, count);
        finish_columns(slice, variant, count);
    }
    return true;
}

static bool compute_heads(struct slice *slice, struct variant *variant, size_t first, size_t count, struct error *err)
{
    if (!core_compute(slice, variant, first, count, err))
        return false;
    if (deviation_finishes(&variant->deviation))
        finish_rows(slice, variant, first, count);
    else if (slice->wanted[RESULT_MEAN_WEIGHTS] && variant->deviation.heads_tiled)
        finish_mean(slice, variant, count);
    return true;
}

static bool all_heads(struct slice *slice, struct variant *variant, struct error *err)
{
    const struct plan *plan = &variant->plan;
    const size_t shape[4] = {plan->B, plan->H, plan->Tq, plan->Dv}, capacity = slice_capacity(slice, variant);
    struct tensor all = tensor_contiguous(NULL, DTYPE_F64, 4, shape);
    if ((all.data = variant_alloc(variant, tensor_count(&all) * sizeof(double))) == NULL)
        return error_set(err, ERROR_NO_MEMORY, "no memory left for the output of all heads");
    for (size_t first = 0; first < plan->Tq; first += capacity) {
        const size_t part[4] = {plan->B, plan->H, size_min(capacity, plan->Tq - first), plan->Dv};
        if (!compute_heads(slice, variant, first, part[2], err))
            return false;
        struct tensor to = all, from = tensor_contiguous(slice->buffers[RESULT_OUTPUT], DTYPE_F64, 4, part);
        to.data = tensor_row(&all, 0, 0, first);
        to.shape[2] = part[2];
        if (tensor_count(&from) > 0)
            tensor_copy(&from, &to);
    }
    variant->heads_output = all;
    return true;
}

/* ---- the output of all heads, merged and projected ---- */

/* The heads of one token beside each other, (H*Dv) numbers, as the variant merges them. */
static void merge_token(const struct slice *slice, const struct variant *variant, size_t b, size_t i, size_t first,
                        size_t count, double *ret)
{
    const size_t H = variant->plan.H, Dv = variant->plan.Dv, Tq = variant->plan.Tq;
    const double *heads = slice->buffers[RESULT_OUTPUT];
    if (variant->deviation.output_merge == MERGE_VIEWED) {
        memcpy(ret, (const double *)variant->heads_output.data + (b * Tq + first + i) * H * Dv, H * Dv * sizeof *ret);
        return;
    }
    for (size_t h = 0; h < H; h++)
        for (size_t d = 0; d < Dv; d++) {
            size_t at = variant->deviation.output_merge == MERGE_INTERLEAVED ? d * H + h : h * Dv + d;
            ret[at] = heads[((b * H + h) * count + i) * Dv + d];
        }
}

static void unmerge_token(struct slice *slice, const struct variant *variant, size_t b, size_t i, size_t count,
                          const double *merged)
{
    const size_t H = variant->plan.H, Dv = variant->plan.Dv;
    for (size_t h = 0; h < H; h++)
        memcpy(slice->buffers[RESULT_OUTPUT] + ((b * H + h) * count + i) * Dv, merged + h * Dv, Dv * sizeof *merged);
}

static bool finish_output(struct slice *slice, struct variant *variant, size_t first, size_t count, struct error *err)
{
    const struct plan *plan = &variant->plan;
    const size_t width = plan->H * plan->Dv;
    const bool projects = plan_projects(plan, PROJECTION_OUTPUT);
    if (!projects && variant->deviation.output_merge == MERGE_TRANSPOSED)
        return true;
    for (size_t b = 0; b < plan->B; b++)
        for (size_t i = 0; i < count; i++)
            merge_token(slice, variant, b, i, first, count, slice->heads + (b * count + i) * width);
    if (projects) {
        const struct evaluation *evaluation = &variant->evaluation;
        const size_t from[3] = {plan->B, count, width}, to[3] = {plan->B, count, plan->weight_shape[PROJECTION_OUTPUT][0]};
        struct tensor x = tensor_contiguous(slice->heads, DTYPE_F64, 3, from);
        struct tensor out = tensor_contiguous(slice->buffers[RESULT_OUTPUT], DTYPE_F64, 3, to);
        return projection_apply(&x, &evaluation->weights[PROJECTION_OUTPUT], &evaluation->biases[PROJECTION_OUTPUT], false,
                                variant->executor, &out, err);
    }
    for (size_t b = 0; b < plan->B; b++)
        for (size_t i = 0; i < count; i++)
            unmerge_token(slice, variant, b, i, count, slice->heads + (b * count + i) * width);
    return true;
}

/* ---- the slice ---- */

static void fill(struct slice *slice, const struct plan *plan)
{
    size_t token[RESULTS], heads, tokens = tokens_max(plan);
    token_numbers(plan, token, &heads);
    for (size_t i = 0; i < RESULTS; i++)
        slice->numbers[i] = is_needed(slice, (enum request_result)i) ? size_multiply(token[i], tokens) : 0;
    slice->heads_numbers = slice->wanted[RESULT_OUTPUT] ? size_multiply(heads, tokens) : 0;
}

/* Core's scratch for the plan's own slices with every result. */
static size_t scratch_cost(const struct slice *slice, const struct plan *plan, const struct executor *executor)
{
    static double anything;
    static const struct attention_sequence unread; /* costs are of any sequences of that count */
    struct variant variant = {.plan = *plan};
    struct slice asked = *slice;
    const size_t query[4] = {plan->B, plan->H, plan->Tq, plan->D}, key[4] = {plan->B, plan->Hkv, plan->Tk, plan->D},
                 value[4] = {plan->B, plan->Hkv, plan->Tk, plan->Dv};
    variant.evaluation.params = (struct attention_params){.query = tensor_contiguous(&anything, DTYPE_F64, 4, query),
                                                          .key = tensor_contiguous(&anything, DTYPE_F64, 4, key),
                                                          .value = tensor_contiguous(&anything, DTYPE_F64, 4, value),
                                                          .sequences = plan->sequence_count > 0 ? &unread : NULL,
                                                          .sequence_count = plan->sequence_count};
    for (size_t i = 0; i < RESULTS; i++)
        asked.buffers[i] = asked.numbers[i] > 0 ? &anything : NULL;
    struct attention_params params;
    struct attention_results results;
    core_call(&asked, &variant, 0, tokens_max(plan), 0, plan->H, &params, &results);
    const size_t core_bytes = size_add(attention_scratch_cost(&params, &results, executor), sequences_cost(&params));
    return size_multiply(2, core_bytes); /* heads in parts, or unpacked, may differ */
}

size_t slice_cost(const struct plan *plan, const struct executor *executor)
{
    struct slice slice = {0};
    size_t bytes = size_multiply(2, arena_cost(size_multiply(plan->B, sizeof *slice.query_offsets)));
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++)
        slice.wanted[i] = true;
    fill(&slice, plan);
    for (size_t i = 0; i < RESULTS; i++)
        bytes = size_add(bytes, arena_cost(size_multiply(slice.numbers[i], sizeof(double))));
    bytes = size_add(bytes, arena_cost(size_multiply(slice.heads_numbers, sizeof(double))));
    return size_add(bytes, scratch_cost(&slice, plan, executor));
}

bool slice_init(struct slice *ret, const struct plan *plan, const bool wanted[RESULTS], const struct executor *executor,
                struct arena *arena, struct error *err)
{
    *ret = (struct slice){0};
    memcpy(ret->wanted, wanted, sizeof ret->wanted);
    fill(ret, plan);
    ret->scratch_bytes = scratch_cost(ret, plan, executor);
    for (size_t i = 0; i < RESULTS; i++)
        if (ret->numbers[i] > 0 && (ret->buffers[i] = arena_alloc(arena, ret->numbers[i] * sizeof(double), err)) == NULL)
            return false;
    ret->heads = arena_alloc(arena, ret->heads_numbers * sizeof(double), err);
    ret->query_offsets = arena_alloc(arena, plan->B * sizeof *ret->query_offsets, err);
    ret->query_lengths = arena_alloc(arena, plan->B * sizeof *ret->query_lengths, err);
    return ret->heads != NULL && ret->query_offsets != NULL && ret->query_lengths != NULL;
}

size_t slice_capacity(const struct slice *slice, const struct variant *variant)
{
    size_t token[RESULTS], heads, tokens = size_min(SLICE_TOKENS_MAX, size_max(variant->plan.Tq, 1));
    token_numbers(&variant->plan, token, &heads);
    for (size_t i = 0; i < RESULTS; i++)
        if (slice->numbers[i] > 0 && token[i] > 0)
            tokens = size_min(tokens, slice->numbers[i] / token[i]);
    if (slice->heads_numbers > 0 && heads > 0)
        tokens = size_min(tokens, slice->heads_numbers / heads);
    for (; tokens > 0; tokens /= 2) {
        struct attention_params params;
        struct attention_results results;
        core_call(slice, variant, 0, tokens, 0, variant->plan.H, &params, &results);
        if (attention_scratch_cost(&params, &results, variant->executor) <= slice->scratch_bytes)
            break;
    }
    return tokens;
}

bool slice_compute(struct slice *slice, struct variant *variant, size_t first, size_t count, struct error *err)
{
    const struct deviation *d = &variant->deviation;
    if (d->softmax == SOFTMAX_OVER_QUERIES && variant->column_max == NULL && !column_sums(slice, variant, err))
        return false;
    bool whole = slice->wanted[RESULT_OUTPUT] && d->output_merge == MERGE_VIEWED;
    if (whole && variant->heads_output.data == NULL && !all_heads(slice, variant, err))
        return false;
    if (!compute_heads(slice, variant, first, count, err))
        return false;
    slice->variant = variant;
    slice->first = first;
    slice->count = count;
    return !slice->wanted[RESULT_OUTPUT] || finish_output(slice, variant, first, count, err);
}
