#include "server/work/budget.h"

#include <assert.h>
#include <malloc.h>
#include <sys/mman.h>

#include "core/size.h"
#include "server/work/clock.h"
#include "server/work/sync.h"

/* How often a waiter checks whether its work was stopped. */
#define BUDGET_POLL_MS 50

/* How long freed memory is kept for the next request while nothing is in use. */
#define BUDGET_IDLE_MS 1000

struct budget_waiter {
    struct budget_waiter *previous, *next;
};

void budget_init(struct budget *budget, size_t total_bytes, size_t grant_bytes_max)
{
    assert(grant_bytes_max <= total_bytes);
    *budget = (struct budget){.total_bytes = total_bytes, .bodies_bytes_max = total_bytes - grant_bytes_max};
    sync_init(&budget->mutex, &budget->changed);
}

static size_t free_bytes_locked(const struct budget *budget)
{
    return budget->total_bytes - budget->bodies_bytes - budget->grants_bytes;
}

static void trim_locked(struct budget *budget)
{
    (void)malloc_trim(0);
    if (budget->mapping != NULL)
        (void)munmap(budget->mapping, budget->mapping_bytes);
    budget->mapping = NULL;
    budget->freed_bytes = 0;
}

/* Called before `bytes` more come into use. */
static void trim_before_use_locked(struct budget *budget, size_t bytes)
{
    if (budget->freed_bytes > free_bytes_locked(budget) - bytes)
        trim_locked(budget);
}

static void count_freed_locked(struct budget *budget, size_t bytes)
{
    budget->freed_bytes = size_add(budget->freed_bytes, bytes);
    budget->freed_at_ms = clock_ms();
}

void budget_cache_mapping(struct budget *budget, void **mapped, size_t *bytes)
{
    sync_lock(&budget->mutex);
    if (budget->mapping == NULL || budget->mapping_bytes < *bytes) {
        void *displaced = budget->mapping;
        size_t displaced_bytes = budget->mapping_bytes;
        budget->mapping = *mapped;
        budget->mapping_bytes = *bytes;
        budget->mapping_is_free = false;
        *mapped = displaced;
        *bytes = displaced != NULL ? displaced_bytes : 0;
    }
    sync_unlock(&budget->mutex);
}

void budget_mark_mapping_free(struct budget *budget)
{
    sync_lock(&budget->mutex);
    if (budget->mapping != NULL && !budget->mapping_is_free)
        budget->mapping_is_free = madvise(budget->mapping, budget->mapping_bytes, MADV_FREE) == 0;
    sync_unlock(&budget->mutex);
}

void *budget_take_mapping(struct budget *budget, size_t *bytes)
{
    sync_lock(&budget->mutex);
    bool fits = budget->mapping != NULL && budget->mapping_bytes >= *bytes;
    void *mapping = fits ? budget->mapping : NULL;
    if (fits) {
        *bytes = budget->mapping_bytes;
        budget->mapping = NULL;
    }
    sync_unlock(&budget->mutex);
    return mapping;
}

bool budget_reserve_body(struct budget *budget, size_t bytes)
{
    sync_lock(&budget->mutex);
    size_t available = size_min(free_bytes_locked(budget), budget->bodies_bytes_max - budget->bodies_bytes);
    bool fits = bytes <= available;
    if (fits) {
        trim_before_use_locked(budget, bytes);
        budget->bodies_bytes += bytes;
    }
    sync_unlock(&budget->mutex);
    return fits;
}

void budget_release_body(struct budget *budget, size_t bytes)
{
    sync_lock(&budget->mutex);
    assert(bytes <= budget->bodies_bytes);
    budget->bodies_bytes -= bytes;
    count_freed_locked(budget, bytes);
    (void)pthread_cond_broadcast(&budget->changed);
    sync_unlock(&budget->mutex);
}

static void enqueue_locked(struct budget *budget, struct budget_waiter *waiter)
{
    waiter->previous = budget->last;
    waiter->next = NULL;
    *(budget->last != NULL ? &budget->last->next : &budget->first) = waiter;
    budget->last = waiter;
}

