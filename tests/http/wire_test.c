/* wire_test.c: bodies that are not plain JSON, over HTTP; statistics. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

#define KSERVE_PATH "/v2/models/attention/infer"
#define KSERVE_JSON                                                                                                            \
    "{\"inputs\":[{\"name\":\"Q\",\"datatype\":\"FP32\",\"shape\":[1,1,1,1],\"data\":[0]},"                                    \
    "{\"name\":\"K\",\"datatype\":\"FP32\",\"shape\":[1,1,2,1],\"data\":[0,0]},"                                               \
    "{\"name\":\"V\",\"datatype\":\"FP32\",\"shape\":[1,1,2,1],\"data\":[10,20]}]}"

/* ---- statistics ---- */

static json_t *statistics(const struct attnd *attnd, const char *path)
{
    struct reply reply = get(attnd, path, NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Content-Type"), "application/json");
    json_t *json = json_loadb(reply.body, reply.body_bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    reply_done(&reply);
    json_t *model = json_incref(json_array_get(json_object_get(json, "model_stats"), 0));
    assert_int_equal(json_array_size(json_object_get(json, "model_stats")), 1);
    json_decref(json);
    return model;
}

static json_int_t part(const json_t *model, const char *name, const char *what)
{
    const json_t *number = json_object_get(json_object_get(json_object_get(model, "inference_stats"), name), what);
    assert_true(json_is_integer(number));
    return json_integer_value(number);
}

static void check_counts(const json_t *model, json_int_t success, json_int_t fail)
{
    static const char *const parts[] = {"success", "queue", "compute_input", "compute_infer", "compute_output"};
    assert_string_equal(json_string_value(json_object_get(model, "name")), "attention");
    assert_string_equal(json_string_value(json_object_get(model, "version")), "1");
    assert_int_equal(json_integer_value(json_object_get(model, "inference_count")), success);
    assert_int_equal(json_integer_value(json_object_get(model, "execution_count")), success);
    assert_true((json_integer_value(json_object_get(model, "last_inference")) > 0) == (success > 0));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        assert_int_equal(part(model, parts[i], "count"), success);
        assert_true((part(model, parts[i], "ns") > 0) == (success > 0));
    }
    assert_int_equal(part(model, "fail", "count"), fail);
    assert_true((part(model, "fail", "ns") > 0) == (fail > 0));
    assert_true(part(model, "queue", "ns") + part(model, "compute_input", "ns") + part(model, "compute_infer", "ns") +
                    part(model, "compute_output", "ns") <=
                part(model, "success", "ns"));
}

static void kserve(const struct attnd *attnd, const char *path, const char *json, long status)
{
    struct reply reply = post_json(attnd, path, json, NULL);
    assert_int_equal(reply.status, status);
    reply_done(&reply);
}

static void test_statistics(void **state)
{
    (void)state;
    static const char *const paths[] = {"/v2/models/attention/stats", "/v2/models/stats",
                                        "/v2/models/attention/versions/1/stats"};
    struct attnd *attnd = attnd_start("--threads", "2");
    json_t *model = statistics(attnd, paths[0]);
    check_counts(model, 0, 0);
    json_decref(model);
    kserve(attnd, KSERVE_PATH, KSERVE_JSON, 200);
    kserve(attnd, KSERVE_PATH, "{\"inputs\":[]}", 422);
    kserve(attnd, "/v2/models/attention/versions/1/infer", KSERVE_JSON, 200);
    kserve(attnd, "/attention", SMALL_JSON, 200); /* has no part in the protocol's statistics */
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        model = statistics(attnd, paths[i]);
        check_counts(model, 2, 1);
        json_decref(model);
    }
    attnd_stop(attnd);
}

/* ---- gzip ---- */

/* New, to be freed. */
static char *deflated(const char *text, size_t bytes, size_t *ret_bytes)
{
    char *out = malloc(compressBound(bytes) + 64);
    assert_non_null(out);
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)bytes, .next_out = (Bytef *)out};
    stream.avail_out = (uInt)compressBound(bytes) + 64;
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *ret_bytes = stream.total_out;
    (void)deflateEnd(&stream);
    return out;
}

