/* protocol.h: what differs between the ways of asking for attention: how a request is read, how its reply is written. What happens
 * in between is the same for all (api.c).
 *
 * A new protocol is a file that defines an api_protocol, and a line in API_PROTOCOLS; a route of the server then names it. */
#ifndef ATTND_API_PROTOCOL_PROTOCOL_H
#define ATTND_API_PROTOCOL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

#include "api/json/chunk.h"
#include "core/arena.h"
#include "core/error.h"
#include "core/executor.h"

struct evaluation;
struct extract;
struct plan;
struct request;

struct api_request {
    const char *content_type; /* the header's value; NULL where absent */
    const char *accept;       /* the header's value; NULL where absent */
    const char *json_length;  /* of Inference-Header-Content-Length: bytes of JSON before binary tensors; NULL where absent */
    const char *body;         /* borrowed until api_call_done; need not end in NUL */
    size_t body_bytes;
};

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
};

/* The reply's bytes: at least one chunk. */
static inline void api_reply_set_chunks(struct api_reply *reply, const struct api_chunk *chunks, size_t count)
{
    reply->body = chunks[0].data;
    reply->body_bytes = chunks[0].bytes;
    reply->chunks = chunks + 1;
    reply->chunk_count = count - 1;
}

struct api_protocol {
    const char *name; /* what its requests are counted under: the path of its endpoint */

    /* Fails with unsupported_media, naming what can be read, where the body's type is something else. */
    bool (*accepts)(const struct api_request *sent, struct error *err);

    /* Decodes the body. The request may borrow the body, the extract and the arena; ret->reply is the protocol's own, for `write`.
     * May take PROTOCOL_READ_BYTES_MAX of the arena besides the extract. */
    bool (*read)(const struct api_request *sent, struct arena *arena, struct extract *extract, struct request *ret,
                 struct error *err);

    /* What `write` needs of evaluation->reply_buffer at most. SIZE_MAX where it overflows. */
    size_t (*write_bytes_max)(const struct plan *plan);

    /* Writes the reply to the buffer; chunks of it may be the evaluation's results themselves. May round the results.
     * Fails   deadline: the executor was stopped. */
    bool (*write)(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret, struct error *err);

    /* An error as a body of type error_type: returns its bytes, at most PROBLEM_BYTES_MAX. */
    const char *error_type;
    size_t (*write_error)(const struct error *err, char *buffer, size_t buffer_bytes);
};

#define PROTOCOL_READ_BYTES_MAX ((size_t)3 << 16)
#define PROBLEM_BYTES_MAX 6144 /* any error in any protocol, with every character escaped */

/* X(NAME) for each api_protocol_NAME. */
#define API_PROTOCOLS(X)                                                                                                       \
    X(attention) /* POST /attention: JSON or safetensors; errors are problem+json (RFC 9457) */                                \
    X(kserve)    /* POST /v2/models/attention/infer, the Open Inference Protocol; errors are {"error": ".."} */

#define API_PROTOCOL_DECLARE(name) extern const struct api_protocol api_protocol_##name;
#define API_PROTOCOL_ONE(name) +1
API_PROTOCOLS(API_PROTOCOL_DECLARE)
enum { API_PROTOCOL_COUNT = API_PROTOCOLS(API_PROTOCOL_ONE) };
extern const struct api_protocol *const api_protocols[API_PROTOCOL_COUNT];

/* Its place among api_protocols. */
size_t api_protocol_index(const struct api_protocol *protocol);

#endif
