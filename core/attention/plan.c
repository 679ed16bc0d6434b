#include "core/attention/plan.h"

#include <assert.h>
#include <limits.h>
#include <math.h>

#include "core/precision.h"
#include "core/size.h"

/* Calls of fewer products (B*H*Tq*Tk*(D+Dv)) run on the caller alone: they take some 10 microseconds. */
#define PARALLEL_PRODUCTS_MIN ((size_t)1 << 20)

#define LOG2_E 1.44269504088896340736

#define HEAD_GROUP_BYTES ((size_t)768 << 10)  /* a group's keys and values, for each worker: they stay in the second cache */
#define STREAMING_BYTES_MIN ((size_t)8 << 20) /* weights of this size are written past the caches */

/* A block's weights can be copied row by row to where they belong. */
static bool takes_rows(const struct tensor *t)
{
    return t->data != NULL && (t->stride[3] == 1 || t->shape[3] <= 1) && t->stride[2] >= (ptrdiff_t)t->shape[3];
}

/* Panels as wide as the kernels want them; where they don't mind, one as wide as the operand, up to a tile. */
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

/* Rows of a view that kernels read in place. */
static bool has_contiguous_rows(const struct tensor *t)
{
    return t->stride[3] == 1 && t->stride[2] >= (ptrdiff_t)t->shape[3];
}

/* Rows of values that can be read as panels. */
static bool values_in_place(const struct attention_plan *plan)
{
    const struct tensor *value = &plan->params->value;
    return plan->work == value->dtype && has_contiguous_rows(value) && plan->Dv > 0 && plan->Dv % plan->value_panel == 0;
}

/* Few query rows for each key head, in sizes that the kernels take unpacked. */
static bool can_split_kv(const struct attention_plan *plan)
{
    bool narrow = plan->work == DTYPE_F32;
    size_t panel = narrow ? plan->kernels->panel_columns_f32 : plan->kernels->panel_columns_f64;
    bool kernel = narrow ? plan->kernels->dots_f32 != NULL : plan->kernels->dots_f64 != NULL;
    if (plan->params->row_invariant) /* dots are summed up, and splits merged, in an order of their own */
        return false;
    if (!kernel || plan->work != plan->params->query.dtype || plan->Hkv == 0 || plan->H == 0 || plan->Tq == 0 || plan->Tk == 0)
        return false;
    if (plan->params->sequences != NULL) /* how long they are is not known when memory is planned */
        return false;
    bool few = size_multiply(plan->H / plan->Hkv, plan->Tq) <= SPLIT_KV_ROWS_MAX;
    bool sizes = plan->D > 0 && plan->D <= KERNEL_DEPTH_MAX && plan->D % panel == 0 && plan->Dv > 0 && plan->Dv % panel == 0;
    return few && sizes && has_contiguous_rows(&plan->params->key) && has_contiguous_rows(&plan->params->value);
}

/* As many key heads as keep each worker's cache busy but not full; where heads are summed up to a mean, whole items. */
static void plan_head_group(struct attention_plan *plan)
{
    size_t heads = size_multiply(plan->B, plan->Hkv), unit = plan->mean_wanted ? size_max(plan->Hkv, 1) : 1;
    size_t numbers = size_multiply(plan->Tk, size_add(plan->D, plan->Dv));
    size_t head_bytes = size_max(size_multiply(numbers, dtype_bytes(plan->work)), 1);
    size_t head_group = size_multiply(executor_worker_count(plan->runner), size_max(HEAD_GROUP_BYTES / head_bytes, 1));
    plan->group_heads = size_min(size_multiply(size_pieces(head_group, unit), unit), heads);
    plan->group_panels = size_multiply(plan->group_heads, plan->key_panel_count);
    size_t panel_bytes =
        size_max(size_multiply(size_multiply(plan->key_panel, plan->D + plan->Dv), dtype_bytes(plan->work)), 1);
    plan->cached_panels = size_multiply(executor_worker_count(plan->runner), HEAD_GROUP_BYTES / panel_bytes);
    bool sums = plan->results->key_sums.data != NULL || plan->pool_columns > 0;
    if (plan->params->sequences != NULL && sums) { /* they look at all sequences at once: reduce.h */
        plan->group_heads = size_multiply(plan->sequence_count, plan->Hkv);
        plan->group_panels = size_multiply(plan->Hkv, size_add(plan->key_panel_count, plan->sequence_count));
        plan->cached_panels = plan->group_panels;
    }
}

