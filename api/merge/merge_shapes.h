/* merge_shapes.h: what the shapes of a merge's parts say: axes, and whether all agree. */
#ifndef ATTND_API_MERGE_MERGE_SHAPES_H
#define ATTND_API_MERGE_MERGE_SHAPES_H

#include "api/merge/merge_parts.h"

/* Sets the axes from the parts, which must have numbers and equal shapes.
 * Fails   invalid, with a pointer to the part's tensor. */
bool merge_shapes_resolve(struct merge *merge, struct error *err) __attribute__((warn_unused_result));

/* The (B,H,T,Dv) view of memory that has an output's shape, in double. */
struct tensor merge_view(const struct merge *merge, void *data);

#endif
