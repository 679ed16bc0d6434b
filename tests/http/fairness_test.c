/* fairness_test.c: what clients with large requests, slow ones and those that read nothing leave to clients with small ones. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"
#include "tests/support/environment.h"

#define MIB ((size_t)1 << 20)

/* Its reply takes 5 MiB of memory. */
#define LONGISH_REPLY_JSON                                                                                                     \
    "{\"seed\": 1, \"x\": {\"shape\": [32, 64, 64]}, \"projection\": \"identity\", \"return\": [\"output\"], \"decimals\": 1}"

static void assert_small_is_served(const struct attnd *attnd)
{
    struct reply reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
    if (reply.status != 200)
        fail_msg("status %ld: %.300s", reply.status, reply.body);
    reply_done(&reply);
}

/* ---- slow uploads ---- */

/* Opens a connection that sends a head, and `bytes` bytes of a body but for the last 70. */
static int send_head_and_most(const struct attnd *attnd, const char *head, size_t bytes)
{
    int fd = raw_connect(attnd);
    raw_send(fd, head);
    char *blanks = malloc(bytes);
    assert_non_null(blanks);
    memset(blanks, ' ', bytes);
    (void)raw_try_send(fd, blanks, bytes - 70); /* one that is refused closes */
    free(blanks);
    return fd;
}

/* The same, with a Content-Length. */
static int send_most(const struct attnd *attnd, const char *headers, size_t bytes)
{
    char head[200];
    (void)snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: test\r\n%sContent-Length: %zu\r\n\r\n", headers,
                   bytes);
    return send_head_and_most(attnd, head, bytes);
}

/* The same, chunked: how long it will be is not known. */
static int send_most_chunked(const struct attnd *attnd, size_t bytes)
{
    char head[200];
    (void)snprintf(head, sizeof head, "POST /attention HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n",
                   bytes);
    return send_head_and_most(attnd, head, bytes);
}

static void test_slow_uploads(void **state)
{
    static const struct {
        const char *const options[9];
        size_t bytes;
    } cases[] = {
        {{"--max-body", "16M", "--memory", "200M", NULL}, 16 * MIB},
        {{"--max-body", "6M", "--memory", "16M", "--max-request-memory", "10M", NULL},
         6 * MIB}, /* nothing is left beside them */
        {{"--max-body", "1M", "--memory", "8M", NULL}, MIB},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct attnd *attnd = attnd_start_with(cases[i].options);
        int fds[12];
        for (size_t k = 0; k < 12; k++)
            fds[k] = k % 3 == 2 ? send_most_chunked(attnd, cases[i].bytes)
                                : send_most(attnd, k % 3 == 1 ? "Content-Encoding: gzip\r\n" : "", cases[i].bytes);
        sleep_s(0.3);
        assert_small_is_served(attnd);
        for (size_t k = 0; k < 12; k++)
            (void)close(fds[k]);
        attnd_stop(attnd);
    }
}

