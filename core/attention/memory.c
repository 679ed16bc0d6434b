#include "core/attention/memory.h"

#include "core/attention/extents.h"
#include "core/attention/reduce.h"
#include "core/size.h"

void *attention_memory_take(struct attention_memory *memory, size_t bytes)
{
    if (bytes == 0 || memory->failed)
        return NULL;
    memory->cost = size_add(memory->cost, arena_cost(bytes));
    if (memory->arena == NULL)
        return NULL;
    void *taken = arena_alloc(memory->arena, bytes, memory->err);
    memory->failed = taken == NULL;
    return taken;
}

/* split_kv.c has what belongs to a split in memory of its own. */
static void scratch_take(struct attention_memory *memory, const struct attention_plan *plan, struct attention_scratch *ret)
{
    size_t real = dtype_bytes(plan->work);
    size_t rows = plan->split_kv ? SPLIT_KV_ROWS_MAX : size_min(plan->Tq, QUERY_TILE);
    size_t chunks = plan->split_kv ? 1 : size_max(size_pieces(plan->D, KERNEL_DEPTH_MAX), 1);
    size_t query_rows = size_add(size_multiply(chunks - 1, QUERY_TILE), rows);
    size_t sums_columns = size_multiply(plan->value_panel_count, plan->value_panel);
    bool output = plan->results->output.data != NULL && !plan->split_kv;
    bool weights = plan->weights_wanted && !plan->split_kv;
    size_t kept_rows = weights ? size_multiply(rows, plan->kept_tiles) : 0;
    size_t top = plan->split_kv ? 0 : size_multiply(rows, plan->top);
    ret->queries = attention_memory_take(memory, size_multiply(real * KERNEL_ROW_STRIDE, query_rows));
    ret->scores = attention_memory_take(memory, real * KERNEL_ROW_STRIDE * size_min(rows, plan->rows_at_once));
    ret->kept_scores = attention_memory_take(memory, size_multiply(real * KERNEL_ROW_STRIDE, kept_rows));
    ret->sums = attention_memory_take(memory, output ? size_multiply(2 * real * rows, sums_columns) : 0);
    size_t weight_row = size_multiply(dtype_bytes(plan->weights_dtype), plan->selection.key_count);
    ret->weight_rows = attention_memory_take(memory, weights && !plan->weights_in_place ? size_multiply(rows, weight_row) : 0);
    ret->tile_max = attention_memory_take(memory, weights ? size_multiply(real * QUERY_TILE, plan->kept_tiles) : 0);
    ret->top_scores = attention_memory_take(memory, size_multiply(top, sizeof *ret->top_scores));
    ret->top_keys = attention_memory_take(memory, size_multiply(top, sizeof *ret->top_keys));
    attention_reduce_scratch(memory, plan, ret);
    ret->clean_values = attention_memory_take(memory, plan->values_in_place ? size_multiply(real * KEY_TILE, plan->Dv) : 0);
}

/* Keys of no dimensions have panels, of no numbers. */
static void panels_take(struct attention_memory *memory, struct attention_plan *plan)
{
    size_t real = dtype_bytes(plan->work), keys = size_multiply(plan->group_panels, plan->key_panel);
    size_t columns = size_multiply(plan->value_panel_count, plan->value_panel);
    bool values = plan->results->output.data != NULL && plan->Dv > 0;
    size_t keys_bytes = size_multiply(real, size_multiply(keys, plan->D));
    size_t values_bytes = size_multiply(real, size_multiply(keys, columns));
    plan->key_panels = attention_memory_take(memory, size_max(keys_bytes, 1));
    plan->value_panels = attention_memory_take(memory, values && !plan->values_in_place ? values_bytes : 0);
    plan->nonfinite_values = attention_memory_take(memory, values ? keys : 0);
}

/* For the rules: visible.c. */
static void rows_take(struct attention_memory *memory, struct attention_plan *plan)
{
    const struct attention_params *params = plan->params;
    bool ids = params->key_segments.ids != NULL || params->key_spans.ids != NULL;
    bool by_key = ids || params->key_positions.given != NULL || params->num_sink_tokens > 0;
    size_t tiles = size_add(size_multiply(plan->B, size_pieces(plan->Tk, KEY_TILE)), plan->sequence_count);
    plan->sequences = attention_memory_take(memory, size_multiply(size_add(plan->sequence_count, 1), sizeof *plan->sequences));
    plan->rows = attention_memory_take(memory, size_multiply(size_multiply(plan->B, plan->Tq), sizeof *plan->rows));
    plan->summaries = attention_memory_take(memory, by_key ? size_multiply(tiles, sizeof *plan->summaries) : 0);
    plan->extents = attention_memory_take(memory, ids ? size_multiply(2 * sizeof *plan->extents, plan->Tk) : 0);
}

void attention_memory_plan(struct attention_memory *memory, struct attention_plan *plan)
{
    size_t workers = executor_worker_count(plan->runner);
    struct attention_scratch unused;
    plan->scratch = attention_memory_take(memory, workers * sizeof *plan->scratch);
    rows_take(memory, plan);
    attention_reduce_init(plan, memory);
    if (!plan->split_kv)
        panels_take(memory, plan);
    for (size_t worker = 0; worker < workers; worker++)
        scratch_take(memory, plan, plan->scratch == NULL ? &unused : &plan->scratch[worker]);
}
