#include "server/work/workers.h"

#include <stdlib.h>
#include <string.h>

#include "server/work/priority.h"

static void *work(void *argument)
{
    const struct workers *workers = argument;
    struct work_item *work_item;
    if (workers->class == WORK_LARGE)
        priority_lower();
    while ((work_item = queue_pop(workers->queue, workers->class)) != NULL)
        work_item->run(work_item);
    return NULL;
}

bool workers_start(struct workers *workers, enum work_class class, size_t thread_count, struct queue *queue, struct error *err)
{
    static const char *const names[] = {[WORK_SMALL] = "attnd-small", [WORK_LARGE] = "attnd-large"};
    *workers = (struct workers){.queue = queue, .class = class, .threads = calloc(thread_count, sizeof *workers->threads)};
    if (workers->threads == NULL)
        return error_set(err, ERROR_NO_MEMORY, "no memory for %zu threads", thread_count);
    for (; workers->thread_count < thread_count; workers->thread_count++) {
        pthread_t *thread = &workers->threads[workers->thread_count];
        int failure = pthread_create(thread, NULL, work, workers);
        if (failure != 0) {
            (void)error_set(err, ERROR_INTERNAL, "cannot start thread %zu of %zu: %s", workers->thread_count + 1, thread_count,
                            strerrordesc_np(failure));
            workers_stop(workers);
            return false;
        }
        (void)pthread_setname_np(*thread, names[class]);
    }
    return true;
}

void workers_stop(struct workers *workers)
{
    queue_close(workers->queue);
    for (size_t i = 0; i < workers->thread_count; i++)
        (void)pthread_join(workers->threads[i], NULL);
    free(workers->threads);
    *workers = (struct workers){.queue = workers->queue, .class = workers->class};
}
