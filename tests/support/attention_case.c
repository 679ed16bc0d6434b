#include "tests/support/attention_case.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/kernels/kernels.h"
#include "core/precision.h"
#include "core/size.h"

void attention_dims_outgrow_double(struct attention_dims *dims)
{
    size_t pairs = dims->Tq * dims->Tk;
    if (pairs > 0 && pairs * (dims->D + dims->Dv) <= F32_IN_F64_PRODUCTS_MAX)
        dims->Dv = F32_IN_F64_PRODUCTS_MAX / pairs + 1 - size_min(dims->D, F32_IN_F64_PRODUCTS_MAX / pairs);
}

/* Channels are not repeated: a sum of equal terms rounds the same way D times, which no bound here is about. */
static struct tensor case_tensor(struct attention_case *c, struct draw *draw, const size_t *shape)
{
    struct tensor view = (c->options & CASE_STRIDES) ? view_drawn(&c->pool, c->dims.dtype, 4, shape, draw, 3)
                                                     : view_contiguous(&c->pool, c->dims.dtype, 4, shape);
    view_store_normal(&view, draw);
    return view;
}

static void draw_tensors(struct attention_case *c, struct draw *draw)
{
    const struct attention_dims *n = &c->dims;
    c->params.query = case_tensor(c, draw, (const size_t[]){n->B, n->H, n->Tq, n->D});
    c->params.key = case_tensor(c, draw, (const size_t[]){n->B, n->Hkv, n->Tk, n->D});
    c->params.value = case_tensor(c, draw, (const size_t[]){n->B, n->Hkv, n->Tk, n->Dv});
}

static double draw_scale(const struct attention_case *c, struct draw *draw)
{
    double scale = c->dims.D > 0 ? 1 / sqrt((double)c->dims.D) : 1;
    if (c->options & CASE_SCALE) {
        static const double scales[] = {0, 1, -0.5, 0.1, 1.75};
        scale = scales[draw_size(draw, 0, sizeof scales / sizeof *scales - 1)];
    }
    return c->dims.dtype == DTYPE_F32 ? (double)(float)scale : scale;
}

static void draw_bounds(struct attention_case *c, struct draw *draw)
{
    int64_t Tk = (int64_t)c->dims.Tk;
    c->params.causal = (c->options & CASE_CAUSAL) != 0;
    c->params.window_left = c->params.window_right = -1;
    if (c->options & CASE_WINDOW) {
        c->params.window_left = draw_integer(draw, -1, Tk + 2);
        c->params.window_right = draw_integer(draw, -1, draw_chance(draw, 0.5) ? 3 : Tk + 2);
    }
    if (c->options & CASE_OFFSETS) {
        c->params.query_positions.first = c->query_offsets = test_alloc(c->dims.B, sizeof *c->query_offsets);
        for (size_t b = 0; b < c->dims.B; b++)
            c->query_offsets[b] = draw_integer(draw, -(int64_t)c->dims.Tq - 2, Tk + 2);
    }
    if (c->options & CASE_LENGTHS) {
        c->params.key_lengths = c->key_lengths = test_alloc(c->dims.B, sizeof *c->key_lengths);
        for (size_t b = 0; b < c->dims.B; b++)
            c->key_lengths[b] = draw_chance(draw, 0.1) ? 0 : draw_size(draw, 0, c->dims.Tk);
    }
}

/* In order, with gaps and repetitions; or rolled, as a cache that overwrites its oldest keys. For every item, or for all. */
static int64_t *case_positions(const struct attention_case *c, size_t tokens, bool rolled, struct positions *ret,
                               struct draw *draw)
{
    size_t items = c->dims.B > 0 && draw_chance(draw, 0.3) ? 1 : c->dims.B;
    int64_t *given = test_alloc(items * tokens, sizeof *given);
    for (size_t b = 0; b < items; b++) {
        int64_t position = draw_integer(draw, -(int64_t)tokens - 2, 4);
        size_t start = rolled ? draw_size(draw, 0, tokens) : 0;
        for (size_t k = 0; k < tokens; k++) {
            given[b * tokens + (start + k) % tokens] = position;
            position += draw_chance(draw, 0.2) ? draw_integer(draw, 0, 5) : 1;
        }
    }
    ret->given = given;
    ret->item_stride = items == 1 && c->dims.B != 1 ? 0 : tokens;
    return given;
}

