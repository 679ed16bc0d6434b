/* protocol.h: a way of asking: which bodies it accepts, how it answers, how its errors look, and what it is counted as.
 *
 * A protocol that computes one attention from one request answers with pipeline.h. A new protocol is a file that defines an
 * api_protocol, and a line in API_PROTOCOLS; a route of the server then names it. */
#ifndef ATTND_API_PROTOCOL_PROTOCOL_H
#define ATTND_API_PROTOCOL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

#include "api/json/chunk.h"
#include "core/arena.h"
#include "core/error.h"
#include "core/executor.h"

struct chunks;

struct api_request {
    const char *content_type; /* the header's value; NULL where absent */
    const char *accept;       /* the header's value; NULL where absent */
    const char *json_length;  /* of Inference-Header-Content-Length: bytes of JSON before binary tensors; NULL where absent */
    const char *body;         /* borrowed until api_call_done; need not end in NUL */
    size_t body_bytes;
};

/* What a call is going to take, known before anything of that size is allocated. */
struct api_cost {
    size_t memory_bytes;
    size_t products; /* multiplications, about; SIZE_MAX where it overflows */
};

struct api_limits {
    size_t request_memory_bytes_max; /* cap on one request's computed cost, its body not counted */

    /* Reserves memory for the call before anything is allocated. Returns false to refuse the call, with err set, or to defer
     * it, with err untouched: api_compute then ends without a reply (status 0), and is called again when the caller sees fit.
     * What was reserved, api_call.reserved_bytes, is the caller's to release after api_call_done. NULL: grants everything. */
    bool (*reserve)(void *context, const struct api_cost *cost, struct error *err);
    void *reserve_context; /* borrowed */
};

struct api_timings {
    double parse_ms, compute_ms, encode_ms;
};

/* What a comparison came to. */
enum api_verdict {
    API_VERDICT_NONE, /* it was none */
    API_VERDICT_EQUAL,
    API_VERDICT_ROUNDING,
    API_VERDICT_EXPLAINED,
    API_VERDICT_UNEXPLAINED,
    API_VERDICTS,
};
extern const char *const api_verdict_names[API_VERDICTS]; /* static */

struct api_reply {
    int status;               /* of HTTP */
    const char *content_type; /* static */
    const char *body;         /* owned by the call, or static */
    size_t body_bytes;
    const struct api_chunk *chunks; /* owned by the call: sent after body, in order */
    size_t chunk_count;
    size_t json_bytes;     /* > 0: the value of the Inference-Header-Content-Length header */
    const char *allow;     /* static, or NULL: the value of the Allow header (405) */
    int retry_after_s;     /* > 0: the value of the Retry-After header (503) */
    enum error_code error; /* ERROR_NONE where status is 200 */
    enum api_verdict verdict;
};

#define PROBLEM_BYTES_MAX 6144 /* any error in any protocol, with every character escaped */

struct api_call {
    const struct api_protocol *protocol;
    struct arena arena;
    size_t reserved_bytes; /* granted by limits->reserve */
    struct api_timings timings;
    struct api_reply reply;
    char problem[PROBLEM_BYTES_MAX]; /* last; the body of an error reply or another short one: writing it allocates nothing */
};

struct api_protocol {
    const char *name; /* what its requests are counted as: the path of its endpoint */

    /* Fails with unsupported_media, naming what can be read, where the body's type is something else. */
    bool (*accepts)(const struct api_request *request, struct error *err);

    /* Fills call->reply and the timings. Allocates from call->arena, whose cap it raises: by what reading takes at most, then
     * with protocol_reserve. Returns false with err set, or untouched where protocol_reserve deferred the call. */
    bool (*answer)(const struct api_request *request, const struct api_limits *limits, const struct executor *executor,
                   struct api_call *call, struct error *err);

    /* An error as a body of type error_type: returns its bytes, at most PROBLEM_BYTES_MAX. */
    const char *error_type;
    size_t (*write_error)(const struct error *err, char *buffer, size_t buffer_bytes);
};

/* X(NAME) for each api_protocol_NAME. */
#define API_PROTOCOLS(X)                                                                                                       \
    X(attention) /* POST /attention: JSON or safetensors; errors are problem+json (RFC 9457) */                                \
    X(compare)   /* POST /attention/compare: the same with what other code made of it */                                       \
    X(merge)     /* POST /attention/merge: outputs and lse over parts of the keys, brought together */                         \
    X(kserve)    /* POST /v2/models/attention/infer, the Open Inference Protocol; errors are {"error": ".."} */

#define API_PROTOCOL_DECLARE(name) extern const struct api_protocol api_protocol_##name;
#define API_PROTOCOL_PLACE(name) API_PROTOCOL_PLACE_##name,
API_PROTOCOLS(API_PROTOCOL_DECLARE)
enum { API_PROTOCOLS(API_PROTOCOL_PLACE) API_PROTOCOL_COUNT };
extern const struct api_protocol *const api_protocols[API_PROTOCOL_COUNT];

/* Its place among api_protocols. */
size_t api_protocol_index(const struct api_protocol *protocol);

/* Of a clock that never goes back. */
double protocol_now_ms(void);

/* From *since_ms, which becomes now, until now. */
double protocol_lap_ms(double *since_ms);

/* Has the limits grant what the call is going to allocate, and raises the arena's cap by it.
 * Fails   too_large; or as limits->reserve does, which may also defer the call. */
bool protocol_reserve(const struct api_limits *limits, const struct api_cost *cost, struct api_call *call, struct error *err)
    __attribute__((warn_unused_result));

/* Ends the chunks, which become the reply's bytes.
 * Fails   as chunks_done. */
bool api_reply_end_chunks(struct api_reply *reply, struct chunks *chunks, struct error *err)
    __attribute__((warn_unused_result));

/* The reply's bytes: at least one chunk. */
static inline void api_reply_set_chunks(struct api_reply *reply, const struct api_chunk *chunks, size_t count)
{
    reply->body = chunks[0].data;
    reply->body_bytes = chunks[0].bytes;
    reply->chunks = chunks + 1;
    reply->chunk_count = count - 1;
}

#endif
