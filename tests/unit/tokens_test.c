/* "tokens": labels as they came, in a JSON reply and in a file; refused where they are no strings; any number of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/extract.h"
#include "api/protocol/media_type.h"
#include "tests/support/binary_client.h"
#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/safetensors_example.h"
#include "tests/support/view.h"

#define REQUEST "{\"query\":[[1,0],[0,1]],\"key\":[[1,0],[0,1]],\"value\":[[10],[20]],\"tokens\":%s}"

/* A request with these tokens; new, NUL-terminated. */
static char *request_with(const char *tokens)
{
    size_t bytes = strlen(tokens) + sizeof REQUEST;
    char *text = test_alloc(bytes, 1);
    (void)snprintf(text, bytes, REQUEST, tokens);
    return text;
}

/* The reply holds the same value, and the same numbers as without tokens. */
static void check_returned(const char *tokens)
{
    char *text = request_with(tokens);
    struct client client;
    client_attention(&client, tokens, text, strlen(text), NULL);
    client_check_ok(&client);
    json_t *sent = json_loads(tokens, JSON_DECODE_ANY, NULL);
    assert_non_null(sent);
    assert_true(json_equal(json_object_get(client.reply, "tokens"), sent));
    const size_t shape[] = {2, 1};
    double *output = client_numbers(&client, json_object_get(client.reply, "output"), "output", 2, shape);
    assert_true(output[0] > 13.3 && output[0] < 13.4);
    free(output);
    json_decref(sent);
    client_done(&client);
    free(text);
}

static void returned(void **state)
{
    (void)state;
    check_returned("[]");
    check_returned("[ \"The\" ,\n\" cat\" ]");
    check_returned("[\"NaN\", \"[\", \"]\", \",\", \"\\\"\", \"\\\\\", \"\\u00e9\\ud83d\\ude00\\n\", \"\xe2\x82\xac\", \"\"]");
    check_returned("{\"query\": [\"a\", \"b\"], \"key\": [\"c\"]}");
    check_returned("{\"key\": [], \"query\": [\"Infinity\"]}");
}

static void absent(void **state)
{
    (void)state;
    char *text = request_with("null");
    struct client client;
    client_attention(&client, "null", text, strlen(text), NULL);
    client_check_ok(&client);
    assert_null(json_object_get(client.reply, "tokens"));
    client_done(&client);
    free(text);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *tokens;
        int status;
        const char *pointer, *words;
    } cases[] = {
        {"\"The cat\"", 422, "/tokens", "\"The cat\", where an array of strings, one a token, is expected"},
        {"[1, 2]", 422, "/tokens", "an array of numbers of shape [2]"},
        {"[[\"a\"], [\"b\"]]", 422, "/tokens", "an array of arrays of strings"},
        {"[\"a\", 1]", 422, "/tokens", "element 1 is no string"},
        {"[\"a\", ]", 422, "/tokens", "element 1 is no string"},
        {"[\"a\", null]", 422, "/tokens", "element 1 is no string"},
        {"[\"a\" \"b\"]", 400, "/tokens", "expected ',' or ']'"},
        {"[\"\\x\"]", 400, "/tokens", "an escape that JSON does not know"},
        {"[\"\\ud800\"]", 400, "/tokens", "line 1, column"},
        {"[\"\\ud800\\u0041\"]", 400, "/tokens", "line 1, column"},
        {"[\"\\udc00\"]", 400, "/tokens", "line 1, column"},
        {"[\"\\u00g0\"]", 400, "/tokens", "line 1, column"},
        {"[\"a\tb\"]", 400, "/tokens", "a control character"},
        {"[\"\xff\"]", 400, "/tokens", "not UTF-8"},
        {"[\"\xc3\"]", 400, "/tokens", "not UTF-8"},
        {"{\"query\": [\"a\"]}", 422, "/tokens", "without key"},
        {"{\"query\": [\"a\"], \"keys\": [\"b\"]}", 422, "/tokens/keys", "key"},
        {"{\"query\": [\"a\"], \"key\": [2]}", 422, "/tokens/key", "an array of numbers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = request_with(cases[i].tokens);
        client_refused(text, strlen(text), cases[i].status, cases[i].pointer, cases[i].words);
        free(text);
    }
    static const char other[] = "{\"tokens\":[\"a\"],\"query\":[[1]],\"key\":[[1]],\"value\":[[1]],\"causal\":2}";
    client_refused(other, sizeof other - 1, 422, "/causal", "2, where true, false");
}

/* They are no part of the document; strings of other fields are. */
static void any_number_of_them(void **state)
{
    (void)state;
    const size_t bytes = 4 * DOCUMENT_BYTES_MAX;
    char *tokens = test_alloc(bytes + 8, 1);
    size_t at = (size_t)snprintf(tokens, bytes + 8, "[\"a\"");
    while (at < bytes)
        at += (size_t)snprintf(tokens + at, bytes + 8 - at, ",\"b\"");
    tokens[at] = ']';
    tokens[at + 1] = '\0';
    check_returned(tokens);
    char *other = test_alloc(bytes + 64, 1);
    (void)snprintf(other, bytes + 64, "{\"return\":%s}", tokens);
    client_refused(other, strlen(other), 413, "", "65536");
    free(other);
    free(tokens);
}

