/* environment.h: what the environment says about how much to test. */
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

/* True under a sanitizer or valgrind, where everything takes many times as long: do less of the same. */
static inline bool environment_slow(void)
{
    return environment_size("ATTND_TEST_SLOW", 0) != 0;
}

/* For loops over cases: 1, or where things are slow `step`, so that one case in `step` is left. */
static inline size_t environment_step(size_t step)
{
    return environment_slow() ? step : 1;
}

#endif
