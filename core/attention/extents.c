#include "core/attention/extents.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
    const struct extent *left = a, *right = b;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

/* Neighbours of one id in one, with a gap between them. */
static void join(struct extents *extents)
{
    size_t kept = 0;
    for (size_t i = 0; i < extents->count; i++) {
        struct extent *last = &extents->list[kept > 0 ? kept - 1 : 0];
        if (kept > 0 && last->id == extents->list[i].id) {
            last->end = extents->list[i].end;
            last->gap = true;
        } else {
            extents->list[kept++] = extents->list[i];
        }
    }
    extents->count = kept;
}

void extents_init(struct extents *ret, const struct token_ids *ids, size_t b, size_t tokens)
{
    bool sorted = true;
    ret->count = 0;
    for (size_t j = 0; j < tokens; j++) {
        int64_t id = token_id(ids, b, j);
        struct extent *last = ret->count > 0 ? &ret->list[ret->count - 1] : NULL;
        if (last != NULL && last->id == id) {
            last->end = (uint32_t)j + 1;
            continue;
        }
        sorted = sorted && (last == NULL || last->id < id);
        ret->list[ret->count++] = (struct extent){.id = id, .begin = (uint32_t)j, .end = (uint32_t)j + 1};
    }
    if (sorted)
        return;
    qsort(ret->list, ret->count, sizeof *ret->list, by_id);
    join(ret);
}

const struct extent *extents_find(const struct extents *extents, int64_t id)
{
    size_t low = 0, high = extents->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (extents->list[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < extents->count && extents->list[low].id == id ? &extents->list[low] : NULL;
}
