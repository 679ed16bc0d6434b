/* queue.h: jobs that wait for a worker, first come first served, never more than a fixed number.
 *
 * Memory   borrows the jobs; they are linked, so nothing is allocated.
 * Threads  every function from any thread. */
#ifndef ATTND_SERVER_WORK_QUEUE_H
#define ATTND_SERVER_WORK_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/work/work_item.h"

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct work_item *first, *last;
    size_t item_count, item_count_max;
    bool closed;
};

void queue_init(struct queue *queue, size_t item_count_max);

/* Returns false where the queue is full. */
bool queue_push(struct queue *queue, struct work_item *work_item) __attribute__((warn_unused_result));

/* Waits for a job. Returns NULL once the queue is closed and empty. */
struct work_item *queue_pop(struct queue *queue);

/* Takes a job back. Returns false where it is not in the queue (any more): then a worker has it. */
bool queue_remove(struct queue *queue, struct work_item *work_item) __attribute__((warn_unused_result));

/* How many wait. */
size_t queue_length(struct queue *queue);

/* Lets the workers go once the queue is empty. */
void queue_close(struct queue *queue);

void queue_done(struct queue *queue);

#endif
