/* POST /attention/compare: what it reads, refuses, and says. compare_planted_test has the search itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/core_setup.h"

static void ask(struct client *client, const char *text)
{
    client_compare(client, text, text, strlen(text), NULL);
}

static const char *text_at(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text == NULL ? "" : text;
}

/* ---- refusals ---- */

static void check_refused(const char *text, const char *pointer, const char *words)
{
    struct client client;
    ask(&client, text);
    if (client.call.reply.status != 422 || strcmp(client_problem_text(&client, "pointer"), pointer) != 0 ||
        strstr(client_problem_text(&client, "detail"), words) == NULL)
        fail_msg("%s: %s; should be at \"%s\" with \"%s\"", text, client.reply_text, pointer, words);
    client_done(&client);
}

#define REQUEST "{\"query\": [[1]], \"key\": [[1], [2]], \"value\": [[5], [6]]}"

static void refusals(void **state)
{
    (void)state;
    check_refused("{\"expected\": {\"output\": [[1]]}}", "", "request is missing");
    check_refused("{\"request\": " REQUEST "}", "", "expected is missing");
    check_refused("{\"request\": " REQUEST ", \"expected\": {}}", "/expected", "nothing to compare with");
    check_refused("{\"request\": " REQUEST ", \"expected\": {\"outputs\": [[1]]}}", "/expected/outputs", "did you mean output");
    check_refused("{\"request\": " REQUEST ", \"expected\": {\"output\": [[1, 2]]}}", "/expected/output",
                  "shape [1, 2], where the request's output has shape [1, 1]");
    check_refused("{\"request\": " REQUEST ", \"expected\": {\"output\": {\"shape\": [1, 1]}}}", "/expected/output",
                  "a shape without data");
    check_refused("{\"request\": " REQUEST ", \"expected\": {\"output\": [[true]]}}", "/expected/output", "booleans");
    check_refused("{\"request\": {\"query\": [[1]], \"keys\": [[1]]}, \"expected\": {\"output\": [[1]]}}", "/request/keys",
                  "did you mean key");
    check_refused("{\"request\": {\"query\": [[1]], \"key\": [[1, 2]], \"value\": [[1]]}, \"expected\": {\"output\": [[1]]}}",
                  "/request/key", "the head sizes differ");
    check_refused(
        "{\"request\": {\"query\": [[1], [2, 3]], \"key\": [[1]], \"value\": [[1]]}, \"expected\": {\"output\": [[1]]}}",
        "/request/query/1", "");
    check_refused("{\"request\": " REQUEST ", \"expected\": {\"output\": [[1]]}, \"tolerance\": {\"absolute\": -1}}",
                  "/tolerance/absolute", "at least 0");
    check_refused("{\"request\": " REQUEST ", \"expected\": {\"output\": [[1]]}, \"search\": {\"only\": [\"scales\"]}}",
                  "/search/only/0", "\"scale\"");
    check_refused("{\"request\": " REQUEST ", \"expected\": {\"output\": [[1]]}, \"search\": {\"pairs\": 1}}", "/search/pairs",
                  "true or false");
    check_refused("{\"request\": " REQUEST ", \"expected\": {\"weights\": [[1, 2]]}, \"search\": {\"only\": [\"rope_stile\"]}}",
                  "/search/only/0", "or another is expected; did you mean \"rope_style\"?");
    check_refused(
        "{\"request\": {\"query\": {\"shape\": [1, 4, 2, 1], \"data\": [1, 2, 3, 4, 5, 6, 7, 8]}, \"key\": {\"shape\": "
        "[1, 4, 1, 1], \"data\": [1, 2, 3, 4]}, \"value\": {\"shape\": [1, 4, 1, 1], \"data\": [1, 2, 3, 4]}}, "
        "\"expected\": {\"output\": {\"shape\": [1, 2, 4, 1], \"data\": [1, 2, 3, 4, 1, 2, 3, 4]}}}",
        "/expected/output", "transpose its second and third axis");
}

/* ---- verdicts ---- */

