/* safetensors_reply.c: a computed job as a safetensors file: a header, then the results as they lie in memory. */
#include <string.h>

#include "api/reply.h"
#include "api/safetensors.h"
#include "api/text.h"
#include "core/size.h"

#define ENTRY_BYTES_MAX 320 /* of one tensor's entry in the header, and its part */
#define HEADER_ALIGNMENT 8

size_t safetensors_reply_bytes_max(const struct plan *plan)
{
    size_t applied = reply_conventions_bytes_max(plan); /* once plain, once escaped */
    return size_add(size_multiply(applied, 1 + TEXT_STRING_GROWTH), (size_t)RESULTS * ENTRY_BYTES_MAX);
}

/* A JSON text as a JSON string. */
static void write_quoted(struct text *text, struct text *plain, void write(struct text *, const struct job *),
                         const struct job *job)
{
    char *start = plain->at;
    write(plain, job);
    text_end(plain);
    text_string(text, start);
}

static void write_entries(struct text *text, const struct job *job, struct api_part *parts, size_t *ret_count)
{
    size_t offset = 0;
    *ret_count = 0;
    for (size_t i = 0; i < RESULTS; i++) {
        const struct tensor *t = &job->results[i];
        char shape[SHAPE_TEXT_BYTES_MAX];
        if (!job->plan->request->results[i])
            continue;
        size_t bytes = tensor_count(t) * dtype_bytes(t->dtype);
        text_format(text, ",\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}", request_result_names[i],
                    t->dtype == DTYPE_F32 ? "F32" : "F64", shape_text(t->rank, t->shape, shape, sizeof shape), offset,
                    offset + bytes);
        offset += bytes;
        if (bytes > 0)
            parts[(*ret_count)++] = (struct api_part){t->data, bytes};
    }
}

void safetensors_write_reply(struct job *job, struct api_reply *ret)
{
    size_t room = safetensors_reply_bytes_max(job->plan), plain_bytes = reply_conventions_bytes_max(job->plan);
    struct api_part *parts = (struct api_part *)(void *)job->text;
    size_t parts_bytes = (size_t)RESULTS * sizeof *parts, count;
    struct text plain, text;
    text_init(&plain, job->text + parts_bytes, plain_bytes);
    text_init(&text, job->text + parts_bytes + plain_bytes, room - parts_bytes - plain_bytes);
    text.at += HEADER_ALIGNMENT; /* the length goes there */
    text_add(&text, "{\"__metadata__\":{\"applied\":");
    write_quoted(&text, &plain, reply_write_applied, job);
    text_add(&text, ",\"warnings\":");
    write_quoted(&text, &plain, reply_write_warnings, job);
    text_add(&text, "}");
    write_entries(&text, job, parts, &count);
    text_add(&text, "}");
    while ((size_t)(text.at - text.start) % HEADER_ALIGNMENT != 0)
        text_add(&text, " ");
    uint64_t header_bytes = (uint64_t)(text.at - text.start) - HEADER_ALIGNMENT;
    for (size_t i = 0; i < HEADER_ALIGNMENT; i++)
        text.start[i] = (char)(header_bytes >> 8 * i & 0xff);
    *ret = (struct api_reply){
        .status = 200,
        .content_type = SAFETENSORS_TYPE,
        .body = text.start,
        .body_bytes = (size_t)(text.at - text.start),
        .parts = parts,
        .part_count = count,
    };
}