static void draw_positions(struct attention_case *c, struct draw *draw)
{
    if (c->options & CASE_QUERY_POSITIONS)
        c->query_positions = case_positions(c, c->dims.Tq, draw_chance(draw, 0.5), &c->params.query_positions, draw);
    if (c->options & CASE_KEY_POSITIONS)
        c->key_positions = case_positions(c, c->dims.Tk, draw_chance(draw, 0.5), &c->params.key_positions, draw);
    if (c->options & CASE_QUERY_LENGTHS) {
        c->params.query_lengths = c->query_lengths = test_alloc(c->dims.B, sizeof *c->query_lengths);
        for (size_t b = 0; b < c->dims.B; b++)
            c->query_lengths[b] = draw_size(draw, 0, c->dims.Tq);
    }
}

/* Ids that lie in pieces, in order or not, and now and then are negative; or every token's own draw. */
static int64_t *case_ids(const struct attention_case *c, size_t tokens, struct token_ids *ret, struct draw *draw)
{
    int64_t *ids = test_alloc(c->dims.B * tokens, sizeof *ids), id = 0;
    bool scattered = draw_chance(draw, 0.2), ordered = draw_chance(draw, 0.7);
    double change = draw_chance(draw, 0.5) ? 0.02 : 0.2;
    for (size_t k = 0; k < c->dims.B * tokens; k++) {
        if (scattered || draw_chance(draw, change) || k % tokens == 0)
            id = ordered && !scattered && k % tokens > 0 ? id + 1 : draw_integer(draw, -1, 4);
        ids[k] = id;
    }
    ret->ids = ids;
    ret->item_stride = tokens;
    return ids;
}

/* Ends of `count` parts of [0, tokens], in order. */
static void draw_cuts(struct draw *draw, size_t tokens, size_t count, size_t *ret)
{
    for (size_t k = 0; k < count; k++) {
        size_t cut = k + 1 == count ? tokens : draw_size(draw, 0, tokens), at = k;
        for (; at > 0 && ret[at - 1] > cut; at--)
            ret[at] = ret[at - 1];
        ret[at] = cut;
    }
}

static void draw_sequences(struct attention_case *c, struct draw *draw)
{
    size_t query_ends[9], key_ends[9], count = draw_size(draw, 1, 9);
    draw_cuts(draw, c->dims.Tq, count, query_ends);
    draw_cuts(draw, c->dims.Tk, count, key_ends);
    c->params.sequences = c->sequences = test_alloc(count, sizeof *c->sequences);
    c->params.sequence_count = count;
    for (size_t s = 0; s < count; s++) {
        struct attention_sequence *sequence = &c->sequences[s];
        sequence->first_query = s > 0 ? query_ends[s - 1] : 0;
        sequence->first_key = s > 0 ? key_ends[s - 1] : 0;
        sequence->queries = query_ends[s] - sequence->first_query;
        sequence->keys = key_ends[s] - sequence->first_key;
    }
}

static void draw_rules(struct attention_case *c, struct draw *draw)
{
    int64_t Tk = (int64_t)c->dims.Tk;
    if (c->options & CASE_SEGMENTS) {
        c->ids[0] = case_ids(c, c->dims.Tq, &c->params.query_segments, draw);
        c->ids[1] = case_ids(c, c->dims.Tk, &c->params.key_segments, draw);
    }
    if (c->options & CASE_SPANS) {
        c->ids[2] = case_ids(c, c->dims.Tq, &c->params.query_spans, draw);
        c->ids[3] = case_ids(c, c->dims.Tk, &c->params.key_spans, draw);
    }
    if ((c->options & CASE_SEQUENCES) && c->dims.B == 1)
        draw_sequences(c, draw);
    if (c->options & CASE_CHUNKS)
        c->params.chunk_size = draw_integer(draw, 1, Tk + 2);
    if (c->options & CASE_SINK_TOKENS)
        c->params.num_sink_tokens = draw_integer(draw, 1, draw_chance(draw, 0.7) ? 4 : Tk + 2);
    if (c->options & CASE_PREFIX) {
        size_t count = c->sequences ? c->params.sequence_count : c->dims.B;
        c->params.prefix_lengths = c->prefix_lengths = test_alloc(count, sizeof *c->prefix_lengths);
        for (size_t k = 0; k < count; k++)
            c->prefix_lengths[k] = draw_integer(draw, -1, Tk + 2);
    }
}