static void dequeue_locked(struct budget *budget, struct budget_waiter *waiter)
{
    *(waiter->previous != NULL ? &waiter->previous->next : &budget->first) = waiter->next;
    *(waiter->next != NULL ? &waiter->next->previous : &budget->last) = waiter->previous;
}

/* Waits until this waiter is first in line and `bytes` are free. */
static bool wait_locked(struct budget *budget, const struct budget_waiter *waiter, size_t bytes, struct work_item *work_item,
                        struct error *err)
{
    for (;;) {
        bool first = budget->first == waiter;
        if (first && bytes <= free_bytes_locked(budget))
            return true;
        if (first && budget->owner_count == 0)
            return error_set(err, ERROR_NO_MEMORY,
                             "the request needs %zu bytes of memory to compute, %zu of the %zu for all requests are free",
                             bytes, free_bytes_locked(budget), budget->total_bytes);
        if (work_item_stopped(work_item))
            return error_set(err, ERROR_DEADLINE, "the request's time passed while it waited for %zu bytes of memory", bytes);
        sync_wait_ms(&budget->changed, &budget->mutex, BUDGET_POLL_MS);
    }
}

bool budget_grant(struct budget *budget, struct budget_grant *grant, size_t bytes, struct work_item *work_item,
                  struct error *err)
{
    struct budget_waiter waiter;
    sync_lock(&budget->mutex);
    if (grant->bytes > 0)
        budget->owner_count--;
    enqueue_locked(budget, &waiter);
    bool granted = wait_locked(budget, &waiter, bytes, work_item, err);
    dequeue_locked(budget, &waiter);
    if (granted) {
        trim_before_use_locked(budget, bytes);
        grant->bytes += bytes;
        budget->grants_bytes += bytes;
    }
    if (grant->bytes > 0)
        budget->owner_count++;
    (void)pthread_cond_broadcast(&budget->changed);
    sync_unlock(&budget->mutex);
    return granted;
}

bool budget_grant_now(struct budget *budget, struct budget_grant *grant, size_t bytes)
{
    sync_lock(&budget->mutex);
    bool fits = budget->first == NULL && grant->bytes > 0 && bytes <= free_bytes_locked(budget);
    if (fits) {
        trim_before_use_locked(budget, bytes);
        grant->bytes += bytes;
        budget->grants_bytes += bytes;
    }
    sync_unlock(&budget->mutex);
    return fits;
}

void budget_release_grant(struct budget *budget, struct budget_grant *grant)
{
    if (grant->bytes == 0)
        return;
    sync_lock(&budget->mutex);
    assert(grant->bytes <= budget->grants_bytes);
    budget->grants_bytes -= grant->bytes;
    count_freed_locked(budget, grant->bytes);
    budget->owner_count--;
    grant->bytes = 0;
    (void)pthread_cond_broadcast(&budget->changed);
    sync_unlock(&budget->mutex);
}

void budget_trim_when_idle(struct budget *budget)
{
    sync_lock(&budget->mutex);
    bool idle = budget->bodies_bytes + budget->grants_bytes == 0 && clock_ms() - budget->freed_at_ms >= BUDGET_IDLE_MS;
    if (idle && budget->freed_bytes > 0)
        trim_locked(budget);
    sync_unlock(&budget->mutex);
}

bool budget_is_trimmed(struct budget *budget)
{
    sync_lock(&budget->mutex);
    bool trimmed = budget->freed_bytes == 0;
    sync_unlock(&budget->mutex);
    return trimmed;
}

void budget_usage(struct budget *budget, size_t *ret_bodies_bytes, size_t *ret_grants_bytes)
{
    sync_lock(&budget->mutex);
    *ret_bodies_bytes = budget->bodies_bytes;
    *ret_grants_bytes = budget->grants_bytes;
    sync_unlock(&budget->mutex);
}

void budget_done(struct budget *budget)
{
    assert(budget->bodies_bytes == 0 && budget->grants_bytes == 0 && budget->first == NULL);
    if (budget->mapping != NULL)
        (void)munmap(budget->mapping, budget->mapping_bytes);
    sync_done(&budget->mutex, &budget->changed);
}