/* Float32 that is computed in double: see core/precision.h. */
static bool is_f32_in_f64(const struct attention_plan *plan)
{
    const struct attention_params *params = plan->params;
    size_t queries = size_max(plan->Tq, F32_IN_F64_QUERIES_MIN);
    size_t products = size_multiply(size_multiply(queries, plan->Tk), size_add(plan->D, plan->Dv));
    return params->query.dtype == DTYPE_F32 && products <= F32_IN_F64_PRODUCTS_MAX && !params->row_invariant;
}

static void plan_selection(struct attention_plan *plan)
{
    const struct attention_selection *selection = plan->results->selection;
    plan->selection = (struct attention_selection){.query_count = plan->Tq, .key_count = plan->Tk};
    if (selection != NULL)
        plan->selection = *selection;
    size_t first = plan->selection.key_first, count = plan->selection.key_count;
    plan->kept_tiles = size_pieces(first + count, KEY_TILE) - first / KEY_TILE;
    if (plan->params->sequences != NULL) /* whose tiles begin anywhere */
        plan->kept_tiles = size_pieces(count, KEY_TILE) + 1;
}

void attention_plan_init(struct attention_plan *plan, const struct attention_params *params, struct attention_results *results,
                         const struct executor *executor)
{
    *plan = (struct attention_plan){
        .params = params,
        .results = results,
        .kernels = params->row_invariant ? kernels_row_invariant() : kernels_in_use(),
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
    bool f32_in_f64 = is_f32_in_f64(plan);
    bool parallel = size_multiply(size_multiply(plan->B, plan->H), products) >= PARALLEL_PRODUCTS_MIN;
    plan->runner = parallel ? executor : NULL;
    plan->precision = f32_in_f64 ? ATTENTION_F32_IN_F64 : params->query.dtype == DTYPE_F64 ? ATTENTION_F64 : ATTENTION_F32;
    plan->work = plan->precision == ATTENTION_F32 ? DTYPE_F32 : DTYPE_F64;
    plan->sequence_count = params->sequences == NULL ? plan->B : params->sequence_count;
    plan->mean_wanted = results->mean_weights.data != NULL;
    plan->weights_wanted = results->weights.data != NULL || plan->mean_wanted;
    plan_selection(plan);
    plan->weights_in_place = takes_rows(&results->weights) && /* the mean is of all heads, and of unrounded weights */
                             !(plan->mean_wanted && (f32_in_f64 || plan->selection.head_places != NULL));
    size_t weights_bytes = size_multiply(tensor_count(&results->weights), dtype_bytes(params->query.dtype));
    plan->weights_stream = plan->weights_in_place && !plan->mean_wanted && weights_bytes >= STREAMING_BYTES_MIN;
    plan->weights_dtype = plan->weights_in_place ? params->query.dtype : plan->work;
    plan->stages_wanted = plan->weights_wanted || results->scores.data != NULL || results->capped_scores.data != NULL ||
                          results->masked_scores.data != NULL;
    plan->raw_scores = params->softcap <= 0 && params->bias.data == NULL && params->relative_bias.table == NULL &&
                       params->mask.data == NULL && params->alibi_slopes == NULL;
    const struct tensor *top = results->top_indices.data != NULL ? &results->top_indices : &results->top_weights;
    plan->top = top->data == NULL ? 0 : top->shape[3];
    plan->row_reductions = plan->top > 0 || results->entropy.data != NULL || results->key_sums.data != NULL ||
                           results->pooled_weights.data != NULL;
    plan->pool_rows = results->pooled_weights.data == NULL ? 0 : results->pooled_weights.shape[2];
    plan->pool_columns = results->pooled_weights.data == NULL ? 0 : results->pooled_weights.shape[3];
    plan_panels(plan);
    plan->values_in_place = values_in_place(plan);
    plan->split_kv = can_split_kv(plan);
    plan->split_count = size_pieces(plan->Tk, SPLIT_KV_KEYS);
    if (plan->split_kv)
        plan->rows_at_once = SPLIT_KV_ROWS_MAX;
    if (plan->weights_wanted)
        plan->score_rows = plan->split_kv ? plan->H / plan->Hkv * plan->Tq : size_min(plan->Tq, QUERY_TILE);
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
    assert(params->bias.data == NULL || params->bias.dtype == params->query.dtype);
    assert(plan->D <= INT_MAX && plan->Dv <= INT_MAX);
    (void)params;
}

bool attention_should_stop(struct attention_plan *plan)
{
    if (executor_stopped(plan->executor))
        atomic_store_explicit(&plan->stopped, true, memory_order_relaxed);
    return atomic_load_explicit(&plan->stopped, memory_order_relaxed);
}

double attention_lse(const struct attention_plan *plan, double max, double sum)
{
    double lse = max + log(sum);
    return plan->params->lse_base_2 ? lse * LOG2_E : lse;
}
