/* api.h: one request's bytes in, one reply's bytes out. A pure function of its arguments: no socket, no clock but for
 * the timings, no state between calls; so it is tested and fuzzed without a daemon.
 *
 * Memory   the request's body may be read until the reply has been sent; the reply's body is in the call's arena, which api_call_done
 *          frees.
 * Fails    never: an error becomes a reply.
 * Threads  reentrant; one call belongs to one thread at a time. */
#ifndef ATTND_API_API_H
#define ATTND_API_API_H

#include <stdbool.h>
#include <stddef.h>

#include "api/protocol/protocol.h"
#include "core/arena.h"
#include "core/error.h"
#include "core/executor.h"

/* What a call is going to take, known before anything of that size is allocated. */
struct api_cost {
    size_t memory_bytes;
    size_t products; /* multiplications, about; SIZE_MAX where it overflows */
};

struct api_limits {
    size_t request_memory_bytes_max; /* cap on one request's computed cost, its body not counted */

    /* Reserves memory for the call before anything is allocated. Returns false to refuse the call, with err set, or to defer it,
     * with err untouched: api_compute then ends without a reply (status 0), and is called again when the caller sees fit.
     * What was reserved, api_call.reserved_bytes, is the caller's to release after api_call_done. NULL: grants everything. */
    bool (*reserve)(void *context, const struct api_cost *cost, struct error *err);
    void *reserve_context; /* borrowed */
};

struct api_timings {
    double parse_ms, compute_ms, encode_ms;
};

struct api_call {
    const struct api_protocol *protocol;
    struct arena arena;
    size_t reserved_bytes; /* granted by limits->reserve */
    struct api_timings timings;
    struct api_reply reply;
    char problem[PROBLEM_BYTES_MAX]; /* the body of an error reply or another short one: writing it allocates nothing */
};

/* Call once before any other function of this layer, from one thread. */
void api_init(void);

/* Computes with the kernels of that name ("avx512", "avx2", "neon", "generic"; core/kernels/kernels.h) from now on. Call after
 * api_init, from one thread. Fails: invalid, naming those that this processor runs. */
bool api_use_kernel(const char *name, struct error *err) __attribute__((warn_unused_result));

/* The name of the kernels in use, and what OpenBLAS says of itself. Static. */
const char *api_kernel(void);
const char *api_blas(void);

/* Reads a request, computes and writes the reply, in the words of `protocol`. Fills `call`, which the caller must hand to
 * api_call_done once the reply has been sent. `executor` may be NULL. */
void api_compute(const struct api_protocol *protocol, const struct api_request *request, const struct api_limits *limits,
                 const struct executor *executor, struct api_call *call);

/* Makes call->reply the report of an error that arose outside of api (routing, limits, deadlines), as call->protocol words it.
 * `allow` is for ERROR_METHOD, else NULL; static. */
void api_problem(const struct error *err, const char *allow, struct api_call *call);

/* Frees what the call owns. Safe on a zeroed call, and twice. */
void api_call_done(struct api_call *call);

#endif
