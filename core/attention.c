#include "core/attention.h"

#include <assert.h>
#include <limits.h>

#include "core/attention_plan.h"

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
    plan->key_panel_count = plan->Tk / plan->key_panel + (plan->Tk % plan->key_panel != 0);
    plan->value_panel_count = plan->Dv / plan->value_panel + (plan->Dv % plan->value_panel != 0);
}

/* Rows of a view that kernels read as they lie. */
static bool lies_in_rows(const struct tensor *t)
{
    return t->stride[3] == 1 && t->stride[2] >= (ptrdiff_t)t->shape[3];
}

/* Few rows for many keys, in sizes that the kernels take without packing. */
static bool can_be_direct(const struct attention_plan *plan)
{
    bool narrow = plan->work == DTYPE_F32;
    size_t panel = narrow ? plan->kernels->panel_columns_f32 : plan->kernels->panel_columns_f64;
    bool kernel = narrow ? plan->kernels->dots_f32 != NULL : plan->kernels->dots_f64 != NULL;
    if (!kernel || plan->work != plan->problem->query.dtype || plan->Hkv == 0 || plan->H == 0 || plan->Tq == 0 || plan->Tk == 0)
        return false;
    bool few = size_multiply(plan->H / plan->Hkv, plan->Tq) <= DIRECT_ROWS_MAX;
    bool sizes = plan->D > 0 && plan->D <= KERNEL_DEPTH_MAX && plan->D % panel == 0 && plan->Dv > 0 && plan->Dv % panel == 0;
    return few && sizes && lies_in_rows(&plan->problem->key) && lies_in_rows(&plan->problem->value);
}

static void plan_init(struct attention_plan *plan, const struct attention_problem *problem, struct attention_results *results,
                      const struct executor *executor)
{
    *plan = (struct attention_plan){
        .problem = problem,
        .results = results,
        .kernels = kernels_in_use(),
        .executor = executor,
        .B = problem->query.shape[0],
        .H = problem->query.shape[1],
        .Hkv = problem->key.shape[1],
        .Tq = problem->query.shape[2],
        .Tk = problem->key.shape[2],
        .D = problem->query.shape[3],
        .Dv = problem->value.shape[3],
    };
    size_t products = size_multiply(size_multiply(plan->Tq, plan->Tk), size_add(plan->D, plan->Dv));
    bool wide = problem->query.dtype == DTYPE_F32 && products <= WIDE_PRODUCTS_MAX;
    plan->work = wide ? DTYPE_F64 : problem->query.dtype;
    plan->block_count = plan->Tq / QUERY_TILE + (plan->Tq % QUERY_TILE != 0);
    plan->head_tasks = results->mean_weights.data == NULL ? plan->H : 1;
    plan->weights_wanted = results->weights.data != NULL || results->mean_weights.data != NULL;
    plan->weights_in_place = !wide && takes_rows(&results->weights);
    plan->stages_wanted = plan->weights_wanted || results->scores.data != NULL || results->capped_scores.data != NULL ||
                          results->masked_scores.data != NULL;
    plan_panels(plan);
    plan->direct = can_be_direct(plan);
    plan->split_count = plan->Tk / DIRECT_SPLIT_KEYS + (plan->Tk % DIRECT_SPLIT_KEYS != 0);
    if (plan->direct)
        plan->rows_at_once = DIRECT_ROWS_MAX;
}

static void plan_check(const struct attention_plan *plan)
{
    const struct attention_problem *problem = plan->problem;
    assert(problem->query.rank == 4 && problem->key.rank == 4 && problem->value.rank == 4);
    assert(problem->key.shape[0] == plan->B && problem->value.shape[0] == plan->B);
    assert(plan->H == 0 || (plan->Hkv > 0 && plan->H % plan->Hkv == 0));
    assert(problem->value.shape[1] == plan->Hkv);
    assert(problem->key.shape[3] == plan->D && problem->value.shape[2] == plan->Tk);
    assert(problem->query.dtype != DTYPE_BOOL && problem->key.dtype == problem->query.dtype);
    assert(problem->value.dtype == problem->query.dtype);
    assert(problem->mask.data == NULL || problem->mask.dtype == DTYPE_BOOL || problem->mask.dtype == problem->query.dtype);
    assert(plan->D <= INT_MAX && plan->Dv <= INT_MAX);
    (void)problem;
}

/* The sizes in bytes of one worker's scratch, in the order of struct attention_scratch; 0 where not needed. */
#define SCRATCH_PARTS 6

