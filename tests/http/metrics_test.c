/* metrics_test.c: GET /metrics, while nothing is to do and while everything is busy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"
#include "tests/support/environment.h"

/* The value of a sample, its name with its labels; -1 where it is not there. */
static double sample(const struct attnd *attnd, const char *name)
{
    char start[256];
    struct reply reply = get(attnd, "/metrics", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
    (void)snprintf(start, sizeof start, "\n%s ", name);
    const char *line = strstr(reply.body, start);
    double value = line != NULL ? strtod(line + strlen(start), NULL) : -1;
    reply_done(&reply);
    return value;
}

static void assert_sample(const struct attnd *attnd, const char *name, double wanted)
{
    double value = sample(attnd, name);
    if (value < wanted || value > wanted)
        fail_msg("%s is %g, %g wanted", name, value, wanted);
}

static void client(const struct attnd *attnd, const char *path, const char *json, long status)
{
    struct reply reply = post_json(attnd, path, json, NULL);
    assert_int_equal(reply.status, status);
    reply_done(&reply);
}

static void test_counted(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--threads", "2", "--max-connections", "77");
    assert_sample(attnd, "attnd_request_duration_seconds_count{path=\"/attention\"}", 0);
    client(attnd, "/attention", SMALL_JSON, 200);
    client(attnd, "/attention", SMALL_JSON, 200);
    client(attnd, "/attention", "{\"query\": 1}", 422);
    client(attnd, "/v2/models/attention/versions/1/infer", "{\"inputs\":[]}", 422);
    client(attnd, "/nowhere", "{}", 404);
    client(attnd, "/attention/compare", "{\"request\":" SMALL_JSON ",\"expected\":{}}", 422);
    client(attnd, "/attention/compare",
           "{\"request\":{\"query\":[[1]],\"key\":[[1]],\"value\":[[5]]},\"expected\":{\"output\":[[5]]}}", 200);
    assert_sample(attnd, "attnd_requests_total{path=\"/attention\",status=\"200\"}", 2);
    assert_sample(attnd, "attnd_requests_total{path=\"/attention\",status=\"422\"}", 1);
    assert_sample(attnd, "attnd_requests_total{path=\"/v2/models/attention/infer\",status=\"422\"}", 1);
    assert_sample(attnd, "attnd_requests_total{path=\"other\",status=\"404\"}", 1);
    assert_sample(attnd, "attnd_request_duration_seconds_count{path=\"/attention\"}", 3);
    assert_sample(attnd, "attnd_requests_total{path=\"/attention/compare\",status=\"422\"}", 1);
    assert_sample(attnd, "attnd_comparisons_total{verdict=\"equal\"}", 1);
    assert_sample(attnd, "attnd_comparisons_total{verdict=\"explained\"}", 0);
    assert_sample(attnd, "attnd_received_bytes_total{path=\"/attention\"}", 2 * (double)strlen(SMALL_JSON) + 12);
    assert_sample(attnd, "attnd_working_requests", 0);
    assert_sample(attnd, "attnd_memory_bytes{kind=\"bodies\"}", 0);
    assert_sample(attnd, "attnd_memory_bytes{kind=\"computing\"}", 0);
    assert_sample(attnd, "attnd_threads", 2);
    assert_sample(attnd, "attnd_connections_limit", 77);
    assert_sample(attnd, "attnd_ready", 1);
    assert_true(sample(attnd, "attnd_connections") >= 1);
    assert_true(sample(attnd, "process_resident_memory_bytes") > 1e6);
    assert_true(sample(attnd, "process_cpu_seconds_total") > 0);
    assert_true(sample(attnd, "process_start_time_seconds") > 1.7e9);
    attnd_stop(attnd);
}

static void wait_for_sample(const struct attnd *attnd, const char *name, double wanted)
{
    for (int i = 0; i < 1000 && sample(attnd, name) != wanted; i++)
        sleep_s(0.1);
    assert_sample(attnd, name, wanted);
}

static void wait_until_computing(const struct attnd *attnd)
{
    for (int i = 0; i < 1000 && sample(attnd, "attnd_memory_bytes{kind=\"computing\"}") == 0; i++)
        sleep_s(0.1);
}

/* It answers while every core computes and another request waits, and says so. */
static void test_while_busy(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--threads", "1", "--request-timeout", environment_slow() ? "20" : "4");
    struct pending *busy = post_later(attnd, "/attention", ENDLESS_JSON);
    wait_until_computing(attnd);
    assert_sample(attnd, "attnd_working_requests", 1);
    struct pending *waiting = post_later(attnd, "/attention", ENDLESS_JSON);
    wait_for_sample(attnd, "attnd_queued_requests", 1);
    assert_sample(attnd, "attnd_working_requests", 2);
    assert_true(sample(attnd, "attnd_memory_bytes{kind=\"bodies\"}") > 0);
    assert_true(sample(attnd, "attnd_memory_bytes{kind=\"computing\"}") > 1e6);
    for (int i = 0; i < 2; i++) {
        struct reply reply = pending_reply(i == 0 ? busy : waiting);
        assert_true(reply.status == 503 || reply.status == 200);
        reply_done(&reply);
    }
    assert_true(sample(attnd, "attnd_requests_total{path=\"/attention\",status=\"503\"}") >= 1);
    assert_true(sample(attnd, "attnd_phase_seconds_total{path=\"/attention\",phase=\"compute\"}") > 1);
    attnd_stop(attnd);
}

/* A reply that is not read holds its memory, and the next request of its size waits for it. */
static void test_waiting_for_memory(void **state)
{
    int fds[2];
    char *text = raw_post("/attention", "", LONG_REPLY_JSON);
    (void)state;
    struct attnd *attnd = attnd_start("--memory", "60M", "--max-body", "1M", "--threads", "1", "--request-timeout", "300");
    assert_sample(attnd, "attnd_memory_waiting_requests", 0);
    for (size_t i = 0; i < 2; i++) {
        fds[i] = raw_connect(attnd);
        raw_send(fds[i], text);
    }
    wait_for_sample(attnd, "attnd_memory_waiting_requests", 1);
    assert_sample(attnd, "attnd_queued_requests", 0);
    for (size_t i = 0; i < 2; i++)
        (void)close(fds[i]);
    free(text);
    attnd_stop(attnd);
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_counted),
    HTTP_TEST(test_while_busy),
    HTTP_TEST(test_waiting_for_memory),
};

const struct group metrics_group = GROUP(tests);
