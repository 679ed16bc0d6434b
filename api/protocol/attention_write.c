/* reply.c: the JSON of POST /attention.
 *
 *   {"output": .., "weights": .., (what "return" named) .., "applied": {..}, "warnings": [..]} */
#include <inttypes.h>
#include <stdio.h>

#include "api/json/chunks.h"
#include "api/json/document.h"
#include "api/protocol/attention_write.h"
#include "api/protocol/media_type.h"
#include "api/protocol/protocol.h"
#include "api/protocol/safetensors.h"
#include "core/size.h"

#define APPLIED_BYTES_MAX 4096 /* of names and numbers that do not grow with the request */
#define SLOPE_BYTES_MAX 32

size_t reply_conventions_bytes_max(const struct plan *plan)
{
    return size_add(APPLIED_BYTES_MAX, size_multiply(SLOPE_BYTES_MAX, plan->request->alibi ? plan->H : 0));
}

static struct number_style style_of(const struct request *request, enum dtype dtype)
{
    return (struct number_style){.digits = dtype, .flat = request->flat, .decimals = request->decimals};
}

static size_t json_bytes_max(const struct plan *plan)
{
    const struct request *request = plan->request;
    size_t bytes = size_add(reply_conventions_bytes_max(plan), CHUNKS_FRAME_BYTES);
    for (size_t i = 0; i < RESULTS; i++) {
        if (!request->results[i])
            continue;
        size_t tensor =
            chunks_bytes_max(plan->dtype, plan->result_rank[i], plan->result_shape[i], style_of(request, plan->dtype));
        bytes = size_add(bytes, size_add(tensor, SHAPE_TEXT_BYTES_MAX));
    }
    return bytes;
}

static size_t json_part_count_max(const struct evaluation *evaluation)
{
    size_t count = 0;
    for (size_t i = 0; i < RESULTS; i++)
        if (evaluation->plan->request->results[i])
            count += chunks_count_max(tensor_count(&evaluation->results[i]));
    return count;
}

static void write_result(struct chunks *parts, const struct evaluation *evaluation, enum request_result which)
{
    const struct request *request = evaluation->plan->request;
    const struct tensor *t = &evaluation->results[which];
    struct text *text = &parts->text;
    writer_format(text, "\"%s\":", request_result_names[which]);
    if (request->flat) {
        char shape[SHAPE_TEXT_BYTES_MAX];
        writer_format(text, "{\"shape\":%s,\"dtype\":\"%s\",\"data\":", shape_text(t->rank, t->shape, shape, sizeof shape),
                      dtype_name(t->dtype));
    }
    chunks_tensor(parts, t, style_of(request, t->dtype));
    writer_add(text, request->flat ? "}," : ",");
}

static const char *causal_name(enum request_causal causal)
{
    switch (causal) {
    case CAUSAL_FALSE:
        return "false";
    case CAUSAL_TRUE:
        return "true";
    case CAUSAL_TOP_LEFT:
        return "\"top_left\"";
    case CAUSAL_BOTTOM_RIGHT:
        return "\"bottom_right\"";
    }
    return "false";
}

/* The names of what the seed drew, in order. */
static void write_draws(struct text *text, const struct plan *plan)
{
    static const char *const tensors[] = {"x", "context", "key", "query", "value"};
    static const char *const projections[PROJECTIONS] = {"key", "query", "value", "output"};
    const struct request *request = plan->request;
    const char *comma = "";
    writer_format(text, ",\"seed\":%" PRIu64 ",\"draw_order\":[", request->seed);
    for (size_t i = REQUEST_X; i <= REQUEST_VALUE; i++) {
        if (request->tensors[i].kind != TENSOR_INPUT_DRAWN)
            continue;
        writer_format(text, "%s\"%s\"", comma, tensors[i]);
        comma = ",";
    }
    for (size_t i = 0; i < PROJECTIONS; i++) {
        if (!plan_projects(plan, (enum request_projection)i) || tensor_input_is_given(&request->weights[i]))
            continue;
        writer_format(text, "%s\"projection.%s\"", comma, projections[i]);
        comma = ",";
    }
    writer_add(text, "]");
}

static void write_biases(struct text *text, const struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct request *request = plan->request;
    if (plan->softcap > 0) {
        writer_add(text, ",\"softcap\":");
        writer_number(text, plan->softcap, plan->dtype, -1);
    }
    if (request->window_left >= 0 || request->window_right >= 0)
        writer_format(text, ",\"window\":[%" PRId64 ",%" PRId64 "]", request->window_left, request->window_right);
    if (request->alibi) {
        writer_add(text, ",\"alibi\":[");
        for (size_t h = 0; h < plan->H; h++) {
            writer_add(text, h > 0 ? "," : "");
            writer_number(text, evaluation->alibi_slopes[h], plan->dtype, -1);
        }
        writer_add(text, "]");
    }
    if (request->has_rope) {
        writer_format(text, ",\"rope\":{\"style\":\"%s\",\"base\":", request->rope_style == ROPE_HALF ? "half" : "interleaved");
        writer_number(text, request->rope_base, DTYPE_F64, -1);
        writer_format(text, ",\"dims\":%zu}", plan->rope_dims);
    }
    if (request->sinks.kind != TENSOR_INPUT_ABSENT)
        writer_add(text, ",\"sinks\":true");
    if (request->has_key_lengths)
        writer_add(text, ",\"key_lengths\":true");
}