static void scratch_sizes(const struct attention_plan *plan, size_t sizes[SCRATCH_PARTS])
{
    size_t real = dtype_bytes(plan->work);
    size_t rows = size_min(plan->Tq, QUERY_TILE);
    size_t chunks = size_max(plan->D / KEY_TILE + (plan->D % KEY_TILE != 0), 1);
    size_t query_rows = size_add(size_multiply(chunks - 1, QUERY_TILE), rows);
    size_t sums_columns = size_multiply(plan->value_panel_count, plan->value_panel);
    bool row_scratch = plan->weights_wanted && !plan->weights_in_place;
    if (plan->direct)
        rows = DIRECT_ROWS_MAX;
    sizes[0] = size_multiply(real * KERNEL_ROW_STRIDE, plan->direct ? rows : query_rows);
    sizes[1] = real * KERNEL_ROW_STRIDE * size_min(rows, plan->rows_at_once);
    sizes[5] = plan->direct ? real * KEY_TILE * plan->Dv : 0;
    sizes[2] = plan->results->output.data == NULL || plan->direct ? 0 : size_multiply(real * rows, sums_columns);
    sizes[3] = row_scratch && !plan->direct ? size_multiply(real * rows, plan->Tk) : 0;
    sizes[4] = plan->weights_wanted && !plan->direct ? size_multiply(real * QUERY_TILE, plan->Tk / KEY_TILE + 1) : 0;
}

/* The sizes in bytes of the panels of keys and of values, and of the marks of odd values; 0 where not needed. Keys of no
 * dimensions have panels, of no numbers. */
#define PANEL_PARTS 3

static void panel_sizes(const struct attention_plan *plan, size_t sizes[PANEL_PARTS])
{
    size_t real = dtype_bytes(plan->work);
    size_t heads = size_multiply(plan->B, plan->Hkv);
    size_t keys = size_multiply(plan->key_panel_count, plan->key_panel);
    size_t columns = size_multiply(plan->value_panel_count, plan->value_panel);
    bool values = plan->results->output.data != NULL && plan->Dv > 0 && !plan->direct;
    sizes[0] = plan->direct ? 0 : size_max(size_multiply(size_multiply(heads, real), size_multiply(keys, plan->D)), 1);
    sizes[1] = values ? size_multiply(size_multiply(heads, real), size_multiply(plan->Tk, columns)) : 0;
    sizes[2] = values ? size_multiply(heads, plan->Tk) : 0;
}

