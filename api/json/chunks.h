/* chunks.h: a reply's JSON, written into room that was computed beforehand, in parts that go out as they are.
 *
 * Names, brackets and small tensors are written by the caller, through `text`; a large tensor by all threads of the executor, each
 * piece into room of its own, bounded by what its numbers may need. No text is copied or moved afterwards.
 *
 * Memory   borrows the room; the list of parts lies in it.
 * Threads  one at a time; chunks_tensor spreads over the executor. */
#ifndef ATTND_API_JSON_CHUNKS_H
#define ATTND_API_JSON_CHUNKS_H

#include "api/api.h"
#include "api/json/tensor_write.h"
#include "api/json/writer.h"

#define CHUNK_ELEMENTS ((size_t)32 * 1024) /* some hundred kilobytes, some hundred microseconds */

struct chunks {
    struct text text;
    char *start; /* of the part that is being written through `text` */
    struct api_chunk *parts;
    size_t count, count_max;
    const struct executor *executor;
    bool stopped;
};

/* How many parts a tensor of that many elements makes at the most, the one before it included. */
size_t chunks_count_max(size_t element_count);

/* What such a tensor takes of the room at the most, its places in the list included. SIZE_MAX where it overflows. */
size_t chunks_bytes_max(enum dtype dtype, size_t rank, const size_t *shape, struct number_style style);

/* What a text without tensors takes of the room besides its bytes. */
#define CHUNKS_FRAME_BYTES ((size_t)256)

/* `count_max`: the sum of chunks_count_max, and the parts that the caller will add. `executor` may be NULL. */
void chunks_init(struct chunks *parts, char *room, size_t room_bytes, size_t count_max, const struct executor *executor);

void chunks_tensor(struct chunks *parts, const struct tensor *t, struct number_style style);

/* Ends the part being written. */
void chunks_split(struct chunks *parts);

/* Bytes behind what was written so far, as they lie; they live as long as the room. Nothing where there are none. */
void chunks_add(struct chunks *parts, const void *data, size_t bytes);

/* All bytes of the parts so far. */
size_t chunks_bytes(const struct chunks *parts);

/* Puts the parts to `ret`.
 * Fails   deadline: the executor was stopped. */
bool chunks_done(struct chunks *parts, struct api_reply *ret, struct error *err) __attribute__((warn_unused_result));

#endif
