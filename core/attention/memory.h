/* memory.h: one pass over what a plan allocates, which sums up its cost or takes it from an arena: so the cost that a
 * request is admitted by and what the call takes cannot differ. */
#ifndef ATTND_CORE_ATTENTION_MEMORY_H
#define ATTND_CORE_ATTENTION_MEMORY_H

#include "core/attention/plan.h"

struct attention_memory {
    struct arena *arena; /* NULL: only the cost is wanted */
    struct error *err;   /* where there is an arena */
    size_t cost;         /* SIZE_MAX where it overflows */
    bool failed;         /* the arena had too little; all later pointers are NULL */
};

/* Memory of `bytes` bytes; NULL for 0 bytes, on failure, and where only the cost is wanted. */
void *attention_memory_take(struct attention_memory *memory, size_t bytes);

/* The panels and each worker's scratch. */
void attention_memory_plan(struct attention_memory *memory, struct attention_plan *plan);

#endif
