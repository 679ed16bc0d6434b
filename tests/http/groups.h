/* groups.h: the tests by theme, a file each. A new file defines its group, and main.c's list takes it in. */
#ifndef ATTND_TESTS_HTTP_GROUPS_H
#define ATTND_TESTS_HTTP_GROUPS_H

#include "tests/support/check.h"

struct group {
    const struct CMUnitTest *tests;
    size_t test_count;
};

#define GROUP(tests)                                                                                                           \
    {                                                                                                                          \
        (tests), sizeof(tests) / sizeof((tests)[0])                                                                            \
    }

extern const struct group access_group, attention_group, lifecycle_group, limits_group, log_group, memory_group, metrics_group,
    pages_group, protocol_group, routing_group, times_group, wire_group;

#endif
