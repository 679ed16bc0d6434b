#include "api/protocol/kserve.h"

#include <stdio.h>
#include <string.h>

#include "api/json/writer.h"
#include "api/protocol/first_bytes.h"
#include "api/protocol/media_type.h"
#include "api/protocol/pipeline.h"
#include "api/protocol/safetensors.h"

static bool accepts(const struct api_request *sent, struct error *err)
{
    if (!media_type_may_be_json(sent->content_type))
        return error_set(err, ERROR_UNSUPPORTED_MEDIA, "content type %.100s is not read here; send application/json%s",
                         sent->content_type,
                         media_type_is(sent->content_type, SAFETENSORS_TYPE) ? "; safetensors files go to POST /attention"
                                                                             : first_bytes_of_type(sent->content_type));
    if (safetensors_resembles(sent->body, sent->body_bytes))
        return error_set(err, ERROR_UNSUPPORTED_MEDIA, "the body looks like a safetensors file: send it to POST /attention");
    return first_bytes_check_json(sent->body, sent->body_bytes, err);
}

/* Where the error is, as the protocol calls it: checks that all protocols share name a parameter as POST /attention does. */
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

static size_t write_error(const struct error *err, char *buffer, size_t buffer_bytes)
{
    char line[ERROR_POINTER_BYTES_MAX + ERROR_TEXT_BYTES_MAX + 4];
    const char *pointer = pointer_of(err);
    struct writer writer;
    (void)snprintf(line, sizeof line, "%s%s%s", pointer, pointer[0] == '\0' ? "" : ": ", err->text);
    writer_init(&writer, buffer, buffer_bytes);
    writer_add(&writer, "{\"error\":");
    writer_string(&writer, line);
    writer_add(&writer, "}\n");
    return (size_t)(writer.at - writer.start);
}

static bool answer(const struct api_request *sent, const struct api_limits *limits, const struct executor *executor,
                   struct api_call *call, struct error *err)
{
    static const struct pipeline pipeline = {kserve_read, kserve_write_bytes_max, kserve_write};
    return pipeline_run(&pipeline, sent, limits, executor, call, err);
}

const struct api_protocol api_protocol_kserve = {
    .name = "/v2/models/attention/infer",
    .accepts = accepts,
    .answer = answer,
    .error_type = "application/json",
    .write_error = write_error,
};
