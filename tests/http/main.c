/* main.c: runs the HTTP tests of all groups, or with an argument those whose names fit that pattern (* and ?). */
#include <assert.h>
#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

#define TESTS_MAX 512
#define NAME_BYTES_MAX 128

static struct CMUnitTest tests[TESTS_MAX];
static char names[TESTS_MAX][NAME_BYTES_MAX];
static size_t test_count;

/* test_health of routing_test.c is called routing.health. */
static void add_group(const char *group_name, const struct group *group)
{
    static const char prefix[] = "test_";
    for (size_t t = 0; t < group->test_count; t++) {
        assert(test_count < TESTS_MAX);
        const char *name = group->tests[t].name;
        name += strncmp(name, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
        (void)snprintf(names[test_count], NAME_BYTES_MAX, "%s.%s", group_name, name);
        tests[test_count] = group->tests[t];
        tests[test_count].name = names[test_count];
        test_count++;
    }
}

int main(int argument_count, char **arguments)
{
    (void)signal(SIGPIPE, SIG_IGN);
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
#define ADD_GROUP(name) add_group(#name, &name##_group);
    FOR_EACH_GROUP(ADD_GROUP)
#undef ADD_GROUP
    if (argument_count > 1)
        cmocka_set_test_filter(arguments[1]);
    int failed = _cmocka_run_group_tests("http", tests, test_count, NULL, harness_done);
    curl_global_cleanup();
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
