/* limits_test.c: sizes, the queue, the memory: what is too much is refused, and said so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"
#include "tests/support/environment.h"

#define MIB ((size_t)1 << 20)

/* Sanitizers keep what was freed. */
static void assert_resident_below(const struct attnd *attnd, size_t bytes)
{
    if (!environment_slow())
        assert_true(attnd_resident_bytes(attnd) < bytes);
}

/* A valid request of exactly `bytes` bytes: blanks in front of the JSON. */
static char *padded_json(size_t bytes)
{
    char *json = malloc(bytes + 1);
    assert_non_null(json);
    memset(json, ' ', bytes);
    memcpy(json + bytes - strlen(SMALL_JSON), SMALL_JSON, strlen(SMALL_JSON) + 1);
    return json;
}

static void assert_body_refused(const struct reply *reply, const char *limit)
{
    assert_int_equal(reply->curl_code, 0);
    assert_problem(reply, 413);
    assert_non_null(strstr(reply->body, "\"limit\":{\"name\":\"max-body\",\"value\":"));
    assert_non_null(strstr(reply->body, limit));
}

static struct reply send_json(const struct attnd *attnd, const char *json, bool chunked)
{
    /* Without Expect, so that the whole body is on its way before the reply can come. */
    static const char *const headers[] = {"Content-Type: application/json", "Expect:", NULL};
    struct request request = {
        .path = "/attention", .body = json, .body_bytes = strlen(json), .headers = headers, .chunked = chunked};
    return request_send(attnd, &request);
}

static void test_body_of_the_limit(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--max-body", "10K");
    for (int chunked = 0; chunked < 2; chunked++) {
        char *json = padded_json(10240);
        struct reply reply = send_json(attnd, json, chunked != 0);
        assert_int_equal(reply.status, 200);
        reply_done(&reply);
        free(json);

        json = padded_json(10241);
        reply = send_json(attnd, json, chunked != 0);
        assert_body_refused(&reply, "10240");
        reply_done(&reply);
        free(json);
    }
    attnd_stop(attnd);
}

/* Where the memory just holds the largest body and the largest computation, the largest body is read, however it comes. */
static void test_body_of_the_memory(void **state)
{
    static const size_t sizes[] = {21 * MIB + 5, 31 * MIB, 32 * MIB};
    (void)state;
    struct attnd *attnd = attnd_start("--memory", "64M", "--max-body", "32M", "--max-request-memory", "32M");
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        char *json = padded_json(sizes[i / 2]);
        struct reply reply = send_json(attnd, json, i % 2 != 0);
        assert_int_equal(reply.status, 200);
        reply_done(&reply);
        free(json);
    }
    attnd_stop(attnd);
}

/* The refusal must reach a client that sends on without looking. */
static void test_large_body_refused(void **state)
{
    static const size_t sizes[] = {MIB, 30 * MIB};
    (void)state;
    struct attnd *attnd = attnd_start("--max-body", "100K");
    size_t before = attnd_resident_bytes(attnd);
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        char *json = padded_json(sizes[i / 2]);
        struct reply reply = send_json(attnd, json, i % 2 != 0);
        assert_body_refused(&reply, "102400");
        reply_done(&reply);
        free(json);
    }
    assert_resident_below(attnd, before + 20 * MIB);
    attnd_stop(attnd);
}

/* Not a byte of the body is waited for. */
static void test_refused_by_its_length(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--max-body", "1K");
    static const char *const expects[] = {"", "Expect: 100-continue\r\n"};
    for (size_t i = 0; i < 2; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "POST /attention HTTP/1.1\r\nHost: test\r\n%sContent-Length: 1025\r\n\r\n",
                       expects[i]);
        int fd = raw_connect(attnd);
        raw_send(fd, text);
        char *answer = raw_read(fd, 60);
        assert_int_equal(strncmp(answer, "HTTP/1.1 413 ", 13), 0);
        assert_non_null(strstr(answer, "\"value\":1024"));
        free(answer);
        (void)close(fd);
    }
    attnd_stop(attnd);
}

/* The cost of shapes is computed before anything is allocated. */
static void test_shapes_refused(void **state)
{
    static const char json[] = "{\"seed\": 1, \"x\": {\"shape\": [4294967296, 4294967296]}, \"head_size\": 8}";
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    struct reply reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
    reply_done(&reply);
    size_t before = attnd_resident_bytes(attnd);
    reply = post_json(attnd, "/attention", json, NULL);
    assert_problem(&reply, 413);
    assert_true(reply.seconds < 5);
    reply_done(&reply);
    assert_resident_below(attnd, before + 4 * MIB);
    attnd_stop(attnd);
}

