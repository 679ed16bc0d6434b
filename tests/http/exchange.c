/* exchange.c: requests by libcurl. */
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tests/http/harness.h"

#define HEADERS_MAX 24
#define TIMEOUT_S 120

struct buffer {
    char *data; /* NUL-terminated */
    size_t bytes, capacity;
};

static bool buffer_add(struct buffer *buffer, const char *data, size_t bytes)
{
    if (bytes >= buffer->capacity - buffer->bytes) {
        size_t capacity = 2 * (buffer->bytes + bytes) + 1024;
        char *grown = realloc(buffer->data, capacity);
        if (grown == NULL)
            return false;
        buffer->data = grown;
        buffer->capacity = capacity;
    }
    memcpy(buffer->data + buffer->bytes, data, bytes);
    buffer->bytes += bytes;
    buffer->data[buffer->bytes] = '\0';
    return true;
}

static size_t take_body(char *data, size_t size, size_t count, void *context)
{
    return buffer_add(context, data, size * count) ? size * count : 0;
}

static size_t take_header(char *data, size_t size, size_t count, void *context)
{
    struct buffer *headers = context;
    if (size * count >= 5 && strncmp(data, "HTTP/", 5) == 0)
        headers->bytes = 0; /* what came before was interim */
    return buffer_add(headers, data, size * count) ? size * count : 0;
}

struct sending {
    const char *data;
    size_t bytes;
};

static size_t give_body(char *target, size_t size, size_t count, void *context)
{
    struct sending *sending = context;
    size_t bytes = size * count < sending->bytes ? size * count : sending->bytes;
    memcpy(target, sending->data, bytes);
    sending->data += bytes;
    sending->bytes -= bytes;
    return bytes;
}

/* One connection is kept for the thread's next request. */
static __thread CURL *kept;

void request_cleanup(void)
{
    curl_easy_cleanup(kept);
    kept = NULL;
}

static void set_body(CURL *curl, const struct request *request, struct sending *sending)
{
    if (request->body == NULL)
        return;
    (void)curl_easy_setopt(curl, CURLOPT_POST, 1L);
    if (request->chunked) {
        *sending = (struct sending){.data = request->body, .bytes = request->body_bytes};
        (void)curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
        (void)curl_easy_setopt(curl, CURLOPT_READDATA, sending);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)-1);
    } else {
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_bytes);
    }
}

static struct curl_slist *list_headers(const struct request *request)
{
    struct curl_slist *list = NULL;
    for (size_t i = 0; request->headers != NULL && request->headers[i] != NULL; i++)
        list = curl_slist_append(list, request->headers[i]);
    return request->chunked ? curl_slist_append(list, "Transfer-Encoding: chunked") : list;
}

struct reply request_send(const struct attnd *attnd, const struct request *request)
{
    struct reply reply = {0};
    struct buffer headers = {0}, body = {0};
    struct sending sending;
    static const char unix_prefix[] = "unix:";
    char url[ATTND_URL_BYTES_MAX + 2048];
    if (kept == NULL)
        kept = curl_easy_init();
    CURL *curl = kept;
    curl_easy_reset(curl);
    struct curl_slist *list = list_headers(request);
    bool ready = buffer_add(&headers, "", 0) && buffer_add(&body, "", 0);
    bool is_path = strncmp(attnd->url, unix_prefix, sizeof unix_prefix - 1) == 0;
    (void)snprintf(url, sizeof url, "%s%s", is_path ? "http://localhost" : attnd->url, request->path);
    if (is_path)
        (void)curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, attnd->url + sizeof unix_prefix - 1);
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(1000 * (request->timeout_s > 0 ? request->timeout_s : TIMEOUT_S)));
    (void)curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, request->http_1_0 ? CURL_HTTP_VERSION_1_0 : CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, request->new_connection ? 1L : 0L);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, &headers);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    if (request->ca_file != NULL)
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, request->ca_file);
    set_body(curl, request, &sending);
    if (request->method != NULL && strcmp(request->method, "HEAD") == 0)
        (void)curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else if (request->method != NULL)
        (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    double begin = seconds_now();
    reply.curl_code = ready ? (int)curl_easy_perform(curl) : CURLE_OUT_OF_MEMORY;
    reply.seconds = seconds_now() - begin;
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
    (void)curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &reply.connection_count);
    curl_slist_free_all(list);
    reply.headers = headers.data;
    reply.body = body.data;
    reply.body_bytes = body.bytes;
    return reply;
}

