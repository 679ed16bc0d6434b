/* response.h: puts a request's reply (request->call.reply) on the wire. */
#ifndef ATTND_SERVER_HTTP_RESPONSE_H
#define ATTND_SERVER_HTTP_RESPONSE_H

#include <stdbool.h>

#include "server/http/request.h"

/* Hands the reply to libmicrohttpd, which borrows its body until the request is completed. Returns false where it is not
 * taken; the connection must then be closed. */
bool response_queue(struct http_request *request) __attribute__((warn_unused_result));

/* All of a reply's body. */
size_t response_body_bytes(const struct api_reply *reply);

/* Writes the reply to the socket itself, for a connection that is closed next: libmicrohttpd takes a reply only before
 * the body or after its end. Nothing of another reply may be under way, and there must be no TLS. */
void response_write(struct http_request *request);

#endif
