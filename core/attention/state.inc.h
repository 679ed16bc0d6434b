/* state.inc.h: a block while it goes through its keys, and where its rows are. */

struct NAME(state) {
    struct attention_plan *plan;
    const struct attention_block *block;
    size_t unit_keys; /* where the block's key head is in the panels: sequences.h */
    REAL *queries;    /* packed: struct attention_scratch */
    REAL *scores, *kept_scores;
    size_t kept_first;    /* the first tile of the sequence whose scores are kept */
    REAL *sums;           /* the output before the division; NULL: output not wanted */
    REAL *nonfinite_sums; /* as sums: what values that are not finite add to them */
    size_t sums_stride;
    void *weight_rows; /* NULL: the result's */
    REAL *tile_max;
    bool stored;                       /* some row has a place in the results with a number for each key */
    const struct attention_span *span; /* of the second sweep; NULL: the first */
    double *top_scores;                /* [rows, plan->top] */
    int64_t *top_keys;
    REAL *clean_values;                           /* [KEY_TILE, Dv], where values are in place */
    const struct attention_row *rows[QUERY_TILE]; /* what each may see by rule */
    REAL max[QUERY_TILE];                         /* running */
    double sum[QUERY_TILE];                       /* running denominator, against max */
    double terms[QUERY_TILE];                     /* of the entropy, where wanted: running sum of exp(s - max) * (s - max) */
    size_t top_count[QUERY_TILE];                 /* of top_keys */
    REAL top_min[QUERY_TILE];                     /* a score has to be larger to be among them */
    bool has_visible_key[QUERY_TILE];             /* some key was not masked */
    bool nonfinite[QUERY_TILE];                   /* a score is not finite: exact_row computes the row */
    bool needs_exact[QUERY_TILE];                 /* the output needs more than this precision: exact_row_output computes it */
    bool has_nonfinite_sums[QUERY_TILE];          /* nonfinite_sums holds something */
    bool has_sums[QUERY_TILE];                    /* sums holds something */
};

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

/* The keys [first, first + count) for the rows [row, row + rows) of a block. */
struct NAME(tile) {
    size_t first, count;
    size_t row, rows;
};

/* The tile of keys [first, end), cut at the next tile's edge, for rows [row, ...) that one product takes. */
static struct NAME(tile) NAME(tile_at)(const struct NAME(state) *state, size_t first, size_t end, size_t row)
{
    size_t origin = state->block->sequence->first_key;
    size_t edge = origin + ((first - origin) / KEY_TILE + 1) * KEY_TILE;
    return (struct NAME(tile)){.first = first,
                               .count = size_min(end, edge) - first,
                               .row = row,
                               .rows = size_min(state->plan->rows_at_once, state->block->rows - row)};
}

/* Leaves out keys that none of the tile's rows may see, whole panels before and single keys behind. Where a result has a number
 * for each key, all of the block's are needed; and all rows together see all that the block has. */
static void NAME(tile_clip)(const struct NAME(state) *state, struct NAME(tile) *tile)
{
    const struct attention_block *block = state->block;
    bool whole = tile->rows == block->rows && tile->first == block->key_begin && tile->first + tile->count == block->key_end;
    if (state->stored || whole)
        return;
    size_t begin = SIZE_MAX, end = 0;
    for (size_t r = tile->row; r < tile->row + tile->rows; r++) {
        const struct attention_row *row = state->rows[r];
        bool unused;
        if (row->begin >= row->end || (row->by_key && attention_row_misses(state->plan, state->block->b,
                                                                           NAME(row_query)(state, r), tile->first, &unused)))
            continue;
        begin = size_min(begin, row->begin);
        end = size_max(end, row->end);
    }
    end = size_min(end, tile->first + tile->count);
    if (begin < end && begin > tile->first)
        tile->first += (begin - tile->first) / state->plan->key_panel * state->plan->key_panel;
    tile->count = begin < end && tile->first < end ? end - tile->first : 0;
}

/* The tile's number among those whose scores are kept until the block ends; SIZE_MAX: they are not. */
static size_t NAME(kept_tile)(const struct NAME(state) *state, const struct NAME(tile) *tile)
{
    size_t number = (tile->first - state->block->sequence->first_key) / KEY_TILE - state->kept_first;
    return state->kept_scores != NULL && number < state->plan->kept_tiles ? number : SIZE_MAX;
}

/* Where row r of the tile has its scores: see struct attention_scratch. */
static inline REAL *NAME(score_row)(const struct NAME(state) *state, const struct NAME(tile) *tile, size_t r)
{
    size_t kept = NAME(kept_tile)(state, tile);
    if (kept == SIZE_MAX)
        return state->scores + (r - tile->row) * KERNEL_ROW_STRIDE;
    return state->kept_scores + (kept * state->plan->score_rows + r) * KERNEL_ROW_STRIDE +
           (tile->first - state->block->sequence->first_key) % KEY_TILE;
}

/* What a row of `count` scores is padded to with masked ones. */
static size_t NAME(padded)(const struct NAME(state) *state, size_t count)
{
    return size_round_up(count, state->plan->kernels->KERNEL(row_step));
}

/* The row of a (B,H,Tq,..) result that row r of the block writes. */
static ELEMENT *NAME(result_row)(const struct NAME(state) *state, const struct tensor *t, size_t r)
{
    return tensor_row(t, state->block->b, NAME(row_head)(state, r), NAME(row_query)(state, r));
}

