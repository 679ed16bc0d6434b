#include "core/attention/reduce.h"

#include <math.h>
#include <string.h>

#include "core/size.h"

#define SPAN_KEYS (2 * KEY_TILE) /* about: packing a block's queries again is then little beside their products */

static bool sums_wanted(const struct attention_plan *plan)
{
    return plan->results->key_sums.data != NULL || plan->pool_columns > 0;
}

/* The first key of a span. */
static size_t span_edge(const struct attention_plan *plan, size_t span)
{
    if (plan->pool_columns == 0)
        return size_min(span * SPAN_KEYS, plan->Tk);
    return attention_pool_edge(plan->pool_columns, plan->Tk, size_min(span * plan->span_columns, plan->pool_columns));
}

void attention_reduce_init(struct attention_plan *plan, struct attention_memory *memory)
{
    size_t rows = size_multiply(size_multiply(plan->B, plan->H), plan->Tq);
    if (!sums_wanted(plan))
        return;
    size_t columns = plan->pool_columns;
    plan->span_columns = columns == 0 ? 0 : size_max(SPAN_KEYS * columns / size_max(plan->Tk, 1), 1);
    plan->span_columns = size_min(plan->span_columns, columns);
    plan->span_count = columns == 0 ? size_pieces(plan->Tk, SPAN_KEYS) : size_pieces(columns, plan->span_columns);
    plan->row_norms = attention_memory_take(memory, size_multiply(rows, sizeof *plan->row_norms));
}

void attention_reduce_scratch(struct attention_memory *memory, const struct attention_plan *plan, struct attention_scratch *ret)
{
    size_t keys = 0;
    ret->key_sums = ret->cells = NULL;
    if (plan->span_count == 0)
        return;
    for (size_t span = 0; span < plan->span_count; span++)
        keys = size_max(keys, span_edge(plan, span + 1) - span_edge(plan, span));
    bool key_sums = plan->results->key_sums.data != NULL;
    size_t cells = size_multiply(plan->pool_rows, plan->span_columns);
    ret->key_sums = attention_memory_take(memory, key_sums ? size_multiply(keys, sizeof(double)) : 0);
    ret->cells = attention_memory_take(memory, size_multiply(cells, sizeof(double)));
}

