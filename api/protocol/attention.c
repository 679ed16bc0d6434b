/* attention.c: POST /attention: requests and replies in JSON or as safetensors files, in any combination. */
#include "api/json/document.h"
#include "api/protocol/attention_read.h"
#include "api/protocol/attention_write.h"
#include "api/protocol/first_bytes.h"
#include "api/protocol/media_type.h"
#include "api/protocol/pipeline.h"
#include "api/protocol/problem.h"
#include "api/protocol/safetensors.h"

static bool accepts(const struct api_request *sent, struct error *err)
{
    if (media_type_is(sent->content_type, SAFETENSORS_TYPE))
        return true;
    if (!media_type_may_be_json(sent->content_type))
        return error_set(err, ERROR_UNSUPPORTED_MEDIA,
                         "content type %.100s is not read here; send application/json or " SAFETENSORS_TYPE "%s",
                         sent->content_type, first_bytes_of_type(sent->content_type));
    if (safetensors_resembles(sent->body, sent->body_bytes))
        return error_set(
            err, ERROR_UNSUPPORTED_MEDIA,
            "the body looks like a safetensors file, and is to be read as JSON: send it with Content-Type: " SAFETENSORS_TYPE);
    return first_bytes_check_json(sent->body, sent->body_bytes, err);
}

static bool read_json(const struct api_request *sent, struct arena *arena, struct extract *extract, struct request *ret,
                      struct attention_reply *ret_reply, struct error *err)
{
    json_t *document = NULL;
    bool done = document_read(sent->body, sent->body_bytes, NULL, arena, extract, &document, err) &&
                attention_read_fields(extract, document, ret, ret_reply, err);
    document_done(document);
    return done;
}

static bool read_request(const struct api_request *sent, struct arena *arena, struct extract *extract, struct request *ret,
                         struct error *err)
{
    bool binary = media_type_is(sent->content_type, SAFETENSORS_TYPE);
    struct attention_reply *reply = arena_alloc(arena, sizeof *reply, err);
    return reply != NULL && (binary ? safetensors_read : read_json)(sent, arena, extract, ret, reply, err) &&
           attention_reply_resolve(reply, sent->accept, err);
}

static bool is_safetensors(const struct plan *plan)
{
    const struct attention_reply *reply = plan->request->reply;
    return reply->safetensors;
}

static size_t write_bytes_max(const struct plan *plan)
{
    return (is_safetensors(plan) ? safetensors_write_bytes_max : attention_write_bytes_max)(plan);
}

static bool write_reply(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret,
                        struct error *err)
{
    if (!is_safetensors(evaluation->plan))
        return attention_write(evaluation, executor, ret, err);
    safetensors_write(evaluation, ret);
    return true;
}

static bool answer(const struct api_request *sent, const struct api_limits *limits, const struct executor *executor,
                   struct api_call *call, struct error *err)
{
    static const struct pipeline pipeline = {read_request, write_bytes_max, write_reply};
    return pipeline_run(&pipeline, sent, limits, executor, call, err);
}

const struct api_protocol api_protocol_attention = {
    .name = "/attention",
    .accepts = accepts,
    .answer = answer,
    .error_type = "application/problem+json",
    .write_error = problem_write,
};
