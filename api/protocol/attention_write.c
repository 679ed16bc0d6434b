/* attention_write.c: a reply is
 *
 *   {"output": .., "weights": .., (what "return" named) .., ("tokens": ..,) "applied": {..}, "warnings": [..]} */
#include "api/protocol/attention_write.h"

#include "api/protocol/conventions.h"
#include "core/size.h"

static struct number_style style_of(const struct attention_reply *reply, enum dtype dtype)
{
    return (struct number_style){.digits = dtype, .flat = reply->flat, .decimals = reply->decimals};
}

size_t attention_write_tensor_bytes_max(const struct attention_reply *reply, enum dtype dtype, size_t rank, const size_t *shape)
{
    return size_add(chunks_bytes_max(dtype, rank, shape, style_of(reply, dtype)), 2 * SHAPE_TEXT_BYTES_MAX);
}

size_t attention_write_bytes_max(const struct plan *plan)
{
    const struct request *request = plan->request;
    const struct attention_reply *reply = request->reply;
    size_t bytes = size_add(conventions_bytes_max(plan), size_add(tokens_bytes_max(&reply->tokens), CHUNKS_FRAME_BYTES));
    for (size_t i = 0; i < RESULTS; i++) {
        if (!request->results[i])
            continue;
        const struct plan_result *result = &plan->results[i];
        bytes = size_add(bytes, attention_write_tensor_bytes_max(request->reply, plan->dtype, result->rank, result->shape));
        if (i == RESULT_TOP_KEYS)
            bytes = size_add(bytes, attention_write_tensor_bytes_max(request->reply, DTYPE_I64, result->rank, result->shape));
    }
    return bytes;
}

static size_t chunk_count_max(const struct evaluation *evaluation)
{
    struct result_part parts[RESULT_PARTS_MAX];
    size_t part_count = evaluation_result_parts(evaluation, parts), count = 0;
    for (size_t i = 0; i < part_count; i++)
        count += chunks_count_max(tensor_count(parts[i].tensor));
    return count;
}

void attention_write_tensor(struct chunks *chunks, const struct attention_reply *reply, const struct tensor *t)
{
    struct writer *writer = &chunks->writer;
    if (reply->flat) {
        char shape[SHAPE_TEXT_BYTES_MAX];
        writer_format(writer, "{\"shape\":%s,\"dtype\":\"%s\",\"data\":", shape_text(t->rank, t->shape, shape, sizeof shape),
                      element_dtype_name(t->dtype));
    }
    chunks_tensor(chunks, t, style_of(reply, t->dtype));
    writer_add(writer, reply->flat ? "}" : "");
}

/* The results, each a tensor or an object of its parts, and a comma after each. */
static void write_results(struct chunks *chunks, const struct evaluation *evaluation)
{
    struct result_part parts[RESULT_PARTS_MAX];
    size_t count = evaluation_result_parts(evaluation, parts);
    struct writer *writer = &chunks->writer;
    for (size_t i = 0; i < count; i++) {
        bool first = i == 0 || parts[i - 1].result != parts[i].result;
        bool last = i + 1 == count || parts[i + 1].result != parts[i].result;
        if (first) {
            writer_add(writer, "\"");
            writer_add(writer, request_result_names[parts[i].result]);
            writer_add(writer, parts[i].member == NULL ? "\":" : "\":{");
        }
        if (parts[i].member != NULL) {
            writer_add(writer, "\"");
            writer_add(writer, parts[i].member);
            writer_add(writer, "\":");
        }
        attention_write_tensor(chunks, evaluation->plan->request->reply, parts[i].tensor);
        writer_add(writer, parts[i].member != NULL && last ? "}," : ",");
    }
}

bool attention_write(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret, struct error *err)
{
    struct chunks chunks;
    struct writer *writer = &chunks.writer;
    chunks_init(&chunks, evaluation->reply_buffer, attention_write_bytes_max(evaluation->plan), chunk_count_max(evaluation),
                executor);
    writer_add(writer, "{");
    write_results(&chunks, evaluation);
    const struct tokens *tokens = &((const struct attention_reply *)evaluation->plan->request->reply)->tokens;
    if (tokens->query != NULL) {
        writer_add(writer, "\"tokens\":");
        tokens_write(writer, tokens);
        writer_add(writer, ",");
    }
    writer_add(writer, "\"applied\":");
    conventions_write_applied(writer, evaluation);
    writer_add(writer, ",\"warnings\":");
    conventions_write_warnings(writer, evaluation);
    writer_add(writer, "}\n");
    *ret = (struct api_reply){.status = 200, .content_type = "application/json"};
    return api_reply_end_chunks(ret, &chunks, err);
}
