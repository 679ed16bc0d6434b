/* api.h: one request's bytes in, one reply's bytes out. A pure function of its arguments: no socket, no clock but for
 * the timings, no state between calls; so it is tested and fuzzed without a daemon.
 *
 * Memory   the request's body may be read until the reply has been sent; the reply's body is in the call's arena, which
 *          api_call_done frees.
 * Fails    never: an error becomes a reply. Only a call that the limits defer has none (status 0).
 * Threads  reentrant; one call belongs to one thread at a time. */
#ifndef ATTND_API_API_H
#define ATTND_API_API_H

#include <stdbool.h>
#include <stddef.h>

#include "api/protocol/protocol.h"

/* Call once before any other function of this layer, from one thread. */
void api_init(void);

/* Computes with the kernels of that name ("avx512", "avx2", "neon", "generic"; core/kernels/kernels.h) from now on. Call after
 * api_init, from one thread. Fails: invalid, naming those that this processor runs. */
bool api_use_kernel(const char *name, struct error *err) __attribute__((warn_unused_result));

/* The name of the kernels in use, and what OpenBLAS says of itself. Static. */
const char *api_kernel(void);
const char *api_blas(void);

/* False where OpenBLAS takes this processor for an older one (core/blas.h): large projections are slow then. */
bool api_blas_knows_processor(void);

/* Answers a request as `protocol` does. Fills `call`, which the caller must pass to api_call_done once the reply has been sent.
 * `executor` may be NULL. */
void api_compute(const struct api_protocol *protocol, const struct api_request *request, const struct api_limits *limits,
                 const struct executor *executor, struct api_call *call);

/* Makes call->reply the report of an error that arose outside of api (routing, limits, deadlines), as call->protocol words it.
 * `allow` is for ERROR_METHOD, else NULL; static. */
void api_problem(const struct error *err, const char *allow, struct api_call *call);

/* Frees what the call owns. Safe on a zeroed call, and twice. */
void api_call_done(struct api_call *call);

#endif
