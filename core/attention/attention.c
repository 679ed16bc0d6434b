#include "core/attention/attention.h"

#include "core/attention/block.h"
#include "core/attention/mask.h"
#include "core/attention/memory.h"
#include "core/attention/plan.h"
#include "core/attention/reduce.h"
#include "core/attention/split_kv.h"
#include "core/attention/store.h"
#include "core/size.h"

/* Packs a tile of keys and values that some query may see, or whose scores are asked for all the same. */
static void task_pack(void *argument, size_t task, size_t worker)
{
    struct attention_plan *plan = argument;
    size_t tiles = size_pieces(plan->Tk, KEY_TILE);
    size_t first = task % tiles * KEY_TILE;
    size_t head = plan->group_first + task / tiles;
    size_t b = head / plan->Hkv;
    const struct attention_item *item = &plan->items[b];
    bool scores = plan->results->scores.data != NULL || plan->results->capped_scores.data != NULL;
    bool stored = scores && first / KEY_TILE - plan->kept_first < plan->kept_tiles;
    (void)worker;
    if (attention_should_stop(plan) || (!stored && (first >= item->key_end || first + KEY_TILE <= item->key_begin)))
        return;
    attention_block_functions(plan)->pack(plan, b, head % plan->Hkv, first);
}

static void block_run(struct attention_plan *plan, size_t b, size_t h, size_t first_query,
                      const struct attention_scratch *scratch)
{
    struct attention_block block;
    size_t rows = size_min(QUERY_TILE, plan->Tq - first_query);
    attention_block_init(plan, b, h / (plan->H / plan->Hkv), h, rows, first_query, rows, &block);
    attention_block_functions(plan)->run(plan, &block, scratch);
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

/* The same with all heads of an item in one task, in order: they are summed to a mean. */
static void task_run_mean(void *argument, size_t task, size_t worker)
{
    struct attention_plan *plan = argument;
    size_t first_query = task_first_query(plan, task);
    size_t b = plan->group_first / plan->Hkv + task / plan->block_count;
    attention_store_mean_zero(plan, b, first_query);
    for (size_t h = 0; h < plan->H && !attention_should_stop(plan); h++)
        block_run(plan, b, h, first_query, &plan->scratch[worker]);
}

/* All key heads, group by group. */
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
        attention_reduce_run(plan, plan->group_first * (plan->H / plan->Hkv), head_group * (plan->H / plan->Hkv));
    }
}

/* Without heads the mean is 0. */
static void mean_of_none(const struct attention_plan *plan)
{
    for (size_t b = 0; plan->mean_wanted && b < plan->B; b++)
        for (size_t first_query = 0; first_query < plan->Tq; first_query += QUERY_TILE)
            attention_store_mean_zero(plan, b, first_query);
}

size_t attention_scratch_cost(const struct attention_params *params, const struct attention_results *results,
                              const struct executor *executor)
{
    struct attention_results asked = *results;
    struct attention_memory memory = {0};
    struct attention_plan plan;
    struct split_kv split_kv;
    attention_plan_init(&plan, params, &asked, executor);
    attention_memory_plan(&memory, &plan);
    if (plan.split_kv)
        split_kv_init(&split_kv, &plan, &memory);
    return memory.cost;
}

bool attention_compute(const struct attention_params *params, struct attention_results *results, struct arena *arena,
                       const struct executor *executor, struct error *err)
{
    struct attention_memory memory = {.arena = arena, .err = err};
    struct attention_plan plan;
    struct split_kv split_kv;
    results->masked_row_count = 0;
    attention_plan_init(&plan, params, results, executor);
    if (plan.B == 0 || plan.H == 0 || plan.Tq == 0) {
        mean_of_none(&plan);
        attention_reduce_none(&plan);
        return true;
    }
    attention_plan_check(&plan);
    attention_memory_plan(&memory, &plan);
    if (plan.split_kv)
        split_kv_init(&split_kv, &plan, &memory);
    if (memory.failed)
        return false;
    attention_rows_init(&plan);
    if (plan.split_kv)
        split_kv_run(&split_kv);
    else
        head_groups_run(&plan);
    if (atomic_load(&plan.stopped))
        return executor_set_stopped(err);
    results->masked_row_count = atomic_load(&plan.masked_row_count);
    return true;
}
