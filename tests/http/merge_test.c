/* merge_test.c: POST /attention/merge over HTTP: replies of POST /attention as its parts, formats, errors, deadline, limits, memory. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"
#include "tests/support/binary_client.h"
#include "tests/support/environment.h"
#include "tests/support/json_tensor.h"

#define MERGE_PATH "/attention/merge"
#define SAFETENSORS "application/x-safetensors"
#define PARTS "{\"parts\": [{\"output\": [[5]], \"lse\": [1]}, {\"output\": [[6]], \"lse\": [1]}]}"
#define MIB ((size_t)1 << 20)

/* The reply's tensor, whose numbers stand one after the other: new. */
static struct json_tensor reply_tensor(const struct reply *reply, const char *name, size_t count)
{
    if (reply->status != 200)
        fail_msg("status %ld: %.300s", reply->status, reply->body);
    json_t *json = json_loadb(reply->body, reply->body_bytes, JSON_REJECT_DUPLICATES, NULL);
    struct json_tensor tensor = json_tensor_read(json_object_get(json, name), false);
    assert_int_equal(tensor.count, count);
    json_decref(json);
    return tensor;
}

/* ---- parts ---- */

#define QUESTION "\"query\": [[0], [1]], \"causal\": true, \"query_offset\": 2, \"return\": [\"output\", \"lse\"], "

/* What POST /attention answers goes into a merge as it came. */
static void test_replies_as_they_came(void **state)
{
    static const char *const requests[] = {
        "{" QUESTION "\"key\": [[1], [2]], \"value\": [[1], [2]], \"key_positions\": [0, 1], \"sinks\": [0.5]}",
        "{" QUESTION "\"key\": [[3], [4]], \"value\": [[3], [4]], \"key_positions\": [2, 3]}",
        "{" QUESTION "\"key\": [[1], [2], [3], [4]], \"value\": [[1], [2], [3], [4]], \"sinks\": [0.5]}",
    };
    struct reply replies[3];
    char *merge;
    (void)state;
    for (size_t i = 0; i < 3; i++)
        replies[i] = post_json(attnd_shared(), "/attention", requests[i], NULL);
    assert_true(asprintf(&merge, "{\"parts\": [%s, %s]}", replies[0].body, replies[1].body) > 0);
    struct reply merged = post_json(attnd_shared(), MERGE_PATH, merge, NULL);
    for (size_t i = 0; i < 2; i++) {
        struct json_tensor want = reply_tensor(&replies[2], i == 0 ? "output" : "lse", 2);
        struct json_tensor got = reply_tensor(&merged, i == 0 ? "output" : "lse", 2);
        for (size_t k = 0; k < 2; k++)
            assert_true(fabs(got.values[k] - want.values[k]) <= 4 * 2e-6);
        json_tensor_done(&want);
        json_tensor_done(&got);
    }
    for (size_t i = 0; i < 3; i++)
        reply_done(&replies[i]);
    reply_done(&merged);
    free(merge);
}

/* ---- formats ---- */

#define TENSOR(name, shape, begin, end)                                                                                        \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

/* JSON and safetensors files, each answered as each. */
static void test_formats(void **state)
{
    static const char header[] = "{" TENSOR("output.0", "[1,1]", "0", "4") "," TENSOR("lse.0", "[1]", "4", "8") "," TENSOR(
        "output.1", "[1,1]", "8", "12") "," TENSOR("lse.1", "[1]", "12", "16") "}";
    const float numbers[4] = {5, 1, 6, 1};
    size_t file_bytes;
    (void)state;
    char *file = safetensors_file(header, numbers, sizeof numbers, &file_bytes);
    for (size_t i = 0; i < 4; i++) {
        const bool sends_file = i & 1, wants_file = i & 2;
        const char *const headers[] = {sends_file ? "Content-Type: " SAFETENSORS : "Content-Type: application/json",
                                       wants_file ? "Accept: " SAFETENSORS : "Accept: application/json", NULL};
        struct reply reply =
            post_with(attnd_shared(), MERGE_PATH, sends_file ? file : PARTS, sends_file ? file_bytes : strlen(PARTS), headers);
        assert_int_equal(reply.status, 200);
        assert_string_equal(reply_header(&reply, "Content-Type"), wants_file ? SAFETENSORS : "application/json");
        if (wants_file) {
            float merged[2]; /* output and lse are the file's last bytes */
            memcpy(merged, reply.body + reply.body_bytes - sizeof merged, sizeof merged);
            assert_true(merged[0] == 5.5F && fabsf(merged[1] - 1.6931472F) < 1e-6F);
        } else {
            struct json_tensor output = reply_tensor(&reply, "output", 1);
            assert_true(output.values[0] == 5.5);
            json_tensor_done(&output);
        }
        reply_done(&reply);
    }
    struct reply reply = post(attnd_shared(), MERGE_PATH, PARTS, strlen(PARTS), "Content-Type: image/png", NULL);
    assert_problem(&reply, 415);
    reply_done(&reply);
    free(file);
}

/* ---- errors ---- */