static struct reply must_succeed(struct reply reply, const char *path)
{
    if (reply.curl_code != 0)
        print_error("%s: %s\n", path, curl_easy_strerror((CURLcode)reply.curl_code));
    assert_int_equal(reply.curl_code, 0);
    return reply;
}

struct reply get_with(const struct attnd *attnd, const char *path, const char *const *headers)
{
    return must_succeed(request_send(attnd, &(struct request){.path = path, .headers = headers}), path);
}

struct reply post_with(const struct attnd *attnd, const char *path, const void *body, size_t body_bytes,
                       const char *const *headers)
{
    struct request request = {.path = path, .body = body, .body_bytes = body_bytes, .headers = headers};
    return must_succeed(request_send(attnd, &request), path);
}

struct reply post_json_with(const struct attnd *attnd, const char *path, const char *json, const char *const *headers)
{
    const char *all[HEADERS_MAX] = {"Content-Type: application/json"};
    for (size_t i = 0; headers[i] != NULL; i++) {
        assert_true(i + 2 < HEADERS_MAX);
        all[i + 1] = headers[i];
    }
    return post_with(attnd, path, json, strlen(json), all);
}

const char *reply_header(const struct reply *reply, const char *name)
{
    static char values[4][1024];
    static size_t next;
    size_t name_bytes = strlen(name);
    for (const char *line = reply->headers; line != NULL && *line != '\0'; line = strchr(line, '\n'), line += line != NULL) {
        if (strncasecmp(line, name, name_bytes) != 0 || line[name_bytes] != ':')
            continue;
        const char *value = line + name_bytes + 1 + strspn(line + name_bytes + 1, " ");
        char *copy = values[next++ % 4];
        (void)snprintf(copy, sizeof values[0], "%.*s", (int)strcspn(value, "\r\n"), value);
        return copy;
    }
    return NULL;
}

void assert_problem(const struct reply *reply, long status)
{
    char inside[32];
    (void)snprintf(inside, sizeof inside, "\"status\":%ld", status);
    if (reply->status != status)
        print_error("%ld instead of %ld: %s\n", reply->status, status, reply->body);
    assert_int_equal(reply->status, status);
    assert_non_null(reply_header(reply, "Content-Type"));
    assert_string_equal(reply_header(reply, "Content-Type"), "application/problem+json");
    assert_non_null(strstr(reply->body, inside));
    assert_non_null(strstr(reply->body, "\"detail\":"));
    assert_non_null(reply_header(reply, "X-Request-Id"));
}

void reply_done(struct reply *reply)
{
    free(reply->headers);
    free(reply->body);
    *reply = (struct reply){0};
}

struct pending {
    struct pending *next;
    pthread_t thread;
    const struct attnd *attnd;
    char *path, *json;
    struct reply reply;
};

static void *send_later(void *argument)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    struct pending *pending = argument;
    struct request request = {
        .path = pending->path,
        .body = pending->json,
        .body_bytes = strlen(pending->json),
        .headers = headers,
    };
    pending->reply = request_send(pending->attnd, &request);
    request_cleanup();
    return NULL;
}

static struct pending *all_pending;

struct pending *post_later(const struct attnd *attnd, const char *path, const char *json)
{
    struct pending *pending = calloc(1, sizeof *pending);
    assert_non_null(pending);
    *pending = (struct pending){.attnd = attnd, .path = strdup(path), .json = strdup(json)};
    assert_true(pending->path != NULL && pending->json != NULL);
    assert_int_equal(pthread_create(&pending->thread, NULL, send_later, pending), 0);
    pending->next = all_pending;
    all_pending = pending;
    return pending;
}

static struct reply end_pending(struct pending *pending)
{
    (void)pthread_join(pending->thread, NULL);
    for (struct pending **at = &all_pending; *at != NULL; at = &(*at)->next)
        if (*at == pending) {
            *at = pending->next;
            break;
        }
    struct reply reply = pending->reply;
    free(pending->path);
    free(pending->json);
    free(pending);
    return reply;
}

struct reply pending_reply(struct pending *pending)
{
    return must_succeed(end_pending(pending), "a pending request");
}

void requests_abandon(void)
{
    while (all_pending != NULL) {
        struct reply reply = end_pending(all_pending);
        reply_done(&reply);
    }
}
