/* safetensors_write.c: an evaluation as a safetensors file: a header, then the results' own memory. */
#include "api/protocol/safetensors.h"

#include <stdint.h>

#include "api/json/writer.h"
#include "api/protocol/conventions.h"
#include "core/size.h"

#define ENTRY_BYTES_MAX 320 /* of one tensor's entry in the header, and its chunk */
#define HEADER_ALIGNMENT 8
#define HEADER_LENGTH_BYTES 8

/* The reply buffer: the list of chunks, the conventions as JSON, then the header, which holds them as strings. */
size_t safetensors_write_bytes_max(const struct plan *plan)
{
    return size_add(size_multiply(conventions_bytes_max(plan), 1 + WRITER_STRING_GROWTH),
                    (size_t)RESULT_PARTS_MAX * ENTRY_BYTES_MAX);
}

/* The JSON that `write` makes, as a string. */
static void write_quoted(struct writer *writer, struct writer *json, void write(struct writer *, const struct evaluation *),
                         const struct evaluation *evaluation)
{
    char *start = json->at;
    write(json, evaluation);
    writer_end(json);
    writer_string(writer, start);
}

/* Readers want each tensor at a multiple of its element's size, and no holes: so integers, the widest, go first. */
static void write_entries(struct writer *writer, const struct evaluation *evaluation, struct api_chunk *chunks,
                          size_t *ret_count)
{
    struct result_part parts[RESULT_PARTS_MAX];
    size_t offset = 0, count = evaluation_result_parts(evaluation, parts);
    *ret_count = 0;
    for (size_t i = 0; i < 2 * count; i++) {
        const struct result_part *part = &parts[i % count];
        const struct tensor *t = part->tensor;
        char shape[SHAPE_TEXT_BYTES_MAX];
        if ((t->dtype == DTYPE_I64) != (i < count))
            continue;
        size_t bytes = tensor_count(t) * dtype_bytes(t->dtype);
        writer_format(writer, ",\"%s%s%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
                      request_result_names[part->result], part->member == NULL ? "" : ".",
                      part->member == NULL ? "" : part->member,
                      element_names[ELEMENT_NAMES_SAFETENSORS][element_of_dtype(t->dtype)],
                      shape_text(t->rank, t->shape, shape, sizeof shape), offset, offset + bytes);
        offset += bytes;
        if (bytes > 0)
            chunks[(*ret_count)++] = (struct api_chunk){t->data, bytes};
    }
}

static void write_length(char *at, uint64_t header_bytes)
{
    for (size_t i = 0; i < HEADER_LENGTH_BYTES; i++)
        at[i] = (char)(header_bytes >> 8 * i & 0xff);
}

void safetensors_write(struct evaluation *evaluation, struct api_reply *ret)
{
    const size_t buffer_bytes = safetensors_write_bytes_max(evaluation->plan);
    const size_t json_bytes = conventions_bytes_max(evaluation->plan),
                 chunks_bytes = RESULT_PARTS_MAX * sizeof(struct api_chunk);
    struct api_chunk *chunks = (struct api_chunk *)(void *)evaluation->reply_buffer;
    struct writer json, header;
    size_t chunk_count;
    writer_init(&json, evaluation->reply_buffer + chunks_bytes, json_bytes);
    writer_init(&header, evaluation->reply_buffer + chunks_bytes + json_bytes, buffer_bytes - chunks_bytes - json_bytes);
    header.at += HEADER_LENGTH_BYTES;
    writer_add(&header, "{\"__metadata__\":{\"applied\":");
    write_quoted(&header, &json, conventions_write_applied, evaluation);
    writer_add(&header, ",\"warnings\":");
    write_quoted(&header, &json, conventions_write_warnings, evaluation);
    writer_add(&header, "}");
    write_entries(&header, evaluation, chunks, &chunk_count);
    writer_add(&header, "}");
    while ((size_t)(header.at - header.start) % HEADER_ALIGNMENT != 0)
        writer_add(&header, " ");
    const size_t bytes = (size_t)(header.at - header.start);
    write_length(header.start, bytes - HEADER_LENGTH_BYTES);
    *ret = (struct api_reply){
        .status = 200,
        .content_type = SAFETENSORS_TYPE,
        .body = header.start,
        .body_bytes = bytes,
        .chunks = chunks,
        .chunk_count = chunk_count,
    };
}
