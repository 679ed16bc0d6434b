/* plan_results.h: the shape of each thing that a reply may hold. */
#ifndef ATTND_API_REQUEST_PLAN_RESULTS_H
#define ATTND_API_REQUEST_PLAN_RESULTS_H

#include "api/request/plan.h"

/* Fills the results of a plan whose shapes are known. */
void plan_results_resolve(struct plan *plan);

#endif
