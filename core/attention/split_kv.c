/* attention_split_kv.c: few queries against many keys (decoding). Packing would cost more than it saves, so keys and values are read
 * once, as they lie, for all query heads that share them; and the keys are cut into splits of fixed size, so that several
 * workers can share one head. The splits' maxima, denominators and sums are merged in order at the end. */
#include <assert.h>

#include "core/attention/plan.h"

/* What one call keeps from its first phase to its second. */
struct direct {
    struct attention_plan *plan;
    struct attention_block *blocks; /* [B,Hkv] */
    void **states;                  /* [B,Hkv,splits] */
    char *state_memory, *sums, *scores, *tile_max, *weight_rows;
    size_t state_bytes, sums_bytes, scores_bytes, tile_max_bytes, weight_rows_bytes; /* of one split, or of one block */
};

#define SPLIT_KV_PARTS 7

static size_t round_up(size_t bytes)
{
    return size_add(bytes, ARENA_ALIGNMENT_BYTES - 1) / ARENA_ALIGNMENT_BYTES * ARENA_ALIGNMENT_BYTES;
}

/* The sizes of one split's and one block's memory, and of all parts together in the order of the pointers above. */
static void split_kv_sizes(const struct attention_plan *plan, struct direct *direct, size_t sizes[SPLIT_KV_PARTS])
{
    size_t real = dtype_bytes(plan->work), rows = plan->H / plan->Hkv * plan->Tq;
    size_t blocks = size_multiply(plan->B, plan->Hkv), splits = size_multiply(blocks, plan->split_count);
    bool row_scratch = plan->weights_wanted && !plan->weights_in_place;
    direct->state_bytes = round_up(plan->work == DTYPE_F32 ? attention_split_bytes_f32() : attention_split_bytes_f64());
    direct->sums_bytes =
        plan->results->output.data == NULL ? 0 : round_up(2 * real * rows * plan->value_panel_count * plan->value_panel);
    size_t tiles = plan->weights_wanted ? plan->Tk / KEY_TILE + 1 : 0;
    direct->scores_bytes = round_up(size_multiply(real * KERNEL_ROW_STRIDE * rows, tiles));
    direct->tile_max_bytes = round_up(size_multiply(real * QUERY_TILE, tiles));
    direct->weight_rows_bytes = row_scratch ? round_up(size_multiply(real * rows, plan->Tk)) : 0;
    sizes[0] = size_multiply(blocks, sizeof *direct->blocks);
    sizes[1] = size_multiply(splits, sizeof *direct->states);
    sizes[2] = size_multiply(splits, direct->state_bytes);
    sizes[3] = size_multiply(splits, direct->sums_bytes);
    sizes[4] = size_multiply(blocks, direct->tile_max_bytes);
    sizes[5] = size_multiply(blocks, direct->weight_rows_bytes);
    sizes[6] = size_multiply(blocks, direct->scores_bytes);
}

size_t attention_split_kv_cost(const struct attention_plan *plan)
{
    struct direct direct;
    size_t sizes[SPLIT_KV_PARTS], cost = 0;
    split_kv_sizes(plan, &direct, sizes);
    for (size_t part = 0; part < SPLIT_KV_PARTS; part++)
        cost = size_add(cost, arena_cost(sizes[part]));
    return cost;
}

static bool split_kv_alloc(struct direct *direct, struct arena *arena, struct error *err)
{
    size_t sizes[SPLIT_KV_PARTS];
    void *memory[SPLIT_KV_PARTS];
    split_kv_sizes(direct->plan, direct, sizes);
    for (size_t part = 0; part < SPLIT_KV_PARTS; part++)
        if ((memory[part] = arena_alloc(arena, sizes[part], err)) == NULL)
            return false;
    direct->blocks = memory[0];
    direct->states = memory[1];
    direct->state_memory = memory[2];
    direct->sums = memory[3];
    direct->tile_max = memory[4];
    direct->weight_rows = memory[5];
    direct->scores = memory[6];
    return true;
}

/* A worker's scratch with the places that belong to a split and to its block. */
static struct attention_scratch scratch_of(const struct direct *direct, size_t split, size_t block, size_t worker)
{
    struct attention_scratch scratch = direct->plan->scratch[worker];
    scratch.sums = direct->sums_bytes == 0 ? NULL : direct->sums + split * direct->sums_bytes;
    scratch.tile_max = direct->tile_max + block * direct->tile_max_bytes;
    scratch.weight_rows = direct->weight_rows + block * direct->weight_rows_bytes;
    if (direct->scores_bytes != 0)
        scratch.scores = direct->scores + block * direct->scores_bytes;
    return scratch;
}

static void task_split(void *argument, size_t task, size_t worker)
{
    struct direct *direct = argument;
    struct attention_plan *plan = direct->plan;
    size_t block = task / plan->split_count, first = task % plan->split_count * SPLIT_KV_KEYS;
    size_t end = size_min(first + SPLIT_KV_KEYS, plan->Tk);
    const struct attention_scratch scratch = scratch_of(direct, task, block, worker);
    direct->states[task] = direct->state_memory + task * direct->state_bytes;
    (plan->work == DTYPE_F32 ? attention_split_f32 : attention_split_f64)(plan, &direct->blocks[block], &scratch,
                                                                          direct->states[task], first, end);
}

/* One block, or all blocks of an item in the order of their heads where these are summed up to a mean. */
static void task_merge(void *argument, size_t task, size_t worker)
{
    struct direct *direct = argument;
    struct attention_plan *plan = direct->plan;
    size_t blocks = plan->mean_wanted ? plan->Hkv : 1;
    (void)worker;
    if (atomic_load_explicit(&plan->stopped, memory_order_relaxed))
        return;
    for (size_t block = task * blocks; block < (task + 1) * blocks; block++) {
        void *const *states = direct->states + block * plan->split_count;
        (plan->work == DTYPE_F32 ? attention_merge_f32 : attention_merge_f64)(plan, states, plan->split_count);
        attention_store(plan, &direct->blocks[block], direct->weight_rows + block * direct->weight_rows_bytes);
    }
}

bool attention_split_kv(struct attention_plan *plan, struct arena *arena, struct error *err)
{
    struct direct direct = {.plan = plan};
    size_t blocks = plan->B * plan->Hkv, group = plan->H / plan->Hkv;
    assert(plan->split_count > 0);
    if (!split_kv_alloc(&direct, arena, err))
        return false;
    for (size_t i = 0; i < blocks; i++) {
        size_t g = i % plan->Hkv;
        attention_block_init(plan, i / plan->Hkv, g, g * group, plan->Tq, 0, group * plan->Tq, &direct.blocks[i]);
    }
    executor_run(plan->runner, blocks * plan->split_count, task_split, &direct);
    executor_run(plan->runner, plan->mean_wanted ? plan->B : blocks, task_merge, &direct);
    return true;
}