static void draw_heads(struct attention_case *c, struct draw *draw)
{
    if (c->options & CASE_ALIBI) {
        c->params.alibi_slopes = c->alibi_slopes = test_alloc(c->dims.H, sizeof *c->alibi_slopes);
        for (size_t h = 0; h < c->dims.H; h++)
            c->alibi_slopes[h] = exp2(-8 * draw_unit(draw));
    }
    if (c->options & CASE_SINKS) {
        c->params.sinks = c->sinks = test_alloc(c->dims.H, sizeof *c->sinks);
        for (size_t h = 0; h < c->dims.H; h++)
            c->sinks[h] = 2 * draw_normal(draw);
    }
}

/* A view of B, H, Tq and Tk, each axis of whose memory is drawn to be there or broadcast. */
struct pairs {
    struct tensor view;
    size_t count;
    double *values; /* to be stored: [count] */
};

static struct pairs draw_pairs(struct attention_case *c, struct draw *draw, enum dtype dtype)
{
    const struct attention_dims *n = &c->dims;
    const size_t whole[] = {n->B, n->H, n->Tq, n->Tk};
    size_t shape[4];
    for (size_t axis = 0; axis < 4; axis++)
        shape[axis] = draw_chance(draw, 0.4) && whole[axis] > 0 ? 1 : whole[axis];
    struct pairs pairs = {.count = shape[0] * shape[1] * shape[2] * shape[3]};
    pairs.view = (c->options & CASE_STRIDES) ? view_drawn(&c->pool, dtype, 4, shape, draw, 0)
                                             : view_contiguous(&c->pool, dtype, 4, shape);
    pairs.values = test_alloc(pairs.count, sizeof *pairs.values);
    return pairs;
}

/* Stores the values, and broadcasts the view. */
static struct tensor pairs_store(const struct attention_case *c, struct pairs *pairs)
{
    const struct attention_dims *n = &c->dims;
    const size_t whole[] = {n->B, n->H, n->Tq, n->Tk};
    view_store(&pairs->view, pairs->values);
    free(pairs->values);
    for (size_t axis = 0; axis < 4; axis++) {
        if (pairs->view.shape[axis] != whole[axis]) {
            pairs->view.shape[axis] = whole[axis];
            pairs->view.stride[axis] = 0;
        }
    }
    return pairs->view;
}

static void draw_mask(struct attention_case *c, struct draw *draw)
{
    bool added = (c->options & CASE_ADDED_MASK) != 0;
    struct pairs pairs = draw_pairs(c, draw, added ? c->dims.dtype : DTYPE_BOOL);
    static const double ban_chances[] = {0.02, 0.3, 0.7, 0.98};
    double ban_chance = ban_chances[draw_size(draw, 0, 3)];
    for (size_t k = 0; k < pairs.count; k++) {
        bool masked = draw_chance(draw, ban_chance);
        if (added)
            pairs.values[k] = masked ? -INFINITY : draw_normal(draw);
        else
            pairs.values[k] = !masked;
    }
    c->params.mask = pairs_store(c, &pairs);
}

static double rounded(const struct attention_case *c, double x)
{
    return c->dims.dtype == DTYPE_F32 ? (double)(float)x : x;
}

static void draw_relative_bias(struct attention_case *c, struct draw *draw)
{
    size_t H = c->dims.H;
    c->bidirectional = draw_chance(draw, 0.5);
    c->buckets = 2 * draw_size(draw, c->bidirectional ? 2 : 1, 16);
    c->max_distance = (int64_t)(relative_bias_exact(c->buckets, c->bidirectional) + draw_size(draw, 1, 140));
    c->table = test_alloc(c->buckets * H, sizeof *c->table);
    for (size_t k = 0; k < c->buckets * H; k++)
        c->table[k] = rounded(c, draw_normal(draw));
    c->ranges = test_alloc(c->buckets, sizeof *c->ranges);
    size_t count = relative_bias_ranges(c->buckets, c->bidirectional, c->max_distance, c->ranges);
    c->params.relative_bias = (struct relative_bias){.ranges = c->ranges, .count = count, .table = c->table, .stride = H};
}

