#include "core/merge.h"

#include <math.h>

#include "core/size.h"

#define ROWS_A_TASK ((size_t)64)

static double power(double x, bool base_2)
{
    return base_2 ? exp2(x) : exp(x);
}

/* Of one row: its lse are row_count apart. Returns whether a part has a key. */
static bool row_weights(double *lse, size_t part_count, size_t row_count, bool base_2, double *ret_lse)
{
    double max = -(double)INFINITY, sum = 0;
    for (size_t p = 0; p < part_count; p++)
        max = fmax(max, lse[p * row_count]);
    bool any = false;
    for (size_t p = 0; p < part_count; p++) {
        double *at = &lse[p * row_count];
        bool has_keys = !(*at == -(double)INFINITY);
        *at = has_keys ? power(*at - max, base_2) : 0;
        sum += *at;
        any |= has_keys;
    }
    *ret_lse = any ? max + (base_2 ? log2(sum) : log(sum)) : -(double)INFINITY;
    for (size_t p = 0; any && p < part_count; p++)
        lse[p * row_count] /= sum;
    return any;
}

size_t merge_weights(double *lse, size_t part_count, size_t row_count, bool base_2, double *ret_lse)
{
    size_t masked = 0;
    for (size_t row = 0; row < row_count; row++)
        masked += !row_weights(lse + row, part_count, row_count, base_2, ret_lse + row);
    return masked;
}

struct addition {
    const struct tensor *output, *sum;
    const double *weights;
    const struct executor *executor;
    size_t row_count;
};

static void add_row(const struct addition *a, size_t row)
{
    const size_t *shape = a->sum->shape;
    const size_t t = row % shape[2], h = row / shape[2] % shape[1], b = row / shape[2] / shape[1];
    const double *from = tensor_row(a->output, b, h, t);
    double *to = tensor_row(a->sum, b, h, t);
    const double weight = a->weights[row];
    if (weight == 0)
        return;
    for (size_t d = 0; d < shape[3]; d++)
        to[d] += weight * from[d];
}

/* An executor_task. */
static void add_rows(void *argument, size_t task, size_t worker)
{
    const struct addition *a = argument;
    const size_t end = size_min(a->row_count, (task + 1) * ROWS_A_TASK);
    (void)worker;
    if (executor_stopped(a->executor))
        return;
    for (size_t row = task * ROWS_A_TASK; row < end; row++)
        add_row(a, row);
}

void merge_add(const struct tensor *output, const double *weights, const struct tensor *sum, const struct executor *executor)
{
    const size_t row_count = shape_count(3, sum->shape);
    struct addition addition = {output, sum, weights, executor, row_count};
    executor_run(executor, size_pieces(row_count, ROWS_A_TASK), add_rows, &addition);
}
