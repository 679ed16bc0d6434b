/* plan_resolve.h: a request's fields compared with each other, to a plan. */
#ifndef ATTND_API_REQUEST_PLAN_RESOLVE_H
#define ATTND_API_REQUEST_PLAN_RESOLVE_H

#include "api/request/plan.h"

/* Fails with invalid or too_large, and a pointer to a field: two do not fit, or one is missing. */
bool plan_resolve(const struct request *request, struct plan *ret, struct error *err) __attribute__((warn_unused_result));

#endif
