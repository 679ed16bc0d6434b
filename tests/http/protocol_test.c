/* protocol_test.c: HTTP/1.1 as it may come over the wire. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

#define LIVE "GET /health/live HTTP/1.1\r\nHost: test\r\n\r\n"
#define LIVE_CLOSE "GET /health/live HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"

static char *concatenate(const char *a, const char *b, const char *c)
{
    char *text = NULL;
    assert_true(asprintf(&text, "%s%s%s", a, b, c) >= 0);
    return text;
}

static void test_keep_alive(void **state)
{
    (void)state;
    const struct attnd *attnd = attnd_shared();
    for (int i = 0; i < 5; i++) {
        struct reply reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
        assert_int_equal(reply.status, 200);
        assert_true(i == 0 || reply.connection_count == 0);
        reply_done(&reply);
        reply = get(attnd, "/health/live", NULL);
        assert_int_equal(reply.connection_count, 0);
        reply_done(&reply);
    }
}

static void test_http_1_0(void **state)
{
    (void)state;
    struct request request = {.path = "/attention", .body = SMALL_JSON, .body_bytes = strlen(SMALL_JSON), .http_1_0 = true};
    struct reply reply = request_send(attnd_shared(), &request);
    assert_int_equal(reply.curl_code, 0);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);

    char *answer = raw_exchange(attnd_shared(), "GET /health/live HTTP/1.0\r\n\r\n", false);
    assert_non_null(strstr(answer, " 200 OK"));
    free(answer);
}

static void test_pipelined(void **state)
{
    (void)state;
    char *post_text = raw_post("/attention", "", SMALL_JSON);
    char *text = concatenate(post_text, LIVE, post_text);
    char *more = concatenate(text, text, LIVE_CLOSE);
    char *answer = raw_exchange(attnd_shared(), more, false);
    assert_int_equal(count_of(answer, "HTTP/1.1 200 OK"), 7);
    assert_int_equal(count_of(answer, "\"output\":"), 4);
    assert_int_equal(count_of(answer, "\"live\""), 3);
    free(answer);
    free(more);
    free(text);
    free(post_text);
}

/* What comes behind a request that is being computed is kept, and answered after it. */
static void test_pipelined_behind_a_long_job(void **state)
{
    (void)state;
    const struct attnd *attnd = attnd_shared();
    char *json = busy_json(attnd, 1);
    char *post_text = raw_post("/attention", "", json);
    char *text = concatenate(post_text, LIVE_CLOSE, "");
    char *answer = raw_exchange(attnd, text, false);
    assert_int_equal(count_of(answer, "HTTP/1.1 200 OK"), 2);
    assert_true(strstr(answer, "\"lse\"") < strstr(answer, "\"live\""));
    free(answer);
    free(text);
    free(post_text);
    free(json);
}

static void test_chunked(void **state)
{
    (void)state;
    struct request request = {.path = "/attention", .body = SMALL_JSON, .body_bytes = strlen(SMALL_JSON), .chunked = true};
    struct reply reply = request_send(attnd_shared(), &request);
    assert_int_equal(reply.curl_code, 0);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
}

/* Chunks cut the body anywhere, carry extensions, and a trailer ends them. */
static void test_chunks_of_one_byte(void **state)
{
    char text[8192] = "POST /attention HTTP/1.1\r\nHost: test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    (void)state;
    for (const char *c = SMALL_JSON; *c != '\0'; c++) {
        size_t length = strlen(text);
        (void)snprintf(text + length, sizeof text - length, "1;note=x\r\n%c\r\n", *c);
    }
    size_t length = strlen(text);
    (void)snprintf(text + length, sizeof text - length, "0\r\nX-Trailer: y\r\n\r\n");
    char *answer = raw_exchange(attnd_shared(), text, false);
    assert_non_null(strstr(answer, "HTTP/1.1 200 OK"));
    assert_non_null(strstr(answer, "\"output\":"));
    free(answer);
}

static void test_body_byte_by_byte(void **state)
{
    (void)state;
    char *text = raw_post("/attention", "Connection: close\r\n", SMALL_JSON);
    int fd = raw_connect(attnd_shared());
    for (const char *c = text; *c != '\0'; c++) {
        assert_true(raw_try_send(fd, c, 1));
        if ((c - text) % 16 == 0)
            sleep_s(0.001);
    }
    char *answer = raw_read(fd, 60);
    assert_non_null(strstr(answer, "HTTP/1.1 200 OK"));
    (void)close(fd);
    free(answer);
    free(text);
}