static void check_verdict(const char *text, const char *verdict, const char *name, const char *warning)
{
    struct client client;
    ask(&client, text);
    client_check_ok(&client);
    const json_t *first = json_array_get(json_object_get(client.reply, "explanations"), 0);
    const char *found = json_string_value(json_array_get(json_object_get(first, "names"), 0));
    const char *warned = json_string_value(json_array_get(json_object_get(client.reply, "warnings"), 0));
    if (strcmp(text_at(client.reply, "verdict"), verdict) != 0 || strcmp(found == NULL ? "" : found, name) != 0 ||
        (*warning == '\0' ? warned != NULL : warned == NULL || strstr(warned, warning) == NULL))
        fail_msg("%s: %s", text, client.reply_text);
    client_done(&client);
}

static void verdicts(void **state)
{
    (void)state;
    check_verdict("{\"request\": " REQUEST ", \"expected\": {\"weights\": [[0.26894142, 0.73105858]]}}", "equal", "", "");
    check_verdict("{\"request\": " REQUEST ", \"expected\": {\"weights\": [[0.2, 0.9]]}, \"tolerance\": {\"absolute\": 0.2}}",
                  "equal", "", "");
    check_verdict("{\"request\": " REQUEST ", \"expected\": {\"weights\": [[1.0, 2.0]]}}", "explained", "softmax_missing", "");
    check_verdict("{\"request\": " REQUEST ", \"expected\": {\"weights\": [[1, 0]]}, \"search\": {\"only\": [\"causal\"]}}",
                  "explained", "causal", "");
    check_verdict("{\"request\": " REQUEST ", \"expected\": {\"weights\": [[0.3, 0.2]]}, \"search\": {\"only\": [\"causal\"]}}",
                  "unexplained", "causal", "pairs");
    check_verdict("{\"request\": {\"query\": [[1]], \"key\": [[1], [2]], \"value\": [[5], [6]], \"mask\": [true, false]}, "
                  "\"expected\": {\"masked_scores\": [[1, -1e9]]}}",
                  "equal", "", "large negative numbers");
    check_verdict("{\"request\": {\"query\": [[1]], \"key\": [[1], [2]], \"value\": [[5], [6]], \"mask\": [false, false]}, "
                  "\"expected\": {\"output\": [[\"NaN\"]]}}",
                  "explained", "masked_rows", "");
    check_verdict("{\"request\": {\"query\": [[300]], \"key\": [[300], [301]], \"value\": [[5], [6]]}, "
                  "\"expected\": {\"output\": [[\"NaN\"]]}}",
                  "rounding", "precision", "");
    check_verdict(
        "{\"request\": {\"query\": [[0], [0]], \"key\": [[0], [0]], \"value\": [[2], [4]], \"cu_seqlens\": [0, 1, 2]}, "
        "\"expected\": {\"output\": [[3], [3]]}}",
        "explained", "sequences_missing", "");
}

/* Scores of -6600, of which bfloat16 leaves nothing: whatever is expected is then as far off as rounding makes it. */
static void rounding_of_all(void **state)
{
    struct client client;
    (void)state;
    ask(&client, "{\"request\": {\"seed\": 4, \"query\": {\"shape\": [4, 4]}, \"key\": {\"shape\": [16, 4]}, \"value\": "
                 "{\"shape\": [16, 2]}, \"num_heads\": 1, \"query_offset\": 100000, \"alibi\": [0.066]}, \"expected\": "
                 "{\"output\": [[-0.76, 0.66], [-1.0, 0.99], [-0.75, 0.84], [-0.13, 0.27]]}}");
    client_check_ok(&client);
    assert_string_equal(text_at(client.reply, "verdict"), "unexplained");
    client_done(&client);
}

static void check_patch(const char *text, const char *patch)
{
    struct client client;
    ask(&client, text);
    client_check_ok(&client);
    json_t *expected = json_loads(patch, 0, NULL);
    const json_t *first = json_array_get(json_object_get(client.reply, "explanations"), 0);
    assert_non_null(expected);
    if (strcmp(text_at(client.reply, "verdict"), "explained") != 0 || !json_equal(json_object_get(first, "changes"), expected))
        fail_msg("%s: %s", text, client.reply_text);
    json_decref(expected);
    client_done(&client);
}

