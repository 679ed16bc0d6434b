/* head.h: what the head of a request says that matters here. */
#ifndef ATTND_SERVER_HTTP_HEAD_H
#define ATTND_SERVER_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

struct MHD_Connection;

/* A request line as libmicrohttpd passes it: pointers into the memory that the head was read to. */
struct request_line {
    const char *method, *url, *version;
};

struct head {
    /* Values of headers, borrowed until the request is completed; NULL where absent. */
    const char *accept, *accept_encoding, *api_key, *authorization, *content_encoding, *content_length_text, *content_type,
        *expect, *if_none_match, *json_length, *origin, *preflight_method, *request_id, *traceparent, *transfer_encoding,
        *connection;
    bool http_1_1;
    bool has_body;
    bool length_known;   /* by Content-Length; else the body is chunked */
    uint64_t body_bytes; /* where length_known */
    bool expects_continue;
    bool wants_close; /* after the reply */
};

/* A header that the daemon sets itself before those of the request. */
extern const char head_no_cookie[];

/* `target_bytes` is the length of the target as libmicrohttpd first passed it.
 * Fails  malformed: the head leaves open where the body ends or whom it is for (RFC 9112, sections 3.2, 5, 6), as in request
 *        smuggling; or it holds a NUL, which would hide what follows it, or a line that ends in LF alone. */
bool head_read(struct MHD_Connection *mhd, const struct request_line *line, size_t target_bytes, struct head *ret,
               struct error *err) __attribute__((warn_unused_result));

/* For a head that libmicrohttpd refuses before it passes it on.
 * Fails  malformed, too_large: Content-Length was sent, but is no number, or one that no integer holds. */
bool head_check_length(struct MHD_Connection *mhd, size_t body_bytes_max, struct error *err)
    __attribute__((warn_unused_result));

/* True where a key of the request, `Authorization: Bearer KEY` or `X-API-Key: KEY`, was sent; it is put to *ret_key. */
bool head_key(const struct head *head, const char **ret_key);

#endif
