/* attention_write.c: a reply is
 *
 *   {"output": .., "weights": .., (what "return" named) .., "applied": {..}, "warnings": [..]} */
#include "api/protocol/attention_write.h"

#include "api/json/chunks.h"
#include "api/protocol/attention_read.h"
#include "api/protocol/conventions.h"
#include "core/size.h"

static struct number_style style_of(const struct attention_reply *reply, enum dtype dtype)
{
    return (struct number_style){.digits = dtype, .flat = reply->flat, .decimals = reply->decimals};
}

size_t attention_write_bytes_max(const struct plan *plan)
{
    const struct request *request = plan->request;
    size_t bytes = size_add(conventions_bytes_max(plan), CHUNKS_FRAME_BYTES);
    for (size_t i = 0; i < RESULTS; i++) {
        if (!request->results[i])
            continue;
        const struct plan_result *result = &plan->results[i];
        size_t tensor = chunks_bytes_max(plan->dtype, result->rank, result->shape, style_of(request->reply, plan->dtype));
        bytes = size_add(bytes, size_add(tensor, SHAPE_TEXT_BYTES_MAX));
    }
    return bytes;
}

static size_t chunk_count_max(const struct evaluation *evaluation)
{
    size_t count = 0;
    for (size_t i = 0; i < RESULTS; i++)
        if (evaluation->plan->request->results[i])
            count += chunks_count_max(tensor_count(&evaluation->results[i]));
    return count;
}

static void write_result(struct chunks *chunks, const struct evaluation *evaluation, enum request_result which)
{
    const struct attention_reply *reply = evaluation->plan->request->reply;
    const struct tensor *t = &evaluation->results[which];
    struct writer *writer = &chunks->writer;
    writer_add(writer, "\"");
    writer_add(writer, request_result_names[which]);
    writer_add(writer, "\":");
    if (reply->flat) {
        char shape[SHAPE_TEXT_BYTES_MAX];
        writer_format(writer, "{\"shape\":%s,\"dtype\":\"%s\",\"data\":", shape_text(t->rank, t->shape, shape, sizeof shape),
                      element_dtype_name(t->dtype));
    }
    chunks_tensor(chunks, t, style_of(reply, t->dtype));
    writer_add(writer, reply->flat ? "}," : ",");
}

bool attention_write(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret, struct error *err)
{
    struct chunks chunks;
    struct writer *writer = &chunks.writer;
    chunks_init(&chunks, evaluation->reply_buffer, attention_write_bytes_max(evaluation->plan), chunk_count_max(evaluation),
                executor);
    writer_add(writer, "{");
    for (size_t i = 0; i < RESULTS; i++)
        if (evaluation->plan->request->results[i])
            write_result(&chunks, evaluation, (enum request_result)i);
    writer_add(writer, "\"applied\":");
    conventions_write_applied(writer, evaluation);
    writer_add(writer, ",\"warnings\":");
    conventions_write_warnings(writer, evaluation);
    writer_add(writer, "}\n");
    const struct api_chunk *list;
    size_t count;
    if (!chunks_done(&chunks, &list, &count, err))
        return false;
    *ret = (struct api_reply){.status = 200, .content_type = "application/json"};
    api_reply_set_chunks(ret, list, count);
    return true;
}
