/* workers.h: the threads that take the work items of one class from the queue and run them.
 *
 * There are as many for each class as cores to compute on. So small work never waits for a thread that large work has; the scheduler
 * makes room on the cores, since the threads of large work have a lower priority (priority.h). */
#ifndef ATTND_SERVER_WORK_WORKERS_H
#define ATTND_SERVER_WORK_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "server/work/queue.h"

struct workers {
    struct queue *queue; /* borrowed */
    enum work_class class;
    pthread_t *threads;
    size_t thread_count;
};

bool workers_start(struct workers *workers, enum work_class class, size_t thread_count, struct queue *queue, struct error *err)
    __attribute__((warn_unused_result));

/* Closes the queue and waits until its last item of the class has run. */
void workers_stop(struct workers *workers);

#endif