/* True where row r has a place in the results that hold a part of queries and keys; and whether its weights are kept. */
static inline bool NAME(row_selected)(const struct NAME(state) *state, size_t r)
{
    return state->plan->results->selection == NULL ||
           attention_row_selected(state->plan, NAME(row_head)(state, r), NAME(row_query)(state, r));
}

static inline bool NAME(row_kept)(const struct NAME(state) *state, size_t r)
{
    return state->plan->results->selection == NULL ||
           attention_row_kept(state->plan, NAME(row_head)(state, r), NAME(row_query)(state, r));
}

/* The row of such a result; its first number is of key selection.key_first. */
static ELEMENT *NAME(selected_row)(const struct NAME(state) *state, const struct tensor *t, size_t r)
{
    return attention_selected_row(state->plan, t, state->block->b, NAME(row_head)(state, r), NAME(row_query)(state, r));
}

/* Row r of the block's weights: of the selected keys, of plan->weights_dtype. */
static void *NAME(weights_row)(const struct NAME(state) *state, size_t r)
{
    const struct attention_plan *plan = state->plan;
    if (plan->weights_in_place)
        return NAME(selected_row)(state, &plan->results->weights, r);
    return (char *)state->weight_rows + r * plan->selection.key_count * dtype_bytes(plan->weights_dtype);
}

/* Cuts the keys [*first, *end) to those selected; false where none is left. */
static bool NAME(keys_selected)(const struct NAME(state) *state, size_t *first, size_t *end)
{
    const struct attention_selection *selection = &state->plan->selection;
    *first = size_max(*first, selection->key_first);
    *end = size_min(*end, selection->key_first + selection->key_count);
    return *first < *end;
}

static struct top_keys NAME(top_keys_of)(const struct NAME(state) *state, size_t r)
{
    size_t at = r * state->plan->top;
    return (struct top_keys){state->top_scores + at, state->top_keys + at, state->top_count[r], state->plan->top};
}

static void NAME(queries_pack)(struct NAME(state) *state)
{
    const struct attention_plan *plan = state->plan;
    const struct tensor *query = &plan->params->query;
    const double *scales = plan->params->query_scales;
    size_t item = state->block->b * plan->params->query_scale_stride;
    for (size_t r = 0; r < state->block->rows; r++) {
        const ELEMENT *row = NAME(result_row)(state, query, r);
        REAL factor = scales == NULL ? 1 : (REAL)scales[item + NAME(row_query)(state, r)];
        for (size_t first = 0; first < plan->D; first += KERNEL_DEPTH_MAX) {
            REAL *to = state->queries + (first / KERNEL_DEPTH_MAX * QUERY_TILE + r) * KERNEL_ROW_STRIDE;
            size_t count = size_min(KERNEL_DEPTH_MAX, plan->D - first);
            bool in_place = sizeof(ELEMENT) == sizeof(REAL) && query->stride[3] == 1;
            if (in_place) /* by a kernel: GCC's own copy waits for each row's memory */
                (void)plan->kernels->KERNEL(scale_row)(to, (const REAL *)row + first, count, factor);
            else
                (void)NAME(to_reals)(to, row + (ptrdiff_t)first * query->stride[3], query->stride[3], count);
            if (!in_place && scales != NULL)
                (void)plan->kernels->KERNEL(scale_row)(to, to, count, factor);
        }
    }
}

/* Only what belongs to the block's rows is set: a small block should not pay for a large one's. */
static void NAME(state_init)(struct NAME(state) *state, struct attention_plan *plan, const struct attention_block *block,
                             const struct attention_scratch *scratch, bool with_sink)
{
    state->plan = plan;
    state->block = block;
    if (!plan->split_kv)
        state->unit_keys = attention_unit_keys(plan, (size_t)(block->sequence - plan->sequences) * plan->Hkv + block->g);
    state->queries = scratch->queries;
    state->scores = scratch->scores;
    state->sums = scratch->sums;
    state->sums_stride = plan->value_panel_count * plan->value_panel;
    state->nonfinite_sums = state->sums == NULL ? NULL : state->sums + block->rows * state->sums_stride;
    state->weight_rows = scratch->weight_rows;
    state->tile_max = scratch->tile_max;
    state->clean_values = scratch->clean_values;
    size_t selected = plan->selection.key_first, origin = block->sequence->first_key;
    state->kept_first = selected > origin ? (selected - origin) / KEY_TILE : 0;
    state->stored = false;
    state->span = NULL;
    state->top_scores = scratch->top_scores;
    state->top_keys = scratch->top_keys;
    const struct attention_row *rows = attention_row_at(plan, block->b, 0);
    const double *sinks = with_sink ? plan->params->sinks : NULL;
    const bool stages = plan->stages_wanted, reductions = plan->row_reductions;
    for (size_t r = 0; r < block->rows; r++) {
        const struct attention_row *row = rows + NAME(row_query)(state, r);
        bool sink = sinks != NULL && !row->padding;
        state->rows[r] = row;
        if (stages)
            state->stored |= NAME(row_kept)(state, r);
        state->max[r] = sink ? (REAL)sinks[NAME(row_head)(state, r)] : MINUS_INFINITY;
        state->sum[r] = sink ? 1 : 0;
        if (reductions) {
            state->terms[r] = 0;
            state->top_count[r] = 0;
            state->top_min[r] = MINUS_INFINITY;
        }
        state->has_visible_key[r] = state->nonfinite[r] = state->needs_exact[r] = false;
        state->has_sums[r] = state->has_nonfinite_sums[r] = false;
    }
    state->kept_scores = state->stored ? scratch->kept_scores : NULL;
    NAME(queries_pack)(state);
}
