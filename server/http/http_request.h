/* http_request.h: what is known of one HTTP request. http_request_lifecycle.h tells its life.
 *
 * Threads  the connection's thread owns a request. From admission_enqueue to MHD_resume_connection a worker has it, and touches only
 *          the work item, the body, the call and the times. */
#ifndef ATTND_SERVER_HTTP_HTTP_REQUEST_H
#define ATTND_SERVER_HTTP_HTTP_REQUEST_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "server/http/body.h"
#include "server/http/gzip.h"
#include "server/http/head.h"
#include "server/http/http_connection.h"
#include "server/http/request_id.h"
#include "server/http/route.h"
#include "server/http/service.h"
#include "server/http/static.h"
#include "server/http/trace_context.h"
#include "server/work/budget.h"
#include "server/work/monitor.h"
#include "server/work/work_item.h"

#define HTTP_REQUEST_METHOD_BYTES_MAX 16  /* longer ones are truncated: no method served here is as long */
#define HTTP_REQUEST_TARGET_BYTES_MAX 256 /* likewise */

enum http_request_stage {
    HTTP_REQUEST_HEAD,    /* the request line has arrived, the rest of the head has not */
    HTTP_REQUEST_COLLECT, /* the body arrives, and is kept */
    HTTP_REQUEST_DISCARD, /* the reply is ready, and what arrives of the body is dropped */
    HTTP_REQUEST_PARK,    /* the body is complete */
    HTTP_REQUEST_WORK,    /* suspended; once the connection's thread sees it again, the reply is ready */
};

struct http_request {
    struct work_item work_item; /* first, so that a work item's address is its request's */
    struct monitor_garbage garbage;
    struct service *service;            /* borrowed */
    struct MHD_Connection *mhd;         /* borrowed */
    struct http_connection *connection; /* borrowed; its request is this one */
    enum http_request_stage stage;
    struct head head;
    const struct route *route;                          /* NULL where the path leads nowhere */
    const struct static_representation *representation; /* of the file that is the reply; else NULL */
    char method[HTTP_REQUEST_METHOD_BYTES_MAX + 1];
    char target[HTTP_REQUEST_TARGET_BYTES_MAX + 1];
    size_t target_bytes; /* as the client sent it, truncated or not */
    char id[REQUEST_ID_BYTES_MAX + 1];
    struct trace_context trace;
    struct body body;
    struct gzip gzip;        /* the reply, where it is compressed */
    uint64_t received_bytes; /* of the body */
    uint64_t piece_count;    /* in which they came */
    bool body_is_gzip;       /* until it is inflated */
    bool reply_is_gzip;
    bool varies_by_encoding; /* the reply, on Accept-Encoding */
    bool admitted;           /* counted in the service's work */
    bool computed;           /* the call's timings are the reply's */
    bool replied;            /* the reply was handed over */
    bool no_memory;          /* for the reply */
    bool lingers;            /* the body was refused: the rest of it must not reset the connection */
    int64_t started_ns, received_ns, begun_ns, finished_ns; /* 0 where it did not come to that */
    struct api_call call;                                   /* last: the buffer at its end is not cleared for a new request */
};

#endif
