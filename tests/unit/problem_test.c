/* Every error as a problem: statuses, members, and the longest texts, for which PROBLEM_BYTES_MAX suffices. */
#include <jansson.h>
#include <string.h>

#include "api/api.h"
#include "api/protocol/problem.h"
#include "tests/support/check.h"

static json_t *written(const struct error *err)
{
    char buffer[PROBLEM_BYTES_MAX];
    size_t bytes = problem_write(err, buffer, sizeof buffer);
    assert_true(bytes <= sizeof buffer && buffer[bytes - 1] == '\n');
    json_t *json = json_loadb(buffer, bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_is_object(json));
    return json;
}

static const char *text_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text == NULL ? "" : text;
}

static void test_every_code(void **state)
{
    static const struct {
        enum error_code code;
        int status;
        const char *type, *title;
    } expected[] = {
        {ERROR_MALFORMED, 400, "malformed", "Bad Request"},
        {ERROR_UNAUTHORIZED, 401, "unauthorized", "Unauthorized"},
        {ERROR_NOT_FOUND, 404, "not-found", "Not Found"},
        {ERROR_METHOD, 405, "method", "Method Not Allowed"},
        {ERROR_TOO_SLOW, 408, "too-slow", "Request Timeout"},
        {ERROR_TOO_LARGE, 413, "too-large", "Content Too Large"},
        {ERROR_HEAD_TOO_LARGE, 431, "head-too-large", "Request Header Fields Too Large"},
        {ERROR_UNSUPPORTED_MEDIA, 415, "unsupported-media", "Unsupported Media Type"},
        {ERROR_INVALID, 422, "invalid", "Unprocessable Content"},
        {ERROR_NO_MEMORY, 503, "no-memory", "Service Unavailable"},
        {ERROR_BUSY, 503, "busy", "Service Unavailable"},
        {ERROR_DEADLINE, 503, "deadline", "Service Unavailable"},
        {ERROR_INTERNAL, 500, "internal", "Internal Server Error"},
        {ERROR_NONE, 500, "internal", "Internal Server Error"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char type[100] = "urn:attnd:problem:";
        struct error err = {.code = expected[i].code, .text = "what went wrong"};
        json_t *json = written(&err);
        (void)strncat(type, expected[i].type, 50);
        assert_int_equal(problem_status(expected[i].code), expected[i].status);
        assert_int_equal(problem_retry_after_s(expected[i].code) > 0, expected[i].status == 503);
        assert_string_equal(text_of(json, "type"), type);
        assert_string_equal(text_of(json, "title"), expected[i].title);
        assert_string_equal(text_of(json, "detail"), "what went wrong");
        assert_int_equal(json_integer_value(json_object_get(json, "status")), expected[i].status);
        assert_int_equal(json_object_size(json), 4);
        json_decref(json);
    }
}

static void test_pointer_and_limit(void **state)
{
    (void)state;
    struct error err;
    error_init(&err);
    (void)error_set_at(&err, ERROR_INVALID, "/a~1b/\"q\"", "two\nlines");
    json_t *json = written(&err);
    assert_string_equal(text_of(json, "pointer"), "/a~1b/\"q\"");
    assert_string_equal(text_of(json, "detail"), "two\nlines");
    assert_null(json_object_get(json, "limit"));
    json_decref(json);

    error_init(&err);
    (void)error_set_limit(&err, "max-body", 1048576, "too long");
    json = written(&err);
    const json_t *limit = json_object_get(json, "limit");
    assert_string_equal(text_of(limit, "name"), "max-body");
    assert_int_equal(json_integer_value(json_object_get(limit, "value")), 1048576);
    assert_int_equal(json_object_size(limit), 2);
    assert_null(json_object_get(json, "pointer"));
    json_decref(json);
}

/* Each character of each text is one that takes six. */
static void test_longest_problem(void **state)
{
    (void)state;
    static const char worst[] = {'\x01', '\xff', '\x7f', '"'};
    for (size_t i = 0; i < sizeof worst; i++) {
        for (int code = ERROR_NONE; code <= ERROR_INTERNAL; code++) {
            struct error err = {.code = (enum error_code)code, .limit_value = UINT64_MAX};
            memset(err.text, worst[i], sizeof err.text - 1);
            memset(err.pointer, worst[i], sizeof err.pointer - 1);
            memset(err.limit_name, worst[i], sizeof err.limit_name - 1);
            char buffer[PROBLEM_BYTES_MAX];
            size_t bytes = problem_write(&err, buffer, sizeof buffer);
            json_t *json = json_loadb(buffer, bytes, JSON_DECODE_INT_AS_REAL, NULL);
            assert_true(json_is_object(json));
            json_decref(json);
        }
    }
}

static void test_api_problem(void **state)
{
    (void)state;
    struct error err;
    struct api_call call = {.protocol = &api_protocol_attention};
    error_init(&err);
    (void)error_set(&err, ERROR_METHOD, "only GET is answered here");
    api_problem(&err, "GET, HEAD", &call);
    assert_int_equal(call.reply.status, 405);
    assert_string_equal(call.reply.allow, "GET, HEAD");
    assert_string_equal(call.reply.content_type, "application/problem+json");
    assert_int_equal(call.reply.retry_after_s, 0);
    assert_int_equal(call.reply.error, ERROR_METHOD);
    json_t *json = json_loadb(call.reply.body, call.reply.body_bytes, 0, NULL);
    assert_string_equal(text_of(json, "detail"), "only GET is answered here");
    json_decref(json);
    api_call_done(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code),
        cmocka_unit_test(test_pointer_and_limit),
        cmocka_unit_test(test_longest_problem),
        cmocka_unit_test(test_api_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
