/* workers.h: the threads that take work items from the queue and run them. */
#ifndef ATTND_SERVER_WORK_WORKERS_H
#define ATTND_SERVER_WORK_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "server/work/queue.h"

struct workers {
    struct queue *queue; /* borrowed */
    pthread_t *threads;
    size_t thread_count;
};

bool workers_start(struct workers *workers, size_t thread_count, struct queue *queue, struct error *err)
    __attribute__((warn_unused_result));

/* Closes the queue and waits until its last item has run. */
void workers_stop(struct workers *workers);

#endif
