#include "core/attention/block.h"

#include "core/attention/visible.h"
#include "core/size.h"

/* block_f32.c, block_f64.c, block_f32_in_f64.c */
extern const struct attention_block_functions attention_block_f32, attention_block_f64, attention_block_f32_in_f64;

const struct attention_block_functions *attention_block_functions(const struct attention_plan *plan)
{
    static const struct attention_block_functions *const functions[] = {
        [ATTENTION_F32] = &attention_block_f32,
        [ATTENTION_F64] = &attention_block_f64,
        [ATTENTION_F32_IN_F64] = &attention_block_f32_in_f64,
    };
    return functions[plan->precision];
}

void attention_block_init(const struct attention_plan *plan, size_t s, size_t g, size_t head, size_t queries,
                          size_t first_query, size_t rows, struct attention_block *ret)
{
    const struct attention_sequence_plan *sequence = &plan->sequences[s];
    *ret = (struct attention_block){.sequence = sequence,
                                    .b = sequence->b,
                                    .g = g,
                                    .head = head,
                                    .first_query = first_query,
                                    .queries = queries,
                                    .rows = rows};
    size_t begin;
    if (queries == sequence->queries) {
        begin = sequence->key_begin;
        ret->key_end = sequence->key_end;
    } else {
        attention_rows_range(attention_row_at(plan, ret->b, first_query), queries, &begin, &ret->key_end);
    }
    begin = size_max(begin, sequence->first_key);
    ret->key_end = size_max(ret->key_end, sequence->first_key);
    ret->key_begin = begin - (begin - sequence->first_key) % plan->key_panel;
}

bool attention_block_is_unselected(const struct attention_plan *plan, const struct attention_block *block, size_t *ret_masked)
{
    const struct attention_results *results = plan->results;
    *ret_masked = 0;
    if (results->selection == NULL || results->output.data != NULL || results->lse.data != NULL || plan->row_reductions ||
        plan->params->mask.data != NULL)
        return false;
    for (size_t r = 0; r < block->rows; r++) {
        size_t h = block->head + r / block->queries, i = block->first_query + r % block->queries;
        const struct attention_row *row = attention_row_at(plan, block->b, i);
        if (row->by_key || attention_row_kept(plan, h, i))
            return false;
        *ret_masked += row->begin >= row->end && !row->padding;
    }
    return true;
}
