/* log_test.c: a line a request, which no client can forge or break. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

/* Requests whose parts try to look like something else in the log. */
static void send_nasty(const struct attnd *attnd)
{
    static const char *const texts[] = {
        "GET /a\"b\\c\x01\x7f\xc3\xa9'$(x)%0a HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n",
        "GET /x\"status=200 HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n",
        "G\"T\x02 /method HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n",
        "GET /id HTTP/1.1\r\nHost: test\r\nX-Request-Id: a\\b\\\r\nConnection: close\r\n\r\n",
        "GET /query?secret=1 HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int fd = raw_connect(attnd);
        raw_send(fd, texts[i]);
        char *answer = raw_read(fd, 30);
        assert_int_equal(strncmp(answer, "HTTP/1.1 4", 10), 0);
        free(answer);
        (void)close(fd);
    }
}

static void send_ordinary(const struct attnd *attnd)
{
    struct reply reply = post_json(attnd, "/attention", SMALL_JSON, "X-Request-Id: the-id", NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    reply = get(attnd, "/health/live", "X-Request-Id: last", NULL);
    reply_done(&reply);
}

static void test_text(void **state)
{
    char method[16], path[64], id[64], end[16];
    unsigned status, in, out;
    double receive, queue, parse, compute, encode, send, total;
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    send_nasty(attnd);
    send_ordinary(attnd);
    assert_true(attnd_logs(attnd, "\"last\"", 30));
    char *log = attnd_log(attnd);
    assert_int_equal(count_of(log, "Z info request method="), 7);
    assert_int_equal(count_of(log, "\n"), 7 + count_of(log, " daemon message="));
    assert_non_null(strstr(log, "path=\"/a\\\"b\\\\c\\x01\\x7f\\xc3\\xa9'$(x)%0a\" status=400"));
    assert_non_null(strstr(log, "path=\"/x\\\"status=200\" status=404"));
    assert_non_null(strstr(log, "request_id=\"a\\\\b\\\\\""));
    assert_null(strstr(log, "secret"));
    for (const char *c = log; *c != '\0'; c++)
        assert_true(*c == '\n' || (*c >= ' ' && *c < 0x7f));
    char *line = strstr(log, " request method=\"POST\"");
    assert_non_null(line);
    assert_int_equal(
        sscanf(line,
               " request method=\"%15[^\"]\" path=\"%63[^\"]\" status=%u bytes_in=%u bytes_out=%u receive_ms=%lf queue_ms=%lf "
               "parse_ms=%lf compute_ms=%lf encode_ms=%lf send_ms=%lf total_ms=%lf request_id=\"%63[^\"]\" end=\"%15[^\"]\"",
               method, path, &status, &in, &out, &receive, &queue, &parse, &compute, &encode, &send, &total, id, end),
        14);
    assert_string_equal(path, "/attention");
    assert_int_equal(status, 200);
    assert_int_equal(in, strlen(SMALL_JSON));
    assert_true(out > 0 && total > 0 && compute > 0);
    assert_true(receive + queue + parse + compute + encode + send < total + 1);
    assert_string_equal(id, "the-id");
    assert_string_equal(end, "ok");
    free(log);
    attnd_stop(attnd);
}

static void test_json(void **state)
{
    size_t request_count = 0;
    (void)state;
    struct attnd *attnd = attnd_start("--log-format", "json");
    send_nasty(attnd);
    send_ordinary(attnd);
    assert_true(attnd_logs(attnd, "\"last\"", 30));
    char *log = attnd_log(attnd), *rest = log;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0';) {
        json_error_t error;
        json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, &error);
        if (json == NULL)
            print_error("%s: %s\n", error.text, line);
        assert_non_null(json);
        assert_true(json_is_string(json_object_get(json, "time")));
        const char *event = json_string_value(json_object_get(json, "event"));
        if (strcmp(event, "request") == 0) {
            request_count++;
            assert_string_equal(json_string_value(json_object_get(json, "level")), "info");
            assert_true(json_is_string(json_object_get(json, "method")));
            assert_true(json_is_string(json_object_get(json, "path")));
            assert_true(json_is_integer(json_object_get(json, "status")));
            assert_true(json_is_integer(json_object_get(json, "bytes_in")));
            assert_true(json_is_real(json_object_get(json, "total_ms")));
            assert_true(json_is_string(json_object_get(json, "request_id")));
            assert_string_equal(json_string_value(json_object_get(json, "end")), "ok");
        } else {
            assert_true(json_is_string(json_object_get(json, "message")));
        }
        json_decref(json);
    }
    assert_int_equal(request_count, 7);
    free(log);
    attnd_stop(attnd);
}