/* What extends a causal mask, or a window, goes with it: the request would be refused. */
static void extensions_go(void **state)
{
    (void)state;
    check_patch("{\"request\": {\"query\": [[0], [0]], \"key\": [[0], [0]], \"value\": [[2], [4]], \"causal\": true, "
                "\"prefix_length\": 1, \"span_ids\": [-1, 0]}, \"expected\": {\"output\": [[3], [3]]}}",
                "[{\"op\": \"add\", \"path\": \"/causal\", \"value\": false}, {\"op\": \"remove\", \"path\": "
                "\"/prefix_length\"}, {\"op\": \"remove\", \"path\": \"/span_ids\"}]");
    check_patch("{\"request\": {\"query\": [[0], [0], [0]], \"key\": [[0], [0], [0]], \"value\": [[3], [6], [9]], "
                "\"window\": [0, 0], \"num_sink_tokens\": 1}, \"expected\": {\"output\": [[6], [6], [6]]}}",
                "[{\"op\": \"remove\", \"path\": \"/window\"}, {\"op\": \"remove\", \"path\": \"/num_sink_tokens\"}]");
}

/* Where the causal mask alone differs, the prefix and the spans that it leaves visible stay: query 1 sees key 2 by its span, and in
 * the second case query 0 sees key 1 as prefix. */
static void extensions_stay(void **state)
{
#define TWO_OF_THREE                                                                                                           \
    "{\"request\": {\"query\": [[0], [0]], \"key\": [[0], [0], [0]], \"value\": [[3], [6], [9]], "                             \
    "\"causal\": \"bottom_right\", \"alibi\": [0.6931471805599453], "
    (void)state;
    check_verdict(TWO_OF_THREE
                  "\"span_ids\": {\"query\": [0, 1], \"key\": [-1, -1, 1]}}, "
                  "\"expected\": {\"output\": [[3], [7.285714285714286]]}, \"search\": {\"only\": [\"causal_corner\"]}}",
                  "explained", "causal_corner", "");
    check_verdict(TWO_OF_THREE
                  "\"prefix_length\": 2}, \"expected\": {\"output\": [[5], [5]]}, \"search\": {\"only\": [\"causal_corner\"]}}",
                  "explained", "causal_corner", "");
#undef TWO_OF_THREE
}

/* Two sequences, of one query with two keys and of two with two: a corner is each one's own, and so is the offset that stays. */
static void packed(void **state)
{
#define PACKED                                                                                                                 \
    "{\"request\": {\"query\": [[0], [0], [0]], \"key\": [[0], [0], [0], [0]], \"value\": [[1], [2], [3], [5]], "              \
    "\"cu_seqlens\": {\"query\": [0, 1, 3], \"key\": [0, 2, 4]}, \"causal\": \"bottom_right\""
    (void)state;
    check_patch(PACKED "}, \"expected\": {\"output\": [[1], [3], [4]]}}",
                "[{\"op\": \"add\", \"path\": \"/causal\", \"value\": \"top_left\"}]");
    check_patch(PACKED ", \"window\": [0, 1]}, \"expected\": {\"output\": [[2], [4], [5]]}}",
                "[{\"op\": \"add\", \"path\": \"/causal\", \"value\": false}, "
                "{\"op\": \"add\", \"path\": \"/query_offset\", \"value\": [1, 0]}]");
    check_verdict(PACKED ", \"alibi\": [0]}, \"expected\": {\"weights\": [[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]}}",
                  "explained", "causal", "");
#undef PACKED
}

