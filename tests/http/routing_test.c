/* routing_test.c: paths, methods, and the headers that every reply has. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

static struct reply call(const char *method, const char *path)
{
    struct reply reply = request_send(attnd_shared(), &(struct request){.method = method, .path = path});
    assert_int_equal(reply.curl_code, 0);
    return reply;
}

static void test_health(void **state)
{
    static const char *const paths[][2] = {
        {"/health/live", "{\"status\":\"live\"}\n"},
        {"/health/ready", "{\"status\":\"ready\"}\n"},
        {"/health/live?verbose=1", "{\"status\":\"live\"}\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct reply reply = get(attnd_shared(), paths[i][0], NULL);
        assert_int_equal(reply.status, 200);
        assert_string_equal(reply.body, paths[i][1]);
        assert_string_equal(reply_header(&reply, "Content-Type"), "application/json");
        assert_string_equal(reply_header(&reply, "Cache-Control"), "no-store");
        assert_null(reply_header(&reply, "Server-Timing"));
        reply_done(&reply);
    }
}

static void test_head(void **state)
{
    (void)state;
    struct reply reply = call("HEAD", "/health/live");
    assert_int_equal(reply.status, 200);
    assert_int_equal(reply.body_bytes, 0);
    assert_string_equal(reply_header(&reply, "Content-Length"), "18");
    reply_done(&reply);

    reply = call("HEAD", "/nowhere");
    assert_int_equal(reply.status, 404);
    assert_int_equal(reply.body_bytes, 0);
    reply_done(&reply);

    reply = call("HEAD", "/attention");
    assert_int_equal(reply.status, 405);
    assert_int_equal(reply.body_bytes, 0);
    reply_done(&reply);
}

static void test_not_found(void **state)
{
    static const char *const paths[] = {"/nowhere", "/attention/",  "/attentions", "/attentio", "/ATTENTION",
                                        "/health",  "/%61ttention", "//attention", "/.."};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct reply reply = get(attnd_shared(), paths[i], NULL);
        assert_problem(&reply, 404);
        assert_non_null(strstr(reply.body, "POST /attention"));
        assert_non_null(strstr(reply.body, "GET /health/live"));
        assert_non_null(strstr(reply.body, "GET /metrics"));
        assert_null(strstr(reply.body, "/assets/"));
        assert_non_null(strstr(reply.body, "GET /health/ready"));
        reply_done(&reply);
    }
}

/* A path longer than what is kept of it is still only unknown. */
static void test_long_path(void **state)
{
    char path[2000];
    (void)state;
    memset(path, 'a', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    struct reply reply = get(attnd_shared(), path, NULL);
    assert_problem(&reply, 404);
    reply_done(&reply);
}

static void test_method_not_allowed(void **state)
{
    static const char *const cases[][3] = {
        {"GET", "/attention", "POST, OPTIONS"},
        {"PUT", "/attention", "POST, OPTIONS"},
        {"DELETE", "/attention?x=y", "POST, OPTIONS"},
        {"POST", "/health/live", "GET, HEAD, OPTIONS"},
        {"PATCH", "/health/ready", "GET, HEAD, OPTIONS"},
        {"get", "/health/ready", "GET, HEAD, OPTIONS"},
        {"AVERYLONGMETHODNAMEINDEED", "/health/ready", "GET, HEAD, OPTIONS"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reply reply = call(cases[i][0], cases[i][1]);
        assert_problem(&reply, 405);
        assert_string_equal(reply_header(&reply, "Allow"), cases[i][2]);
        reply_done(&reply);
    }
}

static void test_options(void **state)
{
    (void)state;
    struct reply reply = call("OPTIONS", "/attention");
    assert_int_equal(reply.status, 204);
    assert_int_equal(reply.body_bytes, 0);
    assert_string_equal(reply_header(&reply, "Allow"), "POST, OPTIONS");
    assert_null(reply_header(&reply, "Access-Control-Allow-Origin"));
    reply_done(&reply);

    reply = call("OPTIONS", "/health/live");
    assert_int_equal(reply.status, 204);
    assert_string_equal(reply_header(&reply, "Allow"), "GET, HEAD, OPTIONS");
    reply_done(&reply);

    reply = call("OPTIONS", "/nowhere");
    assert_problem(&reply, 404);
    reply_done(&reply);

    int fd = raw_connect(attnd_shared());
    raw_send(fd, "OPTIONS * HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    char *text = raw_read(fd, 30);
    assert_non_null(strstr(text, "HTTP/1.1 204 "));
    assert_non_null(strstr(text, "Allow: "));
    free(text);
    (void)close(fd);
}

/* A body that is not read does not cost a small request its connection. */
static void test_body_of_refused_request_is_skipped(void **state)
{
    (void)state;
    const struct attnd *attnd = attnd_shared();
    struct reply reply = post(attnd, "/nowhere", "some body", 9, NULL);
    assert_problem(&reply, 404);
    reply_done(&reply);
    reply = get(attnd, "/health/live", NULL);
    assert_int_equal(reply.status, 200);
    assert_int_equal(reply.connection_count, 0);
    reply_done(&reply);
}

static void test_request_id(void **state)
{
    char longest[15 + 128 + 1] = "X-Request-Id: ", first[64];
    (void)state;
    const struct attnd *attnd = attnd_shared();

    struct reply reply = get(attnd, "/health/live", NULL);
    const char *id = reply_header(&reply, "X-Request-Id");
    assert_int_equal(strlen(id), 32);
    for (size_t i = 0; i < 32; i++)
        assert_true(isxdigit((unsigned char)id[i]));
    (void)snprintf(first, sizeof first, "%s", id);
    reply_done(&reply);
    reply = get(attnd, "/health/live", NULL);
    assert_string_not_equal(reply_header(&reply, "X-Request-Id"), first);
    reply_done(&reply);

    reply = get(attnd, "/nowhere", "X-Request-Id: trace/42:a-b_c~!", NULL);
    assert_string_equal(reply_header(&reply, "x-request-id"), "trace/42:a-b_c~!");
    reply_done(&reply);

    memset(longest + 14, 'i', 128);
    longest[14 + 128] = '\0';
    reply = get(attnd, "/health/live", longest, NULL);
    assert_string_equal(reply_header(&reply, "X-Request-Id"), longest + 14);
    reply_done(&reply);
}

static void test_request_id_refused(void **state)
{
    char too_long[15 + 129 + 1] = "X-Request-Id: ";
    (void)state;
    memset(too_long + 14, 'i', 129);
    too_long[14 + 129] = '\0';
    const char *const bad[] = {"X-Request-Id: two words",   "X-Request-Id: \"quoted\"", "X-Request-Id: it's",
                               "X-Request-Id: caf\xc3\xa9", "X-Request-Id: tab\there",  too_long};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct reply reply = get(attnd_shared(), "/health/live", bad[i], NULL);
        assert_int_equal(reply.status, 200);
        assert_int_equal(strlen(reply_header(&reply, "X-Request-Id")), 32);
        reply_done(&reply);
    }
}

static void test_server_timing(void **state)
{
    double queue, parse, compute, encode;
    (void)state;
    struct reply reply = post_json(attnd_shared(), "/attention", SMALL_JSON, NULL);
    assert_int_equal(reply.status, 200);
    assert_int_equal(sscanf(reply_header(&reply, "Server-Timing"),
                            "queue;dur=%lf, parse;dur=%lf, compute;dur=%lf, encode;dur=%lf", &queue, &parse, &compute, &encode),
                     4);
    assert_true(queue >= 0 && parse >= 0 && compute > 0 && encode >= 0);
    assert_true(queue + parse + compute + encode < 1000 * reply.seconds + 1);
    reply_done(&reply);
}

static void test_unsupported_media(void **state)
{
    (void)state;
    struct reply reply = post(attnd_shared(), "/attention", SMALL_JSON, strlen(SMALL_JSON), "Content-Type: image/png", NULL);
    assert_problem(&reply, 415);
    reply_done(&reply);
    reply = post_json(attnd_shared(), "/attention", SMALL_JSON, "Content-Encoding: zstd", NULL);
    assert_problem(&reply, 415);
    reply_done(&reply);
    reply = post_json(attnd_shared(), "/attention", SMALL_JSON, "Content-Encoding: identity", NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
}

static void test_empty_body(void **state)
{
    (void)state;
    struct reply reply = post(attnd_shared(), "/attention", "", 0, NULL);
    assert_problem(&reply, 400);
    reply_done(&reply);
}

static void check_every_header(struct reply reply)
{
    assert_string_equal(reply_header(&reply, "X-Content-Type-Options"), "nosniff");
    assert_string_equal(reply_header(&reply, "Cache-Control"), "no-store");
    assert_non_null(reply_header(&reply, "X-Request-Id"));
    reply_done(&reply);
}

/* Fields are read from the body alone. */
static void test_fields_in_the_query(void **state)
{
    static const struct {
        const char *path;
        int status;
    } cases[] = {
        {"/attention?causal=true", 422},
        {"/attention?trace=1&scale", 422},
        {"/attention?trace=1&causality=true", 200},
        {"/attention?", 200},
        {"/attention?&=causal", 200},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reply reply = post_json(attnd_shared(), cases[i].path, SMALL_JSON, NULL);
        if (reply.status != cases[i].status)
            fail_msg("%s: status %d, should be %d", cases[i].path, (int)reply.status, cases[i].status);
        reply_done(&reply);
    }
}

/* Answers of every origin, the ones that are sent past libmicrohttpd, too. */
static void test_headers_of_every_reply(void **state)
{
    static const char *const paths[] = {"/health/live", "/metrics", "/v2", "/v2/models/attention", "/nowhere"};
    static const char *const broken[] = {"GET\r\n\r\n", "GET /a b HTTP/1.1\r\nHost: test\r\n\r\n",
                                         "POST /attention HTTP/1.1\r\nHost: test\r\nContent-Length: x\r\n\r\n"};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        check_every_header(get(attnd_shared(), paths[i], NULL));
    check_every_header(call("PUT", "/attention"));
    check_every_header(post_json(attnd_shared(), "/attention", SMALL_JSON, NULL));
    check_every_header(post_json(attnd_shared(), "/attention", SMALL_JSON, "Accept: application/x-safetensors", NULL));
    check_every_header(post_json(attnd_shared(), "/attention", "{", NULL));
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        char *answer = raw_exchange(attnd_shared(), broken[i], true);
        assert_non_null(strstr(answer, "X-Content-Type-Options: nosniff\r\n"));
        free(answer);
    }
}

static void check_keep_alive(const char *limit, const char *expected)
{
    struct attnd *attnd = attnd_start("--idle-timeout", limit);
    struct reply reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
    assert_string_equal(reply_header(&reply, "Keep-Alive"), expected);
    reply_done(&reply);
    reply = get(attnd, "/health/live", "Connection: close", NULL);
    assert_null(reply_header(&reply, "Keep-Alive"));
    assert_string_equal(reply_header(&reply, "Connection"), "close");
    reply_done(&reply);
    attnd_stop(attnd);
}

/* A moment less than the limit, so that clients do not send into the close. */
static void test_keep_alive_says_how_long(void **state)
{
    (void)state;
    check_keep_alive("30", "timeout=29");
    check_keep_alive("7", "timeout=6");
    check_keep_alive("1", "timeout=1");
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_health),
    HTTP_TEST(test_head),
    HTTP_TEST(test_not_found),
    HTTP_TEST(test_long_path),
    HTTP_TEST(test_method_not_allowed),
    HTTP_TEST(test_options),
    HTTP_TEST(test_body_of_refused_request_is_skipped),
    HTTP_TEST(test_request_id),
    HTTP_TEST(test_request_id_refused),
    HTTP_TEST(test_server_timing),
    HTTP_TEST(test_unsupported_media),
    HTTP_TEST(test_empty_body),
    HTTP_TEST(test_fields_in_the_query),
    HTTP_TEST(test_headers_of_every_reply),
    HTTP_TEST(test_keep_alive_says_how_long),
};

const struct group routing_group = GROUP(tests);
