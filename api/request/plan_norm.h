/* plan_norm.h: a step of plan_resolve: that qk_norm's weights fit the heads. */
#ifndef ATTND_API_REQUEST_PLAN_NORM_H
#define ATTND_API_REQUEST_PLAN_NORM_H

#include "api/request/plan.h"

/* Needs the shapes. Fails   invalid. */
bool plan_norm_resolve(struct plan *plan, struct error *err) __attribute__((warn_unused_result));

#endif