static char *inflated(const struct reply *reply, size_t *ret_bytes)
{
    const size_t capacity = (size_t)64 << 20;
    char *out = malloc(capacity);
    assert_non_null(out);
    z_stream stream = {.next_in = (Bytef *)reply->body, .avail_in = (uInt)reply->body_bytes, .next_out = (Bytef *)out};
    stream.avail_out = (uInt)capacity;
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    *ret_bytes = stream.total_out;
    (void)inflateEnd(&stream);
    return out;
}

/* 256x256 weights: some hundred kilobytes of JSON. */
#define LARGE_JSON                                                                                                             \
    "{\"seed\": 1, \"x\": {\"shape\": [256, 8]}, \"projection\": \"identity\", \"return\": [\"weights\", \"output\"]}"

static void test_gzip_requests(void **state)
{
    (void)state;
    size_t bytes;
    char *body = deflated(SMALL_JSON, strlen(SMALL_JSON), &bytes);
    struct reply plain = post_json(attnd_shared(), "/attention", SMALL_JSON, NULL);
    static const char *const names[] = {"Content-Encoding: gzip", "Content-Encoding: GZIP", "Content-Encoding: x-gzip"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct reply reply = post(attnd_shared(), "/attention", body, bytes, "Content-Type: application/json", names[i]);
        assert_int_equal(reply.status, 200);
        assert_string_equal(reply.body, plain.body);
        reply_done(&reply);
    }
    struct reply reply = post(attnd_shared(), "/attention", body, bytes - 1, "Content-Encoding: gzip");
    assert_problem(&reply, 400);
    reply_done(&reply);
    reply = post(attnd_shared(), "/attention", body, bytes, NULL);
    assert_problem(&reply, 400);
    reply_done(&reply);
    reply_done(&plain);
    free(body);
}

static void test_unknown_encodings(void **state)
{
    (void)state;
    static const char *const names[] = {"Content-Encoding: br", "Content-Encoding: deflate", "Content-Encoding: gzip, gzip",
                                        "Content-Encoding: zstd"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct reply reply = post_json(attnd_shared(), "/attention", SMALL_JSON, names[i]);
        assert_problem(&reply, 415);
        assert_string_equal(reply_header(&reply, "Accept-Encoding"), "gzip");
        reply_done(&reply);
    }
    struct reply reply = post_json(attnd_shared(), "/attention", SMALL_JSON, "Content-Encoding: identity");
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    reply = post(attnd_shared(), "/attention", SMALL_JSON, strlen(SMALL_JSON), "Content-Type: text/html");
    assert_problem(&reply, 415);
    assert_null(reply_header(&reply, "Accept-Encoding"));
    reply_done(&reply);
}

/* A megabyte that would become a gigabyte ends at max-body, and takes no more memory than that. */
static void test_gzip_bombs(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--threads", "2", "--max-body", "4M");
    const size_t zeros_bytes = (size_t)64 << 20;
    char *zeros = malloc(zeros_bytes);
    assert_non_null(zeros);
    memset(zeros, ' ', zeros_bytes);
    size_t bytes;
    char *body = deflated(zeros, zeros_bytes, &bytes), *bomb = malloc(16 * bytes);
    assert_non_null(bomb);
    for (size_t i = 0; i < 16; i++)
        memcpy(bomb + i * bytes, body, bytes);
    size_t before = attnd_resident_bytes(attnd);
    struct reply reply = post(attnd, "/attention", bomb, 16 * bytes, "Content-Encoding: gzip");
    assert_problem(&reply, 413);
    assert_non_null(strstr(reply.body, "\"max-body\""));
    assert_true(reply.seconds < 20);
    reply_done(&reply);
    assert_true(attnd_resident_bytes(attnd) < before + ((size_t)32 << 20));
    reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    free(bomb);
    free(body);
    free(zeros);
    attnd_stop(attnd);
}

