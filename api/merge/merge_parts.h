/* merge_parts.h: the parts of a merge, as the request has them, and their axes. */
#ifndef ATTND_API_MERGE_MERGE_PARTS_H
#define ATTND_API_MERGE_MERGE_PARTS_H

#include "api/protocol/attention_read.h"

#define MERGE_PARTS_MAX 64 /* two tensors each, which a safetensors header can name */

struct merge_part {
    struct tensor_input output, lse;
};

struct merge {
    struct extract *extract;
    struct request request; /* of its fields layout, lse_base, precision, return */
    struct attention_reply reply;
    size_t part_count;
    struct merge_part parts[MERGE_PARTS_MAX]; /* of equal shapes */
    size_t B, H, T, Dv;
    bool tokens_first; /* output is [B,T,H,Dv], the heads perhaps packed; else [B,H,T,Dv] */
};

#endif
