#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

#define TESTS_MAX 512

static const struct group *const groups[] = {
    &routing_group, &protocol_group, &limits_group, &times_group, &access_group,    &lifecycle_group,
    &log_group,     &metrics_group,  &pages_group,  &wire_group,  &attention_group, &memory_group,
};

/* Runs all tests, or with an argument those whose names fit that pattern (* and ?). */
int main(int argument_count, char **arguments)
{
    static struct CMUnitTest tests[TESTS_MAX];
    size_t count = 0;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (size_t t = 0; t < groups[g]->test_count && count < TESTS_MAX; t++)
            tests[count++] = groups[g]->tests[t];
    if (argument_count > 1)
        cmocka_set_test_filter(arguments[1]);
    int failed = _cmocka_run_group_tests("http", tests, count, NULL, harness_done);
    curl_global_cleanup();
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
