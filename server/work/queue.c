#include "server/work/queue.h"

#include <assert.h>

#include "server/work/sync.h"

void queue_init(struct queue *queue, size_t item_count_max)
{
    *queue = (struct queue){.item_count_max = item_count_max};
    sync_must(pthread_mutex_init(&queue->mutex, NULL));
    for (size_t class = 0; class < WORK_CLASSES; class ++)
        sync_must(pthread_cond_init(&queue->filled[class], NULL));
}

static void insert_locked(struct queue *queue, struct work_item *work_item, bool first)
{
    struct work_list *list = &queue->lists[work_item->class];
    work_list_insert(list, work_item, first ? list->first : NULL);
    work_item->queued = true;
    queue->item_count++;
    (void)pthread_cond_signal(&queue->filled[work_item->class]);
}

static void remove_locked(struct queue *queue, struct work_item *work_item)
{
    work_list_remove(&queue->lists[work_item->class], work_item);
    work_item->queued = false;
    queue->item_count--;
}

bool queue_push(struct queue *queue, struct work_item *work_item)
{
    sync_lock(&queue->mutex);
    bool fits = queue->item_count < queue->item_count_max;
    if (fits)
        insert_locked(queue, work_item, false);
    sync_unlock(&queue->mutex);
    return fits;
}

void queue_push_again(struct queue *queue, struct work_item *work_item, bool first)
{
    sync_lock(&queue->mutex);
    insert_locked(queue, work_item, first);
    sync_unlock(&queue->mutex);
}

struct work_item *queue_pop(struct queue *queue, enum work_class class)
{
    sync_lock(&queue->mutex);
    while (queue->lists[class].first == NULL && !queue->closed)
        (void)pthread_cond_wait(&queue->filled[class], &queue->mutex);
    struct work_item *work_item = queue->lists[class].first;
    if (work_item != NULL)
        remove_locked(queue, work_item);
    sync_unlock(&queue->mutex);
    return work_item;
}

bool queue_remove(struct queue *queue, struct work_item *work_item)
{
    sync_lock(&queue->mutex);
    bool queued = work_item->queued;
    if (queued)
        remove_locked(queue, work_item);
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
    for (size_t class = 0; class < WORK_CLASSES; class ++)
        (void)pthread_cond_broadcast(&queue->filled[class]);
    sync_unlock(&queue->mutex);
}

void queue_done(struct queue *queue)
{
    assert(queue->item_count == 0);
    for (size_t class = 0; class < WORK_CLASSES; class ++)
        sync_must(pthread_cond_destroy(&queue->filled[class]));
    sync_must(pthread_mutex_destroy(&queue->mutex));
}