/* A body that deflates little is read up to the limit, as it is when it comes plain. */
static void test_gzip_to_the_limit(void **state)
{
    static const size_t sizes[] = {14400000, (size_t)16 << 20, ((size_t)16 << 20) + 1};
    (void)state;
    struct attnd *attnd = attnd_start("--memory", "200M", "--max-body", "16M");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *text = malloc(sizes[i]);
        unsigned drawn = 1;
        assert_non_null(text);
        for (size_t k = 0; k < sizes[i]; k++) {
            drawn = drawn * 1664525 + 1013904223;
            text[k] = " \t\r\n"[drawn >> 30]; /* blanks of four kinds: a quarter of their bytes */
        }
        memcpy(text + sizes[i] - strlen(SMALL_JSON), SMALL_JSON, strlen(SMALL_JSON));
        size_t bytes;
        char *body = deflated(text, sizes[i], &bytes);
        assert_true(bytes > sizes[i] / 5);
        struct reply reply = post(attnd, "/attention", body, bytes, "Content-Encoding: gzip");
        assert_int_equal(reply.status, i < 2 ? 200 : 413);
        if (i == 2)
            assert_non_null(strstr(reply.body, "\"limit\":{\"name\":\"max-body\",\"value\":16777216}"));
        reply_done(&reply);
        free(body);
        free(text);
    }
    attnd_stop(attnd);
}

/* A compressed body counts too until it is inflated: what does not fit beside it is refused for the memory, by that name. */
static void test_gzip_beside_itself(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--memory", "16M", "--max-body", "15M", "--max-request-memory", "1M");
    const size_t text_bytes = (size_t)14 << 20;
    char *text = malloc(text_bytes);
    unsigned drawn = 1;
    assert_non_null(text);
    for (size_t k = 0; k < text_bytes; k++) {
        drawn = drawn * 1664525 + 1013904223;
        text[k] = " \t\r\n"[drawn >> 30];
    }
    size_t bytes;
    char *body = deflated(text, text_bytes, &bytes);
    struct reply reply = post(attnd, "/attention", body, bytes, "Content-Encoding: gzip");
    assert_int_equal(reply.status, 413);
    assert_non_null(strstr(reply.body, "\"limit\":{\"name\":\"memory\",\"value\":16777216}"));
    reply_done(&reply);
    free(body);
    free(text);
    attnd_stop(attnd);
}

/* Whether a body fits never depends on how it came there, and what fits beside nothing is not told to try again. */
static void test_gzip_fills_the_memory(void **state)
{
    static const struct {
        size_t bytes;
        long status;
    } cases[] = {{(size_t)21 << 20, 200}, {(size_t)31 << 20, 200}, {(size_t)33 << 20, 413}, {(size_t)100 << 20, 413}};
    (void)state;
    struct attnd *attnd = attnd_start("--memory", "64M", "--max-body", "32M", "--max-request-memory", "32M");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = malloc(cases[i].bytes);
        assert_non_null(text);
        memset(text, ' ', cases[i].bytes);
        memcpy(text + cases[i].bytes - strlen(SMALL_JSON), SMALL_JSON, strlen(SMALL_JSON));
        size_t bytes;
        char *body = deflated(text, cases[i].bytes, &bytes);
        struct reply reply = post(attnd, "/attention", body, bytes, "Content-Encoding: gzip");
        assert_int_equal(reply.status, cases[i].status);
        reply_done(&reply);
        free(body);
        free(text);
    }
    attnd_stop(attnd);
}

static void check_gzip_reply(const struct attnd *attnd, const char *accept_encoding, const char *accept, bool wanted,
                             bool varies)
{
    struct reply plain = post_json(attnd, "/attention", LARGE_JSON, accept);
    struct reply reply = post_json(attnd, "/attention", LARGE_JSON, accept, accept_encoding);
    assert_true(plain.status == 200 && reply.status == 200);
    assert_null(reply_header(&plain, "Content-Encoding"));
    assert_true((reply_header(&plain, "Vary") != NULL) == varies && (reply_header(&reply, "Vary") != NULL) == varies);
    const char *encoding = reply_header(&reply, "Content-Encoding");
    assert_true((encoding != NULL) == wanted);
    if (wanted) {
        size_t bytes;
        char *body = inflated(&reply, &bytes);
        assert_string_equal(encoding, "gzip");
        assert_int_equal(bytes, plain.body_bytes);
        assert_memory_equal(body, plain.body, bytes);
        assert_true(reply.body_bytes < plain.body_bytes);
        free(body);
    } else {
        assert_int_equal(reply.body_bytes, plain.body_bytes);
    }
    reply_done(&reply);
    reply_done(&plain);
}

