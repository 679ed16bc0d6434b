#include <stdint.h>

#include "api/number/element_type.h"
#include "api/protocol/safetensors_file.h"

#define HEADER_ALIGNMENT 8
#define HEADER_LENGTH_BYTES 8

void safetensors_writer_init(struct safetensors_writer *writer, char *buffer, size_t buffer_bytes, struct api_chunk *chunks)
{
    *writer = (struct safetensors_writer){.chunks = chunks};
    writer_init(&writer->header, buffer, buffer_bytes);
    writer->header.at += HEADER_LENGTH_BYTES;
    writer_add(&writer->header, "{\"__metadata__\":{\"applied\":");
}

void safetensors_writer_metadata(struct safetensors_writer *writer, const char *applied, const char *warnings,
                                 const char *tokens)
{
    writer_string(&writer->header, applied);
    writer_add(&writer->header, ",\"warnings\":");
    writer_string(&writer->header, warnings);
    if (tokens[0] != '\0') {
        writer_add(&writer->header, ",\"tokens\":");
        writer_string(&writer->header, tokens);
    }
    writer_add(&writer->header, "}");
}

void safetensors_writer_tensor(struct safetensors_writer *writer, const char *name, const char *member, const struct tensor *t)
{
    char shape[SHAPE_TEXT_BYTES_MAX];
    const size_t begin = writer->data_bytes, end = begin + tensor_count(t) * dtype_bytes(t->dtype);
    writer_format(&writer->header, ",\"%s%s%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}", name,
                  member == NULL ? "" : ".", member == NULL ? "" : member,
                  element_names[ELEMENT_NAMES_SAFETENSORS][element_of_dtype(t->dtype)],
                  shape_text(t->rank, t->shape, shape, sizeof shape), begin, end);
    writer->data_bytes = end;
    if (end > begin)
        writer->chunks[writer->chunk_count++] = (struct api_chunk){t->data, end - begin};
}

void safetensors_writer_done(struct safetensors_writer *writer, struct api_reply *ret)
{
    struct writer *header = &writer->header;
    writer_add(header, "}");
    while ((size_t)(header->at - header->start) % HEADER_ALIGNMENT != 0)
        writer_add(header, " ");
    const size_t bytes = (size_t)(header->at - header->start);
    for (size_t i = 0; i < HEADER_LENGTH_BYTES; i++)
        header->start[i] = (char)((uint64_t)(bytes - HEADER_LENGTH_BYTES) >> 8 * i & 0xff);
    *ret = (struct api_reply){
        .status = 200,
        .content_type = SAFETENSORS_TYPE,
        .body = header->start,
        .body_bytes = bytes,
        .chunks = writer->chunks,
        .chunk_count = writer->chunk_count,
    };
}