size_t attention_scratch_cost(const struct attention_problem *problem, const struct attention_results *results,
                              const struct executor *executor)
{
    struct attention_results asked = *results;
    struct attention_plan plan;
    plan_init(&plan, problem, &asked, executor);
    size_t sizes[SCRATCH_PARTS], panels[PANEL_PARTS];
    size_t workers = executor_worker_count(executor);
    scratch_sizes(&plan, sizes);
    panel_sizes(&plan, panels);
    size_t cost = 0;
    for (size_t part = 0; part < SCRATCH_PARTS; part++)
        cost = size_add(cost, size_multiply(workers, arena_cost(sizes[part])));
    for (size_t part = 0; part < PANEL_PARTS; part++)
        cost = size_add(cost, arena_cost(panels[part]));
    if (plan.direct)
        cost = size_add(cost, attention_direct_cost(&plan));
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

static bool memory_alloc(struct attention_plan *plan, struct arena *arena, struct error *err)
{
    size_t sizes[SCRATCH_PARTS], panels[PANEL_PARTS];
    size_t workers = executor_worker_count(plan->executor);
    void *odd_values = NULL;
    void **panel_parts[PANEL_PARTS] = {&plan->key_panels, &plan->value_panels, &odd_values};
    panel_sizes(plan, panels);
    plan->scratch = arena_alloc(arena, workers * sizeof *plan->scratch, err);
    if (plan->scratch == NULL || !parts_alloc(arena, panels, panel_parts, PANEL_PARTS, err))
        return false;
    plan->odd_values = odd_values;
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

static double get_real(const void *data, enum dtype dtype, ptrdiff_t at)
{
    return dtype == DTYPE_F32 ? (double)((const float *)data)[at] : ((const double *)data)[at];
}

static void set_real(void *data, enum dtype dtype, ptrdiff_t at, double x)
{
    if (dtype == DTYPE_F32)
        ((float *)data)[at] = (float)x;
    else
        ((double *)data)[at] = x;
}

static void *mean_row_at(const struct tensor *mean, size_t b, size_t i)
{
    ptrdiff_t offset = (ptrdiff_t)b * mean->stride[0] + (ptrdiff_t)i * mean->stride[1];
    return (char *)mean->data + offset * (ptrdiff_t)dtype_bytes(mean->dtype);
}

/* The sum over heads starts at 0, and stays there where there are none. */
static void mean_start(const struct tensor *mean, size_t b, size_t first_query, size_t end)
{
    for (size_t i = first_query; i < end; i++)
        for (size_t j = 0; j < mean->shape[2]; j++)
            set_real(mean_row_at(mean, b, i), mean->dtype, (ptrdiff_t)j * mean->stride[2], 0);
}

void attention_deliver(const struct attention_plan *plan, const struct attention_block *block, const void *weight_rows)
{
    enum dtype dtype = plan->problem->query.dtype;
    const struct tensor *out = &plan->results->weights;
    const struct tensor *mean = &plan->results->mean_weights;
    if (plan->Tk == 0 || (mean->data == NULL && (out->data == NULL || plan->weights_in_place)))
        return;
    for (size_t r = 0; r < block->rows; r++) {
        size_t h = block->head + r / block->queries, i = block->first_query + r % block->queries;
        const char *row = plan->weights_in_place ? tensor_row(out, block->b, h, i)
                                                 : (const char *)weight_rows + r * plan->Tk * dtype_bytes(plan->work);
        for (size_t j = 0; out->data != NULL && !plan->weights_in_place && j < plan->Tk; j++)
            set_real(tensor_row(out, block->b, h, i), dtype, (ptrdiff_t)j * out->stride[3],
                     get_real(row, plan->work, (ptrdiff_t)j));
        if (mean->data == NULL)
            continue;
        void *mean_row = mean_row_at(mean, block->b, i);
        for (size_t j = 0; j < plan->Tk; j++) {
            ptrdiff_t at = (ptrdiff_t)j * mean->stride[2];
            double before = h == 0 ? 0 : get_real(mean_row, dtype, at);
            double sum = before + get_real(row, plan->work, (ptrdiff_t)j);
            set_real(mean_row, dtype, at, h + 1 == plan->H ? sum / (double)plan->H : sum);
        }
    }
}

/* The functions of the plan's precision. */
static attention_pack_function *pack_function(const struct attention_plan *plan)
{
    if (plan->work == DTYPE_F32)
        return attention_pack_f32;
    return plan->problem->query.dtype == DTYPE_F64 ? attention_pack_f64 : attention_pack_wide;
}

static attention_block_function *block_function(const struct attention_plan *plan)
{
    if (plan->work == DTYPE_F32)
        return attention_block_f32;
    return plan->problem->query.dtype == DTYPE_F64 ? attention_block_f64 : attention_block_wide;
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
    size_t tiles = plan->Tk / KEY_TILE + (plan->Tk % KEY_TILE != 0);
    size_t first = task % tiles * KEY_TILE;
    size_t head = task / tiles;
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
        attention_deliver(plan, &block, scratch->weight_rows);
}

/* Task number -> item, head (or all heads in order, where they are summed up to a mean), block of queries. */
static void task_run(void *argument, size_t task, size_t worker)
{
    struct attention_plan *plan = argument;
    size_t block = task % plan->block_count;
    size_t head = task / plan->block_count % plan->head_tasks;
    size_t b = task / plan->block_count / plan->head_tasks;
    size_t heads = plan->H / plan->head_tasks;
    (void)attention_should_stop(plan);
    if (plan->results->mean_weights.data != NULL)
        mean_start(&plan->results->mean_weights, b, block * QUERY_TILE, size_min((block + 1) * QUERY_TILE, plan->Tq));
    for (size_t h = head * heads; h < (head + 1) * heads; h++) {
        if (atomic_load_explicit(&plan->stopped, memory_order_relaxed))
            return;
        block_run(plan, b, h, block * QUERY_TILE, &plan->scratch[worker]);
    }
}

bool attention_compute(const struct attention_problem *problem, struct attention_results *results, struct arena *arena,
                       const struct executor *executor, struct error *err)
{
    struct attention_plan plan;
    results->banned_row_count = 0;
    plan_init(&plan, problem, results, executor);
    if (plan.B == 0 || plan.head_tasks == 0 || plan.Tq == 0)
        return true;
    plan_check(&plan);
    if (!memory_alloc(&plan, arena, err))
        return false;
    size_t tiles = plan.Tk / KEY_TILE + (plan.Tk % KEY_TILE != 0);
    if (plan.direct && !attention_direct(&plan, arena, err))
        return false;
    if (!plan.direct) {
        executor_run(executor, plan.B * plan.Hkv * tiles, task_pack, &plan);
        executor_run(executor, plan.B * plan.head_tasks * plan.block_count, task_run, &plan);
    }
    if (atomic_load(&plan.stopped))
        return error_set(err, ERROR_DEADLINE, "the work was stopped before it was done");
    results->banned_row_count = atomic_load(&plan.banned_row_count);
    return true;
}
