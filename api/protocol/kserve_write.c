#include "api/protocol/kserve.h"

#include <string.h>

#include "api/json/chunks.h"
#include "core/size.h"

#define FRAME_BYTES_MAX 1024 /* of names and brackets that do not grow with the request */

/* Numbers have the results' dtype, or a narrower type. */
static struct number_style style_of(enum element_type element_type)
{
    return (struct number_style){.digits = element_type == ELEMENT_F64 ? DTYPE_F64 : DTYPE_F32, .flat = true, .decimals = -1};
}

size_t kserve_write_bytes_max(const struct plan *plan)
{
    const struct kserve_reply *reply = plan->request->reply;
    size_t bytes = FRAME_BYTES_MAX + CHUNKS_FRAME_BYTES;
    if (reply->id != NULL)
        bytes = size_add(bytes, size_multiply(WRITER_STRING_GROWTH, strlen(reply->id)));
    for (size_t i = 0; i < reply->output_count; i++) {
        const struct kserve_output *output = &reply->outputs[i];
        const struct plan_result *result = &plan->results[output->result];
        bytes = size_add(bytes, SHAPE_TEXT_BYTES_MAX);
        if (!output->binary)
            bytes = size_add(bytes, chunks_bytes_max(plan->dtype, result->rank, result->shape, style_of(output->element_type)));
    }
    return bytes;
}

static size_t chunk_count_max(const struct evaluation *evaluation)
{
    const struct kserve_reply *reply = evaluation->plan->request->reply;
    size_t count = KSERVE_OUTPUTS + 1; /* binary outputs, and the JSON before them */
    for (size_t i = 0; i < reply->output_count; i++)
        if (!reply->outputs[i].binary)
            count += chunks_count_max(tensor_count(&evaluation->results[reply->outputs[i].result]));
    return count;
}

/* One output with its numbers as JSON; or packed in the tensor's memory, which *ret_binary then is. */
static void write_output(struct chunks *chunks, const struct kserve_output *output, struct tensor *t,
                         struct api_chunk *ret_binary)
{
    struct writer *writer = &chunks->writer;
    char shape[SHAPE_TEXT_BYTES_MAX];
    writer_format(writer, "{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":%s,", kserve_output_names[output->name],
                  element_names[ELEMENT_NAMES_KSERVE][output->element_type],
                  shape_text(t->rank, t->shape, shape, sizeof shape));
    if (output->binary) {
        *ret_binary = (struct api_chunk){t->data, element_pack(output->element_type, t)};
        writer_format(writer, "\"parameters\":{\"binary_data_size\":%zu}}", ret_binary->bytes);
        return;
    }
    element_round(output->element_type, t);
    writer_add(writer, "\"data\":");
    chunks_tensor(chunks, t, style_of(output->element_type));
    writer_add(writer, "}");
}

bool kserve_write(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret, struct error *err)
{
    const struct kserve_reply *reply = evaluation->plan->request->reply;
    struct api_chunk binary[KSERVE_OUTPUTS] = {{0}};
    bool any_binary = false;
    struct chunks chunks;
    struct writer *writer = &chunks.writer;
    chunks_init(&chunks, evaluation->reply_buffer, kserve_write_bytes_max(evaluation->plan), chunk_count_max(evaluation),
                executor);
    writer_add(writer, "{\"model_name\":\"attention\",\"model_version\":\"1\"");
    if (reply->id != NULL) {
        writer_add(writer, ",\"id\":");
        writer_string(writer, reply->id);
    }
    writer_add(writer, ",\"outputs\":[");
    for (size_t i = 0; i < reply->output_count; i++) {
        writer_add(writer, i > 0 ? "," : "");
        write_output(&chunks, &reply->outputs[i], &evaluation->results[reply->outputs[i].result], &binary[i]);
        any_binary |= reply->outputs[i].binary;
    }
    writer_add(writer, any_binary ? "]}" : "]}\n");
    chunks_split(&chunks);
    const size_t json_bytes = chunks_bytes(&chunks);
    for (size_t i = 0; i < reply->output_count; i++)
        chunks_add(&chunks, binary[i].data, binary[i].bytes);
    *ret = (struct api_reply){
        .status = 200,
        .content_type = any_binary ? "application/octet-stream" : "application/json",
        .json_bytes = any_binary ? json_bytes : 0,
    };
    return api_reply_end_chunks(ret, &chunks, err);
}
