#include "api/job.h"

#include <stdlib.h>

#include "core/size.h"

/* What stands for memory while costs are summed up: an address that is not NULL and is never followed. */
static max_align_t no_memory;

static void *take(struct job_memory *memory, size_t bytes, struct error *err)
{
    memory->cost_bytes = size_add(memory->cost_bytes, arena_cost(bytes));
    return memory->arena == NULL ? &no_memory : arena_alloc(memory->arena, bytes, err);
}

/* A contiguous tensor with memory of its own. */
static bool take_tensor(struct job_memory *memory, enum dtype dtype, size_t rank, const size_t *shape, struct tensor *ret,
                        struct error *err)
{
    *ret = tensor_contiguous(NULL, dtype, rank, shape);
    ret->data = take(memory, size_multiply(shape_count(rank, shape), dtype_bytes(dtype)), err);
    return ret->data != NULL;
}

/* A source's tensor: the body's own bytes, where they can be read as they lie, or memory to read it into. */
static bool take_source(struct job_memory *memory, enum dtype dtype, const struct source *source, struct tensor *ret,
                        struct error *err)
{
    const void *in_place = source_in_place(source, dtype);
    if (source->kind == SOURCE_ABSENT)
        return true;
    if (in_place == NULL)
        return take_tensor(memory, dtype, source->rank, source->shape, ret, err);
    *ret = tensor_contiguous((void *)(uintptr_t)in_place, dtype, source->rank, source->shape); /* only ever read */
    return true;
}

static bool take_result(struct job *job, struct job_memory *memory, enum request_result which, struct error *err)
{
    const struct plan *plan = job->plan;
    return take_tensor(memory, plan->dtype, plan->result_rank[which], plan->result_shape[which], &job->results[which], err);
}

/* A tensor that the request gives and that may be a result, too. */
static bool take_given(struct job *job, struct job_memory *memory, enum request_tensor given, enum request_result which,
                       bool written, struct error *err)
{
    const struct source *source = &job->plan->request->tensors[given];
    if (written || source_in_place(source, job->plan->dtype) == NULL)
        return take_result(job, memory, which, err);
    return take_source(memory, job->plan->dtype, source, &job->results[which], err);
}

/* The result `which` with the memory of something else that holds the same numbers. */
static void share_result(struct job *job, enum request_result which, void *data)
{
    const struct plan *plan = job->plan;
    job->results[which] = tensor_contiguous(data, plan->dtype, plan->result_rank[which], plan->result_shape[which]);
}

static bool lay_out_projections(struct job *job, struct job_memory *memory, struct error *err)
{
    const struct plan *plan = job->plan;
    for (size_t i = 0; i < PROJECTIONS; i++)
        if (plan_projects(plan, (enum request_projection)i) &&
            (!take_tensor(memory, plan->dtype, 2, plan->weight_shape[i], &job->weights[i], err) ||
             !take_source(memory, plan->dtype, &plan->request->biases[i], &job->biases[i], err)))
            return false;
    return true;
}

/* x, context, and query, key and value: of their own, or the tokens themselves. */
static bool lay_out_tokens(struct job *job, struct job_memory *memory, struct error *err)
{
    const struct plan *plan = job->plan;
    const struct source *sources = plan->request->tensors;
    bool turned = plan->rope_dims > 0; /* in place: query and key need memory of their own */
    if (!take_source(memory, plan->dtype, &sources[REQUEST_X], &job->tensors[REQUEST_X], err) ||
        !take_source(memory, plan->dtype, &sources[REQUEST_CONTEXT], &job->tensors[REQUEST_CONTEXT], err))
        return false;
    share_result(job, RESULT_X, job->tensors[REQUEST_X].data);
    share_result(job, RESULT_CONTEXT, job->tensors[REQUEST_CONTEXT].data);
    bool has_context = sources[REQUEST_CONTEXT].kind != SOURCE_ABSENT;
    void *from = job->tensors[has_context ? REQUEST_CONTEXT : REQUEST_X].data;
    bool own = !plan->request->identity;
    if (!own) {
        share_result(job, RESULT_QUERY, job->tensors[REQUEST_X].data);
        share_result(job, RESULT_KEY, from);
        share_result(job, RESULT_VALUE, from);
    }
    if ((own || turned) && (!take_result(job, memory, RESULT_QUERY, err) || !take_result(job, memory, RESULT_KEY, err)))
        return false;
    if (own && !take_result(job, memory, RESULT_VALUE, err))
        return false;
    return lay_out_projections(job, memory, err);
}

static bool lay_out_inputs(struct job *job, struct job_memory *memory, struct error *err)
{
    const struct plan *plan = job->plan;
    const struct source *sources = plan->request->tensors;
    const struct source *mask = &sources[REQUEST_MASK];
    enum dtype mask_dtype = source_is_bool(mask) ? DTYPE_BOOL : plan->dtype;
    if (!take_source(memory, mask_dtype, mask, &job->tensors[REQUEST_MASK], err))
        return false;
    if (plan->from_tokens)
        return lay_out_tokens(job, memory, err);
    bool turned = plan->rope_dims > 0; /* in place */
    return take_given(job, memory, REQUEST_QUERY, RESULT_QUERY, turned, err) &&
           take_given(job, memory, REQUEST_KEY, RESULT_KEY, turned, err) &&
           take_given(job, memory, REQUEST_VALUE, RESULT_VALUE, false, err) &&
           take_source(memory, plan->dtype, &sources[REQUEST_PAST_KEY], &job->tensors[REQUEST_PAST_KEY], err) &&
           take_source(memory, plan->dtype, &sources[REQUEST_PAST_VALUE], &job->tensors[REQUEST_PAST_VALUE], err);
}

