#include "server/work/budget.h"

#include <assert.h>

#include "core/size.h"
#include "server/work/sync.h"

/* Parts of the small pool that one request may have. */
#define BUDGET_SMALL_BODY_PART 16
#define BUDGET_SMALL_GRANT_PART 4

void budget_init(struct budget *budget, size_t large_bytes, size_t grant_bytes_max, size_t small_bytes, struct queue *queue)
{
    assert(grant_bytes_max <= large_bytes);
    *budget = (struct budget){.queue = queue};
    budget->pools[WORK_LARGE] = (struct budget_pool){
        .total_bytes = large_bytes,
        .body_bytes_max = large_bytes - grant_bytes_max,
        .grant_bytes_max = grant_bytes_max,
    };
    budget->pools[WORK_SMALL] = (struct budget_pool){
        .total_bytes = small_bytes,
        .body_bytes_max = size_min(WORK_SMALL_BODY_BYTES_MAX, small_bytes / BUDGET_SMALL_BODY_PART),
        .grant_bytes_max = size_min(WORK_SMALL_MEMORY_BYTES_MAX, small_bytes / BUDGET_SMALL_GRANT_PART),
    };
    memory_cache_init(&budget->cache);
    sync_must(pthread_mutex_init(&budget->mutex, NULL));
}

static size_t free_bytes_locked(const struct budget_pool *pool)
{
    return pool->total_bytes - pool->bodies_bytes - pool->grants_bytes;
}

/* Called before `bytes` more come into use: what the process keeps must not exceed what is left. */
static void limit_cache_locked(struct budget *budget, size_t bytes)
{
    size_t free_bytes = free_bytes_locked(&budget->pools[WORK_SMALL]) + free_bytes_locked(&budget->pools[WORK_LARGE]);
    memory_cache_limit(&budget->cache, free_bytes - bytes);
}

/* ---- bodies ---- */

static bool body_fits_locked(const struct budget_pool *pool, size_t body_bytes, size_t bytes)
{
    size_t for_bodies = pool->total_bytes - pool->grant_bytes_max - pool->bodies_bytes;
    return body_bytes <= pool->body_bytes_max && bytes <= size_min(free_bytes_locked(pool), for_bodies);
}

/* Reserves in one pool: `bytes` more where the body is there already, else the whole. */
static bool reserve_body_locked(struct budget *budget, enum work_class class, struct budget_share *body, size_t bytes)
{
    struct budget_pool *pool = &budget->pools[class];
    size_t moved_bytes = body->pool != class ? body->bytes : 0, body_bytes = size_add(body->bytes, bytes);
    if (!body_fits_locked(pool, body_bytes, size_add(moved_bytes, bytes)))
        return false;
    limit_cache_locked(budget, bytes);
    budget->pools[body->pool].bodies_bytes -= moved_bytes;
    pool->bodies_bytes += moved_bytes + bytes;
    *body = (struct budget_share){.pool = class, .bytes = body_bytes};
    return true;
}

enum work_class budget_class_of_body(const struct budget *budget, size_t body_bytes)
{
    return body_bytes <= budget->pools[WORK_SMALL].body_bytes_max ? WORK_SMALL : WORK_LARGE;
}

bool budget_reserve_body(struct budget *budget, struct budget_share *body, size_t bytes)
{
    sync_lock(&budget->mutex);
    bool fits = (body->pool == WORK_SMALL && reserve_body_locked(budget, WORK_SMALL, body, bytes)) ||
                reserve_body_locked(budget, WORK_LARGE, body, bytes);
    sync_unlock(&budget->mutex);
    return fits;
}

/* ---- grants ---- */

static void grant_locked(struct budget *budget, enum work_class class, struct work_item *work_item, size_t bytes)
{
    limit_cache_locked(budget, bytes);
    budget->pools[class].grants_bytes += bytes;
    work_item->grant.pool = class;
    work_item->grant.bytes += bytes;
}

/* Serves a line from a pool while its first fits. */
static void serve_locked(struct budget *budget, struct work_list *line, enum work_class class)
{
    struct work_item *first;
    while ((first = line->first) != NULL && first->wanted_bytes <= free_bytes_locked(&budget->pools[class])) {
        work_list_remove(line, first);
        first->waits_for_memory = false;
        grant_locked(budget, class, first, first->wanted_bytes);
        queue_push_again(budget->queue, first, true);
    }
}

/* Called whenever memory was released or an item joined or left a line. */
static void serve_all_locked(struct budget *budget)
{
    struct budget_pool *large = &budget->pools[WORK_LARGE], *small = &budget->pools[WORK_SMALL];
    serve_locked(budget, &small->waiting, WORK_SMALL);
    serve_locked(budget, &large->waiting, WORK_LARGE);
    if (large->waiting.first == NULL)
        serve_locked(budget, &small->waiting, WORK_LARGE);
}

