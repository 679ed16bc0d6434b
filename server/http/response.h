/* response.h: puts a reply of the api on the wire, with the headers that HTTP wants around it. */
#ifndef ATTND_SERVER_HTTP_RESPONSE_H
#define ATTND_SERVER_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "server/http/static.h"
#include "server/http/trace_context.h"

struct MHD_Connection;

/* A reply, and what of the request decides about its headers. Everything is borrowed. */
struct response {
    const struct api_reply *reply;
    const char *request_id;
    const struct trace_context *trace;
    const struct static_file *file;                     /* the reply is this file; NULL: it is not */
    const struct static_representation *representation; /* of the file */
    const struct static_file *moved_to;                 /* of a redirect; NULL: it is none */
    const char *cors_origin;                            /* --cors-origin; NULL: none */
    const char *preflight_method;                       /* Access-Control-Request-Method; NULL where absent */
    bool is_gzip;                                       /* the body is compressed */
    bool varies_by_encoding;                            /* the request's Accept-Encoding decides whether it is */
    bool accepts_gzip;                                  /* tells that a body in gzip would have been read */
    bool closes;                                        /* the connection ends with this reply */
    size_t idle_timeout_s;                              /* else it may stay idle for so long */
    const struct api_timings *timings;                  /* NULL: nothing was computed */
    double queue_ms;
};

/* Hands the response to libmicrohttpd, which borrows the reply's body until the request is completed. Returns false where it
 * is not taken; the connection must then be closed. */
bool response_queue(const struct response *response, struct MHD_Connection *mhd) __attribute__((warn_unused_result));

/* Writes the response to the socket itself, for a connection that is closed next: libmicrohttpd takes a reply only before
 * the body or after its end. No other reply may be in flight, and there must be no TLS. Returns false where it does not fit the
 * socket's buffer. */
bool response_write(const struct response *response, int fd) __attribute__((warn_unused_result));

/* New: the reply for when there is no memory to make one, to be queued with status 503; NULL on failure. */
struct MHD_Response *response_new_no_memory(void);

/* The length of a reply's body. */
size_t response_body_bytes(const struct api_reply *reply);

#endif
