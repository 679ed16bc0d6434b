/* admission.h: refuses what could be served later. Every 503 with Retry-After that is not the computation's own is decided here;
 * api/protocol/problem.c says how long to wait.
 *
 * Threads  every function from any thread. */
#ifndef ATTND_SERVER_HTTP_ADMISSION_H
#define ATTND_SERVER_HTTP_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "server/http/service.h"

/* What readiness says: refuses once the daemon has been told to shut down, also where --shutdown-delay has it serve on. */
bool admission_while_ready(const struct service *service, struct error *err) __attribute__((warn_unused_result));

/* Refuses new work once the daemon drains. */
bool admission_while_serving(const struct service *service, struct error *err) __attribute__((warn_unused_result));

/* Refuses a connection beyond --max-connections; returns false. */
bool admission_refuse_overflow(const struct service *service, struct error *err);

/* Hands an admitted request to the workers, unless the queue is full. */
bool admission_enqueue(struct service *service, struct work_item *work_item, struct error *err)
    __attribute__((warn_unused_result));

/* Refuses a body that would need `bytes`: other requests' bodies fill the memory for them, or the system has no more. Returns false. */
bool admission_refuse_body(size_t bytes, struct error *err);
bool admission_refuse_allocation(size_t bytes, struct error *err);

/* Refuses a request that spent its time waiting for a worker or for memory. */
bool admission_in_time(const struct service *service, struct work_item *work_item, struct error *err)
    __attribute__((warn_unused_result));

#endif
