#include "api/protocol/kserve_write.h"

#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/json/chunks.h"
#include "api/protocol/kserve.h"
#include "core/size.h"

#define FRAME_BYTES_MAX 1024 /* of names and brackets that do not grow with the request */

/* Numbers are as the results' dtype has them, or narrower. */
static struct number_style style_of(enum element_type element_type)
{
    return (struct number_style){.digits = element_type == ELEMENT_F64 ? DTYPE_F64 : DTYPE_F32, .flat = true, .decimals = -1};
}

size_t kserve_reply_bytes_max(const struct plan *plan)
{
    const struct kserve *kserve = plan->request->kserve;
    size_t bytes = FRAME_BYTES_MAX + CHUNKS_FRAME_BYTES;
    if (kserve->id != NULL)
        bytes = size_add(bytes, size_multiply(WRITER_STRING_GROWTH, strlen(kserve->id)));
    for (size_t i = 0; i < kserve->output_count; i++) {
        enum request_result which = kserve->results[i];
        bytes = size_add(bytes, SHAPE_TEXT_BYTES_MAX);
        if (!kserve->binary[i])
            bytes = size_add(bytes, chunks_bytes_max(plan->dtype, plan->result_rank[which], plan->result_shape[which],
                                                     style_of(kserve->element_types[i])));
    }
    return bytes;
}

static size_t part_count_max(const struct evaluation *evaluation)
{
    const struct kserve *kserve = evaluation->plan->request->kserve;
    size_t count = KSERVE_OUTPUTS + 1; /* binary outputs, and the JSON before them */
    for (size_t i = 0; i < kserve->output_count; i++)
        if (!kserve->binary[i])
            count += chunks_count_max(tensor_count(&evaluation->results[kserve->results[i]]));
    return count;
}

/* One output; its numbers in the text, or as they lie in memory in *ret_part. */
static void write_output(struct chunks *parts, struct evaluation *evaluation, size_t i, struct api_chunk *ret_part)
{
    const struct kserve *kserve = evaluation->plan->request->kserve;
    struct tensor *t = &evaluation->results[kserve->results[i]];
    struct text *text = &parts->text;
    char shape[SHAPE_TEXT_BYTES_MAX];
    writer_format(text, "%s{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":%s,", i > 0 ? "," : "",
                  kserve_output_names[kserve->outputs[i]], kserve_datatype(kserve->element_types[i]),
                  shape_text(t->rank, t->shape, shape, sizeof shape));
    if (kserve->binary[i]) {
        *ret_part = (struct api_chunk){t->data, element_pack(kserve->element_types[i], t)};
        writer_format(text, "\"parameters\":{\"binary_data_size\":%zu}}", ret_part->bytes);
        return;
    }
    element_round(kserve->element_types[i], t);
    writer_add(text, "\"data\":");
    chunks_tensor(parts, t, style_of(kserve->element_types[i]));
    writer_add(text, "}");
}

bool kserve_write_reply(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret,
                        struct error *err)
{
    const struct kserve *kserve = evaluation->plan->request->kserve;
    struct api_chunk binary_parts[KSERVE_OUTPUTS] = {{0}};
    struct chunks parts;
    chunks_init(&parts, evaluation->text, kserve_reply_bytes_max(evaluation->plan), part_count_max(evaluation), executor);
    writer_add(&parts.text, "{\"model_name\":\"attention\",\"model_version\":\"1\"");
    if (kserve->id != NULL) {
        writer_add(&parts.text, ",\"id\":");
        writer_string(&parts.text, kserve->id);
    }
    writer_add(&parts.text, ",\"outputs\":[");
    for (size_t i = 0; i < kserve->output_count; i++)
        write_output(&parts, evaluation, i, &binary_parts[i]);
    bool binary = memchr(kserve->binary, 1, sizeof kserve->binary) != NULL;
    writer_add(&parts.text, binary ? "]}" : "]}\n");
    chunks_split(&parts);
    *ret = (struct api_reply){
        .status = 200,
        .content_type = binary ? "application/octet-stream" : "application/json",
        .json_bytes = binary ? chunks_bytes(&parts) : 0,
    };
    for (size_t i = 0; i < kserve->output_count; i++)
        chunks_add(&parts, binary_parts[i].data, binary_parts[i].bytes);
    return chunks_done(&parts, ret, err);
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

size_t kserve_write_error(const struct error *err, char *room, size_t room_bytes)
{
    char line[ERROR_POINTER_BYTES_MAX + ERROR_TEXT_BYTES_MAX + 4];
    const char *pointer = pointer_of(err);
    struct text text;
    (void)snprintf(line, sizeof line, "%s%s%s", pointer, pointer[0] == '\0' ? "" : ": ", err->text);
    writer_init(&text, room, room_bytes);
    writer_add(&text, "{\"error\":");
    writer_string(&text, line);
    writer_add(&text, "}\n");
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

const char *api_kserve_document(enum api_kserve_document which)
{
    static const char *const documents[] = {
        [API_KSERVE_SERVER] = server_document,
        [API_KSERVE_MODEL] = model_document,
        [API_KSERVE_MODEL_READY] = "{\"name\":\"attention\",\"ready\":true}\n",
    };
    return documents[which];
}
