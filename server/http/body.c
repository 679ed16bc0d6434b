#include "server/http/body.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/size.h"

#define BODY_FIRST_ROOM_BYTES ((size_t)16 * 1024)
#define BODY_MAPPED_BYTES_MIN ((size_t)2 << 20)
#define BODY_PAGE_BYTES ((size_t)2 << 20) /* a huge one */

void body_init(struct body *body, struct budget *budget, size_t bytes_max)
{
    *body = (struct body){.budget = budget, .bytes_max = bytes_max};
}

/* Moves to addresses for all that may come. Returns false where there are none: then it stays as it is. */
static bool map(struct body *body)
{
    size_t bytes = size_add(body->bytes_max, 2 * BODY_PAGE_BYTES);
    void *mapped = budget_take_mapping(body->budget, &bytes);
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

static bool make_room(struct body *body, size_t room_bytes)
{
    if (body->mapped != NULL || (room_bytes >= BODY_MAPPED_BYTES_MIN && map(body)))
        return true;
    char *data = realloc(body->data, room_bytes);
    if (data == NULL)
        return false;
    body->data = data;
    return true;
}

/* What comes next to `needed_bytes` and is not worth a call to the system each time. Never more than may come: so where the
 * largest body has room, any has. */
static size_t convenient_room(const struct body *body, size_t needed_bytes)
{
    size_t room_bytes = size_max(needed_bytes, size_max(BODY_FIRST_ROOM_BYTES, size_multiply(2, body->room_bytes)));
    if (room_bytes >= BODY_MAPPED_BYTES_MIN) /* in pages, as they fill */
        room_bytes = size_add(needed_bytes, BODY_PAGE_BYTES - 1) / BODY_PAGE_BYTES * BODY_PAGE_BYTES;
    return size_min(room_bytes, body->bytes_max);
}

static bool grow(struct body *body, size_t needed_bytes, struct error *err)
{
    size_t room_bytes = convenient_room(body, needed_bytes);
    size_t more_bytes = room_bytes - body->room_bytes;
    if (!budget_reserve_body(body->budget, more_bytes))
        return error_set(err, ERROR_NO_MEMORY, "no room for %zu bytes of request body: other requests' bodies fill the memory",
                         room_bytes);
    if (!make_room(body, room_bytes)) {
        budget_release_body(body->budget, more_bytes);
        return error_set(err, ERROR_NO_MEMORY, "the machine has no %zu bytes of memory left", room_bytes);
    }
    body->room_bytes = room_bytes;
    return true;
}

bool body_append(struct body *body, const char *data, size_t bytes, struct error *err)
{
    size_t needed_bytes = size_add(body->bytes, bytes);
    assert(needed_bytes <= body->bytes_max);
    if (needed_bytes > body->room_bytes && !grow(body, needed_bytes, err))
        return false;
    memcpy(body->data + body->bytes, data, bytes);
    body->bytes = needed_bytes;
    return true;
}

void body_recycle(struct body *body)
{
    if (body->mapped == NULL)
        return;
    budget_cache_mapping(body->budget, &body->mapped, &body->mapped_bytes);
    body->data = NULL;
    body->bytes = 0;
}

void body_done(struct body *body)
{
    body_recycle(body);
    if (body->mapped != NULL)
        (void)munmap(body->mapped, body->mapped_bytes);
    free(body->data);
    if (body->room_bytes >= BODY_MAPPED_BYTES_MIN)
        budget_mark_mapping_free(body->budget);
    if (body->room_bytes > 0)
        budget_release_body(body->budget, body->room_bytes);
    *body = (struct body){.budget = body->budget};
}
