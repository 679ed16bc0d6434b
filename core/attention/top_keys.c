#include "core/attention/top_keys.h"

#include <math.h>
#include <string.h>

#include "core/size.h"

void top_keys_insert(struct top_keys *top, double score, size_t key)
{
    size_t at = top->count;
    while (at > 0 && score > top->scores[at - 1])
        at--;
    if (at == top->capacity)
        return;
    size_t moved = size_min(top->count, top->capacity - 1) - at;
    memmove(top->scores + at + 1, top->scores + at, moved * sizeof *top->scores);
    memmove(top->keys + at + 1, top->keys + at, moved * sizeof *top->keys);
    top->scores[at] = score;
    top->keys[at] = (int64_t)key;
    top->count = size_min(top->count + 1, top->capacity);
}

void top_keys_store(const struct attention_plan *plan, size_t b, size_t h, size_t i, const struct top_keys *top, double max,
                    double sum)
{
    const struct tensor *indices = &plan->results->top_indices, *weights = &plan->results->top_weights;
    for (size_t k = 0; k < plan->top; k++) {
        bool has = k < top->count;
        if (indices->data != NULL)
            ((int64_t *)tensor_row(indices, b, h, i))[(ptrdiff_t)k * indices->stride[3]] = has ? top->keys[k] : -1;
        if (weights->data != NULL)
            tensor_set_real(weights, tensor_row(weights, b, h, i), (ptrdiff_t)k * weights->stride[3],
                            has ? exp(top->scores[k] - max) / sum : 0);
    }
}
