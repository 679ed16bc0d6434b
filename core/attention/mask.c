#include "core/attention/mask.h"

#include <math.h>

#include "core/size.h"

/* The keys of one item by position. */
struct key_order {
    const struct positions *positions;
    size_t b, count;
    bool sorted; /* no key stands before the one with the index below */
};

static struct key_order order_of(const struct attention_plan *plan, size_t b)
{
    const struct positions *positions = &plan->params->key_positions;
    struct key_order order = {.positions = positions, .b = b, .count = plan->Tk, .sorted = true};
    for (size_t j = 1; positions->given != NULL && j < plan->Tk && order.sorted; j++)
        order.sorted = positions_at(positions, b, j - 1) <= positions_at(positions, b, j);
    return order;
}

/* How many keys stand before a position: their indices, where keys are sorted. */
static size_t keys_before(const struct key_order *order, int64_t position)
{
    size_t low = 0, high = order->count;
    if (order->positions->given == NULL && order->count > 0) {
        int64_t first = positions_at(order->positions, order->b, 0);
        if (position <= first)
            return 0;
        return (uint64_t)position - (uint64_t)first < high ? (size_t)((uint64_t)position - (uint64_t)first) : high;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (positions_at(order->positions, order->b, middle) < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Leaves a row the keys at positions [first, end). */
static void row_cut(struct attention_row *row, const struct key_order *order, int64_t first, int64_t end)
{
    if (!order->sorted) {
        row->by_key = true;
        return;
    }
    row->begin = (uint32_t)size_max(row->begin, first == INT64_MIN ? 0 : keys_before(order, first));
    row->end = (uint32_t)size_min(row->end, end == INT64_MAX ? order->count : keys_before(order, end));
}

/* The position after one that is the last of a range. */
static int64_t after(int64_t position)
{
    return position_add(position, 1);
}

static struct attention_row row_of(const struct attention_plan *plan, const struct key_order *order, size_t i)
{
    const struct attention_params *params = plan->params;
    size_t b = order->b;
    struct attention_row row = {.end = (uint32_t)(params->key_lengths == NULL ? plan->Tk : params->key_lengths[b])};
    int64_t position = positions_at(&params->query_positions, b, i);
    if (params->query_lengths != NULL && i >= params->query_lengths[b])
        return (struct attention_row){.padding = true};
    if (params->causal)
        row_cut(&row, order, INT64_MIN, after(position));
    if (params->window_right >= 0)
        row_cut(&row, order, INT64_MIN, after(position_add(position, params->window_right)));
    if (params->window_left >= 0)
        row_cut(&row, order, position_add(position, -params->window_left), INT64_MAX);
    if (row.begin >= row.end)
        row.begin = row.end = 0;
    return row;
}

void attention_rows_range(const struct attention_row *rows, size_t count, size_t *ret_begin, size_t *ret_end)
{
    size_t begin = SIZE_MAX, end = 0;
    for (size_t r = 0; r < count; r++) {
        begin = rows[r].begin < rows[r].end ? size_min(begin, rows[r].begin) : begin;
        end = size_max(end, rows[r].end);
    }
    *ret_begin = size_min(begin, end);
    *ret_end = end;
}

void attention_rows_init(struct attention_plan *plan)
{
    for (size_t b = 0; b < plan->B; b++) {
        const struct key_order order = order_of(plan, b);
        struct attention_row *rows = plan->rows + b * plan->Tq;
        for (size_t i = 0; i < plan->Tq; i++)
            rows[i] = row_of(plan, &order, i);
        attention_rows_range(rows, plan->Tq, &plan->items[b].key_begin, &plan->items[b].key_end);
    }
}

void attention_row_keeps(const struct attention_plan *plan, size_t b, size_t i, size_t first, size_t count,
                         unsigned char *ret_keep)
{
    const struct attention_params *params = plan->params;
    int64_t position = positions_at(&params->query_positions, b, i);
    int64_t begin = params->window_left < 0 ? INT64_MIN : position_add(position, -params->window_left);
    int64_t last = params->window_right < 0 ? INT64_MAX : position_add(position, params->window_right);
    if (params->causal && position < last)
        last = position;
    for (size_t j = 0; j < count; j++) {
        int64_t key = positions_at(&params->key_positions, b, first + j);
        ret_keep[j] = key >= begin && key <= last;
    }
}

bool attention_masked(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j)
{
    const struct attention_row *row = attention_row_at(plan, b, i);
    unsigned char keep = 1;
    if (j < row->begin || j >= row->end)
        return true;
    if (row->by_key)
        attention_row_keeps(plan, b, i, j, 1, &keep);
    const struct tensor *mask = &plan->params->mask;
    if (keep == 0 || mask->data == NULL)
        return keep == 0;
    const char *mask_row = tensor_row(mask, b, h, i);
    ptrdiff_t at = (ptrdiff_t)j * mask->stride[3];
    switch (mask->dtype) {
    case DTYPE_BOOL:
        return ((const unsigned char *)mask_row)[at] == 0;
    case DTYPE_F32:
        return ((const float *)mask_row)[at] == -INFINITY;
    case DTYPE_F64:
        return ((const double *)mask_row)[at] == -(double)INFINITY;
    case DTYPE_I64: /* no mask is */
        break;
    }
    return false;
}
