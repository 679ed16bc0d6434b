/* job.h: one piece of work on its way through the queue to a worker, and the word that nobody wants it any more.
 *
 * Threads  `stop` may be set from any thread, the first reason stays; the links belong to the queue. */
#ifndef ATTND_SERVER_JOB_H
#define ATTND_SERVER_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/clock.h"

enum job_reason {
    JOB_WANTED = 0,
    JOB_DEADLINE,    /* its time is up */
    JOB_CLIENT_GONE, /* nobody is left to read the reply */
};

struct job {
    struct job *before, *after;   /* in the queue; NULL outside of it */
    bool queued;                  /* guarded by the queue */
    void (*run)(struct job *job); /* called once, by a worker, or by whoever took the job back out of the queue */
    int64_t deadline_ms;
    atomic_int stop; /* enum job_reason */
};

static inline void job_stop(struct job *job, enum job_reason why)
{
    int wanted = JOB_WANTED;
    (void)atomic_compare_exchange_strong(&job->stop, &wanted, (int)why);
}

static inline enum job_reason job_why_stopped(const struct job *job)
{
    return (enum job_reason)atomic_load_explicit(&job->stop, memory_order_relaxed);
}

/* True once the job is not wanted; asked between tiles, so it costs an atomic load and a coarse clock. */
static inline bool job_stopped(struct job *job)
{
    if (job_why_stopped(job) != JOB_WANTED)
        return true;
    if (clock_coarse_ms() < job->deadline_ms)
        return false;
    job_stop(job, JOB_DEADLINE);
    return true;
}

#endif
