/* plan_resolve.h: from a request, whose fields are compared with each other, to a plan. */
#ifndef ATTND_API_REQUEST_PLAN_RESOLVE_H
#define ATTND_API_REQUEST_PLAN_RESOLVE_H

#include "api/request/plan.h"

/* Fails   invalid, too_large; with a pointer to the field that does not fit, or says what is missing. */
bool plan_resolve(const struct request *request, struct plan *ret, struct error *err) __attribute__((warn_unused_result));

#endif
