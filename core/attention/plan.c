/* attention_plan.c: how a call's work is cut, and the memory that takes. */
#include "core/attention/plan.h"

#include <assert.h>
#include <limits.h>

/* A block's weights can be copied row by row to where they belong. */
static bool takes_rows(const struct tensor *t)
{
    return t->data != NULL && (t->stride[3] == 1 || t->shape[3] <= 1) && t->stride[2] >= (ptrdiff_t)t->shape[3];
}

/* Panels as the kernels want them; where they don't mind, one as wide as the operand, up to a tile. */
static void plan_panels(struct attention_plan *plan)
{
    const struct kernels *kernels = plan->kernels;
    bool narrow = plan->work == DTYPE_F32;
    size_t columns = narrow ? kernels->panel_columns_f32 : kernels->panel_columns_f64;
    size_t rows = narrow ? kernels->rows_f32 : kernels->rows_f64;
    plan->rows_at_once = rows != 0 ? rows : QUERY_TILE;
    plan->key_panel = columns != 0 ? columns : size_max(size_min(plan->Tk, KEY_TILE), 1);
    plan->value_panel = columns != 0 ? columns : size_max(plan->Dv, 1);
    plan->key_panel_count = size_pieces(plan->Tk, plan->key_panel);
    plan->value_panel_count = size_pieces(plan->Dv, plan->value_panel);
}

/* Rows of a view that kernels read as they lie. */
static bool lies_in_rows(const struct tensor *t)
{
    return t->stride[3] == 1 && t->stride[2] >= (ptrdiff_t)t->shape[3];
}

/* Rows of values that are panels already. */
static bool values_in_place(const struct attention_plan *plan)
{
    const struct tensor *value = &plan->params->value;
    return plan->work == value->dtype && lies_in_rows(value) && plan->Dv > 0 && plan->Dv % plan->value_panel == 0;
}

/* Few rows for many keys, in sizes that the kernels take without packing. */
static bool can_split_kv(const struct attention_plan *plan)
{
    bool narrow = plan->work == DTYPE_F32;
    size_t panel = narrow ? plan->kernels->panel_columns_f32 : plan->kernels->panel_columns_f64;
    bool kernel = narrow ? plan->kernels->dots_f32 != NULL : plan->kernels->dots_f64 != NULL;
    if (!kernel || plan->work != plan->params->query.dtype || plan->Hkv == 0 || plan->H == 0 || plan->Tq == 0 || plan->Tk == 0)
        return false;
    bool few = size_multiply(plan->H / plan->Hkv, plan->Tq) <= SPLIT_KV_ROWS_MAX;
    bool sizes = plan->D > 0 && plan->D <= KERNEL_DEPTH_MAX && plan->D % panel == 0 && plan->Dv > 0 && plan->Dv % panel == 0;
    return few && sizes && lies_in_rows(&plan->params->key) && lies_in_rows(&plan->params->value);
}

/* As many key heads as keep each worker's cache busy but not full; where heads are summed up to a mean, whole items. */
static void plan_head_group(struct attention_plan *plan)
{
    size_t heads = size_multiply(plan->B, plan->Hkv), unit = plan->mean_wanted ? size_max(plan->Hkv, 1) : 1;
    size_t numbers = size_multiply(plan->Tk, size_add(plan->D, plan->Dv));
    size_t head_bytes = size_max(size_multiply(numbers, dtype_bytes(plan->work)), 1);
    size_t head_group = size_multiply(executor_worker_count(plan->runner), size_max(HEAD_GROUP_BYTES / head_bytes, 1));
    plan->group_heads = size_min(size_multiply(size_pieces(head_group, unit), unit), heads);
}

