#include "api/text_parts.h"

#include <assert.h>

#include "core/size.h"

/* A tensor being written in pieces. */
struct pieces {
    const struct text_parts *parts;
    const struct tensor *tensor;
    struct text_style style;
    char *room;
    struct api_part *results; /* one a piece */
};

static size_t piece_count(size_t element_count)
{
    return size_pieces(element_count, TEXT_PART_ELEMENTS);
}

/* Small ones are written with the text around them. */
static bool is_spread(size_t element_count)
{
    return element_count >= 2 * TEXT_PART_ELEMENTS;
}

size_t text_parts_count_max(size_t element_count)
{
    return is_spread(element_count) ? piece_count(element_count) + 1 : 0;
}

size_t text_parts_bytes_max(enum dtype dtype, size_t rank, const size_t *shape, struct text_style style)
{
    size_t count = shape_count(rank, shape), part_count = text_parts_count_max(count);
    size_t around = size_multiply(part_count + 1, TEXT_TENSOR_SLACK_BYTES + sizeof(struct api_part));
    return size_add(text_tensor_offset(dtype, rank, shape, style, count), around);
}

void text_parts_init(struct text_parts *parts, char *room, size_t room_bytes, size_t count_max, const struct executor *executor)
{
    size_t list_bytes = (count_max + 1) * sizeof(struct api_part); /* and the one at the end */
    assert(list_bytes <= room_bytes);
    *parts = (struct text_parts){
        .parts = (struct api_part *)(void *)room,
        .count_max = count_max + 1,
        .start = room + list_bytes,
        .executor = executor,
    };
    text_init(&parts->text, parts->start, room_bytes - list_bytes);
}

void text_parts_add(struct text_parts *parts, const void *data, size_t bytes)
{
    if (bytes == 0)
        return;
    assert(parts->count < parts->count_max);
    parts->parts[parts->count++] = (struct api_part){data, bytes};
}

void text_parts_cut(struct text_parts *parts)
{
    text_parts_add(parts, parts->start, (size_t)(parts->text.at - parts->start));
    parts->start = parts->text.at;
}

static size_t piece_offset(const struct pieces *pieces, size_t piece, size_t first)
{
    const struct tensor *t = pieces->tensor;
    return text_tensor_offset(t->dtype, t->rank, t->shape, pieces->style, first) + piece * TEXT_TENSOR_SLACK_BYTES;
}

static void write_piece(void *argument, size_t piece, size_t worker)
{
    const struct pieces *pieces = argument;
    size_t first = piece * TEXT_PART_ELEMENTS, last = size_min(first + TEXT_PART_ELEMENTS, tensor_count(pieces->tensor));
    char *room = pieces->room + piece_offset(pieces, piece, first), *end = room;
    (void)worker;
    if (!executor_stopped(pieces->parts->executor))
        end = text_tensor_write(pieces->tensor, pieces->style, first, last, room);
    assert(end <= pieces->room + piece_offset(pieces, piece + 1, last));
    pieces->results[piece] = (struct api_part){room, (size_t)(end - room)};
}

void text_parts_tensor(struct text_parts *parts, const struct tensor *t, struct text_style style)
{
    struct text *text = &parts->text;
    size_t element_count = tensor_count(t), count = piece_count(element_count);
    size_t room_bytes = text_tensor_offset(t->dtype, t->rank, t->shape, style, element_count);
    if (!is_spread(element_count)) {
        assert(room_bytes + TEXT_TENSOR_SLACK_BYTES <= (size_t)(text->end - text->at));
        text->at = text_tensor_write(t, style, 0, element_count, text->at);
        return;
    }
    text_parts_cut(parts);
    room_bytes += count * TEXT_TENSOR_SLACK_BYTES;
    assert(room_bytes <= (size_t)(text->end - text->at) && count <= parts->count_max - parts->count);
    struct pieces pieces = {parts, t, style, text->at, parts->parts + parts->count};
    executor_run(parts->executor, count, write_piece, &pieces);
    parts->count += count;
    parts->stopped |= executor_stopped(parts->executor);
    text->at += room_bytes;
    parts->start = text->at;
}

size_t text_parts_bytes(const struct text_parts *parts)
{
    size_t bytes = 0;
    for (size_t i = 0; i < parts->count; i++)
        bytes += parts->parts[i].bytes;
    return bytes;
}

bool text_parts_done(struct text_parts *parts, struct api_reply *ret, struct error *err)
{
    text_parts_cut(parts);
    if (parts->stopped)
        return executor_set_stopped(err);
    ret->body = parts->parts[0].data;
    ret->body_bytes = parts->parts[0].bytes;
    ret->parts = parts->parts + 1;
    ret->part_count = parts->count - 1;
    return true;
}