static void test_expect_continue(void **state)
{
    (void)state;
    char *text = raw_post("/attention", "Connection: close\r\nExpect: 100-continue\r\n", SMALL_JSON);
    char *answer = raw_exchange(attnd_shared(), text, false);
    assert_int_equal(strncmp(answer, "HTTP/1.1 100 ", 13), 0);
    assert_non_null(strstr(answer, "HTTP/1.1 200 OK"));
    free(answer);
    free(text);

    /* A refusal comes instead of the interim reply. */
    text = raw_post("/nowhere", "Expect: 100-continue\r\n", SMALL_JSON);
    answer = raw_exchange(attnd_shared(), text, false);
    assert_int_equal(strncmp(answer, "HTTP/1.1 404 ", 13), 0);
    free(answer);
    free(text);
}

static void test_half_closed(void **state)
{
    (void)state;
    char *text = raw_post("/attention", "", SMALL_JSON);
    char *answer = raw_exchange(attnd_shared(), text, true);
    assert_int_equal(strncmp(answer, "HTTP/1.1 200 OK", 15), 0);
    assert_non_null(strstr(answer, "\"output\":"));
    free(answer);
    free(text);

    answer = raw_exchange(attnd_shared(), LIVE, true);
    assert_int_equal(strncmp(answer, "HTTP/1.1 200 OK", 15), 0);
    free(answer);
}

/* The daemon finds out that this client has not gone, by an interim reply at the most. */
static void test_half_closed_long_job(void **state)
{
    (void)state;
    const struct attnd *attnd = attnd_shared();
    char *json = busy_json(attnd, 2);
    char *post_text = raw_post("/attention", "", json);
    char *text = concatenate(post_text, LIVE, "");
    char *answer = raw_exchange(attnd, text, true);
    assert_int_equal(count_of(answer, "HTTP/1.1 200 OK"), 2);
    assert_non_null(strstr(answer, "\"lse\":"));
    assert_int_equal(count_of(answer, "HTTP/1.1 "), 2 + count_of(answer, "HTTP/1.1 102 Processing\r\n\r\n"));
    free(answer);
    free(text);
    free(post_text);
    free(json);
}

static void test_absolute_target(void **state)
{
    (void)state;
    char *answer =
        raw_exchange(attnd_shared(),
                     "GET http://elsewhere:1234/health/live?x HTTP/1.1\r\nHost: elsewhere\r\nConnection: close\r\n\r\n", false);
    assert_int_equal(strncmp(answer, "HTTP/1.1 200 OK", 15), 0);
    free(answer);
}

static void assert_alive(const struct attnd *attnd)
{
    struct reply reply = request_send(attnd, &(struct request){.path = "/health/live", .new_connection = true});
    assert_int_equal(reply.curl_code, 0);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
}

