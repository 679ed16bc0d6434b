/* http_request_run.h: what is done with a request: its body inflated, its attention computed, the reply compressed. By a worker, but for
 * requests so small that handing them over would take longer.
 *
 * It never waits: a request that turns out to be large, or whose memory is not free now, is deferred: it runs again from the start, with
 * a worker for large work or with its memory. What was done until then, decoding, costs little beside what is to come. */
#ifndef ATTND_SERVER_HTTP_HTTP_REQUEST_RUN_H
#define ATTND_SERVER_HTTP_HTTP_REQUEST_RUN_H

#include "server/http/http_request.h"

enum http_request_outcome {
    HTTP_REQUEST_ANSWERED,     /* request->call is filled */
    HTTP_REQUEST_IS_LARGE,     /* its work item has become WORK_LARGE, and is to go back to the queue */
    HTTP_REQUEST_WANTS_MEMORY, /* it is to wait in the budget's line */
};

/* On a worker, or on the monitor's thread where the request was stopped while it waited. *ret_wanted_bytes: of
 * HTTP_REQUEST_WANTS_MEMORY. */
enum http_request_outcome http_request_run(struct http_request *request, size_t *ret_wanted_bytes);

/* On the connection's thread: answers a request that takes no more than WORK_AT_ONCE. Returns false where it takes more, or memory
 * that is not free now; it is then as it was, for a worker to begin anew. */
bool http_request_run_at_once(struct http_request *request) __attribute__((warn_unused_result));

#endif
