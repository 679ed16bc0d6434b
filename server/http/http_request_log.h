/* http_request_log.h: an ended request's record, for the access log and for the metrics. */
#ifndef ATTND_SERVER_HTTP_HTTP_REQUEST_LOG_H
#define ATTND_SERVER_HTTP_HTTP_REQUEST_LOG_H

#include "server/http/http_request.h"

/* `status` 0: there was no reply. `end` is the access log's. */
void http_request_log(struct http_request *request, unsigned status, const char *end);

/* The record of a request that was refused with 503, as there was no memory to hold it. */
void http_request_log_refused(struct service *service, const char *method, const char *path);

/* Counts a computed request in its protocol's statistics. Before its reply goes out, so that a client that has read it finds it there. */
void http_request_count_inference(struct http_request *request);

#endif
