/* evaluation_cost.c: what an evaluation costs and what it allocates, as one walk over its tensors. */
#include "api/request/evaluation.h"

#include <stdlib.h>

#include "api/request/evaluation_bias.h"
#include "api/request/evaluation_norm.h"
#include "api/request/evaluation_rope.h"
#include "core/size.h"

/* Stands in for memory while costs are added up: its address is not NULL and is never dereferenced. */
static max_align_t no_memory;

void *evaluation_take(struct evaluation_memory *memory, size_t bytes, struct error *err)
{
    memory->cost_bytes = size_add(memory->cost_bytes, arena_cost(bytes));
    return memory->arena == NULL ? &no_memory : arena_alloc(memory->arena, bytes, err);
}

/* A contiguous tensor with memory of its own. */
static bool allocate_tensor(struct evaluation_memory *memory, enum dtype dtype, size_t rank, const size_t *shape,
                            struct tensor *ret, struct error *err)
{
    *ret = tensor_contiguous(NULL, dtype, rank, shape);
    ret->data = evaluation_take(memory, size_multiply(shape_count(rank, shape), dtype_bytes(dtype)), err);
    return ret->data != NULL;
}

/* An input's tensor: the body's own bytes, if they can be used in place, or memory to read it into. */
static bool allocate_input(struct evaluation_memory *memory, enum dtype dtype, const struct tensor_input *input,
                           struct tensor *ret, struct error *err)
{
    const void *in_place = tensor_input_in_place(input, dtype);
    if (input->kind == TENSOR_INPUT_ABSENT)
        return true;
    if (in_place == NULL)
        return allocate_tensor(memory, dtype, input->rank, input->shape, ret, err);
    *ret = tensor_contiguous((void *)(uintptr_t)in_place, dtype, input->rank, input->shape); /* never written */
    return true;
}

static bool allocate_result(struct evaluation *evaluation, struct evaluation_memory *memory, enum request_result which,
                            struct error *err)
{
    const struct plan *plan = evaluation->plan;
    const struct plan_result *result = &plan->results[which];
    return allocate_tensor(memory, plan->dtype, result->rank, result->shape, &evaluation->results[which], err);
}

/* A tensor that the request gives and that is also a result; `written`: its memory will be changed. */
static bool allocate_given(struct evaluation *evaluation, struct evaluation_memory *memory, enum request_tensor given,
                           enum request_result which, bool written, struct error *err)
{
    const struct tensor_input *input = &evaluation->plan->request->tensors[given];
    if (written || tensor_input_in_place(input, evaluation->plan->dtype) == NULL)
        return allocate_result(evaluation, memory, which, err);
    return allocate_input(memory, evaluation->plan->dtype, input, &evaluation->results[which], err);
}

/* The result `which` in the memory of a tensor that holds the same numbers. */
static void share_result(struct evaluation *evaluation, enum request_result which, void *data)
{
    const struct plan *plan = evaluation->plan;
    evaluation->results[which] = tensor_contiguous(data, plan->dtype, plan->results[which].rank, plan->results[which].shape);
}

static bool allocate_projections(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    for (size_t i = 0; i < PROJECTIONS; i++)
        if (plan_projects(plan, (enum request_projection)i) &&
            (!allocate_tensor(memory, plan->dtype, 2, plan->weight_shape[i], &evaluation->weights[i], err) ||
             !allocate_input(memory, plan->dtype, &plan->request->biases[i], &evaluation->biases[i], err)))
            return false;
    return true;
}

/* The tokens; and query, key and value: with memory of their own, or the tokens'. */
static bool allocate_tokens(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    const struct tensor_input *inputs = plan->request->tensors;
    bool changed = plan_changes_inputs(plan); /* in place: query and key need memory of their own */
    for (size_t i = REQUEST_X; i <= REQUEST_VALUE_CONTEXT; i++) {
        if (!allocate_input(memory, plan->dtype, &inputs[i], &evaluation->tensors[i], err))
            return false;
        share_result(evaluation, (enum request_result)(RESULT_X + i), evaluation->tensors[i].data);
    }
    void *from = evaluation->tensors[plan_source(plan, PROJECTION_KEY)].data;
    bool own = !plan->request->identity;
    if (!own) {
        share_result(evaluation, RESULT_QUERY, evaluation->tensors[REQUEST_X].data);
        share_result(evaluation, RESULT_KEY, from);
        share_result(evaluation, RESULT_VALUE, evaluation->tensors[plan_source(plan, PROJECTION_VALUE)].data);
    }
    if ((own || changed) &&
        (!allocate_result(evaluation, memory, RESULT_QUERY, err) || !allocate_result(evaluation, memory, RESULT_KEY, err)))
        return false;
    if (own && !allocate_result(evaluation, memory, RESULT_VALUE, err))
        return false;
    return allocate_projections(evaluation, memory, err);
}

