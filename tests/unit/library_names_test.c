/* What is suggested for other libraries' names, followed: the numbers are the library's own (tests/conformance/libraries.json). Every
 * entry of the table is followed by a request there, or listed as one that changes no number. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/library_names.h"
#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/test_data.h"

#define TOLERANCE 2e-6
#define CASES_MAX 400

static json_t *libraries;

static void check_numbers(const json_t *test, const char *result, json_t *got, json_t *want)
{
    size_t count, want_count;
    double *numbers = conformance_numbers(got, &count), *wanted = conformance_numbers(want, &want_count);
    assert_int_equal(count, want_count);
    for (size_t k = 0; k < count; k++)
        if (!(fabs(numbers[k] - wanted[k]) <= TOLERANCE * fmax(1, fabs(wanted[k]))))
            fail_msg("%s: %s[%zu] is %.9g, the library's is %.9g", case_text(test, "library"), result, k, numbers[k],
                     wanted[k]);
    free(numbers);
    free(wanted);
}

/* A result by its name, of POST /attention or among the outputs of /v2. */
static json_t *result_of(const struct client *client, const char *name)
{
    json_t *outputs = json_object_get(client->reply, "outputs"), *output;
    size_t i;
    json_array_foreach(outputs, i, output)
    {
        if (strcmp(case_text(output, "name"), name) == 0)
            return json_object_get(output, "data");
    }
    return json_object_get(client->reply, name);
}

static void follows_the_library(void **state)
{
    const json_t *test = *state;
    json_t *request = json_object_get(test, "request"), *want;
    char *body = json_dumps(request, JSON_COMPACT);
    struct client client;
    const char *result;
    if (json_object_get(request, "inputs") != NULL)
        client_kserve(&client, case_text(test, "library"), body, strlen(body), NULL);
    else
        client_attention(&client, case_text(test, "library"), body, strlen(body), NULL);
    client_check_ok(&client);
    json_object_foreach(json_object_get(test, "expect"), result, want)
    {
        check_numbers(test, result, result_of(&client, result), want);
    }
    client_done(&client);
    free(body);
}

/* Whether the entry is among the [theirs, ours] of some member of the list. */
static bool is_among(json_t *list, const char *theirs, const char *ours)
{
    size_t i, k;
    json_t *member, *pair;
    json_array_foreach(list, i, member)
    {
        json_array_foreach(json_object_get(member, "names"), k, pair)
        {
            if (strcmp(json_string_value(json_array_get(pair, 0)), theirs) == 0 &&
                strcmp(json_string_value(json_array_get(pair, 1)), ours) == 0)
                return true;
        }
    }
    return false;
}

static bool is_in_table(const char *theirs, const char *ours)
{
    for (size_t i = 0; i < library_name_count; i++)
        if (strcmp(library_names[i].theirs, theirs) == 0 && strcmp(library_names[i].ours, ours) == 0)
            return true;
    return false;
}

static void every_entry_is_tried(void **state)
{
    (void)state;
    for (size_t i = 0; i < library_name_count; i++) {
        const struct library_name *entry = &library_names[i];
        bool with = is_among(json_object_get(libraries, "cases"), entry->theirs, entry->ours);
        bool without = is_among(json_object_get(libraries, "without_numbers"), entry->theirs, entry->ours);
        if (with == without)
            fail_msg("%s, here %s: %s", entry->theirs, entry->ours,
                     with ? "is listed as without numbers, and has a case" : "has no case");
    }
}

static void check_names(json_t *list)
{
    size_t i, k;
    json_t *member, *pair;
    json_array_foreach(list, i, member)
    {
        json_array_foreach(json_object_get(member, "names"), k, pair)
        {
            const char *theirs = json_string_value(json_array_get(pair, 0)), *ours = json_string_value(json_array_get(pair, 1));
            if (!is_in_table(theirs, ours))
                fail_msg("%s, here %s: no such entry", theirs, ours);
        }
    }
}

static void every_name_is_an_entry(void **state)
{
    (void)state;
    check_names(json_object_get(libraries, "cases"));
    check_names(json_object_get(libraries, "without_numbers"));
}

int main(void)
{
    static struct CMUnitTest tests[CASES_MAX] = {cmocka_unit_test(every_entry_is_tried),
                                                 cmocka_unit_test(every_name_is_an_entry)};
    api_init();
    libraries = conformance_load("libraries.json");
    json_t *cases = json_object_get(libraries, "cases");
    size_t count = json_array_size(cases);
    if (count + 2 > CASES_MAX)
        return 1;
    for (size_t i = 0; i < count; i++) {
        json_t *test = json_array_get(cases, i);
        tests[2 + i] = (struct CMUnitTest){case_text(test, "library"), follows_the_library, NULL, NULL, test};
    }
    int failed = _cmocka_run_group_tests("library_names", tests, 2 + count, NULL, NULL);
    json_decref(libraries);
    return failed;
}
