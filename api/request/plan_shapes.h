/* plan_shapes.h: the shapes of a plan, from query, key and value or from tokens and projections. */
#ifndef ATTND_API_REQUEST_PLAN_SHAPES_H
#define ATTND_API_REQUEST_PLAN_SHAPES_H

#include "api/request/plan.h"

/* Fill has_batch .. weight_shape. Fail with both shapes and a pointer where two do not fit. */
bool plan_shapes_of_tensors(struct plan *plan, struct error *err) __attribute__((warn_unused_result));
bool plan_shapes_of_tokens(struct plan *plan, struct error *err) __attribute__((warn_unused_result));

#endif
