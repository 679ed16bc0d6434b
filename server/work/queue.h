/* queue.h: work items that wait for a worker: for each class a list of its own, first in, first out.
 *
 * Memory   borrows the items and links them, so it allocates nothing.
 * Threads  every function from any thread. */
#ifndef ATTND_SERVER_WORK_QUEUE_H
#define ATTND_SERVER_WORK_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/work/work_list.h"

struct queue {
    pthread_mutex_t mutex;
    struct work_list lists[WORK_CLASSES];
    pthread_cond_t filled[WORK_CLASSES];
    size_t item_count, item_count_max; /* of all classes together */
    bool closed;
};

void queue_init(struct queue *queue, size_t item_count_max);

/* Appends to the list of the item's class. Returns false when the queue is full. */
bool queue_push(struct queue *queue, struct work_item *work_item) __attribute__((warn_unused_result));

/* Puts a deferred item back, before all others where `first`. Never fails: the item was admitted before. */
void queue_push_again(struct queue *queue, struct work_item *work_item, bool first);

/* Waits for an item of the class. Returns NULL once the queue is closed and has none. */
struct work_item *queue_pop(struct queue *queue, enum work_class class);

/* Removes an item, which the caller then runs. Returns false when it is not in the queue. */
bool queue_remove(struct queue *queue, struct work_item *work_item) __attribute__((warn_unused_result));

/* The number of items that wait. */
size_t queue_length(struct queue *queue);

/* Ends the workers once the queue is empty. */
void queue_close(struct queue *queue);

void queue_done(struct queue *queue);

#endif
