/* groups.h: the HTTP tests by theme. A file NAME_test.c ends with `const struct group NAME_group = GROUP(tests);` and is
 * named here; its tests are called NAME.function. They run in this order. */
#ifndef ATTND_TESTS_HTTP_GROUPS_H
#define ATTND_TESTS_HTTP_GROUPS_H

#include "tests/support/check.h"

#define FOR_EACH_GROUP(group)                                                                                                  \
    group(routing) group(protocol) group(hostile) group(allocation) group(limits) group(times) group(access) group(lifecycle)  \
        group(listen) group(log) group(metrics) group(pages) group(wire) group(attention) group(merge) group(memory)           \
            group(fairness)

struct group {
    const struct CMUnitTest *tests;
    size_t test_count;
};

#define GROUP(tests)                                                                                                           \
    {                                                                                                                          \
        (tests), sizeof(tests) / sizeof((tests)[0])                                                                            \
    }

#define DECLARE_GROUP(name) extern const struct group name##_group;
FOR_EACH_GROUP(DECLARE_GROUP)
#undef DECLARE_GROUP

#endif
