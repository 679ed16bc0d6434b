/* extents.h: where among the keys of an item the tokens of one id are: segments, spans. */
#ifndef ATTND_CORE_ATTENTION_EXTENTS_H
#define ATTND_CORE_ATTENTION_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/positions.h"

/* The keys of one id: all are in [begin, end), and no others where there is no gap. */
struct extent {
    int64_t id;
    uint32_t begin, end;
    bool gap;
};

/* Those of one item, by id. */
struct extents {
    struct extent *list; /* the caller's; room for one a key */
    size_t count;
};

/* Fills `ret`, whose list the caller has set, with the ids of `tokens` keys of item b. */
void extents_init(struct extents *ret, const struct token_ids *ids, size_t b, size_t tokens);

/* NULL where no key has the id. */
const struct extent *extents_find(const struct extents *extents, int64_t id);

#endif
