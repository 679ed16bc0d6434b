/* clock.h: monotonic time, in nanoseconds for measuring and in milliseconds for waiting. */
#ifndef ATTND_SERVER_WORK_CLOCK_H
#define ATTND_SERVER_WORK_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_NEVER_MS INT64_MAX

static inline int64_t clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t clock_ms(void)
{
    return clock_ns() / 1000000;
}

/* Up to a timer tick late, but cheap enough to call between tiles. */
static inline int64_t clock_coarse_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The absolute time `ms` from now, for pthread_cond_timedwait on a condition of the monotonic clock. */
static inline struct timespec clock_after_ms(int64_t ms)
{
    int64_t at_ns = clock_ns() + ms * 1000000;
    return (struct timespec){.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};
}

#endif
