/* http_request_reply.h: sends a request's reply, request->call.reply. */
#ifndef ATTND_SERVER_HTTP_HTTP_REQUEST_REPLY_H
#define ATTND_SERVER_HTTP_HTTP_REQUEST_REPLY_H

#include <microhttpd.h>
#include <stdint.h>

#include "server/http/http_request.h"

/* How long a request may take to arrive, and again to be answered. */
int64_t http_request_timeout_ms(const struct http_request *request);

/* Through libmicrohttpd. Without memory for the reply it is the service's no_memory_response. Returns MHD_NO to close the connection. */
enum MHD_Result http_request_reply(struct http_request *request);

/* Past libmicrohttpd, which then has to close the connection. Not under TLS. */
void http_request_reply_and_close(struct http_request *request);

#endif