/* Many more keys than a slice has queries: core needs more memory for packed ones. */
static void long_sequences(void **state)
{
    struct client client;
    char text[1024] =
        "{\"request\": {\"seed\": 1, \"query\": {\"shape\": [4, 32]}, \"key\": {\"shape\": [2063, 32]}, \"value\": "
        "{\"shape\": [2063, 32]}, \"cu_seqlens\": {\"query\": [0, 2, 4], \"key\": [0, 50, 2063]}}, \"expected\": "
        "{\"output\": {\"shape\": [4, 32], \"data\": [0";
    (void)state;
    size_t bytes = strlen(text);
    for (size_t i = 1; i < (size_t)4 * 32; i++)
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, ", 9");
    (void)snprintf(text + bytes, sizeof text - bytes, "]}}}");
    ask(&client, text);
    client_check_ok(&client);
    assert_string_equal(text_at(client.reply, "verdict"), "unexplained");
    client_done(&client);
}

/* Where the largest error is, and how many rows are equal. */
static void figures(void **state)
{
    (void)state;
    struct client client;
    ask(&client, "{\"request\": {\"query\": [[0], [0]], \"key\": [[0], [0]], \"value\": [[1], [3]]}, "
                 "\"expected\": {\"scores\": [[0, 0], [0, 0]], \"output\": [[2, 2.5]]}}");
    assert_int_equal(client.call.reply.status, 422);
    client_done(&client);
    ask(&client, "{\"request\": {\"query\": [[0], [0]], \"key\": [[0], [0]], \"value\": [[1], [3]]}, "
                 "\"expected\": {\"scores\": [[0, 0], [0, 0]], \"output\": [[2], [2.5]]}}");
    client_check_ok(&client);
    assert_string_equal(text_at(client.reply, "first_difference"), "output");
    const json_t *output = json_object_get(json_object_get(client.reply, "as_asked"), "output");
    assert_true(json_real_value(json_object_get(output, "max_absolute_error")) == 0.5);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(output, "at"), 0)), 1);
    assert_true(json_real_value(json_object_get(output, "expected")) == 2.5);
    assert_true(json_real_value(json_object_get(output, "computed")) == 2);
    assert_true(json_real_value(json_object_get(output, "rows_equal")) == 0.5);
    client_done(&client);
}

/* As many queries as keys: both corners are the same, and neither is listed as a difference from the other. */
static void indistinguishable(void **state)
{
    (void)state;
    struct client client;
    ask(&client, "{\"request\": {\"query\": [[1], [2]], \"key\": [[1], [2]], \"value\": [[1], [3]], \"scale\": 2}, "
                 "\"expected\": {\"weights\": [[0.2689414213699951, 0.7310585786300049], [0.11920292202211755, "
                 "0.8807970779778823]]}}");
    client_check_ok(&client);
    const json_t *explanations = json_object_get(client.reply, "explanations");
    assert_string_equal(text_at(client.reply, "verdict"), "explained");
    for (size_t i = 0; i < json_array_size(explanations); i++) {
        const json_t *others = json_object_get(json_array_get(explanations, i), "indistinguishable_from");
        assert_int_equal(json_array_size(others), json_array_size(explanations) - 1);
        assert_true(json_array_size(others) == 0 || *text_at(json_array_get(explanations, i), "told_apart_by") != '\0');
    }
    client_done(&client);
}

static bool count_down(void *context)
{
    size_t *left = context;
    *left -= *left > 0;
    return *left == 0;
}

/* ---- safetensors, cases ---- */

#define HEAD_BYTES_MAX 1024

/* A file of float64 tensors of shape [1, 1] and [2, 1]: query, key, value, expected.output. */
static size_t write_file(char *file, const char *metadata, const double numbers[6])
{
    char header[HEAD_BYTES_MAX];
    int bytes = snprintf(header, sizeof header,
                         "{%s\"query\":{\"dtype\":\"F64\",\"shape\":[1,1],\"data_offsets\":[0,8]},"
                         "\"key\":{\"dtype\":\"F64\",\"shape\":[2,1],\"data_offsets\":[8,24]},"
                         "\"value\":{\"dtype\":\"F64\",\"shape\":[2,1],\"data_offsets\":[24,40]},"
                         "\"expected.output\":{\"dtype\":\"F64\",\"shape\":[1,1],\"data_offsets\":[40,48]}}",
                         metadata);
    uint64_t length = (uint64_t)bytes;
    memcpy(file, &length, 8);
    memcpy(file + 8, header, (size_t)bytes);
    memcpy(file + 8 + bytes, numbers, 48);
    return 8 + (size_t)bytes + 48;
}