static void draw_terms(struct attention_case *c, struct draw *draw)
{
    if (c->options & CASE_BIAS) {
        struct pairs pairs = draw_pairs(c, draw, c->dims.dtype);
        for (size_t k = 0; k < pairs.count; k++)
            pairs.values[k] = draw_normal(draw);
        c->params.bias = pairs_store(c, &pairs);
    }
    if (c->options & CASE_RELATIVE_BIAS)
        draw_relative_bias(c, draw);
    if (c->options & CASE_QUERY_SCALES) {
        bool shared = draw_chance(draw, 0.5);
        size_t count = (shared ? 1 : c->dims.B) * c->dims.Tq;
        c->params.query_scales = c->query_scales = test_alloc(count, sizeof *c->query_scales);
        c->params.query_scale_stride = shared ? 0 : c->dims.Tq;
        for (size_t k = 0; k < count; k++)
            c->query_scales[k] = draw_chance(draw, 0.1) ? 0 : rounded(c, 1 + 0.5 * draw_normal(draw));
    }
}

static void describe(struct attention_case *c)
{
    static const char *const names[] = {
        "causal",     "offsets", "lengths",     "window",          "softcap",       "alibi",         "sinks",       "bool mask",
        "added mask", "scale",   "strides",     "query positions", "key positions", "query lengths", "segments",    "spans",
        "prefix",     "chunks",  "sink tokens", "sequences",       "bias",          "relative bias", "query scales"};
    const struct attention_dims *n = &c->dims;
    size_t used = (size_t)snprintf(
        c->text, sizeof c->text, "seed %" PRIu64 " %s float%zu B %zu H %zu/%zu Tq %zu Tk %zu D %zu Dv %zu", c->seed,
        kernels_in_use()->name, 8 * dtype_bytes(n->dtype), n->B, n->H, n->Hkv, n->Tq, n->Tk, n->D, n->Dv);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if ((c->options >> k) & 1U)
            used += (size_t)snprintf(c->text + used, sizeof c->text - used, ", %s", names[k]);
    }
}

void attention_case_init(struct attention_case *c, const struct attention_dims *dims, unsigned options, uint64_t seed)
{
    memset(c, 0, sizeof *c);
    c->dims = *dims;
    c->options = options;
    c->seed = seed;
    describe(c);
    struct draw draw = {seed};
    draw_tensors(c, &draw);
    c->params.scale = draw_scale(c, &draw);
    c->params.softcap = (options & CASE_SOFTCAP) ? 0.5 + 30 * draw_unit(&draw) * draw_unit(&draw) : 0;
    if (dims->dtype == DTYPE_F32)
        c->params.softcap = (double)(float)c->params.softcap;
    draw_bounds(c, &draw);
    draw_positions(c, &draw);
    draw_rules(c, &draw);
    draw_heads(c, &draw);
    if (options & (CASE_BOOL_MASK | CASE_ADDED_MASK))
        draw_mask(c, &draw);
    draw_terms(c, &draw);
}

void attention_case_done(struct attention_case *c)
{
    view_pool_done(&c->pool);
    free(c->query_offsets);
    free(c->query_positions);
    free(c->key_positions);
    free(c->prefix_lengths);
    for (size_t k = 0; k < sizeof c->ids / sizeof *c->ids; k++)
        free(c->ids[k]);
    free(c->sequences);
    free(c->query_lengths);
    free(c->key_lengths);
    free(c->alibi_slopes);
    free(c->sinks);
    free(c->query_scales);
    free(c->table);
    free(c->ranges);
}