static enum work_class class_of_grant(const struct budget *budget, size_t grant_bytes)
{
    return grant_bytes <= budget->pools[WORK_SMALL].grant_bytes_max ? WORK_SMALL : WORK_LARGE;
}

bool budget_grant_now(struct budget *budget, struct work_item *work_item, size_t bytes)
{
    sync_lock(&budget->mutex);
    size_t grant_bytes = size_add(work_item->grant.bytes, bytes);
    enum work_class class = work_item->grant.bytes > 0 ? work_item->grant.pool : class_of_grant(budget, grant_bytes);
    const struct budget_pool *pool = &budget->pools[class];
    bool fits = pool->waiting.first == NULL && bytes <= free_bytes_locked(pool);
    if (fits)
        grant_locked(budget, class, work_item, bytes);
    sync_unlock(&budget->mutex);
    return fits;
}

void budget_wait(struct budget *budget, struct work_item *work_item, size_t bytes)
{
    sync_lock(&budget->mutex);
    enum work_class class = class_of_grant(budget, bytes);
    assert(work_item->grant.bytes == 0 && bytes <= budget->pools[class].grant_bytes_max);
    work_item->wanted_bytes = bytes;
    work_item->waits_for_memory = true;
    work_list_insert(&budget->pools[class].waiting, work_item, NULL);
    serve_all_locked(budget);
    sync_unlock(&budget->mutex);
}

bool budget_remove(struct budget *budget, struct work_item *work_item)
{
    sync_lock(&budget->mutex);
    bool waited = work_item->waits_for_memory;
    if (waited) {
        work_list_remove(&budget->pools[class_of_grant(budget, work_item->wanted_bytes)].waiting, work_item);
        work_item->waits_for_memory = false;
        serve_all_locked(budget);
    }
    sync_unlock(&budget->mutex);
    return waited;
}

/* ---- and back ---- */

static void release_locked(struct budget *budget, size_t *in_use_bytes, struct budget_share *share)
{
    assert(share->bytes <= *in_use_bytes);
    *in_use_bytes -= share->bytes;
    memory_cache_count(&budget->cache, share->bytes);
    share->bytes = 0;
    serve_all_locked(budget);
}

void budget_release_body(struct budget *budget, struct budget_share *body)
{
    if (body->bytes == 0)
        return;
    sync_lock(&budget->mutex);
    release_locked(budget, &budget->pools[body->pool].bodies_bytes, body);
    sync_unlock(&budget->mutex);
}

void budget_release_grant(struct budget *budget, struct work_item *work_item)
{
    struct budget_share *grant = &work_item->grant;
    if (grant->bytes == 0)
        return;
    sync_lock(&budget->mutex);
    release_locked(budget, &budget->pools[grant->pool].grants_bytes, grant);
    sync_unlock(&budget->mutex);
}

void budget_body_to_grant(struct budget *budget, struct budget_share *body, struct work_item *work_item)
{
    assert(work_item->grant.bytes == 0);
    sync_lock(&budget->mutex);
    budget->pools[body->pool].bodies_bytes -= body->bytes;
    budget->pools[body->pool].grants_bytes += body->bytes;
    work_item->grant = *body;
    body->bytes = 0;
    sync_unlock(&budget->mutex);
}

void budget_trim_when_idle(struct budget *budget)
{
    const struct budget_usage usage = budget_usage(budget);
    if (usage.bodies_bytes + usage.grants_bytes == 0)
        memory_cache_trim_when_idle(&budget->cache);
}

struct budget_usage budget_usage(struct budget *budget)
{
    struct budget_usage usage = {0};
    sync_lock(&budget->mutex);
    for (size_t class = 0; class < WORK_CLASSES; class ++) {
        usage.bodies_bytes += budget->pools[class].bodies_bytes;
        usage.grants_bytes += budget->pools[class].grants_bytes;
        usage.waiting += budget->pools[class].waiting.count;
    }
    sync_unlock(&budget->mutex);
    return usage;
}

void budget_done(struct budget *budget)
{
    for (size_t class = 0; class < WORK_CLASSES; class ++) {
        const struct budget_pool *pool = &budget->pools[class];
        assert(pool->bodies_bytes == 0 && pool->grants_bytes == 0 && pool->waiting.first == NULL);
        (void)pool;
    }
    memory_cache_done(&budget->cache);
    sync_must(pthread_mutex_destroy(&budget->mutex));
}
