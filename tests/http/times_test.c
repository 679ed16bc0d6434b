/* times_test.c: deadlines, slow clients, clients that go away. Bounds are generous: machines are busy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

static void assert_computes(const struct attnd *attnd)
{
    struct reply reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
}

static void test_deadline_while_computing(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--request-timeout", "1");
    struct reply reply = post_json(attnd, "/attention", ENDLESS_JSON, NULL);
    assert_problem(&reply, 503);
    assert_non_null(reply_header(&reply, "Retry-After"));
    assert_true(reply.seconds > 0.9 && reply.seconds < 30);
    reply_done(&reply);
    assert_computes(attnd);
    attnd_stop(attnd);
}

/* A request in the queue is answered at its deadline, not only when a worker takes it. */
static void test_deadline_in_the_queue(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--threads", "1", "--request-timeout", "2");
    struct pending *pending[4];
    for (size_t i = 0; i < 4; i++)
        pending[i] = post_later(attnd, "/attention", ENDLESS_JSON);
    for (size_t i = 0; i < 4; i++) {
        struct reply reply = pending_reply(pending[i]);
        assert_problem(&reply, 503);
        assert_true(reply.seconds < 30);
        reply_done(&reply);
    }
    assert_computes(attnd);
    attnd_stop(attnd);
}

