#include "api/json/chunks.h"

#include <assert.h>

#include "core/size.h"

/* A tensor that is written in several chunks. */
struct tensor_chunks {
    const struct executor *executor;
    const struct tensor *tensor;
    struct number_style style;
    char *buffer;
    struct api_chunk *list; /* theirs */
};

static size_t split_count(size_t element_count)
{
    return size_pieces(element_count, CHUNK_ELEMENTS);
}

/* Small tensors are written with the text around them. */
static bool is_split(size_t element_count)
{
    return element_count >= 2 * CHUNK_ELEMENTS;
}

size_t chunks_count_max(size_t element_count)
{
    return is_split(element_count) ? split_count(element_count) + 1 : 0;
}

size_t chunks_bytes_max(enum dtype dtype, size_t rank, const size_t *shape, struct number_style style)
{
    size_t count = shape_count(rank, shape), chunk_count = chunks_count_max(count);
    size_t around = size_multiply(chunk_count + 1, TENSOR_WRITE_SLACK_BYTES + sizeof(struct api_chunk));
    return size_add(tensor_write_offset(dtype, rank, shape, style, count), around);
}

void chunks_init(struct chunks *chunks, char *buffer, size_t buffer_bytes, size_t count_max, const struct executor *executor)
{
    size_t list_bytes = (count_max + 1) * sizeof(struct api_chunk); /* and the one at the end */
    assert(list_bytes <= buffer_bytes);
    *chunks = (struct chunks){
        .list = (struct api_chunk *)(void *)buffer,
        .count_max = count_max + 1,
        .start = buffer + list_bytes,
        .executor = executor,
    };
    writer_init(&chunks->writer, chunks->start, buffer_bytes - list_bytes);
}

void chunks_add(struct chunks *chunks, const void *data, size_t bytes)
{
    if (bytes == 0)
        return;
    assert(chunks->count < chunks->count_max);
    chunks->list[chunks->count++] = (struct api_chunk){data, bytes};
}

void chunks_split(struct chunks *chunks)
{
    chunks_add(chunks, chunks->start, (size_t)(chunks->writer.at - chunks->start));
    chunks->start = chunks->writer.at;
}

/* Where chunk `i`, whose first element is `first`, begins in the buffer. */
static size_t chunk_offset(const struct tensor_chunks *chunks, size_t i, size_t first)
{
    const struct tensor *t = chunks->tensor;
    return tensor_write_offset(t->dtype, t->rank, t->shape, chunks->style, first) + i * TENSOR_WRITE_SLACK_BYTES;
}

static void write_chunk(void *argument, size_t i, size_t worker)
{
    const struct tensor_chunks *chunks = argument;
    size_t first = i * CHUNK_ELEMENTS, last = size_min(first + CHUNK_ELEMENTS, tensor_count(chunks->tensor));
    char *start = chunks->buffer + chunk_offset(chunks, i, first), *end = start;
    (void)worker;
    if (!executor_stopped(chunks->executor))
        end = tensor_write(chunks->tensor, chunks->style, first, last, start);
    assert(end <= chunks->buffer + chunk_offset(chunks, i + 1, last));
    chunks->list[i] = (struct api_chunk){start, (size_t)(end - start)};
}

void chunks_tensor(struct chunks *chunks, const struct tensor *t, struct number_style style)
{
    struct writer *writer = &chunks->writer;
    size_t element_count = tensor_count(t), count = split_count(element_count);
    size_t bytes_max = tensor_write_offset(t->dtype, t->rank, t->shape, style, element_count);
    if (!is_split(element_count)) {
        assert(bytes_max + TENSOR_WRITE_SLACK_BYTES <= (size_t)(writer->end - writer->at));
        writer->at = tensor_write(t, style, 0, element_count, writer->at);
        return;
    }
    chunks_split(chunks);
    bytes_max += count * TENSOR_WRITE_SLACK_BYTES;
    assert(bytes_max <= (size_t)(writer->end - writer->at) && count <= chunks->count_max - chunks->count);
    struct tensor_chunks split = {chunks->executor, t, style, writer->at, chunks->list + chunks->count};
    executor_run(chunks->executor, count, write_chunk, &split);
    chunks->count += count;
    chunks->stopped |= executor_stopped(chunks->executor);
    writer->at += bytes_max;
    chunks->start = writer->at;
}

size_t chunks_bytes(const struct chunks *chunks)
{
    size_t bytes = 0;
    for (size_t i = 0; i < chunks->count; i++)
        bytes += chunks->list[i].bytes;
    return bytes;
}

bool chunks_done(struct chunks *chunks, const struct api_chunk **ret_list, size_t *ret_count, struct error *err)
{
    chunks_split(chunks);
    if (chunks->stopped)
        return executor_set_stopped(err);
    *ret_list = chunks->list;
    *ret_count = chunks->count;
    return true;
}
