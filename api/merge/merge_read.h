/* merge_read.h: the body of POST /attention/merge, in JSON or as a safetensors file. */
#ifndef ATTND_API_MERGE_MERGE_READ_H
#define ATTND_API_MERGE_MERGE_READ_H

#include "api/merge/merge_parts.h"
#include "api/protocol/protocol.h"

/* What merge_read allocates at most besides *ret. */
size_t merge_read_cost(void);

/* Decodes the body. `ret` borrows it and the arena.
 * Fails   malformed, invalid; with a pointer to the place. */
bool merge_read(const struct api_request *sent, struct arena *arena, struct merge *ret, struct error *err)
    __attribute__((warn_unused_result));

#endif