/* The keys and values that attention sees: the new ones, or past and new in one. */
static bool lay_out_present(struct job *job, struct job_memory *memory, struct error *err)
{
    if (plan_joins(job->plan))
        return take_result(job, memory, RESULT_PRESENT_KEY, err) && take_result(job, memory, RESULT_PRESENT_VALUE, err);
    share_result(job, RESULT_PRESENT_KEY, job->results[RESULT_KEY].data);
    share_result(job, RESULT_PRESENT_VALUE, job->results[RESULT_VALUE].data);
    return true;
}

static bool lay_out_conventions(struct job *job, struct job_memory *memory, struct error *err)
{
    const struct plan *plan = job->plan;
    const struct request *request = plan->request;
    size_t heads_bytes = size_multiply(plan->H, sizeof(double));
    job->query_offsets = take(memory, size_multiply(plan->B, sizeof *job->query_offsets), err);
    if (job->query_offsets == NULL)
        return false;
    if (request->has_key_lengths || request->mask_ends_early) {
        job->key_lengths = take(memory, size_multiply(plan->B, sizeof *job->key_lengths), err);
        job->key_length_reals = take(memory, size_multiply(plan->B, sizeof *job->key_length_reals), err);
        if (job->key_lengths == NULL || job->key_length_reals == NULL)
            return false;
    }
    if (request->alibi && (job->alibi_slopes = take(memory, heads_bytes, err)) == NULL)
        return false;
    return request->sinks.kind == SOURCE_ABSENT || (job->sinks = take(memory, heads_bytes, err)) != NULL;
}

/* The (B,H,Tq,Tk) view of a result, or none. */
static struct tensor stage_view(const struct job *job, enum request_result which)
{
    const struct plan *plan = job->plan;
    const size_t shape[4] = {plan->B, plan->H, plan->Tq, plan->Tk};
    return tensor_contiguous(job->results[which].data, plan->dtype, 4, shape);
}

static void set_attention(struct job *job)
{
    const struct plan *plan = job->plan;
    const size_t rows[3] = {plan->B, plan->H, plan->Tq}, mean[3] = {plan->B, plan->Tq, plan->Tk};
    void *output = job->heads_output.data != NULL ? job->heads_output.data : job->results[RESULT_OUTPUT].data;
    job->attention = (struct attention_results){
        .output = plan_heads_view(plan, plan->memory, output, plan->H, plan->Tq, plan->Dv),
        .weights = stage_view(job, RESULT_WEIGHTS),
        .scores = stage_view(job, RESULT_SCORES),
        .capped_scores = stage_view(job, RESULT_CAPPED_SCORES),
        .masked_scores = stage_view(job, RESULT_MASKED_SCORES),
        .mean_weights = tensor_contiguous(job->results[RESULT_MEAN_WEIGHTS].data, plan->dtype, 3, mean),
        .lse = tensor_contiguous(job->results[RESULT_LSE].data, plan->dtype, 3, rows),
    };
    job->problem = (struct attention_problem){
        .query = plan_heads_view(plan, plan->memory, job->results[RESULT_QUERY].data, plan->H, plan->Tq, plan->D),
        .key = plan_heads_view(plan, plan->cache_memory, job->results[RESULT_PRESENT_KEY].data, plan->Hkv, plan->Tk, plan->D),
        .value =
            plan_heads_view(plan, plan->cache_memory, job->results[RESULT_PRESENT_VALUE].data, plan->Hkv, plan->Tk, plan->Dv),
        .scale = plan->scale,
        .softcap = plan->softcap,
        .causal = plan->causal,
        .window_left = plan->request->window_left,
        .window_right = plan->request->window_right,
        .query_offsets = job->query_offsets,
        .key_lengths = job->key_lengths,
        .alibi_slopes = job->alibi_slopes,
        .sinks = job->sinks,
    };
    void *mask = job->tensors[REQUEST_MASK].data;
    if (mask != NULL && !plan_mask_view(plan, mask, &job->problem.mask))
        abort(); /* plan_resolve saw that it fits */
}

static bool lay_out_results(struct job *job, struct job_memory *memory, struct error *err)
{
    const struct plan *plan = job->plan;
    const size_t heads_shape[3] = {plan->B, plan->Tq, size_multiply(plan->H, plan->Dv)};
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++)
        if (plan->request->results[i] && !take_result(job, memory, (enum request_result)i, err))
            return false;
    if (job->results[RESULT_OUTPUT].data != NULL && plan_projects(plan, PROJECTION_OUTPUT))
        return take_tensor(memory, plan->dtype, 3, heads_shape, &job->heads_output, err);
    return true;
}

bool job_lay_out(struct job *job, const struct executor *executor, size_t text_bytes, struct job_memory *memory,
                 struct error *err)
{
    const struct plan *plan = job->plan;
    if (!lay_out_inputs(job, memory, err) || !lay_out_present(job, memory, err) || !lay_out_conventions(job, memory, err) ||
        !lay_out_results(job, memory, err))
        return false;
    set_attention(job);
    /* Each row and each key costs time even where its tensors are empty, so both count as if they had a number of their own. */
    size_t rows = size_multiply(size_multiply(plan->B, plan->H), plan->Tq);
    size_t keys = size_multiply(size_multiply(plan->B, plan->Hkv), plan->Tk);
    memory->cost_bytes = size_add(memory->cost_bytes, size_multiply(size_add(rows, keys), sizeof(double)));
    memory->cost_bytes = size_add(memory->cost_bytes, attention_scratch_cost(&job->problem, &job->attention, executor));
    job->text = take(memory, text_bytes, err);
    return job->text != NULL;
}
