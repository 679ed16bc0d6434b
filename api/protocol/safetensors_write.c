/* safetensors_reply.c: a computed job as a safetensors file: a header, then the results as they lie in memory. */
#include <string.h>

#include "api/json/writer.h"
#include "api/protocol/attention_write.h"
#include "api/protocol/safetensors.h"
#include "core/size.h"

#define ENTRY_BYTES_MAX 320 /* of one tensor's entry in the header, and its part */
#define HEADER_ALIGNMENT 8

size_t safetensors_reply_bytes_max(const struct plan *plan)
{
    size_t applied = reply_conventions_bytes_max(plan); /* once plain, once escaped */
    return size_add(size_multiply(applied, 1 + WRITER_STRING_GROWTH), (size_t)RESULTS * ENTRY_BYTES_MAX);
}

/* A JSON text as a JSON string. */
static void write_quoted(struct text *text, struct text *plain, void write(struct text *, const struct evaluation *),
                         const struct evaluation *evaluation)
{
    char *start = plain->at;
    write(plain, evaluation);
    writer_end(plain);
    writer_string(text, start);
}

static void write_entries(struct text *text, const struct evaluation *evaluation, struct api_chunk *parts, size_t *ret_count)
{
    size_t offset = 0;
    *ret_count = 0;
    for (size_t i = 0; i < RESULTS; i++) {
        const struct tensor *t = &evaluation->results[i];
        char shape[SHAPE_TEXT_BYTES_MAX];
        if (!evaluation->plan->request->results[i])
            continue;
        size_t bytes = tensor_count(t) * dtype_bytes(t->dtype);
        writer_format(text, ",\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}", request_result_names[i],
                      t->dtype == DTYPE_F32 ? "F32" : "F64", shape_text(t->rank, t->shape, shape, sizeof shape), offset,
                      offset + bytes);
        offset += bytes;
        if (bytes > 0)
            parts[(*ret_count)++] = (struct api_chunk){t->data, bytes};
    }
}

void safetensors_write_reply(struct evaluation *evaluation, struct api_reply *ret)
{
    size_t room = safetensors_reply_bytes_max(evaluation->plan), plain_bytes = reply_conventions_bytes_max(evaluation->plan);
    struct api_chunk *parts = (struct api_chunk *)(void *)evaluation->text;
    size_t parts_bytes = (size_t)RESULTS * sizeof *parts, count;
    struct text plain, text;
    writer_init(&plain, evaluation->text + parts_bytes, plain_bytes);
    writer_init(&text, evaluation->text + parts_bytes + plain_bytes, room - parts_bytes - plain_bytes);
    text.at += HEADER_ALIGNMENT; /* the length goes there */
    writer_add(&text, "{\"__metadata__\":{\"applied\":");
    write_quoted(&text, &plain, reply_write_applied, evaluation);
    writer_add(&text, ",\"warnings\":");
    write_quoted(&text, &plain, reply_write_warnings, evaluation);
    writer_add(&text, "}");
    write_entries(&text, evaluation, parts, &count);
    writer_add(&text, "}");
    while ((size_t)(text.at - text.start) % HEADER_ALIGNMENT != 0)
        writer_add(&text, " ");
    uint64_t header_bytes = (uint64_t)(text.at - text.start) - HEADER_ALIGNMENT;
    for (size_t i = 0; i < HEADER_ALIGNMENT; i++)
        text.start[i] = (char)(header_bytes >> 8 * i & 0xff);
    *ret = (struct api_reply){
        .status = 200,
        .content_type = SAFETENSORS_TYPE,
        .body = text.start,
        .body_bytes = (size_t)(text.at - text.start),
        .parts = parts,
        .chunk_count = count,
    };
}
