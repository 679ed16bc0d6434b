/* request.h: one HTTP request, from its request line to the last byte of its reply.
 *
 * request_step tells the life: the head is read and the request admitted or refused; the body is collected; the job goes
 * through the queue to a worker, while the connection is suspended; the reply goes out; and when libmicrohttpd is through
 * with it (request_completed), the request is logged and freed.
 *
 * Threads  the sockets' thread owns a request; a worker has it from queue_push to MHD_resume_connection, when it touches
 *          only the job, the grant, the call and the times. */
#ifndef ATTND_SERVER_HTTP_REQUEST_H
#define ATTND_SERVER_HTTP_REQUEST_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "server/http/body.h"
#include "server/http/gzip.h"
#include "server/http/head.h"
#include "server/http/router.h"
#include "server/http/static.h"
#include "server/work/budget.h"
#include "server/work/monitor.h"
#include "server/work/work_item.h"

#define REQUEST_METHOD_BYTES_MAX 16  /* longer ones are cut: no method served here is */
#define REQUEST_TARGET_BYTES_MAX 256 /* the same */
#define REQUEST_ID_BYTES_MAX 128

struct daemon;

enum request_stage {
    REQUEST_HEAD,    /* the request line is there, the rest of the head not yet */
    REQUEST_COLLECT, /* the body arrives, and is kept */
    REQUEST_DISCARD, /* the reply is ready, and what arrives of the body is dropped */
    REQUEST_PARK,    /* the body is complete */
    REQUEST_WORK,    /* suspended; once the socket's thread sees it again, the reply is ready */
};

struct http_request {
    struct work_item work_item; /* first, so that a job's address is its request's */
    struct monitor_garbage garbage;
    struct daemon *daemon;         /* borrowed */
    struct MHD_Connection *mhd;    /* borrowed */
    struct connection *connection; /* borrowed */
    enum request_stage stage;
    struct head head;
    const struct route *route;                /* NULL where none fits */
    const struct static_representation *form; /* of a file that is the reply; else NULL */
    char method[REQUEST_METHOD_BYTES_MAX + 1];
    char target[REQUEST_TARGET_BYTES_MAX + 1];
    char id[REQUEST_ID_BYTES_MAX + 1];
    struct body body;
    struct budget_grant grant;
    struct api_call call;
    struct gzip gzip;        /* the reply, where it is compressed */
    uint64_t received_bytes; /* of the body */
    bool inflate;            /* the body is gzip */
    bool deflated;           /* the reply is gzip */
    bool may_vary;           /* on Accept-Encoding */
    bool admitted;           /* counted in the daemon's work */
    bool computed;           /* the call's timings are the reply's */
    bool replied;            /* the reply was handed over */
    bool lingers;            /* the body was refused: what follows of it must not reset the connection */
    int64_t started_ns, received_ns, begun_ns, finished_ns; /* 0 where it did not come to that */
};

/* New, for a request line; `target` as the client sent it. NULL where there is no memory. */
struct http_request *request_new(struct daemon *daemon, struct MHD_Connection *mhd, const char *target);

/* libmicrohttpd's access handler: called when the head is complete, for each piece of the body, and when all of it is
 * there, until a reply is queued. Returns MHD_NO to close the connection. */
enum MHD_Result request_step(struct http_request *request, const char *method, const char *version, const char *data,
                             size_t *data_bytes);

/* The job goes through the queue to a worker (request_run.c). */
void request_submit(struct http_request *request);
void request_run(struct work_item *work_item);

/* Logs and frees (request_end.c). */
void request_completed(struct http_request *request, enum MHD_RequestTerminationCode how);

/* How long it may take to arrive, and again to be answered. */
int64_t request_timeout_ms(const struct http_request *request);

/* Says that all connections are taken; returns false. */
bool request_set_taken(const struct http_request *request, struct error *err);

/* Counts it among the work that the daemon waits for before it ends, or no longer. */
void request_count_work(struct http_request *request, bool admitted);

#endif
