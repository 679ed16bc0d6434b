/* memory_test.c: what requests take of the daemon's memory, and that they give it back. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"
#include "tests/support/environment.h"
#include "tests/support/test_data.h"

#define MIB ((size_t)1 << 20)

static void check_status(const struct attnd *attnd, const char *json, long status)
{
    struct reply reply = post_json(attnd, "/attention", json, NULL);
    if (reply.status != status)
        fail_msg("%.200s: status %ld, should be %ld: %.300s", json, reply.status, status, reply.body);
    reply_done(&reply);
}

/* ---- a long sequence ---- */

#define LONG_TOKENS 16384
#define LONG_BYTES_MAX (200 * MIB) /* beyond the body */
#define NUMBER_BYTES 8             /* "0.xxxx," and more */

/* `tokens` times 64 numbers below 1, as nested arrays. Returns the end of the text. */
static char *put_tokens(char *to, size_t tokens)
{
    unsigned drawn = 1;
    for (size_t t = 0; t < tokens; t++) {
        to += snprintf(to, 3, t == 0 ? "[[" : ",[");
        for (size_t d = 0; d < 64; d++) {
            drawn = drawn * 1664525 + 1013904223;
            to += snprintf(to, NUMBER_BYTES + 1, d == 0 ? "0.%04u" : ",0.%04u", drawn >> 16 & 0xfff);
        }
        *to++ = ']';
    }
    *to++ = ']';
    return to;
}

/* Sends the request to a fresh daemon; its memory stays under LONG_BYTES_MAX beyond the body. */
static void check_long(const char *json)
{
    struct attnd *attnd = attnd_start("--request-timeout", "600");
    size_t before = attnd_peak_bytes(attnd), body_bytes = strlen(json);
    check_status(attnd, json, 200);
    size_t taken = attnd_peak_bytes(attnd) - before;
    print_message("%zu tokens, %zu MiB of body: %zu MiB taken\n", (size_t)LONG_TOKENS, body_bytes / MIB, taken / MIB);
    if (!environment_slow()) /* a sanitizer takes memory of its own */
        assert_true(taken < body_bytes + LONG_BYTES_MAX);
    attnd_stop(attnd);
}

/* Causal over 16384 tokens, the output alone: no square of them is ever held. */
static void test_long_sequence_drawn(void **state)
{
    (void)state;
    check_long("{\"seed\":1,\"query\":{\"shape\":[16384,64]},\"key\":{\"shape\":[16384,64]},\"value\":{\"shape\":[16384,64]},"
               "\"causal\":true,\"return\":[\"output\"]}");
}

static void test_long_sequence_sent(void **state)
{
    static const char *const names[] = {"{\"causal\":true,\"return\":[\"output\"],\"query\":", ",\"key\":", ",\"value\":"};
    (void)state;
    char *json = malloc((size_t)3 * LONG_TOKENS * (64 * NUMBER_BYTES + 4) + 200);
    assert_non_null(json);
    char *to = json;
    for (size_t i = 0; i < 3; i++) {
        to += snprintf(to, 60, "%s", names[i]);
        to = put_tokens(to, LONG_TOKENS);
    }
    (void)snprintf(to, 2, "}");
    check_long(json);
    free(json);
}

/* ---- shapes beyond all memory ---- */

#define HUGE_REQUESTS 100
#define STANDS_STILL_BYTES (256 * (size_t)1024)

static void test_huge_shapes(void **state)
{
    static const char *const huge[] = {
        "{\"x\":{\"shape\":[4294967296,4294967296]},\"seed\":1,\"head_size\":16}",
        "{\"x\":{\"shape\":[2147483647,2147483647]},\"seed\":1,\"head_size\":16}",
        "{\"x\":{\"shape\":[65536,65536,65536]},\"seed\":1,\"projection\":\"identity\",\"return\":[\"output\"]}",
    };
    (void)state;
    struct attnd *attnd = attnd_start(NULL, NULL);
    for (size_t i = 0; i < HUGE_REQUESTS; i++)
        check_status(attnd, huge[i % 3], 413);
    size_t before = attnd_resident_bytes(attnd);
    double started = seconds_now();
    for (size_t i = 0; i < HUGE_REQUESTS; i++)
        check_status(attnd, huge[i % 3], 413);
    double seconds = (seconds_now() - started) / HUGE_REQUESTS;
    size_t after = attnd_resident_bytes(attnd);
    print_message("refused after %.2f ms; resident %zu KiB before, %zu KiB after\n", seconds * 1e3, before / 1024,
                  after / 1024);
    assert_true(seconds < 0.5);
    if (!environment_slow())
        assert_true(after <= before + STANDS_STILL_BYTES);
    attnd_stop(attnd);
}

/* ---- many requests ---- */

#define WARM_ROUNDS 12
#define MIXED_REQUESTS 10000
#define FLAT_BYTES (2 * MIB)

/* Sends request number `n`: one case after the other, and other routes in between. */
static void send_mixed(const struct attnd *attnd, const json_t *cases, size_t n)
{
    static const char *const paths[] = {"/health/live", "/health/ready", "/nothing", "/attention", "/v2/models/attention"};
    struct reply reply;
    if (n % 10 == 9) {
        reply = get(attnd, paths[n / 10 % (sizeof paths / sizeof paths[0])], NULL);
    } else {
        char *body = case_body(json_array_get(cases, n % json_array_size(cases)));
        reply = post_json(attnd, "/attention", body, NULL);
        free(body);
    }
    if (reply.status >= 500)
        fail_msg("request %zu: status %ld: %.300s", n, reply.status, reply.body);
    reply_done(&reply);
}

/* Once the daemon has returned to the system what it keeps for the next request. */
static size_t settled_bytes(const struct attnd *attnd)
{
    sleep_s(2);
    return attnd_resident_bytes(attnd);
}

static void test_many_requests(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start(NULL, NULL);
    json_t *cases = cases_load();
    size_t count = environment_slow() ? MIXED_REQUESTS / 20 : MIXED_REQUESTS;
    size_t warm = environment_slow() ? count : WARM_ROUNDS * json_array_size(cases);
    for (size_t n = 0; n < warm; n++)
        send_mixed(attnd, cases, n);
    size_t before = settled_bytes(attnd);
    for (size_t n = 0; n < count; n++)
        send_mixed(attnd, cases, n);
    size_t after = settled_bytes(attnd);
    print_message("%zu requests: resident %zu KiB before, %zu KiB after\n", count, before / 1024, after / 1024);
    if (!environment_slow())
        assert_true(after <= before + FLAT_BYTES);
    json_decref(cases);
    attnd_stop(attnd); /* under a sanitizer, fails where anything leaked */
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_long_sequence_drawn),
    HTTP_TEST(test_long_sequence_sent),
    HTTP_TEST(test_huge_shapes),
    HTTP_TEST(test_many_requests),
};

const struct group memory_group = GROUP(tests);
