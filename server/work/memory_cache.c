#include "server/work/memory_cache.h"

#include <malloc.h>
#include <sys/mman.h>

#include "core/size.h"
#include "server/work/clock.h"
#include "server/work/sync.h"

#define MEMORY_CACHE_IDLE_MS 1000

void memory_cache_init(struct memory_cache *cache)
{
    *cache = (struct memory_cache){.mapping = NULL};
    sync_must(pthread_mutex_init(&cache->mutex, NULL));
}

static void unmap_locked(struct memory_cache *cache)
{
    if (cache->mapping != NULL)
        (void)munmap(cache->mapping, cache->mapping_bytes);
    cache->mapping = NULL;
}

static void trim_locked(struct memory_cache *cache)
{
    (void)malloc_trim(0);
    unmap_locked(cache);
    cache->freed_bytes = 0;
}

void memory_cache_count(struct memory_cache *cache, size_t bytes)
{
    sync_lock(&cache->mutex);
    cache->freed_bytes = size_add(cache->freed_bytes, bytes);
    cache->freed_at_ms = clock_ms();
    sync_unlock(&cache->mutex);
}

void memory_cache_limit(struct memory_cache *cache, size_t bytes_max)
{
    sync_lock(&cache->mutex);
    if (cache->freed_bytes > bytes_max)
        trim_locked(cache);
    sync_unlock(&cache->mutex);
}

void memory_cache_trim_when_idle(struct memory_cache *cache)
{
    sync_lock(&cache->mutex);
    if (cache->freed_bytes > 0 && clock_ms() - cache->freed_at_ms >= MEMORY_CACHE_IDLE_MS)
        trim_locked(cache);
    sync_unlock(&cache->mutex);
}

bool memory_cache_is_trimmed(struct memory_cache *cache)
{
    sync_lock(&cache->mutex);
    bool trimmed = cache->freed_bytes == 0;
    sync_unlock(&cache->mutex);
    return trimmed;
}

void memory_cache_put(struct memory_cache *cache, void **mapped, size_t *bytes)
{
    sync_lock(&cache->mutex);
    if (cache->mapping == NULL || cache->mapping_bytes <= *bytes) {
        void *displaced = cache->mapping;
        size_t displaced_bytes = displaced != NULL ? cache->mapping_bytes : 0;
        cache->mapping = *mapped;
        cache->mapping_bytes = *bytes;
        cache->mapping_is_free = false;
        *mapped = displaced;
        *bytes = displaced_bytes;
    }
    sync_unlock(&cache->mutex);
}

void memory_cache_mark_free(struct memory_cache *cache)
{
    sync_lock(&cache->mutex);
    if (cache->mapping != NULL && !cache->mapping_is_free)
        cache->mapping_is_free = madvise(cache->mapping, cache->mapping_bytes, MADV_FREE) == 0;
    sync_unlock(&cache->mutex);
}

void *memory_cache_take(struct memory_cache *cache, size_t *bytes)
{
    sync_lock(&cache->mutex);
    bool fits = cache->mapping != NULL && cache->mapping_bytes >= *bytes;
    void *mapping = fits ? cache->mapping : NULL;
    if (fits) {
        *bytes = cache->mapping_bytes;
        cache->mapping = NULL;
    }
    sync_unlock(&cache->mutex);
    return mapping;
}

void memory_cache_done(struct memory_cache *cache)
{
    unmap_locked(cache);
    sync_must(pthread_mutex_destroy(&cache->mutex));
}