/* The job of a client that has gone stops, or the one thread would be busy for minutes. */
static void test_client_gone(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--threads", "1", "--request-timeout", "600");
    char *text = raw_post("/attention", "", ENDLESS_JSON);
    for (int reset = 0; reset < 2; reset++) {
        int running = raw_connect(attnd), waiting = raw_connect(attnd);
        raw_send(running, text);
        raw_send(waiting, text);
        sleep_s(0.5);
        if (reset != 0) {
            const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
            (void)setsockopt(running, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
            (void)setsockopt(waiting, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        }
        (void)close(running);
        (void)close(waiting);
        assert_computes(attnd);
    }
    free(text);
    size_t gone = 0;
    for (double until = seconds_now() + 30; gone < 4 && seconds_now() < until; sleep_s(0.05)) {
        char *log = attnd_log(attnd);
        gone = count_of(log, "end=\"client gone\"");
        free(log);
    }
    assert_int_equal(gone, 4);
    attnd_stop(attnd);
}

static void test_client_gone_while_sending(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    int fd = raw_connect(attnd);
    raw_send(fd, "POST /attention HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n{\"que");
    (void)close(fd);
    assert_true(attnd_logs(attnd, "end=\"client gone\"", 30));
    assert_computes(attnd);
    attnd_stop(attnd);
}

/* A client that sends `begin`, then `piece` ten times a second, until the daemon has enough of it. */
struct slow_client {
    const char *begin, *piece;
    bool answered; /* with 408; else the connection is just closed: nothing came on it */
    int fd;
    double seconds; /* how long it lasted */
    bool over;
};

static void run_slow_clients(const struct attnd *attnd, struct slow_client *clients, size_t count)
{
    double since = seconds_now();
    size_t over = 0;
    for (size_t i = 0; i < count; i++) {
        clients[i].fd = raw_connect(attnd);
        raw_send(clients[i].fd, clients[i].begin);
    }
    for (; over < count && seconds_now() - since < 60; sleep_s(0.1)) {
        for (size_t i = 0; i < count; i++) {
            struct slow_client *client = &clients[i];
            char byte;
            if (client->over)
                continue;
            bool silent = recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
            client->over = !silent || !raw_try_send(client->fd, client->piece, strlen(client->piece));
            client->seconds = seconds_now() - since;
            over += client->over;
        }
    }
    assert_int_equal(over, count);
}

static void test_slow_requests(void **state)
{
    struct slow_client clients[] = {
        /* silent */
        {.begin = "POST /attention HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n{", .piece = "", .answered = true},
        {.begin = "POST /attention HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
         .piece = "",
         .answered = true},
        {.begin = "POST /attention HTTP/1.1\r\nHost: te", .piece = "", .answered = true},
        {.begin = "POST /atten", .piece = "", .answered = true},
        {.begin = "", .piece = ""},
        /* a little now and then */
        {.begin = "POST /attention HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n{", .piece = " ", .answered = true},
        {.begin = "POST /attention HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n",
         .piece = "1\r\n \r\n",
         .answered = true},
        {.begin = "POST /nowhere HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n{", .piece = " ", .answered = true},
        {.begin = "POST /attention HTTP/1.1\r\nHost: test\r\n", .piece = "X-More: yes\r\n", .answered = true},
        {.begin = "POST /", .piece = "a", .answered = true},
        {.begin = "\r\n", .piece = "\r\n", .answered = true},
    };
    const size_t count = sizeof clients / sizeof clients[0];
    (void)state;
    struct attnd *attnd = attnd_start("--request-timeout", "3", "--idle-timeout", "2");
    run_slow_clients(attnd, clients, count);
    for (size_t i = 0; i < count; i++) {
        char *answer = raw_read(clients[i].fd, 30);
        const char *expected = clients[i].answered ? "HTTP/1.1 408 " : "";
        bool right = strncmp(answer, expected, strlen(expected)) == 0 && clients[i].answered == (answer[0] != '\0');
        if (!right)
            print_error("client %zu after %.1f s: \"%s\"\n", i, clients[i].seconds, answer);
        assert_true(right);
        if (clients[i].answered) {
            assert_non_null(strstr(answer, "Content-Type: application/problem+json\r\n"));
            assert_non_null(strstr(answer, "X-Request-Id: "));
            assert_non_null(strstr(answer, "\"status\":408"));
        }
        assert_true(clients[i].seconds > 0.9 && clients[i].seconds < 40);
        free(answer);
        (void)close(clients[i].fd);
    }
    assert_computes(attnd);
    attnd_stop(attnd);
}

/* A connection that was of use is closed without a word when nothing more comes. */
static void test_idle_connection_closed(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--idle-timeout", "1");
    int fd = raw_connect(attnd);
    raw_send(fd, "GET /health/live HTTP/1.1\r\nHost: test\r\n\r\n");
    char *answer = raw_read(fd, 40);
    assert_int_equal(count_of(answer, "HTTP/1.1 "), 1);
    assert_non_null(strstr(answer, "HTTP/1.1 200 "));
    free(answer);
    (void)close(fd);
    attnd_stop(attnd);
}

/* A client that does not read its reply cannot keep it. */
static void test_reply_not_read(void **state)
{
    static const char json[] =
        "{\"seed\": 1, \"x\": {\"shape\": [256, 64, 64]}, \"projection\": \"identity\", \"return\": [\"output\"]}";
    (void)state;
    struct attnd *attnd = attnd_start("--idle-timeout", "2", "--request-timeout", "60");
    char *text = raw_post("/attention", "", json);
    int fd = raw_connect(attnd);
    raw_send(fd, text);
    assert_true(attnd_logs(attnd, "status=200", 60));
    assert_true(attnd_logs(attnd, "end=\"too slow\"", 60));
    (void)close(fd);
    free(text);
    attnd_stop(attnd);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void test_health_while_all_threads_compute(void **state)
{
    enum { JOBS = 6, PROBES = 40 };
    struct pending *pending[JOBS];
    double seconds[PROBES];
    (void)state;
    struct attnd *attnd = attnd_start("--request-timeout", "5");
    for (size_t i = 0; i < JOBS; i++)
        pending[i] = post_later(attnd, "/attention", ENDLESS_JSON);
    sleep_s(0.5);
    for (size_t i = 0; i < PROBES; i++) {
        struct reply reply = get(attnd, i % 2 == 0 ? "/health/live" : "/health/ready", NULL);
        assert_int_equal(reply.status, 200);
        seconds[i] = reply.seconds;
        reply_done(&reply);
        sleep_s(0.02);
    }
    qsort(seconds, PROBES, sizeof seconds[0], compare_doubles);
    assert_true(seconds[PROBES / 2] < 0.5);
    assert_true(seconds[PROBES - 1] < 4);
    for (size_t i = 0; i < JOBS; i++) {
        struct reply reply = pending_reply(pending[i]);
        assert_problem(&reply, 503);
        reply_done(&reply);
    }
    attnd_stop(attnd);
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_deadline_while_computing),
    HTTP_TEST(test_deadline_in_the_queue),
    HTTP_TEST(test_client_gone),
    HTTP_TEST(test_client_gone_while_sending),
    HTTP_TEST(test_slow_requests),
    HTTP_TEST(test_idle_connection_closed),
    HTTP_TEST(test_reply_not_read),
    HTTP_TEST(test_health_while_all_threads_compute),
};

const struct group times_group = GROUP(tests);