static void test_errors(void **state)
{
    static const struct {
        const char *body;
        long status;
        const char *words;
    } wrong[] = {
        {"{", 400, "\"detail\":"},
        {"{}", 422, "parts is missing"},
        {"{\"parts\": [{\"output\": [[5]]}]}", 422, "\"pointer\":\"/parts/0\""},
        {"{\"parts\": [{\"output\": [[5], [6, 7]], \"lse\": [1, 2]}]}", 422, "\"pointer\":\"/parts/0/output/1\""},
        {"{\"parts\": [{\"output\": [[5]], \"lse\": [1]}], \"causal\": true}", 422, "\"pointer\":\"/causal\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct reply reply = post_json(attnd_shared(), MERGE_PATH, wrong[i].body, NULL);
        assert_problem(&reply, wrong[i].status);
        if (strstr(reply.body, wrong[i].words) == NULL)
            fail_msg("%s: no %s in %s", wrong[i].body, wrong[i].words, reply.body);
        reply_done(&reply);
    }
    struct reply reply = get(attnd_shared(), MERGE_PATH, NULL);
    assert_problem(&reply, 405);
    assert_string_equal(reply_header(&reply, "Allow"), "POST, OPTIONS");
    reply_done(&reply);
}

/* ---- large merges ---- */

/* A file of parts, each `rows` rows of 64 numbers: output 1, 2, .. and lse 0. New. */
static char *large_file(size_t parts, size_t rows, size_t *ret_bytes)
{
    const size_t part_bytes = rows * 65 * sizeof(float);
    char *header = malloc(200 * parts + 100), *to = header;
    float *numbers = calloc(parts, part_bytes);
    assert_non_null(header);
    assert_non_null(numbers);
    to += snprintf(to, 100, "{\"__metadata__\":{\"request\":\"{\\\"return\\\":[\\\"output\\\"]}\"}");
    for (size_t p = 0; p < parts; p++) {
        const size_t begin = p * part_bytes, middle = begin + rows * 64 * sizeof(float);
        to += snprintf(to, 200,
                       ",\"output.%zu\":{\"dtype\":\"F32\",\"shape\":[%zu,64],\"data_offsets\":[%zu,%zu]}"
                       ",\"lse.%zu\":{\"dtype\":\"F32\",\"shape\":[%zu],\"data_offsets\":[%zu,%zu]}",
                       p, rows, begin, middle, p, rows, middle, begin + part_bytes);
        for (size_t k = 0; k < rows * 64; k++)
            numbers[p * rows * 65 + k] = (float)(p + 1);
    }
    (void)snprintf(to, 2, "}");
    char *file = safetensors_file(header, numbers, parts * part_bytes, ret_bytes);
    free(header);
    free(numbers);
    return file;
}

static struct reply post_file(const struct attnd *attnd, const char *file, size_t bytes)
{
    return post(attnd, MERGE_PATH, file, bytes, "Content-Type: " SAFETENSORS, "Accept: " SAFETENSORS, "Expect:", NULL);
}

/* Parts that do not all arrive in time. */
static void test_deadline(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--request-timeout", "1");
    int fd = raw_connect(attnd);
    raw_send(fd, "POST " MERGE_PATH " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
                 "{\"parts\": [{\"output\": [[5]]");
    char *answer = raw_read(fd, 60);
    assert_int_equal(strncmp(answer, "HTTP/1.1 408 ", 13), 0);
    free(answer);
    (void)close(fd);
    struct reply reply = post_json(attnd, MERGE_PATH, PARTS, NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    attnd_stop(attnd);
}

static void test_limits(void **state)
{
    size_t bytes;
    (void)state;
    char *file = large_file(2, 8192, &bytes); /* 4 MiB, and 10 MiB to compute */
    struct attnd *attnd = attnd_start("--max-body", "3M");
    struct reply reply = post_file(attnd, file, bytes);
    assert_problem(&reply, 413);
    assert_non_null(strstr(reply.body, "\"limit\":{\"name\":\"max-body\",\"value\":3145728}"));
    reply_done(&reply);
    attnd_stop(attnd);
    attnd = attnd_start("--max-request-memory", "6M");
    reply = post_file(attnd, file, bytes);
    assert_problem(&reply, 413);
    assert_non_null(strstr(reply.body, "\"limit\":{\"name\":\"max-request-memory\",\"value\":6291456}"));
    reply_done(&reply);
    attnd_stop(attnd);
    free(file);
}

/* Beyond the body, 32 parts take no more than 2 would: two outputs in double. In double all of them would be 64 MiB. */
static void test_memory(void **state)
{
    size_t bytes;
    (void)state;
    struct attnd *attnd = attnd_start(NULL, NULL);
    char *file = large_file(32, 4096, &bytes);
    size_t before = attnd_peak_bytes(attnd);
    struct reply reply = post_file(attnd, file, bytes);
    assert_int_equal(reply.status, 200);
    float last;
    memcpy(&last, reply.body + reply.body_bytes - sizeof last, sizeof last);
    assert_true(last == 16.5F); /* the mean of 1 to 32 */
    reply_done(&reply);
    size_t taken = attnd_peak_bytes(attnd) - before;
    print_message("%zu MiB of parts: %zu MiB taken\n", bytes / MIB, taken / MIB);
    if (!environment_slow()) /* a sanitizer takes memory of its own */
        assert_true(taken < bytes + 16 * MIB);
    free(file);
    attnd_stop(attnd);
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_replies_as_they_came),
    HTTP_TEST(test_formats),
    HTTP_TEST(test_errors),
    HTTP_TEST(test_deadline),
    HTTP_TEST(test_limits),
    HTTP_TEST(test_memory),
};

const struct group merge_group = GROUP(tests);