/* A file's metadata hold them as text, as they hold the conventions. */
static void in_a_file(void **state)
{
    (void)state;
    char *text = request_with("[\"a\\n\", \"\xe2\x82\xac\"]");
    const struct binary_request request = {
        .protocol = &api_protocol_attention, .body = text, .body_bytes = strlen(text), .accept = SAFETENSORS_TYPE};
    struct binary_client binary;
    binary_client_send(&binary, &request);
    binary_client_check_ok(&binary);
    const char *held = json_string_value(json_object_get(json_object_get(binary.json, "__metadata__"), "tokens"));
    assert_string_equal(held, "[\"a\\n\", \"\xe2\x82\xac\"]");
    binary_client_done(&binary);
    free(text);
}

/* A file's header whose metadata hold this request, as json.dumps writes it into a string. New. */
static char *header_with(const char *request)
{
    json_t *text = json_stringn_nocheck(request, strlen(request));
    char *quoted = json_dumps(text, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_ESCAPE_SLASH);
    const size_t bytes = strlen(quoted) + sizeof SMALL + 64;
    char *header = test_alloc(bytes, 1);
    (void)snprintf(header, bytes, "{\"__metadata__\":{\"request\":%s}," QUERY "," KEY "," VALUE "}", quoted);
    free(quoted);
    json_decref(text);
    return header;
}

/* {"tokens": ["LABEL", "LABEL", ...]REST} of at least `bytes` bytes. New. */
static char *tokens_of(const char *label, size_t bytes, const char *rest)
{
    const size_t size = bytes + 2 * strlen(label) + strlen(rest) + 64;
    char *text = test_alloc(size, 1);
    size_t at = (size_t)snprintf(text, size, "{\"tokens\":[\"%s\"", label);
    while (at < bytes)
        at += (size_t)snprintf(text + at, size - at, ",\"%s\"", label);
    (void)snprintf(text + at, size - at, "]%s}", rest);
    return text;
}

/* Those of a file are in its header, as text in a text: they are no part of that document, either. */
static void any_number_of_them_in_a_file(void **state)
{
    (void)state;
    static const char *const labels[] = {"b", "\xc3\xa9/\xe2\x82\xac\xf0\x9f\x98\x80", "\\\"\\\\\\n\\u00e9\\ud83d\\ude00"};
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
        for (size_t bytes = EXTRACT_STRING_BYTES_MIN / 2; bytes < 8 * DOCUMENT_BYTES_MAX; bytes *= 8) {
            char *text = tokens_of(labels[i], bytes, ",\"causal\":true"), *header = header_with(text);
            struct binary_client binary;
            safetensors_client(&binary, header, small, sizeof small);
            binary_client_check_ok(&binary);
            const json_t *metadata = json_object_get(binary.json, "__metadata__");
            json_t *sent = json_loads(text, 0, NULL),
                   *held = json_loads(json_string_value(json_object_get(metadata, "tokens")), 0, NULL);
            assert_true(json_equal(json_object_get(sent, "tokens"), held));
            assert_non_null(strstr(json_string_value(json_object_get(metadata, "applied")), "\"causal\":true"));
            json_decref(sent);
            json_decref(held);
            binary_client_done(&binary);
            free(header);
            free(text);
        }
}

static void refused_in_a_file(void **state)
{
    (void)state;
    static const struct {
        const char *label, *rest;
        size_t bytes;
        int status;
        const char *pointer, *words;
    } cases[] = {
        {"b", ",\"causal\":3", EXTRACT_STRING_BYTES_MIN, 422, "/causal", "3, where true, false"},
        {"b", ",\"causal\"", EXTRACT_STRING_BYTES_MIN, 400, "", "__metadata__.request, line 1"},
        {"b", "", EXTRACT_STRING_BYTES_MAX, 413, "", "longer than 4194304 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = tokens_of(cases[i].label, cases[i].bytes, cases[i].rest), *header = header_with(text);
        safetensors_refused(header, small, sizeof small, cases[i].status, cases[i].pointer, cases[i].words);
        free(header);
        free(text);
    }
    static const char wrong[] = {'\t', '\xff'};
    for (size_t i = 0; i < sizeof wrong; i++) {
        char *text = tokens_of("b", EXTRACT_STRING_BYTES_MIN, ""), *header = header_with(text);
        header[EXTRACT_STRING_BYTES_MIN / 2] = wrong[i];
        safetensors_refused(header, small, sizeof small, 400, "/__metadata__/request", "the header, line 1, column 4097");
        free(header);
        free(text);
    }
    char *text = tokens_of("b", 2 * DOCUMENT_BYTES_MAX, "");
    memcpy(text, "{\"return\"", 9); /* as long as "tokens" */
    char *header = header_with(text);
    safetensors_refused(header, small, sizeof small, 413, "", "65536");
    free(header);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returned),           cmocka_unit_test(absent),    cmocka_unit_test(refused),
        cmocka_unit_test(any_number_of_them), cmocka_unit_test(in_a_file), cmocka_unit_test(any_number_of_them_in_a_file),
        cmocka_unit_test(refused_in_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
