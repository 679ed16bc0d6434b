/* softmax_state.inc.h: the state of a block on its way through its keys, and where its rows are. Included once a precision by
 * attention_block.inc.h. */

/* A block on its way through the tiles. */
struct NAME(state) {
    struct attention_plan *plan;
    const struct attention_block *block;
    REAL *queries; /* packed: struct attention_scratch */
    REAL *scores;
    REAL *sums;  /* NULL: output not wanted */
    REAL *apart; /* as sums: what values that are not finite add to them */
    size_t sums_stride;
    void *weight_rows; /* NULL: the result's */
    REAL *tile_max;
    REAL *clean_values;                        /* [KEY_TILE, Dv], where values are read as they lie */
    size_t begin[QUERY_TILE], end[QUERY_TILE]; /* the keys each row may see by position */
    REAL max[QUERY_TILE];                      /* running */
    double sum[QUERY_TILE];                    /* running denominator, against max */
    bool seen[QUERY_TILE];                     /* some key was not masked */
    bool nonfinite[QUERY_TILE];                /* a score is not finite: attention_row computes it */
    bool needs_exact[QUERY_TILE];              /* the output needs more than this precision: attention_row_output computes it */
    bool has_nonfinite_sums[QUERY_TILE];       /* apart holds something */
    bool summed[QUERY_TILE];                   /* sums holds something */
};

/* The keys [first, first + count) for the rows [row, row + rows) of a block. */
struct NAME(tile) {
    size_t first, count;
    size_t row, rows;
};

/* Where row r of the tile has its scores: see struct attention_scratch. */
static REAL *NAME(score_row)(const struct NAME(state) *state, const struct NAME(tile) *tile, size_t r)
{
    size_t kept = state->plan->score_rows;
    if (kept == 0)
        return state->scores + (r - tile->row) * KERNEL_ROW_STRIDE;
    return state->scores + (tile->first / KEY_TILE * kept + r) * KERNEL_ROW_STRIDE + tile->first % KEY_TILE;
}

/* The block's key head among those of the wave. */
static size_t NAME(group_head)(const struct NAME(state) *state)
{
    return state->block->b * state->plan->Hkv + state->block->g - state->plan->group_first;
}

/* The head and the query of row r. */
static size_t NAME(row_head)(const struct NAME(state) *state, size_t r)
{
    const struct attention_block *block = state->block;
    return r < block->queries ? block->head : block->head + r / block->queries;
}

static size_t NAME(row_query)(const struct NAME(state) *state, size_t r)
{
    const struct attention_block *block = state->block;
    return block->first_query + (r < block->queries ? r : r % block->queries);
}

/* The row of a (B,H,Tq,..) result that row r of the block writes. */
static ELEMENT *NAME(result_row)(const struct NAME(state) *state, const struct tensor *t, size_t r)
{
    return tensor_row(t, state->block->b, NAME(row_head)(state, r), NAME(row_query)(state, r));
}

/* Row r of the block's weights: all Tk columns, of plan->weights_dtype. */
static void *NAME(weights_row)(const struct NAME(state) *state, size_t r)
{
    const struct attention_plan *plan = state->plan;
    if (plan->weights_in_place)
        return NAME(result_row)(state, &plan->results->weights, r);
    return (char *)state->weight_rows + r * plan->Tk * dtype_bytes(plan->weights_dtype);
}

/* Copies a tile's scores, as they are now, to a (B,H,Tq,Tk) result. */
static void NAME(store_stage)(const struct NAME(state) *state, const struct NAME(tile) *tile, const struct tensor *t)
{
    for (size_t r = tile->row; r < tile->row + tile->rows; r++) {
        const REAL *from = NAME(score_row)(state, tile, r);
        ELEMENT *to = NAME(result_row)(state, t, r);
        if (sizeof(ELEMENT) == sizeof(REAL) && t->stride[3] == 1)
            memcpy(to + tile->first, from, tile->count * sizeof *to);
        else
            for (size_t j = 0; j < tile->count; j++)
                to[(ptrdiff_t)(tile->first + j) * t->stride[3]] = (ELEMENT)from[j];
    }
}

/* The same for a stage before the bans; what overflowed on the way is computed again in double. */
static void NAME(store_stage_exact)(const struct NAME(state) *state, const struct NAME(tile) *tile, const struct tensor *t,
                                    bool capped)
{
    const struct attention_plan *plan = state->plan;
    const struct attention_block *block = state->block;
    NAME(store_stage)(state, tile, t);
    for (size_t r = tile->row; r < tile->row + tile->rows; r++) {
        if (plan->kernels->KERNEL(finite_row)(NAME(score_row)(state, tile, r), tile->count))
            continue;
        ELEMENT *to = NAME(result_row)(state, t, r);
        for (size_t j = 0; j < tile->count; j++) {
            double score =
                attention_score(plan, block->b, NAME(row_head)(state, r), NAME(row_query)(state, r), tile->first + j);
            to[(ptrdiff_t)(tile->first + j) * t->stride[3]] = (ELEMENT)(capped ? attention_capped(plan, score) : score);
        }
    }
}
