/* http_request_run.h: what a worker does with a request: inflates its body, computes, compresses the reply. */
#ifndef ATTND_SERVER_HTTP_HTTP_REQUEST_RUN_H
#define ATTND_SERVER_HTTP_HTTP_REQUEST_RUN_H

#include "server/http/http_request.h"

/* Fills request->call. On a worker, or on the monitor's thread where the request was stopped in the queue. */
void http_request_run(struct http_request *request);

#endif
