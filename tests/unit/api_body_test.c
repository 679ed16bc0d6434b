/* Bodies that no JSON file can hold: bytes that are no text, cut short, nested or long beyond measure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/extract.h"
#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/view.h"

#define REQUEST "{\"query\":[[1,0],[0,1]],\"key\":[[1,0],[0,1]],\"value\":[[10],[20]]}"

/* A body given as a string literal, NUL bytes in it and all. */
#define REFUSED(body, status, pointer, words) client_refused(body, sizeof(body) - 1, status, pointer, words)

/* `prefix`, `count` times `part`, `suffix`; new, NUL-terminated. */
static char *repeated(const char *prefix, const char *part, size_t count, const char *suffix)
{
    size_t part_bytes = strlen(part), prefix_bytes = strlen(prefix);
    char *text = test_alloc(prefix_bytes + count * part_bytes + strlen(suffix) + 1, 1);
    memcpy(text, prefix, prefix_bytes);
    for (size_t i = 0; i < count; i++)
        memcpy(text + prefix_bytes + i * part_bytes, part, part_bytes);
    memcpy(text + prefix_bytes + count * part_bytes, suffix, strlen(suffix));
    return text;
}

static void check_repeated(const char *prefix, const char *part, size_t count, const char *suffix, int status,
                           const char *words)
{
    char *text = repeated(prefix, part, count, suffix);
    client_refused(text, strlen(text), status, "", words);
    free(text);
}

static void test_nul_bytes(void **state)
{
    (void)state;
    REFUSED("\0", 400, "", "binary data, not text");
    REFUSED("{\"seed\": 1}\0", 400, "", "NUL");
    REFUSED("\0{\"seed\": 1}", 400, "", "binary data, not text");
    REFUSED("{\"seed\": 1\0}", 400, "", "NUL");
    REFUSED("{\"layout\": \"bh\0td\"}", 400, "", "line 1");
    REFUSED("{\"lay\0out\": 1}", 400, "", "line 1");
    REFUSED("{\"layout\": \"bhtd\\u0000\"}", 422, "", "the string holds \\u0000, which no name");
    REFUSED("{\"layout\\u0000\": \"bhtd\"}", 422, "", "the string holds \\u0000, which no name");
    REFUSED("{\"query\":[[1,0\0],[0,1]],\"key\":[[1,0],[0,1]],\"value\":[[10],[20]]}", 400, "/query/0/1", "0?");
    REFUSED("{\"query\":[[1,0],\0[0,1]],\"key\":[[1,0],[0,1]],\"value\":[[10],[20]]}", 400, "/query/1", "line 1, column 17");
}

static void test_no_utf8(void **state)
{
    (void)state;
    REFUSED("\xff\xfe{\0}\0", 400, "", "");                     /* UTF-16 */
    REFUSED("{\"layout\": \"\xff\"}", 400, "", "");             /* no byte of UTF-8 */
    REFUSED("{\"layout\": \"\xc0\xaf\"}", 400, "", "");         /* longer than need be */
    REFUSED("{\"layout\": \"\xed\xa0\x80\"}", 400, "", "");     /* a surrogate */
    REFUSED("{\"layout\": \"\xf4\x90\x80\x80\"}", 400, "", ""); /* past U+10FFFF */
    REFUSED("{\"layout\": \"\xe2\x82\"}", 400, "", "");         /* cut short */
    REFUSED("{\"lay\xff\": 1}", 400, "", "");
    REFUSED("{\"query\":[[1,\"\xff\"],[0,1]],\"key\":[[1,0],[0,1]],\"value\":[[10],[20]]}", 422, "/query/0/1", "a number");
    REFUSED("{\"query\":[[1,\xff],[0,1]],\"key\":[[1,0],[0,1]],\"value\":[[10],[20]]}", 400, "/query/0/1", "a number");
}

/* Quoted values are cut in the middle of a character: what the problem holds is UTF-8 all the same. */
static void test_quotes_are_cut(void **state)
{
    (void)state;
    for (size_t bytes = 50; bytes < 70; bytes++) {
        char prefix[100];
        (void)snprintf(prefix, sizeof prefix, "{\"layout\": \"%0*d", (int)bytes, 0);
        char *text = repeated(prefix, "\xe2\x82\xac", 30, "\"}");
        client_refused(text, strlen(text), 422, "/layout", "\"bthd\"");
        free(text);
        (void)snprintf(prefix, sizeof prefix, "{\"%0*d", (int)bytes, 0);
        text = repeated(prefix, "\xe2\x82\xac", 120, "\": 1}");
        struct client client;
        client_attention(&client, "a long name", text, strlen(text), NULL);
        client_check_reply(&client);
        assert_int_equal(client.call.reply.status, 422);
        client_done(&client);
        free(text);
    }
}

