/* wire_test.c: bodies that are not plain JSON, over HTTP; statistics. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

#define INFER_PATH "/v2/models/attention/infer"
#define INFER_JSON                                                                                                             \
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

static void infer(const struct attnd *attnd, const char *path, const char *json, long status)
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
    struct attnd *attnd = attnd_start("--threads", "2", NULL);
    json_t *model = statistics(attnd, paths[0]);
    check_counts(model, 0, 0);
    json_decref(model);
    infer(attnd, INFER_PATH, INFER_JSON, 200);
    infer(attnd, INFER_PATH, "{\"inputs\":[]}", 422);
    infer(attnd, "/v2/models/attention/versions/1/infer", INFER_JSON, 200);
    infer(attnd, "/attention", SMALL_JSON, 200); /* has no part in the protocol's statistics */
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        model = statistics(attnd, paths[i]);
        check_counts(model, 2, 1);
        json_decref(model);
    }
    attnd_stop(attnd);
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_statistics),
};
const struct group wire_group = GROUP(tests);
