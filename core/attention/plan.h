/* attention_plan.h: what the files of attention share while one call runs. Internal to core.
 *
 * The work is cut into blocks of QUERY_TILE queries of one head; a block walks its visible keys in tiles of KEY_TILE and
 * carries the running maximum and denominator of each row (online softmax: Milakov and Gimelshein 2018; tiles: Dao et al.
 * 2022). Tile edges lie at multiples of the sizes, counted from the item's own start, so a row's sums are the same whatever
 * else is in the batch. */
#ifndef ATTND_CORE_ATTENTION_PLAN_H
#define ATTND_CORE_ATTENTION_PLAN_H

#include <stdatomic.h>

#include "core/attention/attention.h"
#include "core/kernels/kernels.h"
#include "core/size.h"

#define QUERY_TILE 120            /* a multiple of every kernel's rows */
#define KEY_TILE KERNEL_DEPTH_MAX /* 512: a tile of scores is the left operand of the product with the values */

/* Small float32 items (Tq*Tk*(D+Dv) up to this, as 64 x 64 x (64+64)) are computed in double and rounded once: the digits that
 * a person compares by eye are then the nearest ones, at no cost that could be noticed beside the request itself. */
#define F32_IN_F64_PRODUCTS_MAX ((size_t)64 * 64 * 128)

/* Calls of fewer products (B*H*Tq*Tk*(D+Dv)) run on the caller alone: they take some 10 microseconds. */
#define SPREAD_PRODUCTS_MIN ((size_t)1 << 20)

/* One worker's memory, in numbers of plan->work. NULL where the plan has no use for it. */
struct attention_scratch {
    void *queries; /* [depth chunks, QUERY_TILE, KERNEL_ROW_STRIDE]: the block's queries, KERNEL_DEPTH_MAX dimensions a chunk */
    /* [rows_at_once, KERNEL_ROW_STRIDE]: a tile's scores, then its weights before the division. Where weights are wanted, [key tiles,
     * score_rows, KERNEL_ROW_STRIDE]: all tiles, until the block ends. */
    void *scores;
    /* [2, QUERY_TILE, value panels * value_panel]: the block's output, not yet divided, and apart from it what values that are
     * not finite add. */
    void *sums;
    void *weight_rows;  /* [QUERY_TILE, Tk] of weights_dtype: the block's weights, where the result cannot take them */
    void *tile_max;     /* [key tiles, QUERY_TILE]: the maximum that each tile's weights were taken against */
    void *clean_values; /* [KEY_TILE, Dv]: a tile's values without what is not finite, where they are read as they lie */
};

struct attention_plan {
    const struct attention_params *params;
    struct attention_results *results;
    const struct kernels *kernels;
    const struct executor *executor; /* who is asked whether to go on */
    const struct executor *runner;   /* the same, or NULL where a hand-over to other threads would take longer than the work */
    struct attention_scratch *scratch; /* [workers] */

    size_t B, H, Hkv, Tq, Tk, D, Dv;
    enum dtype work;          /* what is computed in: float64 for float32 items of at most F32_IN_F64_PRODUCTS_MAX products */
    size_t block_count;       /* query tiles of one head */
    bool stages_wanted;       /* some result has a number for each query and key */
    bool plain_scores;        /* nothing comes between the product and softmax but bans by position */
    bool weights_wanted;      /* weights or their mean */
    bool mean_wanted;         /* heads of one item are then computed one after the other, and summed up in order */
    bool weights_in_place;    /* results->weights takes a block's rows as they come */
    bool weights_stream;      /* in place, and more than the caches hold */
    enum dtype weights_dtype; /* of those rows: the result's where in place, else `work` */
    size_t score_rows;        /* rows of a block, of which all tiles' scores are kept; 0: one tile's are enough */

    bool direct;        /* few queries read keys and values as they lie, without panels (attention_split_kv.c) */
    size_t split_count; /* of the keys, where direct */

    /* Key heads go in waves, which fit the workers' caches: the keys of a wave are packed once for all queries, then its blocks
     * are computed. Panels are those of kernels.h: keys as [D] rows of key_panel keys, values as [Tk] rows of value_panel
     * columns. What of a value is not finite is packed as 0, and the value marked. */
    size_t group_heads, group_first; /* key heads of a wave, and its first, counted b*Hkv + g */
    size_t rows_at_once, key_panel, value_panel, key_panel_count, value_panel_count;
    bool values_in_place; /* rows of values are panels as they lie */
    void *key_panels;     /* [group_heads,key_panel_count,D,key_panel] */
    void *value_panels;   /* [group_heads,value_panel_count,Tk,value_panel]; NULL: output not asked for, or they lie */
    unsigned char *nonfinite_values; /* [group_heads,Tk] */
    atomic_bool has_nonfinite_values;

    atomic_size_t masked_row_count;
    atomic_bool stopped; /* the executor was asked and said so */
};

