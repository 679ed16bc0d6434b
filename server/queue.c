#include "server/queue.h"

#include <assert.h>

#include "server/sync.h"

void queue_init(struct queue *queue, size_t job_count_max)
{
    *queue = (struct queue){.job_count_max = job_count_max};
    sync_init(&queue->mutex, &queue->changed);
}

bool queue_push(struct queue *queue, struct job *job)
{
    bool room;
    sync_lock(&queue->mutex);
    room = queue->job_count < queue->job_count_max;
    if (room) {
        job->before = queue->last;
        job->after = NULL;
        job->queued = true;
        *(queue->last != NULL ? &queue->last->after : &queue->first) = job;
        queue->last = job;
        queue->job_count++;
        (void)pthread_cond_signal(&queue->changed);
    }
    sync_unlock(&queue->mutex);
    return room;
}

static void unlink_locked(struct queue *queue, struct job *job)
{
    *(job->before != NULL ? &job->before->after : &queue->first) = job->after;
    *(job->after != NULL ? &job->after->before : &queue->last) = job->before;
    job->before = NULL;
    job->after = NULL;
    job->queued = false;
    queue->job_count--;
}

struct job *queue_pop(struct queue *queue)
{
    sync_lock(&queue->mutex);
    while (queue->first == NULL && !queue->closed)
        (void)pthread_cond_wait(&queue->changed, &queue->mutex);
    struct job *job = queue->first;
    if (job != NULL)
        unlink_locked(queue, job);
    sync_unlock(&queue->mutex);
    return job;
}

bool queue_remove(struct queue *queue, struct job *job)
{
    sync_lock(&queue->mutex);
    bool queued = job->queued;
    if (queued)
        unlink_locked(queue, job);
    sync_unlock(&queue->mutex);
    return queued;
}

size_t queue_length(struct queue *queue)
{
    sync_lock(&queue->mutex);
    size_t count = queue->job_count;
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