/* Every convention that a library could have read otherwise. */
void reply_write_applied(struct text *text, const struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct request *request = plan->request;
    const struct tensor_input *mask = &request->tensors[REQUEST_MASK];
    writer_add(text, "{\"scale\":");
    writer_number(text, plan->scale, plan->dtype, -1);
    writer_format(text, ",\"causal\":%s,\"query_offset\":%" PRId64, causal_name(request->causal), plan->query_offset);
    writer_format(text, ",\"mask\":%s",
                  mask->kind == TENSOR_INPUT_ABSENT ? "null"
                  : tensor_input_is_bool(mask)      ? "\"boolean\""
                                                    : "\"additive\"");
    writer_format(text, ",\"mask_semantics\":\"%s\"", request->mask_drops ? "drop" : "keep");
    writer_format(text, ",\"num_heads\":%zu,\"num_kv_heads\":%zu,\"head_size\":%zu", plan->H, plan->Hkv, plan->D);
    if (plan->rank4)
        writer_format(text, ",\"layout\":\"%s\"", plan->memory == PLAN_HEADS_FIRST ? "bhtd" : "bthd");
    if (plan->Tpast > 0)
        writer_format(text, ",\"past_length\":%zu", plan->Tpast);
    write_biases(text, evaluation);
    writer_format(text, ",\"precision\":\"%s\"", dtype_name(plan->dtype));
    if (request->has_seed)
        write_draws(text, plan);
    writer_add(text, "}");
}

/* One warning more in the list. */
static void add_warning(struct text *text, bool *ret_first, const char *warning)
{
    writer_add(text, *ret_first ? "\"" : ",\"");
    writer_add(text, warning);
    writer_add(text, "\"");
    *ret_first = false;
}

void reply_write_warnings(struct text *text, const struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct request *request = plan->request;
    size_t masked = evaluation->attention.masked_row_count;
    char counted[WRITER_FORMAT_BYTES_MAX];
    bool first = true;
    writer_add(text, "[");
    (void)snprintf(counted, sizeof counted, "%zu %s every key masked: weights and output there are 0", masked,
                   masked == 1 ? "row has" : "rows have");
    if (masked > 0)
        add_warning(text, &first, counted);
    if (evaluation->mask_looks_boolean)
        add_warning(
            text, &first,
            "the mask holds only the numbers 0 and 1, which were added to the scores; for a mask of booleans send true and "
            "false");
    if (plan_counts_positions(plan) && !request->has_query_offset && plan->Tpast == 0 && !plan->causal && plan->Tq != plan->Tk)
        add_warning(
            text, &first,
            "there are more or fewer queries than keys, and window, alibi or rope count from the first query at position 0; "
            "libraries that align the last query with the last key need query_offset");
    if (request->has_query_offset && !plan_counts_positions(plan) && !plan->causal)
        add_warning(text, &first, "query_offset has no effect without causal, window, alibi or rope");
    const struct tensor_input *mask = &request->tensors[REQUEST_MASK];
    bool no_booleans =
        mask->kind == TENSOR_INPUT_ABSENT || (!tensor_input_is_bool(mask) && shape_count(mask->rank, mask->shape) > 0);
    if (request->has_mask_semantics && no_booleans)
        add_warning(text, &first, "mask_semantics has no effect without a mask of booleans");
    writer_add(text, "]");
}

static bool json_write(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret, struct error *err)
{
    struct chunks parts;
    struct text *text = &parts.text;
    chunks_init(&parts, evaluation->text, json_bytes_max(evaluation->plan), json_part_count_max(evaluation), executor);
    writer_add(text, "{");
    for (size_t i = 0; i < RESULTS; i++)
        if (evaluation->plan->request->results[i])
            write_result(&parts, evaluation, (enum request_result)i);
    writer_add(text, "\"applied\":");
    reply_write_applied(text, evaluation);
    writer_add(text, ",\"warnings\":");
    reply_write_warnings(text, evaluation);
    writer_add(text, "}\n");
    *ret = (struct api_reply){.status = 200, .content_type = "application/json"};
    return chunks_done(&parts, ret, err);
}

static bool json_decode(const struct api_request *sent, struct arena *arena, struct extract *extract, struct request *ret,
                        struct error *err)
{
    json_t *document = NULL;
    bool done = extract_scan(sent->body, sent->body_bytes, NULL, arena, extract, err) &&
                document_parse(extract, arena, &document, err) && request_decode(extract, document, ret, err);
    document_done(document);
    return done;
}

static bool attention_decode(const struct api_request *sent, struct arena *arena, struct extract *extract, struct request *ret,
                             struct error *err)
{
    bool binary = media_type_is(sent->content_type, SAFETENSORS_TYPE);
    if (!(binary ? safetensors_decode : json_decode)(sent, arena, extract, ret, err))
        return false;
    ret->reply_safetensors = media_type_accepts(sent->accept, SAFETENSORS_TYPE, "application/json");
    if (ret->reply_safetensors && (ret->flat || ret->decimals >= 0))
        return error_set_at(err, ERROR_INVALID, ret->flat ? "/format" : "/decimals",
                            "%s is for replies in JSON, and Accept asks for " SAFETENSORS_TYPE ": leave one of them out",
                            ret->flat ? "format \"flat\"" : "decimals");
    return true;
}

static size_t attention_reply_bytes_max(const struct plan *plan)
{
    return (plan->request->reply_safetensors ? safetensors_reply_bytes_max : json_bytes_max)(plan);
}

static bool attention_write_reply(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret,
                                  struct error *err)
{
    if (!evaluation->plan->request->reply_safetensors)
        return json_write(evaluation, executor, ret, err);
    safetensors_write_reply(evaluation, ret);
    return true;
}

const struct protocol protocol_attention = {attention_decode, attention_reply_bytes_max, attention_write_reply};
