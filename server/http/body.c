#include "server/http/body.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/size.h"
#include "server/http/admission.h"

#define BODY_FIRST_BYTES ((size_t)16 * 1024)
#define BODY_MAPPED_BYTES_MIN ((size_t)2 << 20)
#define BODY_PAGE_BYTES ((size_t)2 << 20) /* a huge one */

void body_init(struct body *body, struct budget *budget, size_t bytes_max, bool length_known)
{
    *body = (struct body){.budget = budget, .bytes_max = bytes_max};
    if (length_known)
        body->share.pool = budget_class_of_body(budget, bytes_max);
}

/* Moves to addresses for all that may come. Returns false where there are none: then it stays as it is. */
static bool map(struct body *body)
{
    size_t bytes = size_add(body->bytes_max, 2 * BODY_PAGE_BYTES);
    void *mapped = memory_cache_take(&body->budget->cache, &bytes);
    if (mapped == NULL) {
        mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED)
            return false;
    }
    char *data = (char *)mapped + (BODY_PAGE_BYTES - (uintptr_t)mapped % BODY_PAGE_BYTES);
    /* Huge where they will be filled: no more memory than bytes may come. */
    (void)madvise(mapped, bytes, MADV_NOHUGEPAGE);
    (void)madvise(data, body->bytes_max / BODY_PAGE_BYTES * BODY_PAGE_BYTES, MADV_HUGEPAGE);
    if (body->bytes > 0)
        memcpy(data, body->data, body->bytes);
    free(body->data);
    body->data = data;
    body->mapped = mapped;
    body->mapped_bytes = bytes;
    return true;
}

static bool allocate(struct body *body, size_t capacity_bytes)
{
    if (body->mapped != NULL || (capacity_bytes >= BODY_MAPPED_BYTES_MIN && map(body)))
        return true;
    char *data = realloc(body->data, capacity_bytes);
    if (data == NULL)
        return false;
    body->data = data;
    return true;
}

/* What comes next to `needed_bytes` and is not worth a call to the system each time. Never more than may come: so where the
 * largest body fits, any does. */
static size_t convenient_capacity(const struct body *body, size_t needed_bytes)
{
    size_t capacity_bytes = size_max(needed_bytes, size_max(BODY_FIRST_BYTES, size_multiply(2, body->capacity_bytes)));
    if (capacity_bytes >= BODY_MAPPED_BYTES_MIN) /* in pages, as they fill */
        capacity_bytes = size_add(needed_bytes, BODY_PAGE_BYTES - 1) / BODY_PAGE_BYTES * BODY_PAGE_BYTES;
    return size_min(capacity_bytes, body->bytes_max);
}

static bool grow(struct body *body, size_t needed_bytes, struct error *err)
{
    size_t capacity_bytes = convenient_capacity(body, needed_bytes);
    if (!budget_reserve_body(body->budget, &body->share, capacity_bytes - body->capacity_bytes))
        return admission_refuse_body(capacity_bytes, err);
    if (!allocate(body, capacity_bytes))
        return admission_refuse_allocation(capacity_bytes, err);
    body->capacity_bytes = capacity_bytes;
    return true;
}

bool body_append(struct body *body, const char *data, size_t bytes, struct error *err)
{
    size_t needed_bytes = size_add(body->bytes, bytes);
    assert(needed_bytes <= body->bytes_max);
    if (needed_bytes > body->capacity_bytes && !grow(body, needed_bytes, err))
        return false;
    memcpy(body->data + body->bytes, data, bytes);
    body->bytes = needed_bytes;
    return true;
}

void body_recycle(struct body *body)
{
    if (body->mapped == NULL)
        return;
    const void *own = body->mapped;
    memory_cache_put(&body->budget->cache, &body->mapped, &body->mapped_bytes);
    body->data = NULL;
    body->bytes = 0;
    if (body->mapped != own)
        budget_release_body(body->budget, &body->share);
}

void body_done(struct body *body)
{
    body_recycle(body);
    if (body->mapped != NULL)
        (void)munmap(body->mapped, body->mapped_bytes);
    free(body->data);
    if (body->capacity_bytes >= BODY_MAPPED_BYTES_MIN)
        memory_cache_mark_free(&body->budget->cache);
    budget_release_body(body->budget, &body->share);
    *body = (struct body){.budget = body->budget};
}
