/* Every case of tests/cases, of tests/conformance/cases.json and rope.json through api_compute: tests/cases/README.md has their form.
 * A reply of 200 is also held against the naive evaluation of its request. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/json_tensor.h"
#include "tests/support/request_check.h"
#include "tests/support/test_data.h"
#include "tests/support/view.h"

#define CASES_MAX 2000
#define MEMORY_BYTES ((size_t)64 << 20) /* of a request, where a case says nothing else */
#define EXPECTED_TOLERANCE 1e-6

/* A misspelt member would silently check nothing. */
static void check_members(json_t *test)
{
    static const char *const known[] = {
        "name",  "source",  "request", "body",    "content_type", "memory_bytes_max", "status",
        "limit", "pointer", "expect",  "applied", "shapes",       "detail_mentions",  "warnings_mention"};
    const char *name;
    json_t *value;
    json_object_foreach(test, name, value)
    {
        bool is_known = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known |= strcmp(known[i], name) == 0;
        if (!is_known)
            fail_msg("%s: a case has no member %s", case_text(test, "name"), name);
    }
}

static void check_numbers(const char *name, json_t *expect, const struct client *client)
{
    const char *result;
    json_t *value;
    json_object_foreach(expect, result, value)
    {
        json_t *reply = json_object_get(client->reply, result);
        if (reply == NULL)
            fail_msg("%s: the reply has no %s", name, result);
        struct json_tensor want = json_tensor_read(value, false), got = json_tensor_read(reply, false);
        assert_int_equal(got.rank, want.rank);
        assert_memory_equal(got.shape, want.shape, got.rank * sizeof *got.shape);
        for (size_t k = 0; k < want.count; k++) {
            double off = fabs(got.values[k] - want.values[k]);
            bool same = got.values[k] == want.values[k] || (isnan(got.values[k]) && isnan(want.values[k]));
            if (!same && !(off <= EXPECTED_TOLERANCE * fmax(1, fabs(want.values[k]))))
                fail_msg("%s: %s[%zu] is %.9g, should be %.9g", name, result, k, got.values[k], want.values[k]);
        }
        json_tensor_done(&want);
        json_tensor_done(&got);
    }
}

/* "applied": members that the reply's must have, numbers within EXPECTED_TOLERANCE of their size. */
static void check_applied(const char *name, const char *member, const json_t *want, const json_t *got)
{
    const char *key;
    json_t *value;
    if (json_is_number(want) && json_is_number(got)) {
        double x = json_number_value(want), off = fabs(json_number_value(got) - x);
        if (!(off <= EXPECTED_TOLERANCE * fabs(x)))
            fail_msg("%s: applied %s is %.17g, should be %.17g", name, member, json_number_value(got), x);
        return;
    }
    if (json_is_array(want)) {
        assert_int_equal(json_array_size(got), json_array_size(want));
        for (size_t i = 0; i < json_array_size(want); i++)
            check_applied(name, member, json_array_get(want, i), json_array_get(got, i));
        return;
    }
    if (!json_is_object(want) && !json_equal(want, got))
        fail_msg("%s: applied %s is not what was expected", name, member);
    json_t *members = (json_t *)want;
    json_object_foreach(members, key, value)
    {
        check_applied(name, key, value, json_object_get(got, key));
    }
}

/* "shapes": of results in the flat format, which keeps what nested arrays cannot show, as [0, 5]. */
static void check_shapes(const char *name, json_t *shapes, const struct client *client)
{
    const char *result;
    json_t *shape;
    json_object_foreach(shapes, result, shape)
    {
        if (!json_equal(json_object_get(json_object_get(client->reply, result), "shape"), shape))
            fail_msg("%s: %s has not the shape that was expected", name, result);
    }
}

static void check_warnings(const char *name, json_t *words, const struct client *client)
{
    for (size_t i = 0; i < json_array_size(words); i++) {
        char *warnings = json_dumps(json_object_get(client->reply, "warnings"), 0);
        if (strstr(warnings, json_string_value(json_array_get(words, i))) == NULL)
            fail_msg("%s: no warning mentions \"%s\": %s", name, json_string_value(json_array_get(words, i)), warnings);
        free(warnings);
    }
}

static void check_problem(const char *name, json_t *test, const struct client *client)
{
    json_t *words = json_object_get(test, "detail_mentions"), *limit = json_object_get(test, "limit");
    const char *detail = client_problem_text(client, "detail"), *pointer = case_text(test, "pointer");
    for (size_t i = 0; i < json_array_size(words); i++)
        if (strstr(detail, json_string_value(json_array_get(words, i))) == NULL)
            fail_msg("%s: the detail does not mention \"%s\": %s", name, json_string_value(json_array_get(words, i)), detail);
    if (pointer != NULL && strcmp(pointer, client_problem_text(client, "pointer")) != 0)
        fail_msg("%s: points to \"%s\", should to \"%s\": %s", name, client_problem_text(client, "pointer"), pointer, detail);
    if (limit != NULL && !json_equal(limit, json_object_get(client->reply, "limit")))
        fail_msg("%s: not the limit that was expected: %s", name, detail);
}

/* Notes what the arena had given out before the computed cost was granted. */
struct spending {
    const struct client *client;
    size_t used_before_bytes;
};

static bool note_spending(void *context, const struct api_cost *cost, struct error *err)
{
    (void)cost;
    (void)err;
    struct spending *spending = context;
    spending->used_before_bytes = spending->client->call.arena.used_bytes;
    return true;
}

static void runs_as_expected(void **state)
{
    json_t *test = *state, *request = json_object_get(test, "request");
    const char *name = case_text(test, "name");
    char *body = case_body(test);
    json_t *memory = json_object_get(test, "memory_bytes_max");
    struct client client;
    struct spending spending = {.client = &client};
    const struct api_limits limits = {
        .request_memory_bytes_max = memory ? (size_t)json_integer_value(memory) : MEMORY_BYTES,
        .reserve = note_spending,
        .reserve_context = &spending,
    };
    check_members(test);
    client_attention_with(&client, name, body, strlen(body), case_text(test, "content_type"), &limits, NULL);
    json_int_t status = json_integer_value(json_object_get(test, "status"));
    if (client.call.reply.status != status)
        fail_msg("%s: status %d, should be %d: %s", name, client.call.reply.status, (int)status,
                 client_problem_text(&client, "detail"));
    if (status != 200) {
        check_problem(name, test, &client);
    } else {
        assert_true(client.call.arena.used_bytes - spending.used_before_bytes <= client.call.reserved_bytes);
        if (request != NULL)
            request_check(name, request, client.reply);
        check_numbers(name, json_object_get(test, "expect"), &client);
        if (json_object_get(test, "applied") != NULL)
            check_applied(name, "", json_object_get(test, "applied"), json_object_get(client.reply, "applied"));
        check_shapes(name, json_object_get(test, "shapes"), &client);
        check_warnings(name, json_object_get(test, "warnings_mention"), &client);
    }
    client_done(&client);
    free(body);
}

int main(void)
{
    static struct CMUnitTest tests[CASES_MAX];
    api_init();
    json_t *cases = cases_load();
    size_t count = json_array_size(cases);
    if (count > CASES_MAX)
        return 1;
    for (size_t i = 0; i < count; i++) {
        json_t *test = json_array_get(cases, i);
        tests[i] = (struct CMUnitTest){case_text(test, "name"), runs_as_expected, NULL, NULL, test};
    }
    int failed = _cmocka_run_group_tests("api_cases", tests, count, NULL, NULL);
    json_decref(cases);
    return failed;
}
