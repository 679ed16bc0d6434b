#include "server/http/http_request_bypass.h"

#include "server/http/admission.h"
#include "server/http/http_request_reply.h"
#include "server/setup/limits.h"

/* libmicrohttpd's own reply goes nowhere. */
static void reply_instead(struct http_request *request, const struct error *err)
{
    api_problem(err, NULL, &request->call);
    http_request_reply_and_close(request);
    http_connection_linger(request->connection);
}

/* libmicrohttpd does not say which it is, but every request with such a length is refused. */
void http_request_bypass_wrong_length(struct service *service)
{
    for (struct http_connection *connection = http_connection_first(); connection != NULL; connection = connection->next) {
        struct http_request *request = connection->request;
        struct error err = {0};
        if (request != NULL && connection->tls == NULL && !request->replied && request->stage == HTTP_REQUEST_HEAD &&
            !head_check_length(request->mhd, service->options->body_bytes_max, &err))
            reply_instead(request, &err);
    }
}

/* About what stands around a chunk: its size and two line ends. */
#define HTTP_REQUEST_CHUNK_LINE_BYTES 8

void http_request_bypass_slow(struct http_request *request)
{
    struct error err = {0};
    const struct options *options = request->service->options;
    if (connection_is_overflow(request->connection->watch))
        (void)admission_refuse_overflow(request->service, &err);
    else
        (void)error_set(&err, ERROR_TOO_SLOW, "the request did not arrive within %zu s, or not a byte of it came for %zu s",
                        options->request_timeout_s, options->idle_timeout_s);
    api_problem(&err, NULL, &request->call);
    http_request_reply_and_close(request);
}

void http_request_bypass_dropped(struct http_request *request)
{
    struct error err = {0};
    if (request->target_bytes == 0)
        (void)error_set(&err, ERROR_MALFORMED, "this is no HTTP request: it begins with no METHOD PATH HTTP/1.1");
    else
        (void)error_set(
            &err, ERROR_HEAD_TOO_LARGE,
            "the request's head, with a record for each query argument, header field and cookie, takes more than %zu "
            "bytes",
            LIMIT_HEAD_BYTES);
    api_problem(&err, NULL, &request->call);
    http_request_reply_and_close(request);
}

/* What libmicrohttpd holds of a chunked body beside what it has passed on: the head, a line for each chunk, and at most one line that
 * has not ended. */
static uint64_t held_bytes(const struct http_request *request)
{
    uint64_t passed_bytes = request->received_bytes + request->piece_count * HTTP_REQUEST_CHUNK_LINE_BYTES;
    uint64_t read_bytes = http_connection_read_bytes(request->connection);
    return read_bytes > passed_bytes ? read_bytes - passed_bytes : 0;
}

void http_request_bypass_long_line(void)
{
    struct http_request *longest = NULL;
    uint64_t longest_bytes = 0;
    for (struct http_connection *connection = http_connection_first(); connection != NULL; connection = connection->next) {
        struct http_request *request = connection->request;
        if (request == NULL || connection->tls != NULL || request->replied || request->head.transfer_encoding == NULL ||
            (request->stage != HTTP_REQUEST_COLLECT && request->stage != HTTP_REQUEST_DISCARD))
            continue;
        uint64_t bytes = held_bytes(request);
        if (bytes > longest_bytes) {
            longest = request;
            longest_bytes = bytes;
        }
    }
    if (longest == NULL)
        return;
    struct error err = {0};
    (void)error_set(&err, ERROR_MALFORMED, "a line between the body's chunks is too long: a chunk's size with its extensions");
    reply_instead(longest, &err);
}
