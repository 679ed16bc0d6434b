/* api.h: one request's bytes in, one reply's bytes out. A pure function of its arguments: no socket, no clock but for
 * the timings, no state between calls; so it is tested and fuzzed without a daemon.
 *
 * Memory   the request's body may be read until the reply has gone out; the reply's body lives in the call's arena and dies in api_call_done.
 * Fails    never: an error becomes a problem+json reply (RFC 9457).
 * Threads  reentrant; one call belongs to one thread at a time. */
#ifndef ATTND_API_API_H
#define ATTND_API_API_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/error.h"
#include "core/executor.h"

struct api_limits {
    size_t request_memory_bytes_max; /* cap on one request's computed cost, its body not counted */

    /* Sets `bytes` aside for this call before anything is allocated. May wait. Returns false with err set
     * (ERROR_NO_MEMORY, ERROR_DEADLINE) where there is no room. What it granted, api_call.reserved_bytes, is the caller's to give
     * back after api_call_done. NULL: everything is granted. */
    bool (*reserve)(void *context, size_t bytes, struct error *err);
    void *reserve_context; /* borrowed */
};

struct api_request {
    const char *content_type; /* the header's value; NULL where absent */
    const char *accept;       /* the header's value; NULL where absent */
    const char *json_length;  /* of Inference-Header-Content-Length: bytes of JSON before binary tensors; NULL where absent */
    const char *body;         /* borrowed until api_call_done; need not end in NUL */
    size_t body_bytes;
};

struct api_timings {
    double parse_ms, compute_ms, encode_ms;
};

/* Bytes that go out as they lie in memory. */
struct api_chunk {
    const void *data;
    size_t bytes;
};

struct api_reply {
    int status;               /* of HTTP */
    const char *content_type; /* static */
    const char *body;         /* owned by the call, or static */
    size_t body_bytes;
    const struct api_chunk *parts; /* owned by the call: what follows body, in order; numbers that are not copied again */
    size_t chunk_count;
    size_t json_bytes;     /* > 0: the value of the Inference-Header-Content-Length header */
    const char *allow;     /* static, or NULL: the value of the Allow header (405) */
    int retry_after_s;     /* > 0: the value of the Retry-After header (503) */
    enum error_code error; /* ERROR_NONE where status is 200 */
};

#define PROBLEM_BYTES_MAX 6144 /* bounds problem+json with every character of its texts escaped */

/* The ways to ask. They differ in words alone: requests, replies, and how errors are told. */
enum api_protocol {
    API_ATTENTION, /* POST /attention; errors as problem+json */
    API_KSERVE,    /* /v2, the Open Inference Protocol; errors as {"error": ".."} */
};

struct api_call {
    enum api_protocol protocol;
    struct arena arena;
    size_t reserved_bytes; /* granted by limits->reserve */
    struct api_timings timings;
    struct api_reply reply;
    char problem[PROBLEM_BYTES_MAX]; /* the body of an error reply or another short one: writing it allocates nothing */
};

/* Call once before any other function of this room, from one thread. */
void api_init(void);

/* Computes with the kernels of that name ("avx512", "avx2", "neon", "generic"; core/kernels/kernels.h) from now on. Call after api_init, from one
 * thread. Fails: invalid, naming those that this processor runs. */
bool api_use_kernel(const char *name, struct error *err) __attribute__((warn_unused_result));

/* The name of the kernels in use, and what OpenBLAS says of itself. Static. */
const char *api_kernel(void);
const char *api_blas(void);

/* POST /attention. Fills `call`, which the caller must hand to api_call_done when the reply has gone out.
 * `executor` may be NULL. */
void api_attention(const struct api_request *request, const struct api_limits *limits, const struct executor *executor,
                   struct api_call *call);

/* POST /v2/models/attention/infer, likewise. */
void api_kserve(const struct api_request *request, const struct api_limits *limits, const struct executor *executor,
                struct api_call *call);

/* What the protocol's GET requests answer: static JSON. */
enum api_kserve_document {
    API_KSERVE_SERVER,      /* /v2 */
    API_KSERVE_MODEL,       /* /v2/models/attention */
    API_KSERVE_MODEL_READY, /* /v2/models/attention/ready */
};
const char *api_kserve_document(enum api_kserve_document which);

/* Makes `call` the reply, in the words of call->face, for an error that arose outside of api (routing, limits, deadlines).
 * `allow` is for ERROR_METHOD, else NULL; static. */
void api_problem(const struct error *err, const char *allow, struct api_call *call);

/* Frees what the call owns. Safe on a zeroed call, and twice. */
void api_call_done(struct api_call *call);

#endif