/* Rows of scores that are computed together: queries of one head, or of several heads that share a key head. Row r is query
 * first_query + r % queries of head `head` + r / queries. */
struct attention_block {
    size_t b, g, head; /* item, key head, first query head */
    size_t first_query, queries;
    size_t rows;               /* <= QUERY_TILE */
    size_t key_begin, key_end; /* the keys that some row of the block may see by position */
};

/* attention_plan.c: how the work is cut, what must hold of it, and its memory. */
void attention_plan_init(struct attention_plan *plan, const struct attention_params *params, struct attention_results *results,
                         const struct executor *executor);
void attention_plan_check(const struct attention_plan *plan);
bool attention_plan_alloc(struct attention_plan *plan, struct arena *arena, struct error *err)
    __attribute__((warn_unused_result));

void attention_block_init(const struct attention_plan *plan, size_t b, size_t g, size_t head, size_t queries,
                          size_t first_query, size_t rows, struct attention_block *ret);

/* attention_store.c: copies a block's weights ([rows, Tk]) to their result, where they were not written in place, and adds
 * them to the mean, whose queries from first_query on (a block's) start at 0. */
void attention_mean_start(const struct attention_plan *plan, size_t b, size_t first_query);
void attention_store(const struct attention_plan *plan, const struct attention_block *block, const void *weight_rows);

#define HEAD_GROUP_BYTES                                                                                                       \
    ((size_t)768 << 10) /* keys and values of a wave's heads for each worker: they stay in the second cache */

/* A weight that met an infinity and then shrinks by more than this may vanish. */
#define NONFINITE_FACTOR_MIN 1e-30

#define CACHE_LINE_BYTES 64
#define STREAMING_BYTES_MIN ((size_t)8 << 20) /* weights of this size are written past the caches */

#define SPLIT_KV_ROWS_MAX 12         /* rows that share one reading of the keys */
#define SPLIT_KV_KEYS (4 * KEY_TILE) /* keys of a split */

/* attention_split_kv.c: the whole of attention for a plan that is direct, and what it takes of the arena at the most. */
bool attention_split_kv(struct attention_plan *plan, struct arena *arena, struct error *err)
    __attribute__((warn_unused_result));
size_t attention_split_kv_cost(const struct attention_plan *plan);

/* True once the executor does not want the work any more. */
bool attention_should_stop(struct attention_plan *plan);

/* attention_bans.c: what a query may see. */

/* The keys [*ret_begin, *ret_end) that causal, window and key_lengths leave to query i of item b. */
void attention_visible(const struct attention_plan *plan, size_t b, size_t i, size_t *ret_begin, size_t *ret_end);

/* The position of query i of item b among the keys. */
int64_t attention_position(const struct attention_plan *plan, size_t b, size_t i);

/* attention_row.c: one row at a time in double, for rows with non-finite or overflowing numbers. Writes the row's output,
 * masked scores and lse, and its weights to `ret_weights` (contiguous, of plan->weights_dtype; NULL: not wanted). */
void attention_row(const struct attention_plan *plan, size_t b, size_t h, size_t i, void *ret_weights);

/* The output alone of a row whose scores are finite: the other results then don't depend on whether it is asked for. */
void attention_row_output(const struct attention_plan *plan, size_t b, size_t h, size_t i);

/* scale * q.k of one pair in double, and the same after softcap. */
double attention_score(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j);
double attention_capped(const struct attention_plan *plan, double score);

/* True where key j is masked for query i by position or by mask. */
bool attention_masked(const struct attention_plan *plan, size_t b, size_t h, size_t i, size_t j);

/* attention_pack_*: one tile of keys and values of key head g of item b into the plan's panels. */
typedef void attention_pack_function(struct attention_plan *plan, size_t b, size_t g, size_t first);
attention_pack_function attention_pack_f32, attention_pack_f64, attention_pack_f32_in_f64;

/* attention_block_f32.c, _f64.c and _f32_in_f64.c (float32 computed in double), written once in attention_block.inc.h.
 *
 * block: a block over all its keys. split: over the keys [first, end) alone, leaving its state in `walk`
 * (attention_split_bytes_*). merge: the states of all splits, in order, to results. */
typedef void attention_block_function(struct attention_plan *plan, const struct attention_block *block,
                                      const struct attention_scratch *scratch);
typedef void attention_split_function(struct attention_plan *plan, const struct attention_block *block,
                                      const struct attention_scratch *scratch, void *state, size_t first, size_t end);
typedef void attention_merge_function(struct attention_plan *plan, void *const *states, size_t count);
typedef size_t attention_split_bytes_function(void);
attention_block_function attention_block_f32, attention_block_f64, attention_block_f32_in_f64;
attention_split_function attention_split_f32, attention_split_f64, attention_split_f32_in_f64;
attention_merge_function attention_merge_f32, attention_merge_f64, attention_merge_f32_in_f64;
attention_split_bytes_function attention_split_bytes_f32, attention_split_bytes_f64, attention_split_bytes_f32_in_f64;

#endif
