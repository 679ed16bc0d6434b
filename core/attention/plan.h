/* plan.h: how one call of attention is divided, and what its files share while it runs. Internal to core/attention.
 *
 * The work is divided into blocks of QUERY_TILE queries of one head; a block goes through its visible keys in tiles of KEY_TILE
 * and carries the running maximum and denominator of each row (online softmax: Milakov and Gimelshein 2018; tiles: Dao et al.
 * 2022). Tile edges lie at multiples of the sizes, counted from the item's own start, so a row's sums are the same whatever
 * else is in the batch.
 *
 * The files, each of which uses only those below it:
 *   attention.c           the call: packing and blocks as tasks, head group by head group
 *   split_kv.c            the other way through: few queries, keys divided between tasks
 *   reduce.c              a second sweep, for sums over queries: keys divided between tasks
 *   block.c, block_*.c    a block of queries over its keys, once a precision
 *   store.c, exact_row.c  weights to results; a row that needs double
 *   top_keys.c            the largest weights of a row
 *   mask.c                which keys a query may see
 *   visible.c, extents.c  which of them by rule
 *   sequences.c           what is computed one by one, and in which groups
 *   memory.c, plan.c      scratch and panels; the plan */
#ifndef ATTND_CORE_ATTENTION_PLAN_H
#define ATTND_CORE_ATTENTION_PLAN_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/attention/attention.h"
#include "core/kernels/kernels.h"

#define QUERY_TILE 120            /* a multiple of every kernel's rows */
#define KEY_TILE KERNEL_DEPTH_MAX /* 512: a tile of scores is the left operand of the product with the values */

#define SPLIT_KV_ROWS_MAX 12         /* query rows that share one reading of the keys */
#define SPLIT_KV_KEYS (4 * KEY_TILE) /* keys of a split */

/* One worker's memory, in numbers of plan->work. NULL where the plan has no use for it. */
struct attention_scratch {
    void *queries; /* [depth chunks, QUERY_TILE, KERNEL_ROW_STRIDE]: the block's queries, KERNEL_DEPTH_MAX dimensions a chunk */
    void *scores;  /* [rows_at_once, KERNEL_ROW_STRIDE]: a tile's scores, then its weights before the division */
    void *
        kept_scores; /* [kept_tiles, score_rows, KERNEL_ROW_STRIDE]: the same, until the block ends, where weights are wanted */
    /* [2, QUERY_TILE, value panels * value_panel]: the block's output before the division, and the sums of what is not
     * finite. */
    void *sums;
    void
        *weight_rows; /* [QUERY_TILE, selected keys] of weights_dtype: the block's weights, where the result cannot take them */
    void *tile_max;   /* [kept_tiles, QUERY_TILE]: the maximum that each tile's weights were computed against */
    double *top_scores; /* [rows, top]: struct top_keys */
    int64_t *top_keys;
    double *key_sums, *cells; /* of the second sweep: struct attention_span */
    void *clean_values; /* [KEY_TILE, Dv]: a tile's values, zeros in place of what is not finite, where they are not packed */
};

/* What the rules leave one query of one item, in all heads: visible.h. Keys are counted in 32 bits: no axis has more. */
struct attention_row {
    uint32_t begin, end; /* keys outside of [begin, end) are masked */
    uint32_t sequence;
    bool by_key;  /* keys inside may be masked, too */
    bool padding; /* no token */
};

/* A sequence, and how many tiles and panels of one head's keys and blocks of its queries come before it: sequences.h. */
struct attention_sequence_plan {
    size_t b, first_query, queries, first_key, keys;
    size_t key_begin, key_end; /* the keys that some query may see by rule */
    size_t first_tile, first_panel, first_block;
};

struct bounds {
    int64_t min, max;
};

static inline void bounds_add(struct bounds *bounds, int64_t x)
{
    bounds->min = x < bounds->min ? x : bounds->min;
    bounds->max = x > bounds->max ? x : bounds->max;
}

/* What is in one tile of keys. */
struct tile_summary {
    struct bounds position, segment, span;
};

enum attention_precision {
    ATTENTION_F32,
    ATTENTION_F64,
    ATTENTION_F32_IN_F64, /* float32 computed in double: small items, see core/precision.h */
};

/* What turns a row's scores into weights, once all of its keys are known: exp(score - max) / sum. */
struct attention_row_norm {
    double max, sum;
    enum { ROW_MASKED, ROW_FINITE, ROW_EXACT } kind; /* every key masked; as computed; only exact_row has its weights */
};

struct attention_plan {
    const struct attention_params *params;
    struct attention_results *results;
    const struct kernels *kernels;
    const struct executor *executor; /* asked whether to go on */
    const struct executor *runner;   /* the same, or NULL where handing tasks to other threads would take longer than they do */
    struct attention_scratch *scratch; /* [workers] */

