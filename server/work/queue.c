#include "server/work/queue.h"

#include <assert.h>

#include "server/work/sync.h"

void queue_init(struct queue *queue, size_t item_count_max)
{
    *queue = (struct queue){.item_count_max = item_count_max};
    sync_init(&queue->mutex, &queue->changed);
}

bool queue_push(struct queue *queue, struct work_item *work_item)
{
    sync_lock(&queue->mutex);
    bool fits = queue->item_count < queue->item_count_max;
    if (fits) {
        work_item->previous = queue->last;
        work_item->next = NULL;
        work_item->queued = true;
        *(queue->last != NULL ? &queue->last->next : &queue->first) = work_item;
        queue->last = work_item;
        queue->item_count++;
        (void)pthread_cond_signal(&queue->changed);
    }
    sync_unlock(&queue->mutex);
    return fits;
}

static void unlink_locked(struct queue *queue, struct work_item *work_item)
{
    *(work_item->previous != NULL ? &work_item->previous->next : &queue->first) = work_item->next;
    *(work_item->next != NULL ? &work_item->next->previous : &queue->last) = work_item->previous;
    work_item->previous = NULL;
    work_item->next = NULL;
    work_item->queued = false;
    queue->item_count--;
}

struct work_item *queue_pop(struct queue *queue)
{
    sync_lock(&queue->mutex);
    while (queue->first == NULL && !queue->closed)
        (void)pthread_cond_wait(&queue->changed, &queue->mutex);
    struct work_item *work_item = queue->first;
    if (work_item != NULL)
        unlink_locked(queue, work_item);
    sync_unlock(&queue->mutex);
    return work_item;
}

bool queue_remove(struct queue *queue, struct work_item *work_item)
{
    sync_lock(&queue->mutex);
    bool queued = work_item->queued;
    if (queued)
        unlink_locked(queue, work_item);
    sync_unlock(&queue->mutex);
    return queued;
}

size_t queue_length(struct queue *queue)
{
    sync_lock(&queue->mutex);
    size_t count = queue->item_count;
    sync_unlock(&queue->mutex);
    return count;
}

void queue_close(struct queue *queue)
{
    sync_lock(&queue->mutex);
    queue->closed = true;
    (void)pthread_cond_broadcast(&queue->changed);
    sync_unlock(&queue->mutex);
}

void queue_done(struct queue *queue)
{
    assert(queue->first == NULL);
    sync_done(&queue->mutex, &queue->changed);
}
