/* plan_bias.h: T5's relative biases and the queries' own scales against the shapes. */
#ifndef ATTND_API_REQUEST_PLAN_BIAS_H
#define ATTND_API_REQUEST_PLAN_BIAS_H

#include "api/request/plan.h"
#include "core/error.h"

bool plan_bias_resolve(const struct plan *plan, struct error *err) __attribute__((warn_unused_result));

#endif
