/* POST /attention/compare over what was computed elsewhere: mismatches that people reported, rebuilt small, and PyTorch's own outputs
 * in float16 and bfloat16 (tests/conformance). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/test_data.h"

static void compare(struct client *client, const json_t *test, const char *label)
{
    json_t *body = json_object();
    static const char *const members[] = {"request", "expected", "search"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (json_object_get(test, members[i]) != NULL)
            json_object_set(body, members[i], json_object_get(test, members[i]));
    char *text = json_dumps(body, JSON_REAL_PRECISION(17));
    client_compare(client, label, text, strlen(text), NULL);
    client_check_ok(client);
    free(text);
    json_decref(body);
}

static const char *text_at(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

/* Whether the explanations are the named ones, each by itself, in that order. */
static bool has_names(const json_t *reply, const json_t *names)
{
    const json_t *explanations = json_object_get(reply, "explanations");
    bool same = json_array_size(names) <= json_array_size(explanations);
    for (size_t i = 0; same && i < json_array_size(names); i++) {
        const json_t *found = json_object_get(json_array_get(explanations, i), "names");
        same = json_array_size(found) == 1 && json_equal(json_array_get(found, 0), json_array_get(names, i));
    }
    return same;
}

static void reports(void **state)
{
    (void)state;
    json_t *tests = conformance_load("compare_reports.json"), *test;
    size_t i;
    assert_true(json_array_size(tests) >= 20);
    json_array_foreach(tests, i, test)
    {
        struct client client;
        const char *origin = text_at(test, "origin");
        compare(&client, test, origin);
        if (strcmp(text_at(client.reply, "verdict"), text_at(test, "verdict")) != 0 ||
            !has_names(client.reply, json_object_get(test, "names")))
            fail_msg("%s: %s", origin, client.reply_text);
        client_done(&client);
    }
    json_decref(tests);
}

/* PyTorch's outputs are rounding, of the right type. */
static void torch_rounding(void **state)
{
    (void)state;
    json_t *tests = conformance_load("compare_rounding.json"), *test;
    size_t i;
    assert_true(json_array_size(tests) > 0);
    json_array_foreach(tests, i, test)
    {
        struct client client;
        char label[80];
        const char *type = text_at(test, "dtype");
        (void)snprintf(label, sizeof label, "%s, %s", type, text_at(test, "backend"));
        compare(&client, test, label);
        const json_t *first = json_array_get(json_object_get(client.reply, "explanations"), 0);
        if (strcmp(text_at(client.reply, "verdict"), "rounding") != 0 || strstr(text_at(first, "sentence"), type) == NULL)
            fail_msg("%s: %s", label, client.reply_text);
        client_done(&client);
    }
    json_decref(tests);
}

int main(void)
{
    api_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports),
        cmocka_unit_test(torch_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