struct attention_case attention_case_item(const struct attention_case *c, size_t b)
{
    struct attention_case item = *c;
    struct tensor *const inputs[] = {&item.params.query, &item.params.key, &item.params.value, &item.params.mask,
                                     &item.params.bias};
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++) {
        if (inputs[k]->data)
            *inputs[k] = view_slice(inputs[k], 0, b, 1);
    }
    struct positions *const positions[] = {&item.params.query_positions, &item.params.key_positions};
    for (size_t k = 0; k < 2; k++) {
        if (positions[k]->given)
            positions[k]->given += b * positions[k]->item_stride;
        if (positions[k]->first)
            positions[k]->first += b;
    }
    struct token_ids *const ids[] = {&item.params.query_segments, &item.params.key_segments, &item.params.query_spans,
                                     &item.params.key_spans};
    for (size_t k = 0; k < 4; k++)
        if (ids[k]->ids)
            ids[k]->ids += b * ids[k]->item_stride;
    if (item.params.prefix_lengths && !item.params.sequences)
        item.params.prefix_lengths += b;
    if (item.params.query_lengths)
        item.params.query_lengths += b;
    if (item.params.key_lengths)
        item.params.key_lengths += b;
    if (item.params.query_scales)
        item.params.query_scales += b * item.params.query_scale_stride;
    item.dims.B = 1;
    return item;
}

size_t attention_dims_top(const struct attention_dims *dims)
{
    return 1 + (dims->Tq + 3 * dims->Tk) % 9;
}

void attention_dims_pool(const struct attention_dims *dims, size_t *ret_rows, size_t *ret_columns, bool *ret_max)
{
    *ret_rows = dims->Tq == 0 ? 1 : 1 + (31 * dims->Tq + dims->Tk) % dims->Tq;
    *ret_columns = dims->Tk == 0 ? 1 : 1 + (17 * dims->Tk + dims->Tq) % dims->Tk;
    *ret_max = (dims->Tq + dims->Tk + dims->D) % 2 == 1;
}

const char *result_text(enum result_name name)
{
    static const char *const names[RESULT_COUNT] = {"output",        "weights",       "mean_weights", "scores",
                                                    "capped_scores", "masked_scores", "lse",          "key_sums",
                                                    "entropy",       "top_indices",   "top_weights",  "pooled_weights"};
    return names[name];
}

struct tensor *result_at(struct attention_results *results, enum result_name name)
{
    struct tensor *const members[RESULT_COUNT] = {&results->output,      &results->weights,       &results->mean_weights,
                                                  &results->scores,      &results->capped_scores, &results->masked_scores,
                                                  &results->lse,         &results->key_sums,      &results->entropy,
                                                  &results->top_indices, &results->top_weights,   &results->pooled_weights};
    return members[name];
}

/* The shape of a result; returns its rank. */
static size_t result_shape(const struct attention_dims *dims, enum result_name name, size_t shape[4])
{
    const size_t pairs[4] = {dims->B, dims->H, dims->Tq, dims->Tk};
    bool unused;
    memcpy(shape, pairs, sizeof pairs);
    switch (name) {
    case RESULT_OUTPUT:
        shape[3] = dims->Dv;
        return 4;
    case RESULT_MEAN_WEIGHTS:
        memmove(shape + 1, shape + 2, 2 * sizeof *shape);
        return 3;
    case RESULT_LSE:
    case RESULT_ENTROPY:
        return 3;
    case RESULT_KEY_SUMS:
        shape[2] = dims->Tk;
        return 3;
    case RESULT_TOP_INDICES:
    case RESULT_TOP_WEIGHTS:
        shape[3] = attention_dims_top(dims);
        return 4;
    case RESULT_POOLED_WEIGHTS:
        attention_dims_pool(dims, &shape[2], &shape[3], &unused);
        return 4;
    default:
        return 4;
    }
}

void case_results_init(struct case_results *r, const struct attention_dims *dims, unsigned wanted, struct draw *layout)
{
    size_t unused;
    memset(r, 0, sizeof *r);
    attention_dims_pool(dims, &unused, &unused, &r->results.pool_max);
    for (enum result_name name = 0; name < RESULT_COUNT; name++) {
        size_t shape[4], rank = result_shape(dims, name, shape);
        enum dtype dtype = name == RESULT_TOP_INDICES ? DTYPE_I64 : dims->dtype;
        if ((wanted >> name) & 1U) {
            *result_at(&r->results, name) =
                layout ? view_drawn(&r->pool, dtype, rank, shape, layout, 0) : view_contiguous(&r->pool, dtype, rank, shape);
        }
    }
    r->results.masked_row_count = SIZE_MAX;
}

void case_results_done(struct case_results *r)
{
    view_pool_done(&r->pool);
}
