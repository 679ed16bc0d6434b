#include "tests/support/client.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/size.h"
#include "core/tensor.h"
#include "tests/support/check.h"
#include "tests/support/view.h"

static const struct api_limits fast_limits = {.request_memory_bytes_max = CLIENT_MEMORY_BYTES_MAX};

char *client_reply_body(const struct api_reply *reply, size_t *ret_bytes)
{
    size_t bytes = reply->body_bytes;
    for (size_t i = 0; i < reply->chunk_count; i++)
        bytes += reply->chunks[i].bytes;
    char *body = test_alloc(bytes + 1, 1), *at = body + reply->body_bytes;
    memcpy(body, reply->body, reply->body_bytes);
    for (size_t i = 0; i < reply->chunk_count; at += reply->chunks[i].bytes, i++)
        memcpy(at, reply->chunks[i].data, reply->chunks[i].bytes);
    *ret_bytes = bytes;
    return body;
}

void client_post(struct client *client, const struct api_protocol *protocol, const char *label, const char *text,
                 size_t text_bytes, const char *content_type, const struct api_limits *limits, const struct executor *executor)
{
    *client = (struct client){.label = label, .body = malloc(size_max(text_bytes, 1))};
    assert_non_null(client->body);
    memcpy(client->body, text, text_bytes);
    const struct api_request request = {.content_type = content_type, .body = client->body, .body_bytes = text_bytes};
    api_compute(protocol, &request, limits, executor, &client->call);
    struct api_reply *reply = &client->call.reply;
    reply->body = client->reply_text = client_reply_body(reply, &reply->body_bytes);
    reply->chunk_count = 0;
    json_error_t error;
    client->reply = json_loadb(client->call.reply.body, client->call.reply.body_bytes, JSON_REJECT_DUPLICATES, &error);
    if (client->reply == NULL)
        fail_msg("%s: the reply is not JSON: %s\n%.*s", label, error.text, (int)client->call.reply.body_bytes,
                 client->call.reply.body);
}

void client_attention(struct client *client, const char *label, const char *text, size_t text_bytes,
                      const struct executor *executor)
{
    client_post(client, &api_protocol_attention, label, text, text_bytes, "application/json", &fast_limits, executor);
}

void client_compare(struct client *client, const char *label, const char *text, size_t text_bytes,
                    const struct executor *executor)
{
    client_post(client, &api_protocol_compare, label, text, text_bytes, "application/json", &fast_limits, executor);
}

void client_merge(struct client *client, const char *label, const char *text, size_t text_bytes,
                  const struct executor *executor)
{
    client_post(client, &api_protocol_merge, label, text, text_bytes, "application/json", &fast_limits, executor);
}

void client_kserve(struct client *client, const char *label, const char *text, size_t text_bytes,
                   const struct executor *executor)
{
    client_post(client, &api_protocol_kserve, label, text, text_bytes, "application/json", &fast_limits, executor);
}

void client_attention_with(struct client *client, const char *label, const char *text, size_t text_bytes,
                           const char *content_type, const struct api_limits *limits, const struct executor *executor)
{
    client_post(client, &api_protocol_attention, label, text, text_bytes, content_type, limits, executor);
    client_check_reply(client);
}

const char *client_problem_text(const struct client *client, const char *name)
{
    const char *text = json_string_value(json_object_get(client->reply, name));
    return text == NULL ? "" : text;
}

static void check_problem(const struct client *client)
{
    static const char *const names[] = {"type", "title", "status", "detail", "pointer", "limit"};
    const struct api_reply *reply = &client->call.reply;
    assert_string_equal(reply->content_type, "application/problem+json");
    assert_true(reply->status >= 400 && reply->status < 600 && reply->error != ERROR_NONE);
    assert_true((reply->retry_after_s > 0) == (reply->status == 503));
    assert_int_equal(json_integer_value(json_object_get(client->reply, "status")), reply->status);
    assert_memory_equal(client_problem_text(client, "type"), "urn:attnd:problem:", strlen("urn:attnd:problem:"));
    assert_string_not_equal(client_problem_text(client, "title"), "");
    const char *detail = client_problem_text(client, "detail"), *pointer = client_problem_text(client, "pointer");
    assert_true(detail[0] != '\0' && strstr(detail, "0x7f") == NULL && strstr(detail, ".c:") == NULL);
    assert_true(pointer[0] == '\0' || pointer[0] == '/');
    size_t known = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        known += json_object_get(client->reply, names[i]) != NULL;
    assert_int_equal(known, json_object_size(client->reply));
}

void client_check_reply(const struct client *client)
{
    const struct api_reply *reply = &client->call.reply;
    assert_true(reply->body[reply->body_bytes - 1] == '\n');
    if (reply->status != 200) {
        check_problem(client);
        return;
    }
    assert_string_equal(reply->content_type, "application/json");
    assert_true(reply->error == ERROR_NONE && reply->retry_after_s == 0);
    assert_true(client->call.reserved_bytes > 0 && client->call.arena.used_bytes <= client->call.arena.cap_bytes);
    assert_true(json_is_object(json_object_get(client->reply, "applied")));
    assert_true(json_is_array(json_object_get(client->reply, "warnings")));
}

void client_refused(const char *text, size_t text_bytes, int status, const char *pointer, const char *words)
{
    struct client client;
    client_attention_with(&client, "refused", text, text_bytes, NULL, &fast_limits, NULL);
    if (client.call.reply.status != status || strcmp(client_problem_text(&client, "pointer"), pointer) != 0 ||
        strstr(client_problem_text(&client, "detail"), words) == NULL)
        fail_msg("%.200s: status %d at \"%s\": %s; should be %d at \"%s\" with \"%s\"", text, client.call.reply.status,
                 client_problem_text(&client, "pointer"), client_problem_text(&client, "detail"), status, pointer, words);
    client_done(&client);
}

void client_check_ok(const struct client *client)
{
    const struct api_reply *reply = &client->call.reply;
    if (reply->status != 200 || reply->error != ERROR_NONE)
        fail_msg("%s: status %d: %.*s", client->label, reply->status, (int)reply->body_bytes, reply->body);
}

static double number_of(const struct client *client, const json_t *node, const char *name)
{
    if (json_is_number(node))
        return json_number_value(node);
    const char *text = json_is_string(node) ? json_string_value(node) : "";
    if (strcmp(text, "NaN") == 0)
        return (double)NAN;
    if (strcmp(text, "Infinity") == 0)
        return (double)INFINITY;
    if (strcmp(text, "-Infinity") != 0)
        fail_msg("%s: %s: a number was expected", client->label, name);
    return -(double)INFINITY;
}

static double *numbers_copy(const struct client *client, const json_t *node, const char *name, size_t rank, const size_t *shape,
                            double *to)
{
    if (rank == 0) {
        *to = number_of(client, node, name);
        return to + 1;
    }
    if (!json_is_array(node) || json_array_size(node) != shape[0])
        fail_msg("%s: %s: an array of %zu was expected, %zu are there", client->label, name, shape[0], json_array_size(node));
    for (size_t k = 0; k < shape[0]; k++)
        to = numbers_copy(client, json_array_get(node, k), name, rank - 1, shape + 1, to);
    return to;
}

double *client_numbers(const struct client *client, const json_t *node, const char *name, size_t rank, const size_t *shape)
{
    double *numbers = test_alloc(shape_count(rank, shape), sizeof *numbers);
    (void)numbers_copy(client, node, name, rank, shape, numbers);
    return numbers;
}

void client_done(struct client *client)
{
    json_decref(client->reply);
    api_call_done(&client->call);
    free(client->reply_text);
    free(client->body);
}
