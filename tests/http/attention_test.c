/* attention_test.c: POST /attention from end to end: the notebook's numbers, every case of tests/cases, floats that come back as
 * they were sent. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"
#include "tests/support/environment.h"
#include "tests/support/json_tensor.h"
#include "tests/support/number_text.h"
#include "tests/support/request_check.h"
#include "tests/support/test_data.h"

#define HALF_A_DIGIT 0.51e-4

/* ---- numbers ---- */

/* Sends a request that is answered. Holds the reply against the naive evaluation and returns it: new. */
static json_t *answer(const char *text)
{
    struct reply reply = post_json(attnd_shared(), "/attention", text, NULL);
    if (reply.status != 200)
        fail_msg("%s: status %ld: %s", text, reply.status, reply.body);
    assert_string_equal(reply_header(&reply, "Content-Type"), "application/json");
    json_t *request = json_loads(text, 0, NULL), *json = json_loadb(reply.body, reply.body_bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_is_object(request) && json_is_object(json));
    request_check(text, request, json);
    json_decref(request);
    reply_done(&reply);
    return json;
}

/* A result begins with the numbers at `path` of the notebook, to its 4 decimals. */
static void check_printed(const json_t *reply, const char *result, json_t *notebook, const char *path)
{
    size_t count;
    double *want = conformance_numbers(conformance_at(notebook, path), &count);
    struct json_tensor got = json_tensor_read(json_object_get(reply, result), false);
    assert_true(got.count >= count);
    for (size_t k = 0; k < count; k++)
        if (got.values[k] != want[k] && !(fabs(got.values[k] - want[k]) <= HALF_A_DIGIT))
            fail_msg("%s[%zu] is %.9g, the notebook prints %.4f", result, k, got.values[k], want[k]);
    json_tensor_done(&got);
    free(want);
}

static void test_notebook(void **state)
{
    (void)state;
    json_t *notebook = conformance_load("notebook.json");
    json_t *head = answer("{\"seed\": 1337, \"x\": {\"shape\": [4, 8, 32]}, \"head_size\": 16, \"causal\": true, \"scale\": 1, "
                          "\"return\": [\"scores\", \"masked_scores\", \"weights\", \"output\"], \"decimals\": 4}");
    check_printed(head, "scores", notebook, "head/scores_batch0");
    check_printed(head, "masked_scores", notebook, "head/masked_scores_batch0");
    check_printed(head, "weights", notebook, "head/weights_batch0");
    json_t *averages = answer("{\"seed\": 1337, \"x\": {\"shape\": [4, 8, 2]}, \"projection\": \"identity\", \"causal\": true, "
                              "\"scale\": 0}");
    check_printed(averages, "output", notebook, "averaging/running_means");
    check_printed(averages, "weights", notebook, "averaging/weights");
    json_decref(head);
    json_decref(averages);
    json_decref(notebook);
}

static void check_values(const json_t *reply, const char *result, size_t count, const double *want)
{
    struct json_tensor got = json_tensor_read(json_object_get(reply, result), false);
    assert_int_equal(got.count, count);
    for (size_t k = 0; k < count; k++)
        if (!(fabs(got.values[k] - want[k]) <= 1e-6))
            fail_msg("%s[%zu] is %.9g, should be %.9g", result, k, got.values[k], want[k]);
    json_tensor_done(&got);
}

static void test_own_tensors(void **state)
{
    (void)state;
    json_t *reply = answer("{\"query\": [[1, 0], [0, 1]], \"key\": [[1, 0], [0, 1]], \"value\": [[10], [20]]}");
    check_values(reply, "output", 2, (const double[]){13.302385, 16.697615});
    check_values(reply, "weights", 4, (const double[]){0.66976154, 0.33023846, 0.33023846, 0.66976154});
    json_decref(reply);
}

