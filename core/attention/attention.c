#include "core/attention/attention.h"

#include "core/attention/block.h"
#include "core/attention/memory.h"
#include "core/attention/plan.h"
#include "core/attention/reduce.h"
#include "core/attention/sequences.h"
#include "core/attention/split_kv.h"
#include "core/attention/store.h"
#include "core/attention/visible.h"
#include "core/size.h"

/* True where scores of the tile that begins with key `first` are asked for, visible or not. */
static bool stored(const struct attention_plan *plan, size_t first)
{
    const struct attention_selection *selection = &plan->selection;
    bool scores = plan->results->scores.data != NULL || plan->results->capped_scores.data != NULL;
    return scores && first < selection->key_first + selection->key_count && first + KEY_TILE > selection->key_first;
}

/* Packs a unit's tile of keys and values if some query may see it, or its scores are asked for all the same. */
static void tile_pack(struct attention_plan *plan, size_t unit, size_t tile)
{
    const struct attention_sequence_plan *sequence = &plan->sequences[unit / plan->Hkv];
    size_t first = sequence->first_key + tile * KEY_TILE;
    if (attention_should_stop(plan) ||
        (!stored(plan, first) && (first >= sequence->key_end || first + KEY_TILE <= sequence->key_begin)))
        return;
    attention_block_functions(plan)->pack(plan, unit, first);
}

/* Task number -> unit, tile. */
static void task_pack(void *argument, size_t task, size_t worker)
{
    struct attention_plan *plan = argument;
    size_t unit, tile;
    (void)worker;
    attention_find_tile(plan, attention_tiles_before(plan, plan->group_first) + task, &unit, &tile);
    tile_pack(plan, unit, tile);
}

/* A head's blocks go from the last to the first: under a causal mask the last take longest. */
static void block_run(struct attention_plan *plan, size_t s, size_t h, size_t number, const struct attention_scratch *scratch)
{
    struct attention_block block;
    const struct attention_sequence_plan *sequence = &plan->sequences[s];
    size_t masked, first = (size_pieces(sequence->queries, QUERY_TILE) - 1 - number) * QUERY_TILE;
    size_t rows = size_min(QUERY_TILE, sequence->queries - first);
    attention_block_init(plan, s, h / (plan->H / plan->Hkv), h, rows, sequence->first_query + first, rows, &block);
    if (attention_block_is_unselected(plan, &block, &masked)) {
        atomic_fetch_add_explicit(&plan->masked_row_count, masked, memory_order_relaxed);
        return;
    }
    attention_block_functions(plan)->run(plan, &block, scratch);
    if (!atomic_load_explicit(&plan->stopped, memory_order_relaxed))
        attention_store(plan, &block, scratch->weight_rows);
}

/* Task number -> sequence, head, block of queries. */
static void task_run(void *argument, size_t task, size_t worker)
{
    struct attention_plan *plan = argument;
    size_t s, h, number;
    attention_find_block(plan, attention_blocks_before(plan, plan->group_first) + task, plan->H, &s, &h, &number);
    if (!attention_should_stop(plan))
        block_run(plan, s, h, number, &plan->scratch[worker]);
}

/* The same with all heads in one task, in order: they are summed to a mean. */
static void task_run_mean(void *argument, size_t task, size_t worker)
{
    struct attention_plan *plan = argument;
    size_t s, unused, number, first_block = plan->sequences[plan->group_first / plan->Hkv].first_block;
    attention_find_block(plan, first_block + task, 1, &s, &unused, &number);
    const struct attention_sequence_plan *sequence = &plan->sequences[s];
    size_t first = (size_pieces(sequence->queries, QUERY_TILE) - 1 - number) * QUERY_TILE;
    attention_store_mean_zero(plan, sequence->b, sequence->first_query + first,
                              size_min(QUERY_TILE, sequence->queries - first));
    for (size_t h = 0; h < plan->H && !attention_should_stop(plan); h++)
        block_run(plan, s, h, number, &plan->scratch[worker]);
}

/* A unit whole: packed, and computed by the thread whose caches hold its panels now. */
static void task_unit(void *argument, size_t task, size_t worker)
{
    struct attention_plan *plan = argument;
    size_t unit = plan->group_first + task, s = unit / plan->Hkv;
    size_t group = plan->H / plan->Hkv, first_head = unit % plan->Hkv * group;
    size_t tiles = size_pieces(plan->sequences[s].keys, KEY_TILE);
    size_t blocks = size_pieces(plan->sequences[s].queries, QUERY_TILE);
    for (size_t tile = 0; tile < tiles; tile++)
        tile_pack(plan, unit, tile);
    for (size_t h = first_head; h < first_head + group; h++)
        for (size_t number = 0; number < blocks && !attention_should_stop(plan); number++)
            block_run(plan, s, h, number, &plan->scratch[worker]);
}

/* True where whole units as tasks keep all threads busy to the end, and one is soon done. It saves a hand-over to the threads, and they
 * read no panels from each other's caches. */
static bool takes_whole_units(const struct attention_plan *plan, size_t units)
{
    size_t workers = executor_worker_count(plan->runner);
    bool balanced = units >= 8 * workers || (units % workers == 0 && plan->params->sequences == NULL);
    return !plan->mean_wanted && (workers == 1 || (plan->Tk <= KEY_TILE && balanced));
}

/* Units up to `end`, packed and then computed. */
static void stages_run(struct attention_plan *plan, size_t end)
{
    executor_run(plan->runner, attention_tiles_before(plan, end) - attention_tiles_before(plan, plan->group_first), task_pack,
                 plan);
    if (plan->mean_wanted)
        executor_run(plan->runner,
                     plan->sequences[end / plan->Hkv].first_block - plan->sequences[plan->group_first / plan->Hkv].first_block,
                     task_run_mean, plan);
    else
        executor_run(plan->runner, attention_blocks_before(plan, end) - attention_blocks_before(plan, plan->group_first),
                     task_run, plan);
}

/* All units, group by group. */
static void groups_run(struct attention_plan *plan)
{
    size_t units = plan->sequence_count * plan->Hkv, end;
    for (plan->group_first = 0; plan->group_first < units && !attention_should_stop(plan); plan->group_first = end) {
        end = attention_group_end(plan, plan->group_first);
        if (takes_whole_units(plan, end - plan->group_first))
            executor_run(plan->runner, end - plan->group_first, task_unit, plan);
        else
            stages_run(plan, end);
        size_t group = plan->H / plan->Hkv;
        attention_reduce_run(plan, plan->group_first * group,
                             plan->params->sequences == NULL ? (end - plan->group_first) * group : plan->H);
    }
}

/* Without heads the mean is 0. */
static void mean_of_none(const struct attention_plan *plan)
{
    for (size_t b = 0; plan->mean_wanted && b < plan->B; b++)
        attention_store_mean_zero(plan, b, 0, plan->Tq);
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
    attention_visible_init(&plan);
    if (plan.split_kv)
        split_kv_run(&split_kv);
    else
        groups_run(&plan);
    if (atomic_load(&plan.stopped))
        return executor_set_stopped(err);
    results->masked_row_count = atomic_load(&plan.masked_row_count);
    return true;
}