    size_t B, H, Hkv, Tq, Tk, D, Dv;
    struct attention_row *rows; /* [B,Tq] */
    size_t sequence_count;
    struct attention_sequence_plan *sequences; /* [sequence_count], and their sums behind the last */
    struct tile_summary *summaries;            /* [tiles of all sequences]; NULL: rows' ranges say it all */
    struct extent *extents;                    /* [2,Tk]: for visible.c; NULL: there are no segments and spans */
    enum attention_precision precision;
    enum dtype work;          /* what the precision computes in */
    bool stages_wanted;       /* some result has a number for each query and key */
    bool raw_scores;          /* nothing comes between the product and softmax but masks by position */
    bool weights_wanted;      /* weights or their mean */
    bool mean_wanted;         /* heads of one item are then computed one after the other, and summed in order */
    bool weights_in_place;    /* results->weights takes a block's rows directly */
    bool weights_stream;      /* in place, and more than the caches hold */
    enum dtype weights_dtype; /* of those rows: the result's where in place, else `work` */
    size_t score_rows;        /* rows of a block whose scores are kept for the tiles with selected keys; 0: none are */
    size_t kept_tiles;        /* how many of these a sequence has at most */
    struct attention_selection selection; /* resolved: all where the results have none */

    bool row_reductions;                  /* a row's entropy or largest weights, or row_norms, are wanted */
    size_t top;                           /* keys of a row in top_keys; 0: not wanted */
    struct attention_row_norm *row_norms; /* [B,H,Tq], for the second sweep (reduce.c); NULL: none */
    size_t pool_rows, pool_columns;       /* of pooled_weights; 0: not wanted */
    size_t span_count, span_columns;      /* spans of keys, tasks of the second sweep, and pooled columns in each */

    bool split_kv;      /* few queries: keys and values are read in place, unpacked, and divided between tasks (split_kv.c) */
    size_t split_count; /* of the keys, where split_kv */

    /* Key heads go in groups that fit the workers' caches: the keys of a group are packed once for all queries, then its blocks
     * are computed. Panels are those of kernels.h: keys as [D] rows of key_panel keys, values as [Tk] rows of value_panel
     * columns. What of a value is not finite is packed as 0, and the value marked. */
    size_t group_heads, group_first;    /* units of a group, where all are equal, and its first: sequences.h */
    size_t group_panels, cached_panels; /* what the panels hold, and what of it stays in the caches */
    size_t rows_at_once, key_panel, value_panel, key_panel_count, value_panel_count;
    bool values_in_place; /* rows of values can be read as panels, unpacked */
    void *key_panels;     /* [units of the group, key panels of the unit, D, key_panel] */
    void *value_panels; /* [units, value_panel_count, keys in whole panels, value_panel]; NULL: no output, or values in place */
    unsigned char *nonfinite_values; /* [units, keys in whole panels] */
    atomic_bool has_nonfinite_values;

    atomic_size_t masked_row_count;
    atomic_bool stopped; /* the executor was asked and said so */
};

/* True where query i, or head h and query i, have a place in the results that are selected. */
static inline bool attention_query_selected(const struct attention_plan *plan, size_t i)
{
    return i - plan->selection.query_first < plan->selection.query_count;
}

static inline bool attention_row_selected(const struct attention_plan *plan, size_t h, size_t i)
{
    const size_t *places = plan->selection.head_places;
    return attention_query_selected(plan, i) && (places == NULL || places[h] != SIZE_MAX);
}

/* True where the row's weights are kept: for itself, or for the mean. */
static inline bool attention_row_kept(const struct attention_plan *plan, size_t h, size_t i)
{
    return plan->mean_wanted ? attention_query_selected(plan, i) : attention_row_selected(plan, h, i);
}

/* The row of a (B,heads,queries,keys) result that is selected; its first number is of key selection.key_first. */
static inline void *attention_selected_row(const struct attention_plan *plan, const struct tensor *t, size_t b, size_t h,
                                           size_t i)
{
    const size_t *places = plan->selection.head_places;
    return tensor_row(t, b, places == NULL ? h : places[h], i - plan->selection.query_first);
}

void attention_plan_init(struct attention_plan *plan, const struct attention_params *params, struct attention_results *results,
                         const struct executor *executor);

/* Asserts what attention_compute leaves to its caller. */
void attention_plan_check(const struct attention_plan *plan);

/* The logarithm of a row's denominator, sum * exp(max), to the base asked for. */
double attention_lse(const struct attention_plan *plan, double max, double sum);

/* True once the executor does not want the work any more. */
bool attention_should_stop(struct attention_plan *plan);

#endif
