#include "api/json/chunks.h"

#include <assert.h>

#include "core/size.h"

/* A tensor being written in pieces. */
struct pieces {
    const struct chunks *parts;
    const struct tensor *tensor;
    struct number_style style;
    char *room;
    struct api_chunk *results; /* one a piece */
};

static size_t piece_count(size_t element_count)
{
    return size_pieces(element_count, CHUNK_ELEMENTS);
}

/* Small ones are written with the text around them. */
static bool is_spread(size_t element_count)
{
    return element_count >= 2 * CHUNK_ELEMENTS;
}

size_t chunks_count_max(size_t element_count)
{
    return is_spread(element_count) ? piece_count(element_count) + 1 : 0;
}

size_t chunks_bytes_max(enum dtype dtype, size_t rank, const size_t *shape, struct number_style style)
{
    size_t count = shape_count(rank, shape), chunk_count = chunks_count_max(count);
    size_t around = size_multiply(chunk_count + 1, TENSOR_WRITE_SLACK_BYTES + sizeof(struct api_chunk));
    return size_add(tensor_write_offset(dtype, rank, shape, style, count), around);
}

void chunks_init(struct chunks *parts, char *room, size_t room_bytes, size_t count_max, const struct executor *executor)
{
    size_t list_bytes = (count_max + 1) * sizeof(struct api_chunk); /* and the one at the end */
    assert(list_bytes <= room_bytes);
    *parts = (struct chunks){
        .parts = (struct api_chunk *)(void *)room,
        .count_max = count_max + 1,
        .start = room + list_bytes,
        .executor = executor,
    };
    writer_init(&parts->text, parts->start, room_bytes - list_bytes);
}

void chunks_add(struct chunks *parts, const void *data, size_t bytes)
{
    if (bytes == 0)
        return;
    assert(parts->count < parts->count_max);
    parts->parts[parts->count++] = (struct api_chunk){data, bytes};
}

void chunks_split(struct chunks *parts)
{
    chunks_add(parts, parts->start, (size_t)(parts->text.at - parts->start));
    parts->start = parts->text.at;
}

static size_t piece_offset(const struct pieces *pieces, size_t piece, size_t first)
{
    const struct tensor *t = pieces->tensor;
    return tensor_write_offset(t->dtype, t->rank, t->shape, pieces->style, first) + piece * TENSOR_WRITE_SLACK_BYTES;
}

static void write_piece(void *argument, size_t piece, size_t worker)
{
    const struct pieces *pieces = argument;
    size_t first = piece * CHUNK_ELEMENTS, last = size_min(first + CHUNK_ELEMENTS, tensor_count(pieces->tensor));
    char *room = pieces->room + piece_offset(pieces, piece, first), *end = room;
    (void)worker;
    if (!executor_stopped(pieces->parts->executor))
        end = tensor_write(pieces->tensor, pieces->style, first, last, room);
    assert(end <= pieces->room + piece_offset(pieces, piece + 1, last));
    pieces->results[piece] = (struct api_chunk){room, (size_t)(end - room)};
}

void chunks_tensor(struct chunks *parts, const struct tensor *t, struct number_style style)
{
    struct text *text = &parts->text;
    size_t element_count = tensor_count(t), count = piece_count(element_count);
    size_t room_bytes = tensor_write_offset(t->dtype, t->rank, t->shape, style, element_count);
    if (!is_spread(element_count)) {
        assert(room_bytes + TENSOR_WRITE_SLACK_BYTES <= (size_t)(text->end - text->at));
        text->at = tensor_write(t, style, 0, element_count, text->at);
        return;
    }
    chunks_split(parts);
    room_bytes += count * TENSOR_WRITE_SLACK_BYTES;
    assert(room_bytes <= (size_t)(text->end - text->at) && count <= parts->count_max - parts->count);
    struct pieces pieces = {parts, t, style, text->at, parts->parts + parts->count};
    executor_run(parts->executor, count, write_piece, &pieces);
    parts->count += count;
    parts->stopped |= executor_stopped(parts->executor);
    text->at += room_bytes;
    parts->start = text->at;
}

size_t chunks_bytes(const struct chunks *parts)
{
    size_t bytes = 0;
    for (size_t i = 0; i < parts->count; i++)
        bytes += parts->parts[i].bytes;
    return bytes;
}

bool chunks_done(struct chunks *parts, struct api_reply *ret, struct error *err)
{
    chunks_split(parts);
    if (parts->stopped)
        return executor_set_stopped(err);
    ret->body = parts->parts[0].data;
    ret->body_bytes = parts->parts[0].bytes;
    ret->parts = parts->parts + 1;
    ret->chunk_count = parts->count - 1;
    return true;
}