static bool allocate_inputs(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    const struct tensor_input *inputs = plan->request->tensors;
    const struct tensor_input *mask = &inputs[REQUEST_MASK];
    enum dtype mask_dtype = tensor_input_is_bool(mask) ? DTYPE_BOOL : plan->dtype;
    if (!allocate_input(memory, mask_dtype, mask, &evaluation->tensors[REQUEST_MASK], err) ||
        !allocate_input(memory, plan->dtype, &inputs[REQUEST_BIAS], &evaluation->tensors[REQUEST_BIAS], err))
        return false;
    if (plan->from_tokens)
        return allocate_tokens(evaluation, memory, err);
    bool changed = plan_changes_inputs(plan); /* in place */
    return allocate_given(evaluation, memory, REQUEST_QUERY, RESULT_QUERY, changed, err) &&
           allocate_given(evaluation, memory, REQUEST_KEY, RESULT_KEY, changed, err) &&
           allocate_given(evaluation, memory, REQUEST_VALUE, RESULT_VALUE, false, err) &&
           allocate_input(memory, plan->dtype, &inputs[REQUEST_PAST_KEY], &evaluation->tensors[REQUEST_PAST_KEY], err) &&
           allocate_input(memory, plan->dtype, &inputs[REQUEST_PAST_VALUE], &evaluation->tensors[REQUEST_PAST_VALUE], err);
}

