/* safetensors_write.c: an evaluation as a safetensors file: a header, then the results' own memory. */
#include "api/json/writer.h"
#include "api/protocol/conventions.h"
#include "api/protocol/safetensors.h"
#include "core/size.h"

static const struct tokens *tokens_of(const struct plan *plan)
{
    return &((const struct attention_reply *)plan->request->reply)->tokens;
}

/* The conventions and the tokens as JSON, each with a NUL. */
static size_t texts_bytes_max(const struct plan *plan)
{
    return size_add(conventions_bytes_max(plan), tokens_bytes_max(tokens_of(plan)));
}

/* The reply buffer: the list of chunks, the conventions and the tokens as JSON, then the header, which holds them as strings. */
size_t safetensors_write_bytes_max(const struct plan *plan)
{
    return size_add(size_multiply(texts_bytes_max(plan), 1 + WRITER_STRING_GROWTH),
                    (size_t)RESULT_PARTS_MAX * SAFETENSORS_ENTRY_BYTES_MAX + SAFETENSORS_FRAME_BYTES_MAX);
}

/* Integers, the widest, go first. */
static void write_tensors(struct safetensors_writer *writer, const struct evaluation *evaluation)
{
    struct result_part parts[RESULT_PARTS_MAX];
    size_t count = evaluation_result_parts(evaluation, parts);
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            if ((parts[i].tensor->dtype == DTYPE_I64) == (pass == 0))
                safetensors_writer_tensor(writer, request_result_names[parts[i].result], parts[i].member, parts[i].tensor);
        }
    }
}

void safetensors_write(struct evaluation *evaluation, struct api_reply *ret)
{
    const size_t buffer_bytes = safetensors_write_bytes_max(evaluation->plan);
    const size_t json_bytes = texts_bytes_max(evaluation->plan), chunks_bytes = RESULT_PARTS_MAX * sizeof(struct api_chunk);
    struct writer json;
    struct safetensors_writer writer;
    writer_init(&json, evaluation->reply_buffer + chunks_bytes, json_bytes);
    conventions_write_applied(&json, evaluation);
    writer_end(&json);
    const char *warnings = json.at;
    conventions_write_warnings(&json, evaluation);
    writer_end(&json);
    const char *tokens = json.at;
    tokens_write(&json, tokens_of(evaluation->plan));
    writer_end(&json);
    safetensors_writer_init(&writer, evaluation->reply_buffer + chunks_bytes + json_bytes,
                            buffer_bytes - chunks_bytes - json_bytes, (struct api_chunk *)(void *)evaluation->reply_buffer);
    safetensors_writer_metadata(&writer, json.start, warnings, tokens);
    write_tensors(&writer, evaluation);
    safetensors_writer_done(&writer, ret);
}
