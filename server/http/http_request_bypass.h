/* http_request_bypass.h: replies written to the socket past libmicrohttpd, to requests that it would leave without a reply, or give a
 * wrong one. Not under TLS; the connection closes. Who is refused is admission.h's. */
#ifndef ATTND_SERVER_HTTP_HTTP_REQUEST_BYPASS_H
#define ATTND_SERVER_HTTP_HTTP_REQUEST_BYPASS_H

#include "server/http/http_request.h"

/* 408 to a client that was too slow, 503 beyond --max-connections. */
void http_request_bypass_slow(struct http_request *request);

/* 431 to a request that libmicrohttpd dropped without a word, 400 to what it took for none. */
void http_request_bypass_dropped(struct http_request *request);

/* libmicrohttpd is about to reply to a request whose Content-Length is no number, with a head that it writes twice: replies 400 or
 * 413 first. Not under TLS. */
void http_request_bypass_wrong_length(struct service *service);

/* libmicrohttpd is about to reply 500 to a request, of which it only says that one of its lines, between the chunks of its body, is
 * longer than the memory for it: replies 400 first. It is the request of which libmicrohttpd holds most. Not under TLS. */
void http_request_bypass_long_line(void);

#endif
