#include "server/http/response.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/json/writer.h"

#define RESPONSE_HEADERS_MAX 24
#define RESPONSE_HEAD_BYTES_MAX 4096

struct response_head {
    size_t count;
    struct {
        const char *name, *value;
    } headers[RESPONSE_HEADERS_MAX];
    char server_timing[160];
    char json_length[24];
    char retry_after[16];
    char keep_alive[40];
    char trace_response[TRACE_RESPONSE_BYTES_MAX];
    char location[STATIC_PATH_BYTES_MAX + sizeof ".."];
};

static void add(struct response_head *head, const char *name, const char *value)
{
    assert(head->count < RESPONSE_HEADERS_MAX);
    head->headers[head->count].name = name;
    head->headers[head->count].value = value;
    head->count++;
}

static void add_server_timing(struct response_head *head, const struct response *response)
{
    const struct api_timings *timings = response->timings;
    const struct {
        const char *name;
        double ms;
    } phases[] = {{"queue;dur=", response->queue_ms},
                  {", parse;dur=", timings->parse_ms},
                  {", compute;dur=", timings->compute_ms},
                  {", encode;dur=", timings->encode_ms}};
    struct writer writer;
    writer_init(&writer, head->server_timing, sizeof head->server_timing);
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        writer_add(&writer, phases[i].name);
        writer_thousandths(&writer, phases[i].ms);
    }
    writer_end(&writer);
    add(head, "Server-Timing", head->server_timing);
}

/* Names the request headers that the reply depends on, so that caches keep such replies apart. */
static void add_vary(struct response_head *head, const struct response *response)
{
    const char *origin = response->cors_origin;
    bool by_origin = origin != NULL && strcmp(origin, "*") != 0;
    if (by_origin || response->varies_by_encoding)
        add(head, "Vary", !by_origin ? "Accept-Encoding" : response->varies_by_encoding ? "Accept-Encoding, Origin" : "Origin");
}

/* Lets pages of another origin call (the Fetch standard, CORS protocol). */
static void add_cors(struct response_head *head, const struct response *response)
{
    const char *origin = response->cors_origin;
    if (origin == NULL)
        return;
    add(head, "Access-Control-Allow-Origin", origin);
    add(head, "Access-Control-Expose-Headers",
        "X-Request-Id, Server-Timing, Retry-After, traceresponse, Inference-Header-Content-Length");
    if (response->reply->status == MHD_HTTP_NO_CONTENT && response->preflight_method != NULL) {
        add(head, "Access-Control-Allow-Methods", response->reply->allow);
        add(head, "Access-Control-Allow-Headers",
            "Accept, Authorization, Content-Encoding, Content-Type, X-API-Key, X-Request-Id, traceparent, tracestate, "
            "Inference-Header-Content-Length");
        add(head, "Access-Control-Max-Age", "600");
    }
}

/* Pages load nothing from elsewhere and run no inline script; images may come from the page itself. */
#define CONTENT_SECURITY_POLICY                                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "                   \
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static void add_file_headers(struct response_head *head, const struct response *response)
{
    const struct static_file *file = response->file;
    add(head, "Cache-Control", file->cache_control);
    add(head, "ETag", response->representation->etag);
    add(head, "Content-Security-Policy", CONTENT_SECURITY_POLICY);
    add(head, "Referrer-Policy", "no-referrer");
    add(head, "Cross-Origin-Opener-Policy", "same-origin");
}

/* Tells clients when an idle connection is closed here, a moment early, so that they do not send into the close. */
static void add_persistence(struct response_head *head, const struct response *response)
{
    if (response->closes) {
        add(head, "Connection", "close");
        return;
    }
    struct writer writer;
    writer_init(&writer, head->keep_alive, sizeof head->keep_alive);
    writer_add(&writer, "timeout=");
    writer_unsigned(&writer, response->idle_timeout_s - (response->idle_timeout_s > 1));
    writer_end(&writer);
    add(head, "Keep-Alive", head->keep_alive); /* libmicrohttpd adds Connection, see response_queue */
}

static void fill_head(struct response_head *head, const struct response *response)
{
    const struct api_reply *reply = response->reply;
    head->count = 0;
    add(head, "X-Request-Id", response->request_id);
    if (response->trace->trace_id[0] != '\0') {
        trace_context_response(response->trace, head->trace_response);
        add(head, "traceresponse", head->trace_response);
    }
    add(head, "X-Content-Type-Options", "nosniff");
    if (response->moved_to != NULL) { /* relative, as a proxy may serve the page below a path of its own */
        (void)snprintf(head->location, sizeof head->location, "..%s", response->moved_to->path);
        add(head, "Location", head->location);
    }
    if (response->file != NULL)
        add_file_headers(head, response);
    else
        add(head, "Cache-Control", "no-store");
    if (reply->content_type != NULL)
        add(head, "Content-Type", reply->content_type);
    if (reply->allow != NULL)
        add(head, "Allow", reply->allow);
    if (response->is_gzip)
        add(head, "Content-Encoding", "gzip");
    add_vary(head, response);
    if (response->accepts_gzip)
        add(head, "Accept-Encoding", "gzip");
    if (reply->status == MHD_HTTP_UNAUTHORIZED)
        add(head, "WWW-Authenticate", "Bearer realm=\"attnd\"");
    if (reply->retry_after_s > 0) {
        (void)snprintf(head->retry_after, sizeof head->retry_after, "%d", reply->retry_after_s);
        add(head, "Retry-After", head->retry_after);
    }
    if (reply->json_bytes > 0) {
        (void)snprintf(head->json_length, sizeof head->json_length, "%zu", reply->json_bytes);
        add(head, "Inference-Header-Content-Length", head->json_length);
    }
    if (response->timings != NULL)
        add_server_timing(head, response);
    add_cors(head, response);
    add_persistence(head, response);
}

