/* environment.h: what the environment says about how much to test.
 *
 *   ATTND_TEST_LONG=1   everything
 *   neither             a part of what is drawn, so that a change is tried in a minute
 *   ATTND_TEST_SLOW=1   less still: under a sanitizer, valgrind or qemu, where all takes many times as long. Wins over LONG. */
#ifndef ATTND_TESTS_SUPPORT_ENVIRONMENT_H
#define ATTND_TESTS_SUPPORT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* The number in the environment's `name`; `otherwise` where there is none. */
static inline size_t environment_size(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? (size_t)strtoull(text, NULL, 10) : otherwise;
}

static inline bool environment_slow(void)
{
    return environment_size("ATTND_TEST_SLOW", 0) != 0;
}

/* For loops over cases: one in how many is tried, 1 where everything is. */
static inline size_t environment_step(size_t quick, size_t slow)
{
    if (environment_slow())
        return slow;
    return environment_size("ATTND_TEST_LONG", 0) != 0 ? 1 : quick;
}

/* How many cases of `count` to draw. */
static inline size_t environment_cases(size_t count, size_t quick, size_t slow)
{
    return count / environment_step(quick, slow);
}

#endif