/* What was used is said at the start. */
static void test_start_is_logged(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--memory", "100M", "--threads", "2", "--queue", "17");
    assert_true(attnd_logs(attnd, "threads 2, queue 17, memory 104857600, max-request-memory 45875200, max-body 52428800", 30));
    attnd_stop(attnd);
}

static bool has_avx2(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

/* OpenBLAS with kernels for another processor than this one: as with processors that are younger than the library. */
static void test_old_blas_is_logged(void **state)
{
    (void)state;
    static const char message[] = "OPENBLAS_CORETYPE=Haswell in the environment";
    const char *old = getenv("OPENBLAS_CORETYPE");
    char *before = old != NULL ? strdup(old) : NULL;
    static const char *const types[] = {"Prescott", "Haswell"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(setenv("OPENBLAS_CORETYPE", types[i], 1), 0);
        struct attnd *attnd = attnd_start(NULL);
        assert_true(attnd_logs(attnd, "request-timeout 60 s", 30));
        char *log = attnd_log(attnd);
        assert_int_equal(strstr(log, message) != NULL, i == 0 && has_avx2());
        free(log);
        attnd_stop(attnd);
    }
    assert_int_equal(before != NULL ? setenv("OPENBLAS_CORETYPE", before, 1) : unsetenv("OPENBLAS_CORETYPE"), 0);
    free(before);
}

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"

static void test_trace(void **state)
{
    char wanted[160];
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    struct reply reply =
        post_json(attnd, "/attention", SMALL_JSON, "traceparent: 00-" TRACE "-00f067aa0ba902b7-01", "X-Request-Id: traced");
    const char *response = reply_header(&reply, "traceresponse");
    assert_int_equal(reply.status, 200);
    assert_non_null(response);
    assert_int_equal(strncmp(response, "00-" TRACE "-", 36), 0);
    (void)snprintf(wanted, sizeof wanted,
                   "request_id=\"traced\" trace_id=\"" TRACE "\" parent_id=\"00f067aa0ba902b7\" span_id=\"%.16s\" end=\"ok\"",
                   response + 36);
    reply_done(&reply);
    assert_true(attnd_logs(attnd, wanted, 30));
    reply =
        post_json(attnd, "/attention", SMALL_JSON, "traceparent: 00-" TRACE "-0000000000000000-01", "X-Request-Id: untraced");
    assert_int_equal(reply.status, 200);
    assert_null(reply_header(&reply, "traceresponse"));
    reply_done(&reply);
    assert_true(attnd_logs(attnd, "request_id=\"untraced\" end=\"ok\"", 30));
    attnd_stop(attnd);
}

/* A request that is refused for want of capacity is a warning, the client's own mistakes are not. */
static void test_levels(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--log-level", "warning", "--request-timeout", "1", "--threads", "1");
    struct reply reply = post_json(attnd, "/attention", "{", "X-Request-Id: wrong");
    assert_problem(&reply, 400);
    reply_done(&reply);
    reply = post_json(attnd, "/attention", ENDLESS_JSON, "X-Request-Id: late");
    assert_problem(&reply, 503);
    reply_done(&reply);
    assert_true(attnd_logs(attnd, "Z warning request method=\"POST\" path=\"/attention\" status=503", 30));
    char *log = attnd_log(attnd);
    assert_int_equal(count_of(log, " request "), 1);
    assert_null(strstr(log, " info "));
    free(log);
    attnd_stop(attnd);
    attnd = attnd_start("--log-level=error", "--request-timeout", "1", "--threads", "1");
    reply = post_json(attnd, "/attention", ENDLESS_JSON, NULL);
    assert_problem(&reply, 503);
    reply_done(&reply);
    log = attnd_log(attnd);
    assert_string_equal(log, "");
    free(log);
    attnd_stop(attnd);
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_text),  HTTP_TEST(test_json),   HTTP_TEST(test_start_is_logged), HTTP_TEST(test_old_blas_is_logged),
    HTTP_TEST(test_trace), HTTP_TEST(test_levels),
};

const struct group log_group = GROUP(tests);
