/* sync.h: mutexes and conditions; failures that only a bug can cause abort. */
#ifndef ATTND_SERVER_WORK_SYNC_H
#define ATTND_SERVER_WORK_SYNC_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "server/work/clock.h"

static inline void sync_must(int failure)
{
    if (failure != 0)
        abort();
}

static inline void sync_lock(pthread_mutex_t *mutex)
{
    sync_must(pthread_mutex_lock(mutex));
}

static inline void sync_unlock(pthread_mutex_t *mutex)
{
    sync_must(pthread_mutex_unlock(mutex));
}

/* A mutex, and a condition whose waits are timed by the monotonic clock. */
static inline void sync_init(pthread_mutex_t *mutex, pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    sync_must(pthread_condattr_init(&attributes));
    sync_must(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC));
    sync_must(pthread_cond_init(condition, &attributes));
    sync_must(pthread_condattr_destroy(&attributes));
    sync_must(pthread_mutex_init(mutex, NULL));
}

static inline void sync_done(pthread_mutex_t *mutex, pthread_cond_t *condition)
{
    sync_must(pthread_cond_destroy(condition));
    sync_must(pthread_mutex_destroy(mutex));
}

/* Waits for the condition, at most `timeout_ms`. May return early, so check again. */
static inline void sync_wait_ms(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t timeout_ms)
{
    struct timespec until = clock_after_ms(timeout_ms);
    (void)pthread_cond_timedwait(condition, mutex, &until);
}

#endif
