#include "tests/ask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/size.h"
#include "core/tensor.h"
#include "tests/check.h"
#include "tests/view.h"

static const struct api_limits usual_limits = {.request_memory_bytes_max = ASK_MEMORY_BYTES_MAX};

static void join_parts(struct ask *ask)
{
    struct api_reply *reply = &ask->call.reply;
    size_t bytes = reply->body_bytes;
    if (reply->part_count == 0)
        return;
    for (size_t i = 0; i < reply->part_count; i++)
        bytes += reply->parts[i].bytes;
    ask->joined = malloc(bytes);
    assert_non_null(ask->joined);
    memcpy(ask->joined, reply->body, reply->body_bytes);
    char *at = ask->joined + reply->body_bytes;
    for (size_t i = 0; i < reply->part_count; at += reply->parts[i].bytes, i++)
        memcpy(at, reply->parts[i].data, reply->parts[i].bytes);
    reply->body = ask->joined;
    reply->body_bytes = bytes;
    reply->part_count = 0;
}

typedef void ask_function(const struct api_request *request, const struct api_limits *limits, const struct executor *executor,
                          struct api_call *call);

static void ask_by(struct ask *ask, ask_function *function, const char *label, const char *text, size_t text_bytes,
                   const char *content_type, const struct api_limits *limits, const struct executor *executor)
{
    *ask = (struct ask){.label = label, .body = malloc(size_max(text_bytes, 1))};
    assert_non_null(ask->body);
    memcpy(ask->body, text, text_bytes);
    const struct api_request request = {.content_type = content_type, .body = ask->body, .body_bytes = text_bytes};
    function(&request, limits, executor, &ask->call);
    join_parts(ask);
    json_error_t error;
    ask->reply = json_loadb(ask->call.reply.body, ask->call.reply.body_bytes, JSON_REJECT_DUPLICATES, &error);
    if (ask->reply == NULL)
        fail_msg("%s: the reply is not JSON: %s\n%.*s", label, error.text, (int)ask->call.reply.body_bytes,
                 ask->call.reply.body);
}

void ask_attention(struct ask *ask, const char *label, const char *text, size_t text_bytes, const struct executor *executor)
{
    ask_by(ask, api_attention, label, text, text_bytes, "application/json", &usual_limits, executor);
}

void ask_infer(struct ask *ask, const char *label, const char *text, size_t text_bytes, const struct executor *executor)
{
    ask_by(ask, api_infer, label, text, text_bytes, "application/json", &usual_limits, executor);
}

void ask_attention_with(struct ask *ask, const char *label, const char *text, size_t text_bytes, const char *content_type,
                        const struct api_limits *limits, const struct executor *executor)
{
    ask_by(ask, api_attention, label, text, text_bytes, content_type, limits, executor);
    ask_check_reply(ask);
}

const char *ask_problem_text(const struct ask *ask, const char *name)
{
    const char *text = json_string_value(json_object_get(ask->reply, name));
    return text == NULL ? "" : text;
}

static void check_problem(const struct ask *ask)
{
    static const char *const names[] = {"type", "title", "status", "detail", "pointer", "limit"};
    const struct api_reply *reply = &ask->call.reply;
    assert_string_equal(reply->content_type, "application/problem+json");
    assert_true(reply->status >= 400 && reply->status < 600 && reply->error != ERROR_NONE);
    assert_true((reply->retry_after_s > 0) == (reply->status == 503));
    assert_int_equal(json_integer_value(json_object_get(ask->reply, "status")), reply->status);
    assert_memory_equal(ask_problem_text(ask, "type"), "urn:attnd:problem:", strlen("urn:attnd:problem:"));
    assert_string_not_equal(ask_problem_text(ask, "title"), "");
    const char *detail = ask_problem_text(ask, "detail"), *pointer = ask_problem_text(ask, "pointer");
    assert_true(detail[0] != '\0' && strstr(detail, "0x7f") == NULL && strstr(detail, ".c:") == NULL);
    assert_true(pointer[0] == '\0' || pointer[0] == '/');
    size_t known = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        known += json_object_get(ask->reply, names[i]) != NULL;
    assert_int_equal(known, json_object_size(ask->reply));
}

void ask_check_reply(const struct ask *ask)
{
    const struct api_reply *reply = &ask->call.reply;
    assert_true(reply->body[reply->body_bytes - 1] == '\n');
    if (reply->status != 200) {
        check_problem(ask);
        return;
    }
    assert_string_equal(reply->content_type, "application/json");
    assert_true(reply->error == ERROR_NONE && reply->retry_after_s == 0);
    assert_true(ask->call.reserved_bytes > 0 && ask->call.arena.used_bytes <= ask->call.arena.cap_bytes);
    assert_true(json_is_object(json_object_get(ask->reply, "applied")));
    assert_true(json_is_array(json_object_get(ask->reply, "warnings")));
}

void ask_refused(const char *text, size_t text_bytes, int status, const char *pointer, const char *words)
{
    struct ask ask;
    ask_attention_with(&ask, "refused", text, text_bytes, NULL, &usual_limits, NULL);
    if (ask.call.reply.status != status || strcmp(ask_problem_text(&ask, "pointer"), pointer) != 0 ||
        strstr(ask_problem_text(&ask, "detail"), words) == NULL)
        fail_msg("%.200s: status %d at \"%s\": %s; should be %d at \"%s\" with \"%s\"", text, ask.call.reply.status,
                 ask_problem_text(&ask, "pointer"), ask_problem_text(&ask, "detail"), status, pointer, words);
    ask_done(&ask);
}

void ask_check_ok(const struct ask *ask)
{
    const struct api_reply *reply = &ask->call.reply;
    if (reply->status != 200 || reply->error != ERROR_NONE)
        fail_msg("%s: status %d: %.*s", ask->label, reply->status, (int)reply->body_bytes, reply->body);
}

static double number_of(const struct ask *ask, const json_t *node, const char *name)
{
    if (json_is_number(node))
        return json_number_value(node);
    const char *text = json_is_string(node) ? json_string_value(node) : "";
    if (strcmp(text, "NaN") == 0)
        return (double)NAN;
    if (strcmp(text, "Infinity") == 0)
        return (double)INFINITY;
    if (strcmp(text, "-Infinity") != 0)
        fail_msg("%s: %s: a number was expected", ask->label, name);
    return -(double)INFINITY;
}

static double *numbers_copy(const struct ask *ask, const json_t *node, const char *name, size_t rank, const size_t *shape,
                            double *to)
{
    if (rank == 0) {
        *to = number_of(ask, node, name);
        return to + 1;
    }
    if (!json_is_array(node) || json_array_size(node) != shape[0])
        fail_msg("%s: %s: an array of %zu was expected, %zu are there", ask->label, name, shape[0], json_array_size(node));
    for (size_t k = 0; k < shape[0]; k++)
        to = numbers_copy(ask, json_array_get(node, k), name, rank - 1, shape + 1, to);
    return to;
}

double *ask_numbers(const struct ask *ask, const json_t *node, const char *name, size_t rank, const size_t *shape)
{
    double *numbers = test_alloc(shape_count(rank, shape), sizeof *numbers);
    (void)numbers_copy(ask, node, name, rank, shape, numbers);
    return numbers;
}

void ask_done(struct ask *ask)
{
    json_decref(ask->reply);
    api_call_done(&ask->call);
    free(ask->joined);
    free(ask->body);
}