/* Compares a safetensors file; returns the reply's bytes, new. */
static char *ask_file(const char *file, size_t bytes, int status, const char *type, size_t *ret_bytes)
{
    const struct api_request request = {.content_type = "application/x-safetensors", .body = file, .body_bytes = bytes};
    const struct api_limits limits = {.request_memory_bytes_max = CLIENT_MEMORY_BYTES_MAX};
    struct api_call call;
    api_compute(&api_protocol_compare, &request, &limits, NULL, &call);
    char *reply = client_reply_body(&call.reply, ret_bytes);
    reply[*ret_bytes] = '\0';
    if (call.reply.status != status || strcmp(call.reply.content_type, type) != 0)
        fail_msg("status %d, %s: %s", call.reply.status, call.reply.content_type, reply);
    api_call_done(&call);
    return reply;
}

#define CAUSAL_NUMBERS                                                                                                         \
    {                                                                                                                          \
        1, 1, 2, 5, 6, 5                                                                                                       \
    }

static void safetensors(void **state)
{
    static const double numbers[] = CAUSAL_NUMBERS;
    char file[HEAD_BYTES_MAX + 64];
    size_t bytes = write_file(file, "", numbers), reply_bytes;
    (void)state;
    char *reply = ask_file(file, bytes, 200, "application/json", &reply_bytes);
    assert_non_null(strstr(reply, "{\"verdict\":\"explained\""));
    assert_non_null(strstr(reply, "\"names\":[\"causal\"]"));
    free(reply);
    bytes = write_file(file, "\"__metadata__\":{\"compare\":\"{\\\"tolerance\\\":{\\\"absolute\\\":1}}\"},", numbers);
    reply = ask_file(file, bytes, 200, "application/json", &reply_bytes);
    assert_non_null(strstr(reply, "{\"verdict\":\"equal\""));
    free(reply);
    bytes = write_file(file, "\"__metadata__\":{\"compare\":\"{\\\"tolerances\\\":1}\"},", numbers);
    reply = ask_file(file, bytes, 422, "application/problem+json", &reply_bytes);
    assert_non_null(strstr(reply, "did you mean tolerance"));
    free(reply);
    bytes = write_file(file, "\"__metadata__\":{\"request\":\"{\\\"causall\\\":true}\"},", numbers);
    reply = ask_file(file, bytes, 422, "application/problem+json", &reply_bytes);
    assert_non_null(strstr(reply, "\"pointer\":\"/causall\""));
    free(reply);
}

/* A case holds the file and the comparison, and is a file to compare again. */
static void binary_cases(void **state)
{
    static const double numbers[] = CAUSAL_NUMBERS;
    static const char *const metadata[] = {
        "\"__metadata__\":{\"compare\":\"{\\\"case\\\":true}\"},",
        "\"__metadata__\" : { \"format\":\"pt\", \"compare\":\"{\\\"case\\\":true}\"},",
    };
    (void)state;
    for (size_t i = 0; i < sizeof metadata / sizeof *metadata; i++) {
        char file[HEAD_BYTES_MAX + 64];
        size_t bytes = write_file(file, metadata[i], numbers), case_bytes, again_bytes;
        uint64_t header_bytes;
        char *found = ask_file(file, bytes, 200, "application/x-safetensors", &case_bytes);
        memcpy(&header_bytes, found, sizeof header_bytes);
        assert_int_equal(header_bytes % 8, 0);
        assert_memory_equal(found + case_bytes - sizeof numbers, numbers, sizeof numbers);
        json_t *header = json_loadb(found + 8, header_bytes, JSON_REJECT_DUPLICATES, NULL);
        const char *comparison = text_at(json_object_get(header, "__metadata__"), "comparison");
        assert_non_null(strstr(comparison, "\"names\":[\"causal\"]"));
        char *again = ask_file(found, case_bytes, 200, "application/json", &again_bytes);
        assert_string_equal(again, comparison);
        json_decref(header);
        free(again);
        free(found);
    }
}

