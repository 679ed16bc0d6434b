/* attention_finish.inc.h: rows that have met all their keys: division, results, and the rows that need more than this precision.
 * Included once a precision by attention_block.inc.h. */

/* Row r's weights of one tile, from what the softmax left and its factor, to where they belong. */
static void NAME(weights_write)(const struct NAME(walk) *walk, const struct NAME(tile) *tile, size_t r, REAL factor)
{
    const struct attention_plan *plan = walk->plan;
    const REAL *from = NAME(score_row)(walk, tile, r);
    if (dtype_bytes(plan->weights_dtype) == sizeof(REAL)) {
        REAL *to = (REAL *)NAME(weights_row)(walk, r) + tile->first;
        (plan->weights_go_away ? plan->kernels->KERNEL(scale_away) : plan->kernels->KERNEL(scale_row))(to, from, tile->count,
                                                                                                       factor);
        return;
    }
    ELEMENT *to = (ELEMENT *)NAME(weights_row)(walk, r) + tile->first;
    for (size_t j = 0; j < tile->count; j++)
        to[j] = (ELEMENT)(from[j] * factor);
}

/* The weights of row r, which may see none of its keys. */
static void NAME(weights_finish)(const struct NAME(walk) *walk, size_t r)
{
    const struct attention_block *block = walk->block;
    for (size_t first = block->key_begin; first < block->key_end;) {
        struct NAME(tile) tile = NAME(tile_at)(walk, first, block->key_end, r);
        REAL tile_max = walk->tile_max[first / KEY_TILE * QUERY_TILE + r];
        double to_last = tile_max == walk->max[r] ? 1 : exp((double)tile_max - (double)walk->max[r]); /* 1: most tiles */
        double factor = walk->seen[r] ? to_last / walk->sum[r] : 0;
        NAME(weights_write)(walk, &tile, r, (REAL)factor);
        first += tile.count;
    }
}

/* Divides row r's output by its denominator. */
static void NAME(stage_divide)(struct NAME(walk) *walk, size_t r)
{
    const struct attention_plan *plan = walk->plan;
    REAL *sums = walk->sums == NULL ? NULL : walk->sums + r * walk->sums_stride;
    if (sums != NULL && !walk->seen[r]) {
        memset(sums, 0, plan->Dv * sizeof *sums);
    } else if (sums != NULL && !walk->odd_output[r]) {
        plan->kernels->KERNEL(scale_row)(sums, sums, plan->Dv, (REAL)(1 / walk->sum[r]));
        /* Weights are at most 1, but their sum before the division may carry large values past the largest float. */
        walk->odd_output[r] = !plan->kernels->KERNEL(finite_row)(sums, plan->Dv);
        for (size_t d = 0; d < plan->Dv && walk->has_apart[r]; d++)
            sums[d] += walk->apart[r * walk->sums_stride + d];
    }
}

/* Weights, lse and output of a row of finite scores. */
static void NAME(row_finish)(struct NAME(walk) *walk, size_t r)
{
    struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    const struct attention_results *results = plan->results;
    NAME(stage_divide)(walk, r);
    if (plan->weights_wanted)
        NAME(weights_finish)(walk, r);
    if (results->lse.data != NULL)
        *NAME(result_row)(walk, &results->lse, r) = (ELEMENT)((double)walk->max[r] + log(walk->sum[r]));
    if (walk->odd_output[r])
        attention_row_output(plan, block->b, NAME(row_head)(walk, r), NAME(row_query)(walk, r));
    if (walk->odd_output[r] || walk->sums == NULL)
        return;
    ELEMENT *to = NAME(result_row)(walk, &results->output, r);
    if (sizeof(ELEMENT) == sizeof(REAL) && results->output.stride[3] == 1) {
        memcpy(to, walk->sums + r * walk->sums_stride, plan->Dv * sizeof *to);
        return;
    }
    for (size_t d = 0; d < plan->Dv; d++)
        to[(ptrdiff_t)d * results->output.stride[3]] = (ELEMENT)walk->sums[r * walk->sums_stride + d];
}

/* All rows' ends; those that need more than this precision are computed again. These take long: the executor is asked at each. */
static void NAME(rows_finish)(struct NAME(walk) *walk)
{
    struct attention_plan *plan = walk->plan;
    const struct attention_block *block = walk->block;
    size_t banned = 0;
    for (size_t r = 0; r < block->rows; r++) {
        bool slow = walk->odd[r] || walk->odd_output[r];
        if (slow && attention_should_stop(plan))
            break;
        banned += !walk->odd[r] && !walk->seen[r];
        if (walk->odd[r])
            attention_row(plan, block->b, NAME(row_head)(walk, r), NAME(row_query)(walk, r),
                          plan->weights_wanted ? NAME(weights_row)(walk, r) : NULL);
        else
            NAME(row_finish)(walk, r);
    }
    if (plan->weights_go_away)
        plan->kernels->away_done();
    atomic_fetch_add_explicit(&plan->banned_row_count, banned, memory_order_relaxed);
}