/* One slow upload of the largest size leaves room for another. */
static void test_one_slow_upload(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--max-body", "16M", "--memory", "200M");
    int fd = send_most(attnd, "", 16 * MIB);
    sleep_s(0.3);
    char *json = malloc(15 * MIB + 1);
    assert_non_null(json);
    memset(json, ' ', 15 * MIB);
    memcpy(json + 15 * MIB - strlen(SMALL_JSON), SMALL_JSON, strlen(SMALL_JSON) + 1);
    struct reply reply = post_json(attnd, "/attention", json, NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    free(json);
    (void)close(fd);
    attnd_stop(attnd);
}

/* Many small bodies that never end leave room for another. */
static void test_slow_small_uploads(void **state)
{
    enum { COUNT = 200 };
    int fds[COUNT + 1];
    (void)state;
    struct attnd *attnd = attnd_start("--max-body", "16M", "--memory", "200M");
    fds[COUNT] = send_most(attnd, "", 16 * MIB);
    for (size_t i = 0; i < COUNT; i++)
        fds[i] = send_most(attnd, "", 16384);
    sleep_s(0.3);
    assert_small_is_served(attnd);
    for (size_t i = 0; i <= COUNT; i++)
        (void)close(fds[i]);
    attnd_stop(attnd);
}

/* ---- replies that nobody reads ---- */

static void check_unread(const char *memory, const char *json, size_t count)
{
    int fds[64];
    char *text = raw_post("/attention", "", json);
    struct attnd *attnd = attnd_start("--memory", memory, "--max-body", "1M", "--threads", "2", "--request-timeout", "300");
    for (size_t i = 0; i < count; i++) {
        fds[i] = raw_connect(attnd);
        raw_send(fds[i], text);
    }
    sleep_s(environment_slow() ? 10 : 3);
    for (int i = 0; i < 5; i++)
        assert_small_is_served(attnd);
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
    assert_small_is_served(attnd);
    struct reply reply = post_json(attnd, "/attention", json, NULL); /* the memory is there again */
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    free(text);
    attnd_stop(attnd);
}

static void test_unread_replies(void **state)
{
    (void)state;
    check_unread("200M", LONG_REPLY_JSON, 6);
    check_unread("80M", LONGISH_REPLY_JSON, 40);
}

/* A request that waits for memory ends with its client or by its deadline, as one in the queue. */
static void test_stopped_without_memory(void **state)
{
    int fds[3];
    char *text = raw_post("/attention", "", LONG_REPLY_JSON);
    (void)state;
    struct attnd *attnd = attnd_start("--memory", "60M", "--max-body", "1M", "--idle-timeout", "300", "--request-timeout",
                                      environment_slow() ? "60" : "10");
    for (size_t i = 0; i < 3; i++) {
        fds[i] = raw_connect(attnd);
        raw_send(fds[i], text);
        struct pollfd replied = {.fd = fds[i], .events = POLLIN};
        (void)poll(&replied, 1, i == 0 ? 60000 : 1000); /* the first has the memory from now on */
    }
    (void)close(fds[1]);
    assert_true(attnd_logs(attnd, "client gone", 30));
    char *answer = raw_read(fds[2], environment_slow() ? 70 : 15);
    assert_int_equal(strncmp(answer, "HTTP/1.1 503 ", 13), 0);
    assert_non_null(strstr(answer, "bytes of memory until its time"));
    free(answer);
    (void)close(fds[0]);
    (void)close(fds[2]);
    free(text);
    attnd_stop(attnd);
}

/* ---- large computations ---- */

/* Small requests pass any number of large ones, whatever is large about them. */
static void test_small_beside_large(void **state)
{
    static const char large[] =
        "{\"seed\": 1, \"query\": {\"shape\": [1, 8, 4096, 64]}, \"key\": {\"shape\": [1, 8, 4096, 64]}, "
        "\"value\": {\"shape\": [1, 8, 4096, 64]}, \"return\": [\"output\"]}";
    enum { SMALL = 100, LARGE = 6 };
    int fds[LARGE];
    char *texts[2] = {raw_post("/attention", "", ENDLESS_JSON), raw_post("/attention", "", large)};
    (void)state;
    struct attnd *attnd = attnd_start("--threads", "2", "--request-timeout", "300");
    for (size_t i = 0; i < LARGE; i++) {
        fds[i] = raw_connect(attnd);
        raw_send(fds[i], texts[i % 2]);
    }
    sleep_s(1);
    for (size_t i = 0; i < SMALL; i++)
        assert_small_is_served(attnd);
    for (size_t i = 0; i < LARGE; i += 2) {
        struct pollfd replied = {.fd = fds[i], .events = POLLIN};
        assert_int_equal(poll(&replied, 1, 0), 0); /* what takes minutes is not done */
    }
    for (size_t i = 0; i < LARGE; i++)
        (void)close(fds[i]);
    free(texts[0]);
    free(texts[1]);
    attnd_stop(attnd);
}

/* Small requests do not hold up large ones for good. */
static void test_large_beside_small(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--threads", "1");
    struct pending *large = post_later(attnd, "/attention", LONGISH_REPLY_JSON);
    for (size_t i = 0; i < 300; i++)
        assert_small_is_served(attnd);
    struct reply reply = pending_reply(large);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    attnd_stop(attnd);
}

/* ---- the queue ---- */

/* As many requests may wait as connections are open. */
static void test_all_connections_may_wait(void **state)
{
    enum { COUNT = 256 };
    int fds[COUNT];
    char *endless = raw_post("/attention", "", ENDLESS_JSON),
         *small = raw_post("/attention", "Connection: close\r\n", SMALL_JSON);
    (void)state;
    struct attnd *attnd = attnd_start("--threads", "1", "--request-timeout", "300", "--max-connections", "256");
    for (size_t i = 0; i < COUNT; i++) {
        fds[i] = raw_connect(attnd);
        raw_send(fds[i], i < COUNT / 2 ? endless : small);
    }
    for (size_t i = COUNT / 2; i < COUNT; i++) {
        char *answer = raw_read(fds[i], 60);
        assert_int_equal(strncmp(answer, "HTTP/1.1 200 ", 13), 0);
        free(answer);
    }
    for (size_t i = 0; i < COUNT; i++)
        (void)close(fds[i]);
    free(endless);
    free(small);
    attnd_stop(attnd);
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_slow_uploads),       HTTP_TEST(test_one_slow_upload),          HTTP_TEST(test_slow_small_uploads),
    HTTP_TEST(test_unread_replies),     HTTP_TEST(test_stopped_without_memory),   HTTP_TEST(test_small_beside_large),
    HTTP_TEST(test_large_beside_small), HTTP_TEST(test_all_connections_may_wait),
};

const struct group fairness_group = GROUP(tests);
