/* split_kv.h: few queries against many keys, as in decoding (split-KV: FlashDecoding, Dao et al. 2023). Packing would cost
 * more than it saves, so keys and values are read once, in place, for all query heads that share them. Keys are divided
 * into splits of fixed size, so that several workers can share one head; the splits' maxima, denominators and sums are
 * merged in order. */
#ifndef ATTND_CORE_ATTENTION_SPLIT_KV_H
#define ATTND_CORE_ATTENTION_SPLIT_KV_H

#include "core/attention/block.h"
#include "core/attention/memory.h"

struct split_kv {
    struct attention_plan *plan;
    struct attention_block *blocks; /* [B,Hkv] */
    void **states;                  /* [B,Hkv,splits] */

    /* Of each split: its softmax state, and its output before the division. NULL where the plan has no use for it. */
    char *state_memory, *sums, *top_scores, *top_keys;
    size_t state_bytes, sums_bytes, top_bytes;

    /* Of each block, all its splits: see struct attention_scratch. */
    char *kept_scores, *tile_max, *weight_rows;
    size_t kept_scores_bytes, tile_max_bytes, weight_rows_bytes;
};

/* A plan that is split_kv. */
void split_kv_init(struct split_kv *split_kv, struct attention_plan *plan, struct attention_memory *memory);
void split_kv_run(struct split_kv *split_kv);

#endif
