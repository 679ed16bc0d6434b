#include "core/attention/attention.h"

#include "core/attention/plan.h"

/* The functions of the plan's precision. */
static attention_pack_function *pack_function(const struct attention_plan *plan)
{
    if (plan->work == DTYPE_F32)
        return attention_pack_f32;
    return plan->params->query.dtype == DTYPE_F64 ? attention_pack_f64 : attention_pack_f32_in_f64;
}

static attention_block_function *block_function(const struct attention_plan *plan)
{
    if (plan->work == DTYPE_F32)
        return attention_block_f32;
    return plan->params->query.dtype == DTYPE_F64 ? attention_block_f64 : attention_block_f32_in_f64;
}

bool attention_should_stop(struct attention_plan *plan)
{
    if (executor_stopped(plan->executor))
        atomic_store_explicit(&plan->stopped, true, memory_order_relaxed);
    return atomic_load_explicit(&plan->stopped, memory_order_relaxed);
}

/* Packs a tile of keys and values that some query may see, or whose scores are asked for all the same. */
static void task_pack(void *argument, size_t task, size_t worker)
{
    struct attention_plan *plan = argument;
    size_t tiles = size_pieces(plan->Tk, KEY_TILE);
    size_t first = task % tiles * KEY_TILE;
    size_t head = plan->group_first + task / tiles;
    size_t b = head / plan->Hkv, begin, end, unused;
    bool all = plan->results->scores.data != NULL || plan->results->capped_scores.data != NULL;
    (void)worker;
    attention_visible(plan, b, 0, &begin, &unused);
    attention_visible(plan, b, plan->Tq - 1, &unused, &end);
    if (attention_should_stop(plan) || (!all && (first >= end || first + KEY_TILE <= begin)))
        return;
    pack_function(plan)(plan, b, head % plan->Hkv, first);
}

void attention_block_init(const struct attention_plan *plan, size_t b, size_t g, size_t head, size_t queries,
                          size_t first_query, size_t rows, struct attention_block *ret)
{
    *ret = (struct attention_block){.b = b, .g = g, .head = head, .first_query = first_query, .queries = queries, .rows = rows};
    size_t begin, unused;
    attention_visible(plan, b, first_query, &begin, &unused);
    attention_visible(plan, b, first_query + queries - 1, &unused, &ret->key_end);
    ret->key_begin = size_min(begin / plan->key_panel * plan->key_panel, ret->key_end);
}

static void block_run(struct attention_plan *plan, size_t b, size_t h, size_t first_query,
                      const struct attention_scratch *scratch)
{
    struct attention_block block;
    size_t rows = size_min(QUERY_TILE, plan->Tq - first_query);
    attention_block_init(plan, b, h / (plan->H / plan->Hkv), h, rows, first_query, rows, &block);
    block_function(plan)(plan, &block, scratch);
    if (!atomic_load_explicit(&plan->stopped, memory_order_relaxed))
        attention_store(plan, &block, scratch->weight_rows);
}

/* A head's blocks go from the last to the first: under a causal mask the last take longest. */
static size_t task_first_query(const struct attention_plan *plan, size_t task)
{
    return (plan->block_count - 1 - task % plan->block_count) * QUERY_TILE;
}

/* Task number -> head, block of queries. */
static void task_run(void *argument, size_t task, size_t worker)
{
    struct attention_plan *plan = argument;
    size_t first_query = task_first_query(plan, task);
    size_t head = plan->group_first * (plan->H / plan->Hkv) + task / plan->block_count;
    if (!attention_should_stop(plan))
        block_run(plan, head / plan->H, head % plan->H, first_query, &plan->scratch[worker]);
}

/* The same with all heads of an item in one task, in order: they are summed up to a mean. */
static void task_run_mean(void *argument, size_t task, size_t worker)
{
    struct attention_plan *plan = argument;
    size_t first_query = task_first_query(plan, task);
    size_t b = plan->group_first / plan->Hkv + task / plan->block_count;
    attention_mean_start(plan, b, first_query);
    for (size_t h = 0; h < plan->H && !attention_should_stop(plan); h++)
        block_run(plan, b, h, first_query, &plan->scratch[worker]);
}

/* All key heads, wave by wave. */
static void head_groups_run(struct attention_plan *plan)
{
    size_t heads = plan->B * plan->Hkv, tiles = size_pieces(plan->Tk, KEY_TILE);
    for (plan->group_first = 0; plan->group_first < heads && !attention_should_stop(plan);
         plan->group_first += plan->group_heads) {
        size_t head_group = size_min(plan->group_heads, heads - plan->group_first);
        executor_run(plan->runner, head_group * tiles, task_pack, plan);
        if (plan->mean_wanted)
            executor_run(plan->runner, head_group / plan->Hkv * plan->block_count, task_run_mean, plan);
        else
            executor_run(plan->runner, head_group * (plan->H / plan->Hkv) * plan->block_count, task_run, plan);
    }
}

/* Without heads the mean is 0. */
static void mean_of_none(const struct attention_plan *plan)
{
    for (size_t b = 0; plan->mean_wanted && b < plan->B; b++)
        for (size_t first_query = 0; first_query < plan->Tq; first_query += QUERY_TILE)
            attention_mean_start(plan, b, first_query);
}

bool attention_compute(const struct attention_params *params, struct attention_results *results, struct arena *arena,
                       const struct executor *executor, struct error *err)
{
    struct attention_plan plan;
    results->masked_row_count = 0;
    attention_plan_init(&plan, params, results, executor);
    if (plan.B == 0 || plan.H == 0 || plan.Tq == 0) {
        mean_of_none(&plan);
        return true;
    }
    attention_plan_check(&plan);
    if (!attention_plan_alloc(&plan, arena, err))
        return false;
    if (plan.direct && !attention_split_kv(&plan, arena, err))
        return false;
    if (!plan.direct)
        head_groups_run(&plan);
    if (atomic_load(&plan.stopped))
        return executor_set_stopped(err);
    results->masked_row_count = atomic_load(&plan.masked_row_count);
    return true;
}
