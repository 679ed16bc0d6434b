/* plan_integers.h: the shapes of fields that hold integers, one an item or one a token. For plan_resolve, and for what reads
 * them. */
#ifndef ATTND_API_REQUEST_PLAN_INTEGERS_H
#define ATTND_API_REQUEST_PLAN_INTEGERS_H

#include "api/request/plan.h"

/* The largest that the field may hold, and what it is in words. */
int64_t plan_integers_max(const struct plan *plan, enum request_integers which);
const char *plan_integers_bound(enum request_integers which);

/* Checks them, and the value of those that are one integer. Needs the plan's sizes. */
bool plan_integers_resolve(struct plan *plan, struct error *err) __attribute__((warn_unused_result));

#endif
