/* softmax.inc.h: online softmax: each row's running maximum and denominator, tile by tile, and merged where the keys were
 * divided between tasks (Milakov and Gimelshein 2018). */

/* A weight that was multiplied by an infinity may vanish where it shrinks by more than this later on. */
#define NONFINITE_FACTOR_MIN 1e-30

/* Multiplies the sums of row r by `factor`, as its maximum rises. Where that all but cancels weights that were multiplied by an
 * infinity, the result may be zero times infinity: left to exact_row_output. */
static void NAME(scale_sums)(struct NAME(state) *state, size_t r, double factor)
{
    REAL *sums = state->sums + r * state->sums_stride;
    (void)state->plan->kernels->KERNEL(scale_row)(sums, sums, state->plan->Dv, (REAL)factor);
    state->needs_exact[r] |= state->has_nonfinite_sums[r] && factor < NONFINITE_FACTOR_MIN;
}

/* The sum of exp(s - max) * (s - max), whose weights sum up to `sum`, against a maximum that is larger by -rise. */
static double NAME(terms_moved)(double terms, double sum, double rise, double factor)
{
    return factor > 0 ? factor * (terms + rise * sum) : 0;
}

/* Rescales what row r has summed so far to its new maximum. */
static void NAME(raise_max)(struct NAME(state) *state, size_t r, REAL max)
{
    double rise = (double)state->max[r] - (double)max, factor = exp(rise);
    if (state->plan->row_reductions)
        state->terms[r] = NAME(terms_moved)(state->terms[r], state->sum[r], rise, factor);
    state->sum[r] *= factor;
    state->max[r] = max;
    if (state->has_sums[r])
        NAME(scale_sums)(state, r, factor);
}

/* Puts the scores of row r that are among its largest so far to them. */
static void NAME(stage_top)(struct NAME(state) *state, const struct NAME(tile) *tile, size_t r, const REAL *row)
{
    const struct kernels *kernels = state->plan->kernels;
    struct top_keys top = NAME(top_keys_of)(state, r);
    for (size_t j = 0; (j = kernels->KERNEL(find_above)(row, j, tile->count, state->top_min[r])) < tile->count; j++) {
        top_keys_insert(&top, (double)row[j], tile->first + j);
        if (top.count == top.capacity)
            state->top_min[r] = (REAL)top.scores[top.count - 1];
    }
    state->top_count[r] = top.count;
}

/* Row r's scores to exp(score - max), whose sum it returns; and what they add to the entropy, where it is wanted. */
static double NAME(exp_of_row)(struct NAME(state) *state, const struct NAME(tile) *tile, size_t r, REAL *row, bool full)
{
    const struct kernels *kernels = state->plan->kernels;
    size_t count = full ? tile->count : NAME(padded)(state, tile->count);
    REAL terms;
    if (state->plan->results->entropy.data == NULL)
        return full ? (double)kernels->KERNEL(exp_finite_row)(row, count, state->max[r])
                    : (double)kernels->KERNEL(exp_row)(row, count, state->max[r]);
    REAL sum = kernels->KERNEL(exp_entropy_row)(row, count, state->max[r], full, &terms);
    state->terms[r] += (double)terms;
    return (double)sum;
}

/* Replaces row r's scores by exp(score - max). `full`: tile_is_full, where scores that are not finite are found only here. */
static void NAME(stage_softmax)(struct NAME(state) *state, const struct NAME(tile) *tile, size_t r, REAL tile_max, bool full)
{
    const struct attention_plan *plan = state->plan;
    REAL *row = NAME(score_row)(state, tile, r);
    if (full && !isfinite(tile_max))
        state->nonfinite[r] = true;
    if (tile_max != MINUS_INFINITY && !state->nonfinite[r]) {
        if (tile_max > state->max[r])
            NAME(raise_max)(state, r, tile_max);
        if (plan->top > 0 && tile_max > state->top_min[r])
            NAME(stage_top)(state, tile, r, row);
        double sum = NAME(exp_of_row)(state, tile, r, row, full);
        state->sum[r] += sum;
        state->nonfinite[r] = isnan(sum);
        state->has_visible_key[r] = true;
    }
    if (tile_max == MINUS_INFINITY || state->nonfinite[r]) /* the tile is masked, or the row is left to exact_row */
        memset(row, 0, tile->count * sizeof *row);
    size_t kept = state->kept_scores == NULL ? SIZE_MAX : NAME(kept_tile)(state, tile);
    if (kept != SIZE_MAX)
        state->tile_max[kept * QUERY_TILE + r] = state->max[r];
}

/* to = own * to + other * from; `to` counts as 0 where nothing was written to it yet. */
static void NAME(row_add)(REAL *to, bool has_sums, double own, const REAL *from, double other, size_t count)
{
    for (size_t d = 0; d < count; d++)
        to[d] = (REAL)((has_sums ? own * (double)to[d] : 0) + other * (double)from[d]);
}

static void NAME(top_merge)(struct NAME(state) *state, const struct NAME(state) *later, size_t r)
{
    struct top_keys top = NAME(top_keys_of)(state, r), others = NAME(top_keys_of)(later, r);
    for (size_t k = 0; k < others.count; k++)
        top_keys_insert(&top, others.scores[k], (size_t)others.keys[k]);
    state->top_count[r] = top.count;
}

/* Merges row r of a later split of the keys into the first split's. */
static void NAME(row_merge)(struct NAME(state) *state, const struct NAME(state) *later, size_t r)
{
    const struct attention_plan *plan = state->plan;
    size_t at = r * state->sums_stride;
    state->nonfinite[r] |= later->nonfinite[r];
    state->needs_exact[r] |= later->needs_exact[r];
    if (!later->has_visible_key[r])
        return;
    double max = state->max[r] > later->max[r] ? (double)state->max[r] : (double)later->max[r];
    double own = exp((double)state->max[r] - max), other = exp((double)later->max[r] - max);
    state->needs_exact[r] |= state->has_nonfinite_sums[r] && own < NONFINITE_FACTOR_MIN;
    state->needs_exact[r] |= later->has_nonfinite_sums[r] && other < NONFINITE_FACTOR_MIN;
    if (state->sums != NULL)
        NAME(row_add)(state->sums + at, state->has_sums[r], own, later->sums + at, other, plan->Dv);
    if (later->has_nonfinite_sums[r])
        NAME(row_add)(state->nonfinite_sums + at, state->has_nonfinite_sums[r], 1, later->nonfinite_sums + at, 1, plan->Dv);
    state->has_nonfinite_sums[r] |= later->has_nonfinite_sums[r];
    if (plan->row_reductions)
        state->terms[r] = NAME(terms_moved)(state->terms[r], state->sum[r], (double)state->max[r] - max, own) +
                          NAME(terms_moved)(later->terms[r], later->sum[r], (double)later->max[r] - max, other);
    state->sum[r] = own * state->sum[r] + other * later->sum[r];
    if (plan->top > 0)
        NAME(top_merge)(state, later, r);
    state->max[r] = (REAL)max;
    state->has_visible_key[r] = state->has_sums[r] = true;
}