static void test_malformed(void **state)
{
    static const char *const cases[][2] = {
        {"GET /health/live HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
        {"GET /health/live HTTP/1.1\r\nHost: test\r\nno colon\r\n\r\n", "HTTP/1.1 400 "},
        {"GET /health/live HTTP/9.9\r\nHost: test\r\n\r\n", "HTTP/1.1 505 "},
        {"POST /attention HTTP/1.1\r\nHost: test\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 400 "},
        {"POST /attention HTTP/1.1\r\nHost: test\r\nContent-Length: 1x\r\n\r\n", "HTTP/1.1 400 "},
        {"POST /attention HTTP/1.1\r\nHost: test\r\nContent-Length: 99999999999999999999999\r\n\r\n", "HTTP/1.1 413 "},
        {"POST /attention HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 400 "},
        {"POST /attention HTTP/1.1\r\nHost: test\r\nContent-Length : 39\r\n\r\n" LIVE, "HTTP/1.1 400 "},
        {"POST /attention HTTP/1.1\r\nHost: test\r\nTransfer-Encoding\t: chunked\r\n\r\n" LIVE, "HTTP/1.1 400 "},
        {"POST /attention HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked \r\n\r\n" LIVE, "HTTP/1.1 400 "},
        {"GET /health/live HTTP/1.1\r\nHost: test\r\nX One: 1\r\n\r\n", "HTTP/1.1 400 "},
        {"GET /health/live HTTP/1.1\r\nHost: test\r\nHost: other\r\n\r\n", "HTTP/1.1 400 "},
        {"garbage\r\n\r\n", ""},
        {"\x16\x03\x01\x02", ""},
        {"GET", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *answer = raw_exchange(attnd_shared(), cases[i][0], true);
        assert_int_equal(strncmp(answer, cases[i][1], strlen(cases[i][1])), 0);
        free(answer);
    }
    assert_alive(attnd_shared());
}

/* Where the end of the body is in doubt, nothing behind it may pass for a request. */
static void test_doubtful_framing(void **state)
{
    static const char *const heads[] = {
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 0\r\nContent-Length: 44\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Content-Length: 5x\r\n",
        "Content-Length: 5 \r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: -5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length:\r\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        char *text = NULL;
        assert_true(asprintf(&text, "POST /attention HTTP/1.1\r\nHost: test\r\n%s\r\n0\r\n\r\n%s%s", heads[i], LIVE, LIVE) > 0);
        char *answer = raw_exchange(attnd_shared(), text, true);
        assert_int_equal(strncmp(answer, "HTTP/1.1 400 ", 13), 0);
        assert_int_equal(count_of(answer, "HTTP/1.1 "), 1);
        assert_non_null(strstr(answer, "application/problem+json"));
        free(answer);
        free(text);
    }
}

/* More than any integer holds is a length, too. */
static void test_lengths_beyond_integers(void **state)
{
    static const char *const lengths[] = {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                                          "99999999999999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "POST /attention HTTP/1.1\r\nHost: test\r\nContent-Length: %s\r\n\r\n", lengths[i]);
        char *answer = raw_exchange(attnd_shared(), text, true);
        assert_int_equal(strncmp(answer, "HTTP/1.1 413 ", 13), 0);
        assert_int_equal(count_of(answer, "HTTP/1.1 "), 1);
        assert_non_null(strstr(answer, "\"name\":\"max-body\""));
        assert_non_null(strstr(answer, lengths[i]));
        free(answer);
    }
}

/* Of several unfinished heads only the one with a wrong length is refused. */
static void test_wrong_length_beside_others(void **state)
{
    static const char begin[] = "POST /attention HTTP/1.1\r\nHost: test\r\nConnection: close\r\nX-One: 1\r\n";
    char text[300];
    int fds[3];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        fds[i] = raw_connect(attnd_shared());
        raw_send(fds[i], begin);
    }
    (void)snprintf(text, sizeof text, "Content-Length: %zu\r\n\r\n%s", strlen(SMALL_JSON), SMALL_JSON);
    for (size_t i = 0; i < 3; i++) {
        bool wrong = i == 1;
        raw_send(fds[i], wrong ? "Content-Length: 5x\r\n\r\n" : text);
        char *answer = raw_read(fds[i], 30);
        assert_int_equal(strncmp(answer, wrong ? "HTTP/1.1 400 " : "HTTP/1.1 200 ", 13), 0);
        assert_int_equal(count_of(answer, "HTTP/1.1 "), 1);
        free(answer);
        (void)close(fds[i]);
    }
}

static void test_large_head(void **state)
{
    (void)state;
    size_t bytes = 200000;
    char *text = malloc(bytes + 1);
    assert_non_null(text);
    int length = snprintf(text, bytes, "GET /health/live HTTP/1.1\r\nHost: test\r\nX-Large: ");
    memset(text + length, 'a', bytes - (size_t)length);
    text[bytes] = '\0';
    int fd = raw_connect(attnd_shared());
    (void)raw_try_send(fd, text, bytes);
    char *answer = raw_read(fd, 60);
    assert_true(answer[0] == '\0' || strncmp(answer, "HTTP/1.1 431 ", 13) == 0);
    free(answer);
    free(text);
    (void)close(fd);
    assert_alive(attnd_shared());
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_keep_alive),
    HTTP_TEST(test_http_1_0),
    HTTP_TEST(test_pipelined),
    HTTP_TEST(test_pipelined_behind_a_long_job),
    HTTP_TEST(test_chunked),
    HTTP_TEST(test_chunks_of_one_byte),
    HTTP_TEST(test_body_byte_by_byte),
    HTTP_TEST(test_expect_continue),
    HTTP_TEST(test_half_closed),
    HTTP_TEST(test_half_closed_long_job),
    HTTP_TEST(test_absolute_target),
    HTTP_TEST(test_malformed),
    HTTP_TEST(test_doubtful_framing),
    HTTP_TEST(test_large_head),
    HTTP_TEST(test_lengths_beyond_integers),
    HTTP_TEST(test_wrong_length_beside_others),
};

const struct group protocol_group = GROUP(tests);
