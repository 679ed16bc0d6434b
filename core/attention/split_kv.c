#include "core/attention/split_kv.h"

#include <assert.h>

#include "core/attention/reduce.h"
#include "core/attention/store.h"
#include "core/size.h"

static size_t aligned(size_t bytes)
{
    return size_round_up(bytes, ARENA_ALIGNMENT_BYTES);
}

static size_t group_rows(const struct attention_plan *plan)
{
    return plan->H / plan->Hkv * plan->Tq;
}

void split_kv_init(struct split_kv *split_kv, struct attention_plan *plan, struct attention_memory *memory)
{
    size_t real = dtype_bytes(plan->work), rows = group_rows(plan);
    size_t blocks = size_multiply(plan->B, plan->Hkv), splits = size_multiply(blocks, plan->split_count);
    size_t tiles = plan->weights_wanted ? plan->kept_tiles : 0;
    bool output = plan->results->output.data != NULL;
    bool weight_rows = plan->weights_wanted && !plan->weights_in_place;
    *split_kv = (struct split_kv){
        .plan = plan,
        .state_bytes = aligned(attention_block_functions(plan)->state_bytes),
        .sums_bytes = output ? aligned(2 * real * rows * plan->value_panel_count * plan->value_panel) : 0,
        .top_bytes = aligned(size_multiply(rows * sizeof(double), plan->top)),
        .kept_scores_bytes = aligned(size_multiply(real * KERNEL_ROW_STRIDE * rows, tiles)),
        .tile_max_bytes = aligned(size_multiply(real * QUERY_TILE, tiles)),
        .weight_rows_bytes = weight_rows ? aligned(size_multiply(real * rows, plan->selection.key_count)) : 0,
    };
    split_kv->blocks = attention_memory_take(memory, size_multiply(blocks, sizeof *split_kv->blocks));
    split_kv->states = attention_memory_take(memory, size_multiply(splits, sizeof *split_kv->states));
    split_kv->state_memory = attention_memory_take(memory, size_multiply(splits, split_kv->state_bytes));
    split_kv->sums = attention_memory_take(memory, size_multiply(splits, split_kv->sums_bytes));
    split_kv->top_scores = attention_memory_take(memory, size_multiply(splits, split_kv->top_bytes));
    split_kv->top_keys = attention_memory_take(memory, size_multiply(splits, split_kv->top_bytes));
    split_kv->kept_scores = attention_memory_take(memory, size_multiply(blocks, split_kv->kept_scores_bytes));
    split_kv->tile_max = attention_memory_take(memory, size_multiply(blocks, split_kv->tile_max_bytes));
    split_kv->weight_rows = attention_memory_take(memory, size_multiply(blocks, split_kv->weight_rows_bytes));
}

static char *at(char *memory, size_t i, size_t bytes)
{
    return memory == NULL ? NULL : memory + i * bytes;
}

/* A worker's scratch, but for what belongs to a split and to its block. */
static struct attention_scratch scratch_of(const struct split_kv *split_kv, size_t split, size_t block, size_t worker)
{
    struct attention_scratch scratch = split_kv->plan->scratch[worker];
    scratch.sums = at(split_kv->sums, split, split_kv->sums_bytes);
    scratch.top_scores = (double *)(void *)at(split_kv->top_scores, split, split_kv->top_bytes);
    scratch.top_keys = (int64_t *)(void *)at(split_kv->top_keys, split, split_kv->top_bytes);
    scratch.tile_max = at(split_kv->tile_max, block, split_kv->tile_max_bytes);
    scratch.weight_rows = at(split_kv->weight_rows, block, split_kv->weight_rows_bytes);
    scratch.kept_scores = at(split_kv->kept_scores, block, split_kv->kept_scores_bytes);
    return scratch;
}

static void task_split(void *argument, size_t task, size_t worker)
{
    struct split_kv *split_kv = argument;
    struct attention_plan *plan = split_kv->plan;
    size_t block = task / plan->split_count, first = task % plan->split_count * SPLIT_KV_KEYS;
    size_t end = size_min(first + SPLIT_KV_KEYS, plan->Tk);
    const struct attention_scratch scratch = scratch_of(split_kv, task, block, worker);
    split_kv->states[task] = at(split_kv->state_memory, task, split_kv->state_bytes);
    attention_block_functions(plan)->run_split(plan, &split_kv->blocks[block], &scratch, split_kv->states[task], first, end);
}

/* One block; or all blocks of an item in the order of their heads, where these are summed to a mean. */
static void task_merge(void *argument, size_t task, size_t worker)
{
    struct split_kv *split_kv = argument;
    struct attention_plan *plan = split_kv->plan;
    size_t blocks = plan->mean_wanted ? plan->Hkv : 1;
    (void)worker;
    if (atomic_load_explicit(&plan->stopped, memory_order_relaxed))
        return;
    for (size_t block = task * blocks; block < (task + 1) * blocks; block++) {
        void *const *states = split_kv->states + block * plan->split_count;
        attention_block_functions(plan)->merge_splits(plan, states, plan->split_count);
        attention_store(plan, &split_kv->blocks[block], at(split_kv->weight_rows, block, split_kv->weight_rows_bytes));
    }
}

void split_kv_run(struct split_kv *split_kv)
{
    struct attention_plan *plan = split_kv->plan;
    size_t blocks = plan->B * plan->Hkv, group = plan->H / plan->Hkv;
    assert(plan->split_count > 0);
    for (size_t i = 0; i < blocks; i++) {
        size_t g = i % plan->Hkv;
        attention_block_init(plan, i / plan->Hkv, g, g * group, plan->Tq, 0, group_rows(plan), &split_kv->blocks[i]);
    }
    executor_run(plan->runner, blocks * plan->split_count, task_split, split_kv);
    executor_run(plan->runner, plan->mean_wanted ? plan->B : blocks, task_merge, split_kv);
    attention_reduce_run(plan, 0, plan->B * plan->H);
}