static void test_queue_full(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--threads", "1", "--queue", "2", "--request-timeout", "4");
    struct pending *pending[3];
    for (size_t i = 0; i < 3; i++) { /* one runs, two wait */
        pending[i] = post_later(attnd, "/attention", ENDLESS_JSON);
        sleep_s(0.3);
    }
    struct reply reply = post_json(attnd, "/attention", ENDLESS_JSON, NULL);
    assert_problem(&reply, 503);
    assert_non_null(strstr(reply.body, "queue"));
    assert_true(strtol(reply_header(&reply, "Retry-After"), NULL, 10) > 0);
    reply_done(&reply);

    reply = post_json(attnd, "/attention", SMALL_JSON, NULL); /* is answered at once */
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    reply = get(attnd, "/health/ready", NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    for (size_t i = 0; i < 3; i++) {
        reply = pending_reply(pending[i]);
        assert_problem(&reply, 503);
        reply_done(&reply);
    }
    reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    attnd_stop(attnd);
}

/* Requests that do not fit into the memory together are computed one after the other. */
static void test_memory_is_waited_for(void **state)
{
    /* 16,384 tokens of 64 numbers: with the text of the reply 35 MiB. */
    static const char json[] = "{\"seed\": 1, \"x\": {\"shape\": [256, 64, 64]}, \"projection\": \"identity\", \"return\": "
                               "[\"output\"], \"decimals\": 1}";
    (void)state;
    struct attnd *attnd = attnd_start("--threads", "4", "--memory", "60M", "--max-body", "1M");
    struct pending *pending[6];
    for (size_t i = 0; i < 6; i++)
        pending[i] = post_later(attnd, "/attention", json);
    for (size_t i = 0; i < 6; i++) {
        struct reply reply = pending_reply(pending[i]);
        assert_int_equal(reply.status, 200);
        reply_done(&reply);
    }
    attnd_stop(attnd);
}

/* A reply that is not read keeps its memory; a request that waits for that memory gets it once the reader is gone. */
static void test_memory_returned_to_a_waiter(void **state)
{
    static const char json[] =
        "{\"seed\": 1, \"x\": {\"shape\": [256, 64, 64]}, \"projection\": \"identity\", \"return\": [\"output\"]}";
    (void)state;
    struct attnd *attnd = attnd_start("--threads", "2", "--memory", "60M", "--max-body", "1M", "--request-timeout", "300");
    char *text = raw_post("/attention", "", json);
    int fd = raw_connect(attnd);
    raw_send(fd, text);
    sleep_s(1);
    struct pending *waiting = post_later(attnd, "/attention", json);
    sleep_s(1);
    (void)close(fd);
    struct reply reply = pending_reply(waiting);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    free(text);
    attnd_stop(attnd);
}

/* Opens a connection that has sent half of a body of `bytes` bytes. */
static int send_half(const struct attnd *attnd, size_t bytes)
{
    char head[128];
    int fd = raw_connect(attnd);
    (void)snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: test\r\nContent-Length: %zu\r\n\r\n", bytes);
    raw_send(fd, head);
    char *half = calloc(1, bytes / 2);
    assert_non_null(half);
    assert_true(raw_try_send(fd, half, bytes / 2));
    free(half);
    return fd;
}

/* Bodies that wait take no more than their share; what they leave is enough to compute, and they give back. */
static void test_memory_for_bodies(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--memory", "16M", "--max-body", "6M", "--max-request-memory", "10M");
    int first = send_half(attnd, 6 * MIB);
    sleep_s(0.3);
    int second = send_half(attnd, 6 * MIB);
    char *answer = raw_read(second, 60);
    assert_int_equal(strncmp(answer, "HTTP/1.1 503 ", 13), 0);
    assert_non_null(strstr(answer, "Retry-After: "));
    assert_non_null(strstr(answer, "application/problem+json"));
    free(answer);
    (void)close(second);

    struct reply reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);

    (void)close(first);
    assert_true(attnd_logs(attnd, "client gone", 30));
    char *json = padded_json(6 * MIB);
    reply = post_json(attnd, "/attention", json, NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    free(json);
    attnd_stop(attnd);
}

/* A Content-Length is only a word. */
static void test_announced_bodies_take_no_memory(void **state)
{
    int fds[40];
    (void)state;
    struct attnd *attnd = attnd_start("--memory", "64M", "--max-body", "32M");
    size_t before = attnd_resident_bytes(attnd);
    for (size_t i = 0; i < 40; i++) {
        fds[i] = raw_connect(attnd);
        raw_send(fds[i], "POST /attention HTTP/1.1\r\nHost: test\r\nContent-Length: 33554432\r\n\r\n[");
    }
    sleep_s(0.3);
    struct reply reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    assert_resident_below(attnd, before + 32 * MIB);
    for (size_t i = 0; i < 40; i++)
        (void)close(fds[i]);
    attnd_stop(attnd);
}

#define ALL_TAKEN "4 connections are open already, as many as --max-connections allows"

/* Sends one request; returns all that came until the daemon closed, which it must within seconds; new. */
static char *answer_on_own_connection(const struct attnd *attnd, const char *request)
{
    double sent_s = seconds_now();
    char *answer = raw_exchange(attnd, request, false);
    assert_true(seconds_now() - sent_s < (environment_slow() ? 20 : 10));
    return answer;
}

/* Connections beyond the maximum are for one short request each: health is told, computing refused. */
static void test_max_connections(void **state)
{
    int fds[4];
    (void)state;
    char *compute = raw_post("/attention", "", SMALL_JSON);
    struct attnd *attnd = attnd_start("--max-connections", "4");
    for (size_t i = 0; i < 4; i++)
        fds[i] = raw_connect(attnd);
    sleep_s(0.2);
    for (size_t i = 0; i < 40; i++) { /* more than fit at once */
        char *healthy = answer_on_own_connection(attnd, "GET /health/live HTTP/1.1\r\nHost: test\r\n\r\n");
        assert_int_equal(strncmp(healthy, "HTTP/1.1 200 ", 13), 0);
        assert_non_null(strstr(healthy, "\r\nConnection: close\r\n"));
        free(healthy);
    }
    char *refused = answer_on_own_connection(attnd, compute);
    assert_int_equal(strncmp(refused, "HTTP/1.1 503 ", 13), 0);
    assert_non_null(strstr(refused, "\r\nRetry-After: "));
    assert_non_null(strstr(refused, ALL_TAKEN));
    free(refused);

    (void)close(fds[0]);
    sleep_s(0.2);
    int fifth = raw_connect(attnd);
    raw_send(fifth, compute);
    char *answer = raw_read(fifth, 0.5);
    assert_int_equal(strncmp(answer, "HTTP/1.1 200 ", 13), 0);
    free(answer);
    (void)close(fifth);
    for (size_t i = 1; i < 4; i++)
        (void)close(fds[i]);
    free(compute);
    attnd_stop(attnd);
}

/* Those who stay on connections beyond the maximum, silent or in the middle of a request, keep health waiting for seconds,
 * not until the time of a request is over. */
static void test_max_connections_held(void **state)
{
    int fds[4 + 16];
    (void)state;
    struct attnd *attnd = attnd_start("--max-connections", "4");
    for (size_t i = 0; i < 20; i++) {
        fds[i] = raw_connect(attnd);
        if (i % 2 == 0)
            raw_send(fds[i], "POST /attention HTTP/1.1\r\nHost: test\r\nContent-Le");
    }
    char *healthy = answer_on_own_connection(attnd, "GET /health/live HTTP/1.1\r\nHost: test\r\n\r\n");
    assert_int_equal(strncmp(healthy, "HTTP/1.1 200 ", 13), 0);
    free(healthy);
    char *told = raw_read(fds[18], 20);
    assert_int_equal(strncmp(told, "HTTP/1.1 503 ", 13), 0);
    assert_non_null(strstr(told, ALL_TAKEN));
    free(told);
    for (size_t i = 0; i < 20; i++)
        (void)close(fds[i]);
    attnd_stop(attnd);
}

/* Memory that requests took is given back to the system: large blocks at once, small ones once there is nothing to do. */
static void test_memory_returns(void **state)
{
    static const size_t batches[] = {256, 200, 16, 1}; /* their tokens take 4 MiB, 3.1, 256 KiB, 16 */
    char json[256];
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    struct reply reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
    reply_done(&reply);
    size_t before = attnd_resident_bytes(attnd);
    for (size_t i = 0; i < 24; i++) {
        (void)snprintf(json, sizeof json,
                       "{\"seed\": 1, \"x\": {\"shape\": [%zu, 64, 64]}, \"projection\": \"identity\", "
                       "\"return\": [\"output\", \"scores\"], \"decimals\": 1}",
                       batches[i % 4]);
        reply = post_json(attnd, "/attention", json, NULL);
        assert_int_equal(reply.status, 200);
        reply_done(&reply);
    }
    for (int i = 0; i < 200 && attnd_resident_bytes(attnd) >= before + 8 * MIB; i++)
        sleep_s(0.1);
    assert_resident_below(attnd, before + 8 * MIB);
    attnd_stop(attnd);
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_body_of_the_limit),    HTTP_TEST(test_body_of_the_memory),
    HTTP_TEST(test_large_body_refused),   HTTP_TEST(test_refused_by_its_length),
    HTTP_TEST(test_shapes_refused),       HTTP_TEST(test_queue_full),
    HTTP_TEST(test_memory_is_waited_for), HTTP_TEST(test_memory_returned_to_a_waiter),
    HTTP_TEST(test_memory_for_bodies),    HTTP_TEST(test_announced_bodies_take_no_memory),
    HTTP_TEST(test_max_connections),      HTTP_TEST(test_max_connections_held),
    HTTP_TEST(test_memory_returns),
};

const struct group limits_group = GROUP(tests);
