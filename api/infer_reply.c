#include "api/infer_reply.h"

#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/infer.h"
#include "api/text_parts.h"
#include "core/size.h"

#define FRAME_BYTES_MAX 1024 /* of names and brackets that do not grow with the request */

/* Numbers are as the results' dtype has them, or narrower. */
static struct text_style style_of(enum wire wire)
{
    return (struct text_style){.digits = wire == WIRE_F64 ? DTYPE_F64 : DTYPE_F32, .flat = true, .decimals = -1};
}

size_t infer_reply_bytes_max(const struct plan *plan)
{
    const struct infer *infer = plan->request->infer;
    size_t bytes = FRAME_BYTES_MAX + TEXT_PARTS_FRAME_BYTES;
    if (infer->id != NULL)
        bytes = size_add(bytes, size_multiply(TEXT_STRING_GROWTH, strlen(infer->id)));
    for (size_t i = 0; i < infer->output_count; i++) {
        enum request_result which = infer->results[i];
        bytes = size_add(bytes, SHAPE_TEXT_BYTES_MAX);
        if (!infer->binary[i])
            bytes = size_add(bytes, text_parts_bytes_max(plan->dtype, plan->result_rank[which], plan->result_shape[which],
                                                         style_of(infer->wires[i])));
    }
    return bytes;
}

static size_t part_count_max(const struct job *job)
{
    const struct infer *infer = job->plan->request->infer;
    size_t count = INFER_OUTPUTS + 1; /* binary outputs, and the JSON before them */
    for (size_t i = 0; i < infer->output_count; i++)
        if (!infer->binary[i])
            count += text_parts_count_max(tensor_count(&job->results[infer->results[i]]));
    return count;
}

/* One output; its numbers in the text, or as they lie in memory in *ret_part. */
static void write_output(struct text_parts *parts, struct job *job, size_t i, struct api_part *ret_part)
{
    const struct infer *infer = job->plan->request->infer;
    struct tensor *t = &job->results[infer->results[i]];
    struct text *text = &parts->text;
    char shape[SHAPE_TEXT_BYTES_MAX];
    text_format(text, "%s{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":%s,", i > 0 ? "," : "",
                infer_output_names[infer->outputs[i]], infer_datatype(infer->wires[i]),
                shape_text(t->rank, t->shape, shape, sizeof shape));
    if (infer->binary[i]) {
        *ret_part = (struct api_part){t->data, wire_pack(infer->wires[i], t)};
        text_format(text, "\"parameters\":{\"binary_data_size\":%zu}}", ret_part->bytes);
        return;
    }
    wire_round(infer->wires[i], t);
    text_add(text, "\"data\":");
    text_parts_tensor(parts, t, style_of(infer->wires[i]));
    text_add(text, "}");
}

bool infer_write_reply(struct job *job, const struct executor *executor, struct api_reply *ret, struct error *err)
{
    const struct infer *infer = job->plan->request->infer;
    struct api_part binary_parts[INFER_OUTPUTS] = {{0}};
    struct text_parts parts;
    text_parts_init(&parts, job->text, infer_reply_bytes_max(job->plan), part_count_max(job), executor);
    text_add(&parts.text, "{\"model_name\":\"attention\",\"model_version\":\"1\"");
    if (infer->id != NULL) {
        text_add(&parts.text, ",\"id\":");
        text_string(&parts.text, infer->id);
    }
    text_add(&parts.text, ",\"outputs\":[");
    for (size_t i = 0; i < infer->output_count; i++)
        write_output(&parts, job, i, &binary_parts[i]);
    bool binary = memchr(infer->binary, 1, sizeof infer->binary) != NULL;
    text_add(&parts.text, binary ? "]}" : "]}\n");
    text_parts_cut(&parts);
    *ret = (struct api_reply){
        .status = 200,
        .content_type = binary ? "application/octet-stream" : "application/json",
        .json_bytes = binary ? text_parts_bytes(&parts) : 0,
    };
    for (size_t i = 0; i < infer->output_count; i++)
        text_parts_add(&parts, binary_parts[i].data, binary_parts[i].bytes);
    return text_parts_done(&parts, ret, err);
}

/* Where an error lies, in the protocol's words: what is checked for both faces speaks of a parameter by our name for it. */
static const char *pointer_of(const struct error *err)
{
    static const struct {
        const char *ours, *theirs;
    } parameters[] = {
        {"/scale", "/parameters/scale"},
        {"/softcap", "/parameters/softcap"},
        {"/num_heads", "/parameters/q_num_heads"},
        {"/num_kv_heads", "/parameters/kv_num_heads"},
    };
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++)
        if (strcmp(err->pointer, parameters[i].ours) == 0)
            return parameters[i].theirs;
    return err->pointer;
}

size_t infer_write_error(const struct error *err, char *room, size_t room_bytes)
{
    char line[ERROR_POINTER_BYTES_MAX + ERROR_TEXT_BYTES_MAX + 4];
    const char *pointer = pointer_of(err);
    struct text text;
    (void)snprintf(line, sizeof line, "%s%s%s", pointer, pointer[0] == '\0' ? "" : ": ", err->text);
    text_init(&text, room, room_bytes);
    text_add(&text, "{\"error\":");
    text_string(&text, line);
    text_add(&text, "}\n");
    return (size_t)(text.at - text.start);
}

#define TENSOR_4(name) "{\"name\":\"" name "\",\"datatype\":\"FP32\",\"shape\":[-1,-1,-1,-1]}"

static const char server_document[] =
    "{\"name\":\"attnd\",\"version\":\"" ATTND_VERSION "\",\"extensions\":[\"binary_tensor_data\",\"statistics\"]}\n";

/* clang-format off */
static const char model_document[] =
    "{\"name\":\"attention\",\"versions\":[\"1\"],\"platform\":\"attnd\",\"inputs\":["
    TENSOR_4("Q") "," TENSOR_4("K") "," TENSOR_4("V") "," TENSOR_4("attn_mask") ","
    TENSOR_4("past_key") "," TENSOR_4("past_value") ","
    "{\"name\":\"nonpad_kv_seqlen\",\"datatype\":\"INT64\",\"shape\":[-1]}],\"outputs\":["
    TENSOR_4("Y") "," TENSOR_4("present_key") "," TENSOR_4("present_value") "," TENSOR_4("qk_matmul_output") "]}\n";
/* clang-format on */

const char *api_infer_document(enum api_infer_document which)
{
    static const char *const documents[] = {
        [API_INFER_SERVER] = server_document,
        [API_INFER_MODEL] = model_document,
        [API_INFER_MODEL_READY] = "{\"name\":\"attention\",\"ready\":true}\n",
    };
    return documents[which];
}
