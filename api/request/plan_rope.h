/* plan_rope.h: a step of plan_resolve: what of "rope" is used, and that it fits the shapes. */
#ifndef ATTND_API_REQUEST_PLAN_ROPE_H
#define ATTND_API_REQUEST_PLAN_ROPE_H

#include "api/request/plan.h"

/* Needs the shapes. Fails   invalid. */
bool plan_rope_resolve(struct plan *plan, struct error *err) __attribute__((warn_unused_result));

#endif