/* The reply's memory goes out as it is, chunk by chunk. */
static struct MHD_Response *create(const struct api_reply *reply)
{
    if (reply->chunk_count == 0) /* the body is only read: the type says otherwise for the library's other memory modes */
        return MHD_create_response_from_buffer(reply->body_bytes, (void *)reply->body, MHD_RESPMEM_PERSISTENT);
    struct MHD_IoVec *chunks = calloc(1 + reply->chunk_count, sizeof *chunks);
    if (chunks == NULL)
        return NULL;
    chunks[0] = (struct MHD_IoVec){reply->body, reply->body_bytes};
    for (size_t i = 0; i < reply->chunk_count; i++)
        chunks[1 + i] = (struct MHD_IoVec){reply->chunks[i].data, reply->chunks[i].bytes};
    struct MHD_Response *created = MHD_create_response_from_iovec(chunks, (unsigned)(1 + reply->chunk_count), NULL, NULL);
    free(chunks); /* the library has copied the list */
    return created;
}

size_t response_body_bytes(const struct api_reply *reply)
{
    size_t bytes = reply->body_bytes;
    for (size_t i = 0; i < reply->chunk_count; i++)
        bytes += reply->chunks[i].bytes;
    return bytes;
}

bool response_queue(const struct response *response, struct MHD_Connection *mhd)
{
    struct response_head head;
    struct MHD_Response *created = create(response->reply);
    if (created == NULL)
        return false;
    fill_head(&head, response);
    bool queued = MHD_set_response_options(created, response->closes ? MHD_RF_NONE : MHD_RF_SEND_KEEP_ALIVE_HEADER,
                                           MHD_RO_END) == MHD_YES;
    for (size_t i = 0; i < head.count; i++)
        queued &= MHD_add_response_header(created, head.headers[i].name, head.headers[i].value) == MHD_YES;
    queued = queued && MHD_queue_response(mhd, (unsigned)response->reply->status, created) == MHD_YES;
    MHD_destroy_response(created);
    return queued;
}

struct MHD_Response *response_new_no_memory(void)
{
    static const char body[] = "{\"type\":\"urn:attnd:problem:no-memory\",\"title\":\"Service Unavailable\",\"status\":503,"
                               "\"detail\":\"there is no memory left for the reply\"}\n";
    static const char *const headers[][2] = {{"Content-Type", "application/problem+json"},
                                             {"Cache-Control", "no-store"},
                                             {"X-Content-Type-Options", "nosniff"},
                                             {"Retry-After", "1"},
                                             {"Connection", "close"}};
    struct MHD_Response *response = MHD_create_response_from_buffer(sizeof body - 1, (void *)body, MHD_RESPMEM_PERSISTENT);
    bool made = response != NULL;
    for (size_t i = 0; made && i < sizeof headers / sizeof headers[0]; i++)
        made = MHD_add_response_header(response, headers[i][0], headers[i][1]) == MHD_YES;
    if (made)
        return response;
    if (response != NULL)
        MHD_destroy_response(response);
    return NULL;
}

bool response_write(const struct response *response, int fd)
{
    const struct api_reply *reply = response->reply;
    struct response_head head;
    char text[RESPONSE_HEAD_BYTES_MAX + PROBLEM_BYTES_MAX];
    assert(response->closes);
    fill_head(&head, response);
    int length = snprintf(text, sizeof text, "HTTP/1.1 %d %s\r\nContent-Length: %zu\r\n", reply->status,
                          MHD_get_reason_phrase_for((unsigned)reply->status), reply->body_bytes);
    for (size_t i = 0; i < head.count && length > 0 && (size_t)length < sizeof text; i++)
        length +=
            snprintf(text + length, sizeof text - (size_t)length, "%s: %s\r\n", head.headers[i].name, head.headers[i].value);
    if (length > 0 && (size_t)length < sizeof text)
        length += snprintf(text + length, sizeof text - (size_t)length, "\r\n%.*s", (int)reply->body_bytes, reply->body);
    if (length < 0 || (size_t)length >= sizeof text)
        return false;
    /* The socket's buffer is empty, so it takes a few kilobytes at once; where it does not, the client is lost anyway. */
    return send(fd, text, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL) == length;
}
