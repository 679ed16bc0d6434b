/* http_request_lifecycle.h: the life of one HTTP request, from its request line to the last byte of its reply.
 *
 * The head is read, and the request admitted or refused; the body is collected; a small request is answered at once, else the connection is
 * suspended while the request waits in the queue and a worker computes the reply (http_request_run.h); the reply goes out; then the request is logged
 * (http_request_log.h) and freed.
 *
 * Threads  every function on the connection's thread. */
#ifndef ATTND_SERVER_HTTP_HTTP_REQUEST_LIFECYCLE_H
#define ATTND_SERVER_HTTP_HTTP_REQUEST_LIFECYCLE_H

#include <microhttpd.h>

#include "server/http/http_request.h"

/* New, for a request line; `target` as the client sent it. NULL where there is no memory. */
struct http_request *http_request_new(struct http_connection *connection, struct MHD_Connection *mhd, const char *target);

/* libmicrohttpd's access handler: called when the head is complete, for each piece of the body, and when all of it has arrived,
 * until a reply is queued. Returns MHD_NO to close the connection. */
enum MHD_Result http_request_step(struct http_request *request, const struct request_line *line, const char *data,
                                  size_t *data_bytes);

/* libmicrohttpd is done with the request: logs and frees it. */
void http_request_end(struct http_request *request, enum MHD_RequestTerminationCode how);

/* The connection closes: replies to, logs and frees the request that libmicrohttpd has dropped, and what it took for none. */
void http_request_abandon(struct http_connection *connection, struct MHD_Connection *mhd);

#endif
