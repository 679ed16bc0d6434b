/* plan_return.h: what "return" asks for against the request's sizes: reductions of the weights, and a selection of them. */
#ifndef ATTND_API_REQUEST_PLAN_RETURN_H
#define ATTND_API_REQUEST_PLAN_RETURN_H

#include "api/request/plan.h"

/* Fills stored_heads .. stored_keys of a plan whose shapes are known.
 * Fails   invalid, with a pointer to the field that does not fit. */
bool plan_return_resolve(struct plan *plan, struct error *err) __attribute__((warn_unused_result));

#endif