/* The case's request over HTTP has the status and the pointer that it has without. */
static void check_case(const struct attnd *attnd, const json_t *test)
{
    char type[200] = "Content-Type: application/json";
    const char *name = case_text(test, "name"), *given = case_text(test, "content_type"), *pointer = case_text(test, "pointer");
    const char *const headers[] = {type, NULL};
    if (given != NULL)
        (void)snprintf(type, sizeof type, "Content-Type: %s", given);
    char *body = case_body(test);
    struct request request = {.path = "/attention", .body = body, .body_bytes = strlen(body), .headers = headers};
    struct reply reply = request_send(attnd, &request);
    long status = (long)json_integer_value(json_object_get(test, "status"));
    if (reply.curl_code != 0 || reply.status != status)
        fail_msg("%s: status %ld, should be %ld: %.300s", name, reply.status, status, reply.body);
    if (status != 200)
        assert_problem(&reply, status);
    json_t *json = json_loadb(reply.body, reply.body_bytes, JSON_REJECT_DUPLICATES, NULL);
    const char *found = json_string_value(json_object_get(json, "pointer"));
    if (!json_is_object(json) || (pointer != NULL && strcmp(found == NULL ? "" : found, pointer) != 0))
        fail_msg("%s: points to %s, should to %s", name, found == NULL ? "nothing" : found, pointer);
    json_decref(json);
    reply_done(&reply);
    free(body);
}

/* True where the outcome depends on how much memory the daemon may use. */
static bool is_about_memory(const json_t *test)
{
    const char *limit = json_string_value(json_object_get(json_object_get(test, "limit"), "name"));
    return limit != NULL && strcmp(limit, "max-request-memory") == 0;
}

static void test_cases(void **state)
{
    (void)state;
    json_t *cases = cases_load();
    for (size_t i = 0; i < json_array_size(cases); i++)
        if (!is_about_memory(json_array_get(cases, i)))
            check_case(attnd_shared(), json_array_get(cases, i));
    json_decref(cases);
}

/* ---- floats as they are ---- */

#define FLOAT_BYTES_MAX 18 /* "-3.40282347e+38" and brackets and commas around it */

/* Nested arrays of the next floats. Returns the end of the text. */
static char *put_nested(char *to, size_t rank, const size_t *shape, const float **floats)
{
    if (rank == 0)
        return to + snprintf(to, FLOAT_BYTES_MAX, "%.9g", (double)*(*floats)++);
    *to++ = '[';
    for (size_t i = 0; i < shape[0]; i++) {
        if (i > 0)
            *to++ = ',';
        to = put_nested(to, rank - 1, shape + 1, floats);
    }
    *to++ = ']';
    return to;
}

/* Every float of the reply has the bits that were sent. */
static void check_bits(const struct reply *reply, size_t count, const float *sent)
{
    const char *at = strstr(reply->body, "\"query\":");
    assert_non_null(at);
    for (size_t k = 0; k < count; k++) {
        at += strcspn(at, "-0123456789");
        char *end;
        float got = strtof(at, &end);
        if (end == at || memcmp(&got, &sent[k], sizeof got) != 0)
            fail_msg("float %zu is %.9g, %.9g was sent", k, (double)got, (double)sent[k]);
        at = end;
    }
    assert_int_equal(*at, ']');
}

/* [1,8,2048,64] floats of any finite bits there and back. */
static void test_floats_come_back(void **state)
{
    (void)state;
    const size_t shape[4] = {1, 8, environment_slow() ? 128 : 2048, 64}, count = shape[1] * shape[2] * shape[3];
    struct attnd *attnd = attnd_start(NULL, NULL);
    struct draw draw = {1};
    float *floats = malloc(count * sizeof *floats);
    char *text = malloc(count * FLOAT_BYTES_MAX + 4 * shape[1] * shape[2] + 1000);
    assert_non_null(floats);
    assert_non_null(text);
    for (size_t k = 0; k < count; k++)
        floats[k] = number_draw_f32(&draw);
    char *to = text + snprintf(text, 100, "{\"return\":[\"query\"],\"value\":[[[[1]]]],\"key\":");
    const float zeros[64] = {0}, *next = zeros;
    to = put_nested(to, 4, (const size_t[]){1, 1, 1, 64}, &next);
    to += snprintf(to, 100, ",\"query\":");
    next = floats;
    to = put_nested(to, 4, shape, &next);
    (void)snprintf(to, 100, "}");
    struct reply reply = post_json(attnd, "/attention", text, NULL);
    if (reply.status != 200)
        fail_msg("status %ld: %.300s", reply.status, reply.body);
    check_bits(&reply, count, floats);
    reply_done(&reply);
    free(text);
    free(floats);
    attnd_stop(attnd);
}

/* ---- */

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_notebook),
    HTTP_TEST(test_own_tensors),
    HTTP_TEST(test_cases),
    HTTP_TEST(test_floats_come_back),
};

const struct group attention_group = GROUP(tests);
