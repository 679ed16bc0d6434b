/* work_item.h: one piece of work on its way to a worker, its memory, and the flag that cancels it.
 *
 * Life     In the queue until a worker takes it. The worker runs it to its end, or defers it: it then waits for memory in the
 *          budget, which puts it back into the queue, or goes back to the queue in another class. So no worker ever waits.
 * Threads  `stop` may be set from any thread; the first reason stays. The queue or the budget guards the links while it has the
 *          item; all else belongs to the thread that runs it. */
#ifndef ATTND_SERVER_WORK_WORK_ITEM_H
#define ATTND_SERVER_WORK_WORK_ITEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/work/clock.h"

enum work_stop {
    WORK_WANTED = 0,
    WORK_DEADLINE,    /* its deadline passed */
    WORK_CLIENT_GONE, /* its client closed the connection */
};

/* Small work has workers and memory of its own, so that large work cannot delay it. */
enum work_class { WORK_SMALL, WORK_LARGE };
#define WORK_CLASSES 2

/* Bounds small work: about a millisecond of one core, whatever it does with its bytes. */
#define WORK_SMALL_BODY_BYTES_MAX ((size_t)128 << 10)
#define WORK_SMALL_MEMORY_BYTES_MAX ((size_t)512 << 10)
#define WORK_SMALL_PRODUCTS_MAX ((size_t)1 << 22) /* multiplications */

/* Bounds work that the thread of its socket does itself, since handing it over would take longer: a few tenths of a millisecond at
 * most. Where a thread has many connections they share WORK_AT_ONCE_THREAD_BYTES: should all ask at once, no other request of that
 * thread, as one for health, waits longer than some 30 ms. */
#define WORK_AT_ONCE_BODY_BYTES_MAX ((size_t)16 << 10)
#define WORK_AT_ONCE_MEMORY_BYTES_MAX ((size_t)256 << 10)
#define WORK_AT_ONCE_PRODUCTS_MAX ((size_t)1 << 17)
#define WORK_AT_ONCE_THREAD_BYTES ((size_t)16 << 20)

/* Bytes reserved in the budget, in the pool of that class. */
struct budget_share {
    enum work_class pool;
    size_t bytes;
};

struct work_item {
    struct work_item *previous, *next; /* in the queue, or in the budget's line; NULL in neither */
    bool queued;                       /* guarded by the queue */
    bool waits_for_memory;             /* guarded by the budget, as the next */
    size_t wanted_bytes;
    struct budget_share grant;
    enum work_class class;
    void (*run)(struct work_item *work_item); /* called by a worker, or by the thread that removed a stopped item */
    int64_t deadline_ms;
    atomic_int stop; /* enum work_stop */
};

static inline void work_item_stop(struct work_item *work_item, enum work_stop why)
{
    int wanted = WORK_WANTED;
    (void)atomic_compare_exchange_strong(&work_item->stop, &wanted, (int)why);
}

static inline enum work_stop work_item_why_stopped(const struct work_item *work_item)
{
    return (enum work_stop)atomic_load_explicit(&work_item->stop, memory_order_relaxed);
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
