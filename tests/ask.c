#include "tests/ask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/size.h"
#include "core/tensor.h"
#include "tests/check.h"
#include "tests/view.h"

typedef void ask_function(const struct api_request *request, const struct api_limits *limits, const struct executor *executor,
                          struct api_call *call);

static void ask_by(struct ask *ask, ask_function *function, const char *label, const char *text, size_t text_bytes,
                   const struct executor *executor)
{
    const struct api_limits limits = {.request_memory_bytes_max = ASK_MEMORY_BYTES_MAX};
    *ask = (struct ask){.label = label, .body = malloc(size_max(text_bytes, 1))};
    assert_non_null(ask->body);
    memcpy(ask->body, text, text_bytes);
    const struct api_request request = {.content_type = "application/json", .body = ask->body, .body_bytes = text_bytes};
    function(&request, &limits, executor, &ask->call);
    json_error_t error;
    ask->reply = json_loadb(ask->call.reply.body, ask->call.reply.body_bytes, JSON_REJECT_DUPLICATES, &error);
    if (ask->reply == NULL)
        fail_msg("%s: the reply is not JSON: %s\n%.*s", label, error.text, (int)ask->call.reply.body_bytes,
                 ask->call.reply.body);
}

void ask_attention(struct ask *ask, const char *label, const char *text, size_t text_bytes, const struct executor *executor)
{
    ask_by(ask, api_attention, label, text, text_bytes, executor);
}

void ask_infer(struct ask *ask, const char *label, const char *text, size_t text_bytes, const struct executor *executor)
{
    ask_by(ask, api_infer, label, text, text_bytes, executor);
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
    free(ask->body);
}
