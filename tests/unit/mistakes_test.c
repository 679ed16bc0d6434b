/* Every mistake of tests/cases/mistakes and the message that it is answered with, word by word: a person reads these, and others
 * have graded them. tests/cases/README.md has their form. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/test_data.h"
#include "tests/support/view.h"

#define MISTAKES_MAX 1000

static unsigned char hex_digit(char c)
{
    return (unsigned char)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* The body as bytes; new. */
static char *body_of(const json_t *test, size_t *ret_bytes)
{
    const char *hex = case_text(test, "body_hex");
    if (hex == NULL) {
        char *body = case_body(test);
        *ret_bytes = strlen(body);
        return body;
    }
    *ret_bytes = strlen(hex) / 2;
    char *body = test_alloc(*ret_bytes + 1, 1);
    for (size_t i = 0; i < *ret_bytes; i++)
        body[i] = (char)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
    return body;
}

static void check_text(const json_t *test, const struct client *client, const char *member)
{
    const char *want = case_text(test, member), *got = client_problem_text(client, member);
    if (strcmp(want == NULL ? "" : want, got) != 0)
        fail_msg("%s: %s is \"%s\", should be \"%s\"", client->label, member, got, want == NULL ? "" : want);
}

static void is_answered(void **state)
{
    const json_t *test = *state;
    const char *name = case_text(test, "name"), *to = case_text(test, "to"), *type = case_text(test, "content_type");
    const struct api_limits limits = {.request_memory_bytes_max = CLIENT_MEMORY_BYTES_MAX};
    size_t bytes;
    char *body = body_of(test, &bytes);
    struct client client;
    client_post(&client, to == NULL ? &api_protocol_attention : &api_protocol_kserve, name, body, bytes,
                type == NULL ? "application/json" : type, &limits, NULL);
    json_int_t status = json_integer_value(json_object_get(test, "status"));
    if (client.call.reply.status != status)
        fail_msg("%s: status %d, should be %d", name, client.call.reply.status, (int)status);
    if (status == 200) {
        assert_true(json_equal(json_object_get(client.reply, "warnings"), json_object_get(test, "warnings")));
    } else if (to != NULL) {
        check_text(test, &client, "error");
    } else {
        check_text(test, &client, "detail");
        check_text(test, &client, "pointer");
    }
    client_done(&client);
    free(body);
}

int main(void)
{
    static struct CMUnitTest tests[MISTAKES_MAX];
    api_init();
    json_t *mistakes = mistakes_load();
    size_t count = json_array_size(mistakes);
    if (count > MISTAKES_MAX)
        return 1;
    for (size_t i = 0; i < count; i++) {
        json_t *test = json_array_get(mistakes, i);
        tests[i] = (struct CMUnitTest){case_text(test, "name"), is_answered, NULL, NULL, test};
    }
    int failed = _cmocka_run_group_tests("mistakes", tests, count, NULL, NULL);
    json_decref(mistakes);
    return failed;
}