/* Four sums at a time, which need not wait for each other. */
static double sum_of(const double *x, size_t count)
{
    double sums[4] = {0};
    for (size_t j = 0; j < count; j++)
        sums[j % 4] += x[j];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

static double largest_of(const double *x, size_t count)
{
    double largest = 0;
    for (size_t j = 0; j < count; j++)
        if (x[j] > largest || isnan(x[j]))
            largest = x[j];
    return largest;
}

void attention_pool_add(const struct attention_plan *plan, const struct attention_span *span, size_t row, const double *columns,
                        size_t key, size_t count)
{
    double *cells = span->cells + row * plan->span_columns;
    for (size_t j = key; j < key + count;) {
        size_t column = attention_pool_cell(plan->pool_columns, plan->Tk, j);
        size_t next = size_min(attention_pool_edge(plan->pool_columns, plan->Tk, column + 1), key + count);
        double *cell = &cells[column - span->column];
        if (!plan->results->pool_max) {
            *cell += sum_of(columns + (j - key), next - j);
        } else {
            double largest = largest_of(columns + (j - key), next - j);
            *cell = largest > *cell || isnan(largest) ? largest : *cell;
        }
        j = next;
    }
}

/* A head's span to the results. */
static void span_store(const struct attention_plan *plan, size_t b, size_t h, const struct attention_span *span)
{
    const struct tensor *sums = &plan->results->key_sums, *pooled = &plan->results->pooled_weights;
    for (size_t j = span->first; j < span->end && span->key_sums != NULL; j++)
        tensor_set_real(sums, tensor_row(sums, b, h, j), 0, span->key_sums[j - span->first]);
    size_t columns = span->cells == NULL ? 0 : size_min(plan->span_columns, plan->pool_columns - span->column);
    for (size_t row = 0; row < plan->pool_rows && columns > 0; row++) {
        size_t rows =
            attention_pool_edge(plan->pool_rows, plan->Tq, row + 1) - attention_pool_edge(plan->pool_rows, plan->Tq, row);
        for (size_t k = 0; k < columns; k++) {
            size_t column = span->column + k;
            size_t keys = attention_pool_edge(plan->pool_columns, plan->Tk, column + 1) -
                          attention_pool_edge(plan->pool_columns, plan->Tk, column);
            double count = plan->results->pool_max ? 1 : fmax((double)rows * (double)keys, 1);
            tensor_set_real(pooled, tensor_row(pooled, b, h, row), (ptrdiff_t)column * pooled->stride[3],
                            span->cells[row * plan->span_columns + k] / count);
        }
    }
}

struct sweep {
    struct attention_plan *plan;
    size_t first_head;
};

/* All queries of sequence s over its keys of the span. */
static void sequence_reduce(struct attention_plan *plan, size_t s, size_t h, const struct attention_scratch *scratch,
                            const struct attention_span *span)
{
    const struct attention_sequence_plan *sequence = &plan->sequences[s];
    if (sequence->key_begin >= span->end || sequence->key_end <= span->first)
        return;
    for (size_t first = 0; first < sequence->queries && !attention_should_stop(plan); first += QUERY_TILE) {
        struct attention_block block;
        size_t rows = size_min(plan->split_kv ? SPLIT_KV_ROWS_MAX : QUERY_TILE, sequence->queries - first);
        attention_block_init(plan, s, h / (plan->H / plan->Hkv), h, rows, sequence->first_query + first, rows, &block);
        attention_block_functions(plan)->reduce(plan, &block, scratch, span);
    }
}

/* Task number -> head, span. */
static void task_reduce(void *argument, size_t task, size_t worker)
{
    const struct sweep *sweep = argument;
    struct attention_plan *plan = sweep->plan;
    const struct attention_scratch *scratch = &plan->scratch[worker];
    size_t number = task % plan->span_count, head = sweep->first_head + task / plan->span_count;
    size_t b = head / plan->H, h = head % plan->H;
    const struct attention_span span = {
        .first = span_edge(plan, number),
        .end = span_edge(plan, number + 1),
        .column = number * plan->span_columns,
        .key_sums = scratch->key_sums,
        .cells = scratch->cells,
    };
    if (span.key_sums != NULL)
        memset(span.key_sums, 0, (span.end - span.first) * sizeof *span.key_sums);
    if (span.cells != NULL)
        memset(span.cells, 0, plan->pool_rows * plan->span_columns * sizeof *span.cells);
    if (plan->params->sequences == NULL)
        sequence_reduce(plan, b, h, scratch, &span);
    for (size_t s = 0; s < plan->sequence_count && plan->params->sequences != NULL; s++)
        sequence_reduce(plan, s, h, scratch, &span);
    span_store(plan, b, h, &span);
}

void attention_reduce_run(struct attention_plan *plan, size_t first_head, size_t heads)
{
    struct sweep sweep = {plan, first_head};
    if (plan->span_count > 0 && !attention_should_stop(plan))
        executor_run(plan->runner, heads * plan->span_count, task_reduce, &sweep);
}

void attention_reduce_none(const struct attention_plan *plan)
{
    const struct tensor *const results[] = {&plan->results->key_sums, &plan->results->pooled_weights};
    for (size_t k = 0; k < 2; k++)
        for (size_t row = 0; row < results[k]->shape[2] && results[k]->data != NULL; row++)
            for (size_t head = 0; head < plan->B * plan->H; head++)
                for (size_t j = 0; j < (results[k]->rank == 4 ? results[k]->shape[3] : 1); j++)
                    tensor_set_real(results[k], tensor_row(results[k], head / plan->H, head % plan->H, row),
                                    (ptrdiff_t)j * results[k]->stride[3], 0);
}