/* Every beginning of a request is refused as malformed, with a place in it. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes < sizeof REQUEST - 1; bytes++)
        client_refused(REQUEST, bytes, 400, "", "line 1, column ");
    struct client client;
    client_attention(&client, "whole", REQUEST, sizeof REQUEST - 1, NULL);
    client_check_ok(&client);
    client_done(&client);
}

/* Any one byte of a request put in place of another: answered or refused, never worse. */
static void test_bytes_changed(void **state)
{
    (void)state;
    static const char others[] = {'\0', '"', '\\', '[', ']', '{', '}',  ',',    ':',   '-',
                                  '.',  '9', 'e',  'N', 't', ' ', '\n', '\x80', '\xff'};
    char body[] = REQUEST;
    for (size_t at = 0; at < sizeof body - 1; at++) {
        for (size_t i = 0; i < sizeof others; i++) {
            body[at] = others[i];
            struct client client;
            client_attention(&client, "a changed byte", body, sizeof body - 1, NULL);
            client_check_reply(&client);
            int status = client.call.reply.status;
            assert_true(status == 200 || status == 400 || status == 422);
            client_done(&client);
        }
        body[at] = REQUEST[at];
    }
}

static void test_nesting(void **state)
{
    (void)state;
    check_repeated("{\"query\":", "[", 200000, "", 413, "32");
    char *open = repeated("{\"query\":", "[", 100000, "1"), *text = repeated(open, "]", 100000, "}");
    client_refused(text, strlen(text), 422, "/query", "100000 dimensions");
    free(open);
    free(text);
    check_repeated("", "{\"a\":", 100000, "", 413, "32");
    check_repeated("[\"a\"", ",[\"a\"", 100000, "", 413, "32");
    check_repeated("", "[", 1000000, "", 413, "32");
    check_repeated("", "]", 1000000, "", 400, "']'");
    check_repeated("{\"query\":", "[{\"a\":", 100000, "", 413, "32");
}

/* The document is what is left without the number arrays; white space is not counted. */
static void test_document(void **state)
{
    (void)state;
    check_repeated("{\"layout\": \"", "a", DOCUMENT_BYTES_MAX, "\"}", 413, "65536");
    check_repeated("{", "\"seed\": 1, ", DOCUMENT_BYTES_MAX / 8, "}", 413, "65536");
    check_repeated("[", "{},", DOCUMENT_BYTES_MAX, "{}]", 413, "65536");
    check_repeated("{\"projection\": {", "\"a\": [1], ", EXTRACT_ARRAYS_MAX + 1, "}}", 413, "256");
    char *text = repeated("{\"projection\": [\"a\"", ", [1]", EXTRACT_ARRAYS_MAX, "]}");
    client_refused(text, strlen(text), 422, "/projection", "\"identity\"");
    free(text);
    text = repeated(REQUEST, " ", 3 * DOCUMENT_BYTES_MAX, "");
    struct client client;
    client_attention(&client, "white space", text, strlen(text), NULL);
    client_check_ok(&client);
    client_done(&client);
    free(text);
}

static void test_long_lists(void **state)
{
    (void)state;
    char *text = repeated("{\"query\":{\"shape\":[1", ",1", 100000, "],\"data\":[1]}}");
    client_refused(text, strlen(text), 422, "/query/shape", "100001 integers");
    free(text);
    text = repeated("{\"return\":[\"output\"", ",\"output\"", 5000, "],\"query\":[[1]],\"key\":[[1]],\"value\":[[1]]}");
    struct client client;
    client_attention(&client, "names", text, strlen(text), NULL);
    client_check_ok(&client);
    client_done(&client);
    free(text);
}

/* No body at all, as a request without one has it. */
static void test_no_body(void **state)
{
    (void)state;
    const struct api_limits limits = {.request_memory_bytes_max = CLIENT_MEMORY_BYTES_MAX};
    struct api_call call;
    api_compute(&api_protocol_attention, &(struct api_request){.body = NULL, .body_bytes = 0}, &limits, NULL, &call);
    assert_int_equal(call.reply.status, 400);
    api_call_done(&call);
    api_call_done(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nul_bytes),    cmocka_unit_test(test_no_utf8),       cmocka_unit_test(test_quotes_are_cut),
        cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_bytes_changed), cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_document),     cmocka_unit_test(test_long_lists),    cmocka_unit_test(test_no_body),
    };
    api_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