static void text_cases(void **state)
{
    struct client client, again;
    (void)state;
    ask(&client, "{\"request\": " REQUEST ", \"expected\": {\"output\": [[5]]}, \"case\": true} \n");
    client_check_ok(&client);
    const json_t *comparison = json_object_get(client.reply, "comparison");
    assert_string_equal(text_at(comparison, "verdict"), "explained");
    assert_non_null(json_object_get(client.reply, "request"));
    assert_non_null(json_object_get(client.reply, "expected"));
    ask(&again, client.reply_text);
    client_check_ok(&again);
    assert_true(json_equal(again.reply, comparison));
    client_done(&again);
    client_done(&client);
}

/* ---- limits ---- */

/* Answered, with a limit on its memory and an executor that stops after some questions (0: never). Returns the status. */
static int status_within(size_t memory_bytes_max, size_t stops_after, size_t *ret_reserved)
{
    static const char text[] =
        "{\"request\": {\"query\": {\"shape\": [2, 4, 8, 8]}, \"key\": {\"shape\": [2, 4, 8, 8]}, "
        "\"value\": {\"shape\": [2, 4, 8, 8]}, \"seed\": 1, \"rope\": {\"style\": \"half\"}}, "
        "\"expected\": {\"lse\": [[[1,1,1,1,1,1,1,1],[1,1,1,1,1,1,1,1],[1,1,1,1,1,1,1,1],[1,1,1,1,1,1,1,1]],"
        "[[1,1,1,1,1,1,1,1],[1,1,1,1,1,1,1,1],[1,1,1,1,1,1,1,1],[1,1,1,1,1,1,1,1]]]}, "
        "\"search\": {\"pairs\": true}}";
    size_t left = stops_after;
    const struct executor executor = {.worker_count = 1, .stopped = stops_after > 0 ? count_down : NULL, .context = &left};
    const struct api_request request = {.body = text, .body_bytes = sizeof text - 1};
    const struct api_limits limits = {.request_memory_bytes_max = memory_bytes_max};
    struct api_call call;
    api_compute(&api_protocol_compare, &request, &limits, &executor, &call);
    int status = call.reply.status;
    assert_true(call.arena.used_bytes <= call.arena.cap_bytes);
    *ret_reserved = call.reserved_bytes;
    api_call_done(&call);
    return status;
}

/* Its cost is computed before anything of that size is allocated, and suffices: nothing is left out for want of memory. */
static void costs(void **state)
{
    size_t reserved, unused;
    (void)state;
    assert_int_equal(status_within(CLIENT_MEMORY_BYTES_MAX, 0, &reserved), 200);
    assert_int_equal(status_within(reserved, 0, &unused), 200);
    assert_int_equal(status_within(reserved - 1, 0, &unused), 413);
    assert_int_equal(unused, 0);
}

/* Whenever the client goes or the time is up, the search ends. */
static void stops(void **state)
{
    size_t unused;
    (void)state;
    for (size_t after = 1; after < 3000; after = after * 3 + 1)
        assert_int_equal(status_within(CLIENT_MEMORY_BYTES_MAX, after, &unused), 503);
}

int main(void)
{
    api_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),        cmocka_unit_test(verdicts),     cmocka_unit_test(extensions_go),
        cmocka_unit_test(extensions_stay), cmocka_unit_test(packed),       cmocka_unit_test(rounding_of_all),
        cmocka_unit_test(long_sequences),  cmocka_unit_test(figures),      cmocka_unit_test(indistinguishable),
        cmocka_unit_test(safetensors),     cmocka_unit_test(binary_cases), cmocka_unit_test(text_cases),
        cmocka_unit_test(costs),           cmocka_unit_test(stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