void attention_plan_init(struct attention_plan *plan, const struct attention_params *params, struct attention_results *results,
                         const struct executor *executor)
{
    *plan = (struct attention_plan){
        .params = params,
        .results = results,
        .kernels = kernels_in_use(),
        .executor = executor,
        .B = params->query.shape[0],
        .H = params->query.shape[1],
        .Hkv = params->key.shape[1],
        .Tq = params->query.shape[2],
        .Tk = params->key.shape[2],
        .D = params->query.shape[3],
        .Dv = params->value.shape[3],
    };
    size_t products = size_multiply(size_multiply(plan->Tq, plan->Tk), size_add(plan->D, plan->Dv));
    bool wide = params->query.dtype == DTYPE_F32 && products <= F32_IN_F64_PRODUCTS_MAX;
    bool spread = size_multiply(size_multiply(plan->B, plan->H), products) >= SPREAD_PRODUCTS_MIN;
    plan->runner = spread ? executor : NULL;
    plan->work = wide ? DTYPE_F64 : params->query.dtype;
    plan->block_count = size_pieces(plan->Tq, QUERY_TILE);
    plan->mean_wanted = results->mean_weights.data != NULL;
    plan->weights_wanted = results->weights.data != NULL || plan->mean_wanted;
    plan->weights_in_place = takes_rows(&results->weights) && !(wide && plan->mean_wanted); /* the mean is of unrounded ones */
    size_t weights_bytes = size_multiply(tensor_count(&results->weights), dtype_bytes(params->query.dtype));
    plan->weights_stream = plan->weights_in_place && !plan->mean_wanted && weights_bytes >= STREAMING_BYTES_MIN;
    plan->weights_dtype = plan->weights_in_place ? params->query.dtype : plan->work;
    plan->stages_wanted = plan->weights_wanted || results->scores.data != NULL || results->capped_scores.data != NULL ||
                          results->masked_scores.data != NULL;
    plan->plain_scores = params->softcap <= 0 && params->mask.data == NULL && params->alibi_slopes == NULL;
    plan_panels(plan);
    plan->values_in_place = values_in_place(plan);
    plan->direct = can_split_kv(plan);
    plan->split_count = size_pieces(plan->Tk, SPLIT_KV_KEYS);
    if (plan->direct)
        plan->rows_at_once = SPLIT_KV_ROWS_MAX;
    if (plan->weights_wanted)
        plan->score_rows = plan->direct ? plan->H / plan->Hkv * plan->Tq : size_min(plan->Tq, QUERY_TILE);
    plan_head_group(plan);
}

void attention_plan_check(const struct attention_plan *plan)
{
    const struct attention_params *params = plan->params;
    assert(params->query.rank == 4 && params->key.rank == 4 && params->value.rank == 4);
    assert(params->key.shape[0] == plan->B && params->value.shape[0] == plan->B);
    assert(plan->H == 0 || (plan->Hkv > 0 && plan->H % plan->Hkv == 0));
    assert(params->value.shape[1] == plan->Hkv);
    assert(params->key.shape[3] == plan->D && params->value.shape[2] == plan->Tk);
    assert(params->query.dtype != DTYPE_BOOL && params->key.dtype == params->query.dtype);
    assert(params->value.dtype == params->query.dtype);
    assert(params->mask.data == NULL || params->mask.dtype == DTYPE_BOOL || params->mask.dtype == params->query.dtype);
    assert(plan->D <= INT_MAX && plan->Dv <= INT_MAX);
    (void)params;
}

/* The sizes in bytes of one worker's scratch, in the order of struct attention_scratch; 0 where not needed. */
#define SCRATCH_PARTS 6

static void scratch_sizes(const struct attention_plan *plan, size_t sizes[SCRATCH_PARTS])
{
    size_t real = dtype_bytes(plan->work);
    size_t rows = size_min(plan->Tq, QUERY_TILE);
    size_t chunks = size_max(size_pieces(plan->D, KEY_TILE), 1);
    size_t query_rows = size_add(size_multiply(chunks - 1, QUERY_TILE), rows);
    size_t sums_columns = size_multiply(plan->value_panel_count, plan->value_panel);
    size_t tiles = plan->Tk / KEY_TILE + 1;
    bool row_scratch = plan->weights_wanted && !plan->weights_in_place && !plan->direct;
    if (plan->direct)
        rows = SPLIT_KV_ROWS_MAX;
    sizes[0] = size_multiply(real * KERNEL_ROW_STRIDE, plan->direct ? rows : query_rows);
    sizes[1] = real * KERNEL_ROW_STRIDE * size_min(rows, plan->rows_at_once);
    if (plan->weights_wanted)
        sizes[1] = plan->direct ? 0 : size_multiply(real * KERNEL_ROW_STRIDE * rows, tiles);
    sizes[2] = plan->results->output.data == NULL || plan->direct ? 0 : size_multiply(2 * real * rows, sums_columns);
    sizes[3] = row_scratch ? size_multiply(dtype_bytes(plan->weights_dtype) * rows, plan->Tk) : 0;
    sizes[4] = plan->weights_wanted && !plan->direct ? size_multiply(real * QUERY_TILE, tiles) : 0;
    sizes[5] = plan->values_in_place ? size_multiply(real * KEY_TILE, plan->Dv) : 0;
}