/* The keys and values that attention sees: the new ones, or past and new concatenated. */
static bool allocate_present(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
{
    if (plan_concatenates(evaluation->plan))
        return allocate_result(evaluation, memory, RESULT_PRESENT_KEY, err) &&
               allocate_result(evaluation, memory, RESULT_PRESENT_VALUE, err);
    share_result(evaluation, RESULT_PRESENT_KEY, evaluation->results[RESULT_KEY].data);
    share_result(evaluation, RESULT_PRESENT_VALUE, evaluation->results[RESULT_VALUE].data);
    return true;
}

/* [B] */
static bool allocate_lengths(const struct evaluation *evaluation, struct evaluation_memory *memory, size_t **ret,
                             struct error *err)
{
    *ret = evaluation_take(memory, size_multiply(evaluation->plan->B, sizeof **ret), err);
    return *ret != NULL;
}

static bool allocate_sequences(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    const size_t tokens[2] = {plan->Tq, plan->Tk};
    evaluation->sequences = evaluation_take(memory, size_multiply(plan->sequence_count, sizeof *evaluation->sequences), err);
    for (size_t i = 0; i < 2 && evaluation->sequences != NULL; i++)
        if ((evaluation->packed_positions[i] = evaluation_take(memory, size_multiply(tokens[i], sizeof(int64_t)), err)) == NULL)
            return false;
    return evaluation->sequences != NULL;
}

static bool allocate_integers(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    const struct request *request = plan->request;
    for (size_t i = 0; i < REQUEST_INTEGERS; i++) {
        const struct integers_input *input = &request->integers[i];
        size_t bytes = size_multiply(shape_count(input->list.rank, input->list.shape), sizeof(int64_t));
        if (input->given && input->is_list && !input->shared &&
            (evaluation->integers[i] = evaluation_take(memory, bytes, err)) == NULL)
            return false;
    }
    size_t items = plan->sequence_count > 0 ? plan->sequence_count : plan->B;
    size_t items_bytes = size_multiply(items, sizeof *evaluation->query_offsets);
    if ((evaluation->query_offsets = evaluation_take(memory, items_bytes, err)) == NULL)
        return false;
    if (request->integers[INTEGERS_PREFIX_LENGTH].given &&
        (evaluation->prefix_lengths = evaluation_take(memory, items_bytes, err)) == NULL)
        return false;
    if (plan->sequence_count > 0 && !allocate_sequences(evaluation, memory, err))
        return false;
    if (request->integers[INTEGERS_QUERY_LENGTHS].given &&
        !allocate_lengths(evaluation, memory, &evaluation->query_lengths, err))
        return false;
    return !(request->integers[INTEGERS_KEY_LENGTHS].given || request->mask_ends_early) ||
           allocate_lengths(evaluation, memory, &evaluation->key_lengths, err);
}

static bool allocate_conventions(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    const struct request *request = plan->request;
    size_t heads_bytes = size_multiply(plan->H, sizeof(double));
    if (!allocate_integers(evaluation, memory, err) || !evaluation_bias_allocate(evaluation, memory, err))
        return false;
    size_t places_bytes = size_multiply(plan->H, sizeof *evaluation->head_places);
    if (request->select.has_heads && (evaluation->head_places = evaluation_take(memory, places_bytes, err)) == NULL)
        return false;
    if (request->alibi && (evaluation->alibi_slopes = evaluation_take(memory, heads_bytes, err)) == NULL)
        return false;
    return request->sinks.kind == TENSOR_INPUT_ABSENT ||
           (evaluation->sinks = evaluation_take(memory, heads_bytes, err)) != NULL;
}

/* The (B,H,rows,columns) view of memory, or none. */
static struct tensor head_view(const struct plan *plan, void *data, enum dtype dtype, size_t rows, size_t columns)
{
    const size_t shape[4] = {plan->B, plan->H, rows, columns};
    return tensor_contiguous(data, dtype, 4, shape);
}

static void set_reductions(struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct request *request = plan->request;
    const size_t rows[3] = {plan->B, plan->H, plan->Tq}, keys[3] = {plan->B, plan->H, plan->Tk};
    const struct tensor *results = evaluation->results;
    struct attention_results *attention = &evaluation->attention;
    size_t top = (size_t)request->top, m = (size_t)request->pool[0], n = (size_t)request->pool[1];
    attention->key_sums = tensor_contiguous(results[RESULT_KEY_SUMS].data, plan->dtype, 3, keys);
    attention->entropy = tensor_contiguous(results[RESULT_ENTROPY].data, plan->dtype, 3, rows);
    attention->top_indices = head_view(plan, evaluation->top_indices.data, DTYPE_I64, plan->Tq, top);
    attention->top_weights = head_view(plan, results[RESULT_TOP_KEYS].data, plan->dtype, plan->Tq, top);
    attention->pooled_weights = head_view(plan, results[RESULT_POOLED_WEIGHTS].data, plan->dtype, m, n);
    attention->pool_max = request->pool_max;
}

/* The (B,heads,queries,keys) view of a result that holds what is stored of pairs, or none. */
static struct tensor stage_view(const struct evaluation *evaluation, enum request_result which)
{
    const struct plan *plan = evaluation->plan;
    const size_t shape[4] = {plan->B, plan->stored_heads, plan->stored_queries, plan->stored_keys};
    return tensor_contiguous(evaluation->results[which].data, plan->dtype, 4, shape);
}

static void set_attention(struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const size_t rows[3] = {plan->B, plan->H, plan->Tq}, mean[3] = {plan->B, plan->stored_queries, plan->stored_keys};
    void *output =
        evaluation->heads_output.data != NULL ? evaluation->heads_output.data : evaluation->results[RESULT_OUTPUT].data;
    evaluation->attention = (struct attention_results){
        .output = plan_heads_view(plan, plan->layout, output, plan->H, plan->Tq, plan->Dv),
        .weights = stage_view(evaluation, RESULT_WEIGHTS),
        .scores = stage_view(evaluation, RESULT_SCORES),
        .capped_scores = stage_view(evaluation, RESULT_CAPPED_SCORES),
        .masked_scores = stage_view(evaluation, RESULT_MASKED_SCORES),
        .mean_weights = tensor_contiguous(evaluation->results[RESULT_MEAN_WEIGHTS].data, plan->dtype, 3, mean),
        .lse = tensor_contiguous(evaluation->results[RESULT_LSE].data, plan->dtype, 3, rows),
        .rounded_again = plan->request->results_narrowed,
    };
    set_reductions(evaluation);
    evaluation->selection = (struct attention_selection){.head_places = evaluation->head_places,
                                                         .query_first = plan->first_query,
                                                         .query_count = plan->stored_queries,
                                                         .key_first = plan->first_key,
                                                         .key_count = plan->stored_keys};
    evaluation->attention.selection = plan->request->select.given ? &evaluation->selection : NULL;
    evaluation->params = (struct attention_params){
        .query = plan_heads_view(plan, plan->layout, evaluation->results[RESULT_QUERY].data, plan->H, plan->Tq, plan->D),
        .key = plan_heads_view(plan, plan->cache_layout, evaluation->results[RESULT_PRESENT_KEY].data, plan->Hkv, plan->Tk,
                               plan->D),
        .value = plan_heads_view(plan, plan->cache_layout, evaluation->results[RESULT_PRESENT_VALUE].data, plan->Hkv, plan->Tk,
                                 plan->Dv),
        .scale = plan->scale,
        .softcap = plan->softcap,
        .causal = plan->causal,
        .window_left = plan->request->window_left,
        .window_right = plan->request->window_right,
        .key_positions.given =
            evaluation->integers[INTEGERS_KEY_POSITIONS], /* what they cost does not wait for their numbers */
        .query_lengths = evaluation->query_lengths,
        .key_lengths = evaluation->key_lengths,
        .alibi_slopes = evaluation->alibi_slopes,
        .sinks = evaluation->sinks,
        .lse_base_2 = plan->request->lse_base_2,
        .row_invariant = plan->request->row_invariant,
    };
    evaluation_set_rules(evaluation);
    evaluation_bias_set(evaluation);
    void *mask = evaluation->tensors[REQUEST_MASK].data;
    if (mask != NULL && !plan_pairs_view(plan, REQUEST_MASK, mask, &evaluation->params.mask))
        abort(); /* plan_resolve checked that it broadcasts */
}

static bool allocate_results(struct evaluation *evaluation, struct evaluation_memory *memory, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    const size_t heads_shape[3] = {plan->B, plan->Tq, size_multiply(plan->H, plan->Dv)};
    const struct plan_result *top = &plan->results[RESULT_TOP_KEYS];
    for (size_t i = RESULT_OUTPUT; i <= RESULT_POOLED_WEIGHTS; i++)
        if (plan->request->results[i] && !allocate_result(evaluation, memory, (enum request_result)i, err))
            return false;
    if (plan->request->results[RESULT_TOP_KEYS] &&
        !allocate_tensor(memory, DTYPE_I64, top->rank, top->shape, &evaluation->top_indices, err))
        return false;
    if (evaluation->results[RESULT_OUTPUT].data != NULL && plan_projects(plan, PROJECTION_OUTPUT))
        return allocate_tensor(memory, plan->dtype, 3, heads_shape, &evaluation->heads_output, err);
    return true;
}

bool evaluation_allocate(struct evaluation *evaluation, const struct executor *executor, size_t reply_bytes_max,
                         struct evaluation_memory *memory, struct error *err)
{
    const struct plan *plan = evaluation->plan;
    if (!allocate_inputs(evaluation, memory, err) || !evaluation_rope_allocate(evaluation, memory, err) ||
        !evaluation_norm_allocate(evaluation, memory, err) || !allocate_present(evaluation, memory, err) ||
        !allocate_conventions(evaluation, memory, err) || !allocate_results(evaluation, memory, err))
        return false;
    set_attention(evaluation);
    /* Rows and keys cost time even where their tensors are empty, so each counts as one number. */
    size_t rows = size_multiply(size_multiply(plan->B, plan->H), plan->Tq);
    size_t keys = size_multiply(size_multiply(plan->B, plan->Hkv), plan->Tk);
    memory->cost_bytes = size_add(memory->cost_bytes, size_multiply(size_add(rows, keys), sizeof(double)));
    memory->cost_bytes =
        size_add(memory->cost_bytes, attention_scratch_cost(&evaluation->params, &evaluation->attention, executor));
    evaluation->reply_buffer = evaluation_take(memory, reply_bytes_max, err);
    return evaluation->reply_buffer != NULL;
}
