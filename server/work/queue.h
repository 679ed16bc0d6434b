/* queue.h: work items that wait for a worker, first in, first out, up to a fixed number.
 *
 * Memory   borrows the items and links them, so it allocates nothing.
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

/* Returns false when the queue is full. */
bool queue_push(struct queue *queue, struct work_item *work_item) __attribute__((warn_unused_result));

/* Waits for an item. Returns NULL once the queue is closed and empty. */
struct work_item *queue_pop(struct queue *queue);

/* Removes an item, which the caller then runs. Returns false when it is not in the queue: a worker took it. */
bool queue_remove(struct queue *queue, struct work_item *work_item) __attribute__((warn_unused_result));

/* The number of items that wait. */
size_t queue_length(struct queue *queue);

/* Ends the workers once the queue is empty. */
void queue_close(struct queue *queue);

void queue_done(struct queue *queue);

#endif