/* The sizes in bytes of the panels of keys and of values, and of the marks of odd values; 0 where not needed. Keys of no
 * dimensions have panels, of no numbers. */
#define PANEL_PARTS 3

static void panel_sizes(const struct attention_plan *plan, size_t sizes[PANEL_PARTS])
{
    size_t real = dtype_bytes(plan->work);
    size_t keys = size_multiply(plan->key_panel_count, plan->key_panel);
    size_t columns = size_multiply(plan->value_panel_count, plan->value_panel);
    bool values = plan->results->output.data != NULL && plan->Dv > 0 && !plan->direct;
    size_t keys_bytes = size_multiply(size_multiply(plan->group_heads, real), size_multiply(keys, plan->D));
    size_t values_bytes = size_multiply(size_multiply(plan->group_heads, real), size_multiply(plan->Tk, columns));
    sizes[0] = plan->direct ? 0 : size_max(keys_bytes, 1);
    sizes[1] = values && !plan->values_in_place ? values_bytes : 0;
    sizes[2] = values ? size_multiply(plan->group_heads, plan->Tk) : 0;
}

size_t attention_scratch_cost(const struct attention_params *params, const struct attention_results *results,
                              const struct executor *executor)
{
    struct attention_results asked = *results;
    struct attention_plan plan;
    attention_plan_init(&plan, params, &asked, executor);
    size_t sizes[SCRATCH_PARTS], panels[PANEL_PARTS];
    size_t workers = executor_worker_count(plan.runner);
    scratch_sizes(&plan, sizes);
    panel_sizes(&plan, panels);
    size_t cost = 0;
    for (size_t part = 0; part < SCRATCH_PARTS; part++)
        cost = size_add(cost, size_multiply(workers, arena_cost(sizes[part])));
    for (size_t part = 0; part < PANEL_PARTS; part++)
        cost = size_add(cost, arena_cost(panels[part]));
    if (plan.direct)
        cost = size_add(cost, attention_split_kv_cost(&plan));
    return size_add(cost, arena_cost(workers * sizeof(struct attention_scratch)));
}

/* Takes the parts whose size is not 0. */
static bool parts_alloc(struct arena *arena, const size_t *sizes, void **const *parts, size_t count, struct error *err)
{
    for (size_t part = 0; part < count; part++) {
        *parts[part] = sizes[part] == 0 ? NULL : arena_alloc(arena, sizes[part], err);
        if (sizes[part] != 0 && *parts[part] == NULL)
            return false;
    }
    return true;
}

bool attention_plan_alloc(struct attention_plan *plan, struct arena *arena, struct error *err)
{
    size_t sizes[SCRATCH_PARTS], panels[PANEL_PARTS];
    size_t workers = executor_worker_count(plan->runner);
    void *nonfinite_values = NULL;
    void **panel_parts[PANEL_PARTS] = {&plan->key_panels, &plan->value_panels, &nonfinite_values};
    panel_sizes(plan, panels);
    plan->scratch = arena_alloc(arena, workers * sizeof *plan->scratch, err);
    if (plan->scratch == NULL || !parts_alloc(arena, panels, panel_parts, PANEL_PARTS, err))
        return false;
    plan->nonfinite_values = nonfinite_values;
    scratch_sizes(plan, sizes);
    for (size_t worker = 0; worker < workers; worker++) {
        struct attention_scratch *own = &plan->scratch[worker];
        void **parts[SCRATCH_PARTS] = {&own->queries,     &own->scores,   &own->sums,
                                       &own->weight_rows, &own->tile_max, &own->clean_values};
        if (!parts_alloc(arena, sizes, parts, SCRATCH_PARTS, err))
            return false;
    }
    return true;
}
