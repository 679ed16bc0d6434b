/* chunks.h: a reply's JSON as a list of chunks in a buffer whose size was computed beforehand.
 *
 * The caller writes names, brackets and small tensors through `writer`; a large tensor is written by all threads of the
 * executor, each part of it to its own place in the buffer, bounded by what its numbers may need. No text is copied or moved
 * afterwards.
 *
 * Memory   borrows the buffer, which the list is in as well.
 * Threads  one at a time; chunks_tensor runs on the executor. */
#ifndef ATTND_API_JSON_CHUNKS_H
#define ATTND_API_JSON_CHUNKS_H

#include "api/json/chunk.h"
#include "api/json/tensor_write.h"
#include "api/json/writer.h"
#include "core/error.h"
#include "core/executor.h"

#define CHUNK_ELEMENTS ((size_t)32 * 1024) /* some hundred kilobytes, some hundred microseconds */

struct chunks {
    struct writer writer;
    char *start; /* of the chunk that `writer` is writing */
    struct api_chunk *list;
    size_t count, count_max;
    const struct executor *executor;
    bool stopped;
};

/* How many chunks a tensor of that many elements makes at most, including the one before it. */
size_t chunks_count_max(size_t element_count);

/* What such a tensor takes of the buffer at most, including its places in the list. SIZE_MAX where it overflows. */
size_t chunks_bytes_max(enum dtype dtype, size_t rank, const size_t *shape, struct number_style style);

/* What a text without tensors takes of the buffer besides its bytes. */
#define CHUNKS_FRAME_BYTES ((size_t)256)

/* `count_max`: the sum of chunks_count_max, and the chunks that the caller will add. `executor` may be NULL. */
void chunks_init(struct chunks *chunks, char *buffer, size_t buffer_bytes, size_t count_max, const struct executor *executor);

void chunks_tensor(struct chunks *chunks, const struct tensor *t, struct number_style style);

/* Ends the chunk being written. */
void chunks_split(struct chunks *chunks);

/* Appends bytes from elsewhere, which must live as long as the buffer, to what was split off so far. 0 bytes add nothing. */
void chunks_add(struct chunks *chunks, const void *data, size_t bytes);

/* The sum of the chunks so far. */
size_t chunks_bytes(const struct chunks *chunks);

/* Ends the last chunk. The list holds at least one.
 * Fails   deadline: the executor was stopped. */
bool chunks_done(struct chunks *chunks, const struct api_chunk **ret_list, size_t *ret_count, struct error *err)
    __attribute__((warn_unused_result));

#endif