#define JSON_WANTED "Accept: application/json"
#define FILE_WANTED "Accept: application/x-safetensors"

static void test_gzip_replies(void **state)
{
    (void)state;
    check_gzip_reply(attnd_shared(), "Accept-Encoding: gzip", JSON_WANTED, true, true);
    check_gzip_reply(attnd_shared(), "Accept-Encoding: gzip, deflate, br", JSON_WANTED, true, true);
    check_gzip_reply(attnd_shared(), "Accept-Encoding: gzip;q=0", JSON_WANTED, false, true);
    check_gzip_reply(attnd_shared(), "Accept-Encoding: identity, gzip;q=0.5", JSON_WANTED, false, true);
    check_gzip_reply(attnd_shared(), "Accept-Encoding: br", JSON_WANTED, false, true);
    check_gzip_reply(attnd_shared(), "Accept-Encoding: gzip", FILE_WANTED, false, false);
    struct reply reply = post_json(attnd_shared(), "/attention", SMALL_JSON, "Accept-Encoding: gzip"); /* not worth it */
    assert_int_equal(reply.status, 200);
    assert_null(reply_header(&reply, "Content-Encoding"));
    assert_string_equal(reply_header(&reply, "Vary"), "Accept-Encoding");
    reply_done(&reply);
}

static void test_gzip_option(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--gzip", "off");
    check_gzip_reply(attnd, "Accept-Encoding: gzip", JSON_WANTED, false, false);
    attnd_stop(attnd);
    attnd = attnd_start("--gzip", "all");
    check_gzip_reply(attnd, "Accept-Encoding: gzip", JSON_WANTED, true, true);
    check_gzip_reply(attnd, "Accept-Encoding: gzip", FILE_WANTED, true, true);
    attnd_stop(attnd);
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    const char *const options[] = {"--gzip", "yes", NULL};
    assert_int_equal(attnd_run(options, out, err), 2);
    assert_non_null(strstr(err, "--gzip: \"yes\" is neither json, all nor off"));
}

/* ---- large bodies ---- */

/* A reply of many parts, read whole. */
static void test_large_replies(void **state)
{
    (void)state;
    static const char text[] =
        "{\"seed\": 1, \"x\": {\"shape\": [1500, 8]}, \"projection\": \"identity\", \"return\": [\"weights\"]}";
    struct reply json = post_json(attnd_shared(), "/attention", text, NULL);
    struct reply file = post_json(attnd_shared(), "/attention", text, FILE_WANTED);
    assert_true(json.status == 200 && file.status == 200);
    assert_string_equal(reply_header(&file, "Content-Type"), "application/x-safetensors");
    json_t *tree = json_loadb(json.body, json.body_bytes, JSON_REJECT_DUPLICATES, NULL);
    const json_t *weights = json_object_get(tree, "weights");
    assert_int_equal(json_array_size(weights), 1500);
    const size_t data_bytes = (size_t)1500 * 1500 * sizeof(float);
    assert_true(file.body_bytes > data_bytes);
    const char *data = file.body + file.body_bytes - data_bytes;
    for (size_t row = 0; row < 1500; row++) {
        assert_int_equal(json_array_size(json_array_get(weights, row)), 1500);
        for (size_t column = 0; column < 1500; column++) {
            float number;
            memcpy(&number, data + (row * 1500 + column) * sizeof number, sizeof number);
            assert_true((float)json_real_value(json_array_get(json_array_get(weights, row), column)) == number);
        }
    }
    json_decref(tree);
    reply_done(&file);
    reply_done(&json);
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_statistics),
    HTTP_TEST(test_gzip_requests),
    HTTP_TEST(test_unknown_encodings),
    HTTP_TEST(test_gzip_bombs),
    HTTP_TEST(test_gzip_to_the_limit),
    HTTP_TEST(test_gzip_beside_itself),
    HTTP_TEST(test_gzip_fills_the_memory),
    HTTP_TEST(test_gzip_replies),
    HTTP_TEST(test_gzip_option),
    HTTP_TEST(test_large_replies),
};
const struct group wire_group = GROUP(tests);
