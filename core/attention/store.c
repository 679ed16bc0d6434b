#include "core/attention/store.h"

#include "core/size.h"

static double get_real(const void *data, enum dtype dtype, ptrdiff_t at)
{
    return dtype == DTYPE_F32 ? (double)((const float *)data)[at] : ((const double *)data)[at];
}

static void *mean_row_at(const struct tensor *mean, size_t b, size_t i)
{
    ptrdiff_t offset = (ptrdiff_t)b * mean->stride[0] + (ptrdiff_t)i * mean->stride[1];
    return (char *)mean->data + offset * (ptrdiff_t)dtype_bytes(mean->dtype);
}

/* The sum over heads starts at 0, and stays 0 where there are no heads. */
void attention_store_mean_zero(const struct attention_plan *plan, size_t b, size_t first_query, size_t queries)
{
    const struct tensor *mean = &plan->results->mean_weights;
    for (size_t i = first_query; i < first_query + queries; i++)
        for (size_t j = 0; j < mean->shape[2] && attention_query_selected(plan, i); j++)
            tensor_set_real(mean, mean_row_at(mean, b, i - plan->selection.query_first), (ptrdiff_t)j * mean->stride[2], 0);
}

void attention_store(const struct attention_plan *plan, const struct attention_block *block, const void *weight_rows)
{
    enum dtype dtype = plan->params->query.dtype;
    const struct tensor *out = &plan->results->weights;
    const struct tensor *mean = &plan->results->mean_weights;
    const size_t key_count = plan->selection.key_count;
    if (key_count == 0 || (mean->data == NULL && (out->data == NULL || plan->weights_in_place)))
        return;
    for (size_t r = 0; r < block->rows; r++) {
        size_t h = block->head + r / block->queries, i = block->first_query + r % block->queries;
        if (!attention_row_kept(plan, h, i))
            continue;
        const char *row = plan->weights_in_place ? attention_selected_row(plan, out, block->b, h, i)
                                                 : (const char *)weight_rows + r * key_count * dtype_bytes(plan->weights_dtype);
        bool copied = out->data != NULL && !plan->weights_in_place && attention_row_selected(plan, h, i);
        for (size_t j = 0; copied && j < key_count; j++)
            attention_set(plan, out, attention_selected_row(plan, out, block->b, h, i), (ptrdiff_t)j * out->stride[3],
                          get_real(row, plan->weights_dtype, (ptrdiff_t)j));
        if (mean->data == NULL)
            continue;
        void *mean_row = mean_row_at(mean, block->b, i - plan->selection.query_first);
        for (size_t j = 0; j < key_count; j++) {
            ptrdiff_t at = (ptrdiff_t)j * mean->stride[2];
            double before = h == 0 ? 0 : get_real(mean_row, dtype, at);
            double sum = before + get_real(row, plan->weights_dtype, (ptrdiff_t)j);
            tensor_set_real(mean, mean_row, at, h + 1 == plan->H ? sum / (double)plan->H : sum);
        }
    }
}
