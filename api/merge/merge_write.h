/* merge_write.h: the reply of POST /attention/merge: output, lse, applied, warnings; in JSON or as a safetensors file. */
#ifndef ATTND_API_MERGE_MERGE_WRITE_H
#define ATTND_API_MERGE_MERGE_WRITE_H

#include "api/merge/merge_parts.h"
#include "api/protocol/protocol.h"

/* What a merge came to, in the precision of the reply. */
struct merged {
    struct tensor output, lse;
    size_t masked_row_count; /* without keys in any part */
};

/* What merge_write needs of its buffer at most. SIZE_MAX where it overflows. */
size_t merge_write_bytes_max(const struct merge *merge);

/* Chunks of the reply may be the results themselves.
 * Fails   deadline: the executor was stopped. */
bool merge_write(const struct merge *merge, const struct merged *merged, char *buffer, const struct executor *executor,
                 struct api_reply *ret, struct error *err) __attribute__((warn_unused_result));

#endif
