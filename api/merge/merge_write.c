#include "api/merge/merge_write.h"

#include "api/protocol/attention_write.h"
#include "api/protocol/safetensors_file.h"
#include "core/size.h"

#define CONVENTIONS_BYTES_MAX 512 /* applied and warnings */

static void write_applied(struct writer *writer, const struct merge *merge)
{
    const struct request *request = &merge->request;
    writer_format(writer, "{\"parts\":%zu,\"num_heads\":%zu", merge->part_count, merge->H);
    if (merge->parts[0].output.rank == 4 || request->layout == LAYOUT_THD)
        writer_format(writer, ",\"layout\":\"%s\"", request_layout_names[request->layout]);
    writer_format(writer, ",\"lse_base\":\"%s\",\"precision\":\"%s\"}", request->lse_base_2 ? "2" : "e",
                  element_dtype_name(request->dtype));
}

static void write_warnings(struct writer *writer, const struct merged *merged)
{
    writer_add(writer, "[");
    if (merged->masked_row_count > 0)
        writer_format(writer, "\"%zu %s no key in any part: output there is 0\"", merged->masked_row_count,
                      merged->masked_row_count == 1 ? "row has" : "rows have");
    writer_add(writer, "]");
}

/* ---- JSON ---- */

size_t merge_write_bytes_max(const struct merge *merge)
{
    const struct tensor_input *inputs[] = {&merge->parts[0].output, &merge->parts[0].lse};
    size_t bytes = CONVENTIONS_BYTES_MAX + CHUNKS_FRAME_BYTES;
    if (merge->reply.safetensors)
        return (2 + WRITER_STRING_GROWTH) * CONVENTIONS_BYTES_MAX + 2 * sizeof(struct api_chunk) +
               2 * SAFETENSORS_ENTRY_BYTES_MAX + SAFETENSORS_FRAME_BYTES_MAX;
    for (size_t i = 0; i < 2; i++)
        bytes = size_add(
            bytes, attention_write_tensor_bytes_max(&merge->reply, merge->request.dtype, inputs[i]->rank, inputs[i]->shape));
    return bytes;
}

static bool write_text(const struct merge *merge, const struct merged *merged, char *buffer, const struct executor *executor,
                       struct api_reply *ret, struct error *err)
{
    struct chunks chunks;
    const bool *results = merge->request.results;
    chunks_init(&chunks, buffer, merge_write_bytes_max(merge),
                chunks_count_max(tensor_count(&merged->output)) + chunks_count_max(tensor_count(&merged->lse)), executor);
    writer_add(&chunks.writer, results[RESULT_OUTPUT] ? "{\"output\":" : "{");
    if (results[RESULT_OUTPUT])
        attention_write_tensor(&chunks, &merge->reply, &merged->output);
    writer_add(&chunks.writer, results[RESULT_OUTPUT] ? "," : "");
    writer_add(&chunks.writer, results[RESULT_LSE] ? "\"lse\":" : "");
    if (results[RESULT_LSE])
        attention_write_tensor(&chunks, &merge->reply, &merged->lse);
    writer_add(&chunks.writer, results[RESULT_LSE] ? ",\"applied\":" : "\"applied\":");
    write_applied(&chunks.writer, merge);
    writer_add(&chunks.writer, ",\"warnings\":");
    write_warnings(&chunks.writer, merged);
    writer_add(&chunks.writer, "}\n");
    *ret = (struct api_reply){.status = 200, .content_type = "application/json"};
    return api_reply_end_chunks(ret, &chunks, err);
}

/* ---- safetensors ---- */

/* The buffer: two chunks, the conventions, the header. */
static void write_binary(const struct merge *merge, const struct merged *merged, char *buffer, struct api_reply *ret)
{
    struct safetensors_writer writer;
    struct writer json;
    char *text = buffer + 2 * sizeof(struct api_chunk), *header = text + 2 * CONVENTIONS_BYTES_MAX;
    writer_init(&json, text, 2 * (size_t)CONVENTIONS_BYTES_MAX);
    write_applied(&json, merge);
    writer_end(&json);
    const char *warnings = json.at;
    write_warnings(&json, merged);
    writer_end(&json);
    safetensors_writer_init(&writer, header, merge_write_bytes_max(merge) - (size_t)(header - buffer),
                            (struct api_chunk *)(void *)buffer);
    safetensors_writer_metadata(&writer, text, warnings, "");
    if (merge->request.results[RESULT_OUTPUT])
        safetensors_writer_tensor(&writer, "output", NULL, &merged->output);
    if (merge->request.results[RESULT_LSE])
        safetensors_writer_tensor(&writer, "lse", NULL, &merged->lse);
    safetensors_writer_done(&writer, ret);
}

bool merge_write(const struct merge *merge, const struct merged *merged, char *buffer, const struct executor *executor,
                 struct api_reply *ret, struct error *err)
{
    if (!merge->reply.safetensors)
        return write_text(merge, merged, buffer, executor, ret, err);
    write_binary(merge, merged, buffer, ret);
    return true;
}
