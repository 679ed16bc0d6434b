/* work_item.h: one piece of work on its way through the queue to a worker, and the flag that cancels it.
 *
 * Threads  `stop` may be set from any thread; the first reason stays. The links belong to the queue. */
#ifndef ATTND_SERVER_WORK_WORK_ITEM_H
#define ATTND_SERVER_WORK_WORK_ITEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/work/clock.h"

enum work_item_reason {
    WORK_WANTED = 0,
    WORK_DEADLINE,    /* its deadline passed */
    WORK_CLIENT_GONE, /* its client closed the connection */
};

struct work_item {
    struct work_item *previous, *next;        /* in the queue; NULL outside of it */
    bool queued;                              /* guarded by the queue's mutex */
    void (*run)(struct work_item *work_item); /* called once: by a worker, or by the thread that removed it from the queue */
    int64_t deadline_ms;
    atomic_int stop; /* enum work_item_reason */
};

static inline void work_item_stop(struct work_item *work_item, enum work_item_reason why)
{
    int wanted = WORK_WANTED;
    (void)atomic_compare_exchange_strong(&work_item->stop, &wanted, (int)why);
}

static inline enum work_item_reason work_item_why_stopped(const struct work_item *work_item)
{
    return (enum work_item_reason)atomic_load_explicit(&work_item->stop, memory_order_relaxed);
}

/* True once the work was cancelled or its deadline passed. Called between tiles: costs an atomic load and a coarse clock. */
static inline bool work_item_stopped(struct work_item *work_item)
{
    if (work_item_why_stopped(work_item) != WORK_WANTED)
        return true;
    if (clock_coarse_ms() < work_item->deadline_ms)
        return false;
    work_item_stop(work_item, WORK_DEADLINE);
    return true;
}

#endif
