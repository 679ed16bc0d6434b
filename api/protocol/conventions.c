#include "api/protocol/conventions.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/request/shape_hints.h"
#include "core/size.h"

#define APPLIED_BYTES_MAX 4096 /* of names and numbers that do not grow with the request */
#define NUMBER_BYTES_MAX 32

size_t conventions_bytes_max(const struct plan *plan)
{
    size_t numbers = plan->request->alibi ? plan->H : 0;
    numbers = size_add(numbers, plan->request->select.head_count);
    size_t items = plan->sequence_count > 0 ? plan->sequence_count : plan->B;
    numbers = size_add(numbers, size_multiply(2, items)); /* offsets and prefix lengths */
    numbers = size_add(numbers, size_multiply(plan->rope.frequency_sets, plan->rope.dims / 2 + 1));
    return size_add(APPLIED_BYTES_MAX, size_multiply(NUMBER_BYTES_MAX, numbers));
}

/* A name that needs no escapes, in quotes, of which `before` has the first. */
static void write_name(struct writer *writer, const char *before, const char *name)
{
    writer_add(writer, before);
    writer_add(writer, name);
    writer_add(writer, "\"");
}

/* The names of what the seed drew, in order. */
static void write_draws(struct writer *writer, const struct plan *plan)
{
    const struct request *request = plan->request;
    const char *quote = "\"";
    writer_add(writer, ",\"seed\":");
    writer_unsigned(writer, request->seed);
    writer_add(writer, ",\"draw_order\":[");
    for (size_t i = REQUEST_X; i <= REQUEST_VALUE; i++) {
        if (request->tensors[i].kind != TENSOR_INPUT_DRAWN)
            continue;
        write_name(writer, quote, request_tensor_names[i]);
        quote = ",\"";
    }
    for (size_t i = 0; i < PROJECTIONS; i++) {
        if (!plan_projects(plan, (enum request_projection)i) || tensor_input_is_given(&request->weights[i]))
            continue;
        writer_add(writer, quote);
        write_name(writer, "projection.", request_projection_names[i]);
        quote = ",\"";
    }
    writer_add(writer, "]");
}

static void write_member(struct writer *writer, const char *before, int64_t value)
{
    writer_add(writer, before);
    writer_signed(writer, value);
}

static void write_numbers(struct writer *writer, const double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        writer_add(writer, i > 0 ? "," : "[");
        writer_number(writer, numbers[i], DTYPE_F64, -1);
    }
    writer_add(writer, count > 0 ? "]" : "[]");
}

/* The frequencies in use: [dims/2], or [B,dims/2] where each item's length decides; or which tables stand in their place. */
static void write_frequencies(struct writer *writer, const struct evaluation *evaluation)
{
    const struct plan_rope *rope = &evaluation->plan->rope;
    bool per_item = rope_scaling_uses_length(&rope->scaling) && !evaluation->plan->request->rope.has_length;
    size_t pairs = rope->dims / 2;
    writer_add(writer, per_item ? ",\"inverse_frequencies\":[" : ",\"inverse_frequencies\":");
    for (size_t set = 0; set < rope->frequency_sets; set++) {
        writer_add(writer, set > 0 ? "," : "");
        write_numbers(writer, pairs > 0 ? evaluation->rope.frequencies + set * pairs : NULL, pairs);
    }
    writer_add(writer, per_item ? "]" : "");
    writer_add(writer, ",\"attention_factor\":");
    writer_number(writer, rope->attention_factor, DTYPE_F64, -1);
    if (rope_scaling_uses_length(&rope->scaling)) {
        writer_add(writer, ",\"length\":");
        if (per_item)
            write_numbers(writer, evaluation->rope.lengths, pairs > 0 ? rope->frequency_sets : 0);
        else
            writer_number(writer, (double)evaluation->plan->request->rope.length, DTYPE_F64, -1);
    }
}

static void write_rope(struct writer *writer, const struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct rope_request *request = &plan->request->rope;
    bool computed = !plan->rope.tables && request->tensors[ROPE_FREQUENCIES].kind == TENSOR_INPUT_ABSENT;
    write_name(writer, ",\"rope\":{\"style\":\"", rope_style_names[request->style]);
    write_member(writer, ",\"dims\":", (int64_t)plan->rope.dims);
    if (computed) {
        writer_add(writer, ",\"base\":");
        writer_number(writer, plan->rope.base, DTYPE_F64, -1);
        write_name(writer, ",\"rope_type\":\"", rope_type_names[plan->rope.scaling.type]);
    }
    if (plan->rope.tables)
        writer_add(writer, plan->rope.by_token ? ",\"tables\":\"by_token\"" : ",\"tables\":\"by_position\"");
    else
        write_frequencies(writer, evaluation);
    for (size_t axis = 0; axis < ROPE_AXES && request->has_section; axis++)
        write_member(writer, axis == 0 ? ",\"mrope_section\":[" : ",", request->section[axis]);
    if (request->has_section)
        writer_add(writer, request->interleaved_axes ? "],\"mrope_interleaved\":true" : "],\"mrope_interleaved\":false");
    writer_add(writer, "}");
}

/* How many numbers are scaled together: a head's, or all heads'. */
static void write_norm(struct writer *writer, const struct plan *plan)
{
    const struct qk_norm_request *norm = &plan->request->qk_norm;
    static const char *const over[] = {"\"head\"", "\"all_heads\""};
    writer_add(writer, ",\"qk_norm\":{\"query\":");
    writer_add(writer, norm->query ? over[plan->norm_all_heads[0]] : "false");
    writer_add(writer, ",\"key\":");
    writer_add(writer, norm->key ? over[plan->norm_all_heads[1]] : "false");
    write_name(writer, ",\"type\":\"", norm->l2 ? "l2" : "rms");
    writer_add(writer, ",\"eps\":");
    writer_number(writer, norm->eps, DTYPE_F64, -1);
    write_name(writer, ",\"order\":\"", norm->after_rope ? "after_rope" : "before_rope");
    writer_add(writer, "}");
}

static void write_relative_bias(struct writer *writer, const struct relative_bias_request *bias)
{
    write_member(writer, ",\"relative_bias\":{\"buckets\":", (int64_t)bias->table.shape[0]);
    writer_add(writer, bias->bidirectional ? ",\"bidirectional\":true" : ",\"bidirectional\":false");
    write_member(writer, ",\"max_distance\":", bias->max_distance);
    writer_add(writer, "}");
}

static void write_biases(struct writer *writer, const struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct request *request = plan->request;
    if (plan->softcap > 0) {
        writer_add(writer, ",\"softcap\":");
        writer_number(writer, plan->softcap, plan->dtype, -1);
    }
    if (request->window_left >= 0 || request->window_right >= 0) {
        write_member(writer, ",\"window\":[", request->window_left);
        write_member(writer, ",", request->window_right);
        writer_add(writer, "]");
    }
    if (request->query_scale.kind != TENSOR_INPUT_ABSENT)
        writer_add(writer, ",\"query_scale\":true");
    if (request->tensors[REQUEST_BIAS].kind != TENSOR_INPUT_ABSENT)
        writer_add(writer, ",\"bias\":true");
    if (request->relative_bias.given)
        write_relative_bias(writer, &request->relative_bias);
    if (request->alibi) {
        writer_add(writer, ",\"alibi\":[");
        for (size_t h = 0; h < plan->H; h++) {
            writer_add(writer, h > 0 ? "," : "");
            writer_number(writer, evaluation->alibi_slopes[h], plan->dtype, -1);
        }
        writer_add(writer, "]");
    }
    if (request->rope.given)
        write_rope(writer, evaluation);
    if (request->has_qk_norm)
        write_norm(writer, plan);
    if (request->sinks.kind != TENSOR_INPUT_ABSENT)
        writer_add(writer, ",\"sinks\":true");
    if (request->has_lse_base)
        writer_format(writer, ",\"lse_base\":\"%s\"", request->lse_base_2 ? "2" : "e");
    for (enum request_integers i = INTEGERS_QUERY_LENGTHS; i < REQUEST_INTEGERS; i++) {
        bool said = i == INTEGERS_PREFIX_LENGTH || (i > INTEGERS_QUERY_SEGMENTS && (i - INTEGERS_QUERY_SEGMENTS) % 2 == 1);
        if (!request->integers[i].given || said)
            continue;
        write_name(writer, ",\"", request_integers_fields[i].name);
        writer_add(writer, ":true");
    }
}

/* ,"name":[start,end] */
static void write_range(struct writer *writer, const char *before, bool has, const int64_t range[2])
{
    if (!has)
        return;
    write_member(writer, before, range[0]);
    write_member(writer, ",", range[1]);
    writer_add(writer, "]");
}

static void write_select(struct writer *writer, const struct request_select *select)
{
    if (!select->given)
        return;
    writer_add(writer, ",\"select\":{");
    for (size_t i = 0; i < select->head_count; i++)
        write_member(writer, i > 0 ? "," : "\"heads\":[", select->heads[i]);
    writer_add(writer, select->has_heads ? "]" : "");
    write_range(writer, select->has_heads ? ",\"queries\":[" : "\"queries\":[", select->has_queries, select->queries);
    write_range(writer, select->has_heads || select->has_queries ? ",\"keys\":[" : "\"keys\":[", select->has_keys,
                select->keys);
    writer_add(writer, "}");
}

static void write_reductions(struct writer *writer, const struct request *request)
{
    if (request->results[RESULT_TOP_KEYS])
        write_member(writer, ",\"top\":", request->top);
    if (!request->results[RESULT_POOLED_WEIGHTS])
        return;
    write_member(writer, ",\"pool\":[", request->pool[0]);
    write_member(writer, ",", request->pool[1]);
    write_name(writer, "],\"pool_by\":\"", request->pool_max ? "max" : "mean");
}

/* One integer an item, or a packed sequence. */
static void write_items(struct writer *writer, const struct plan *plan, const int64_t *integers)
{
    size_t items = plan->sequence_count > 0 ? plan->sequence_count : plan->B;
    for (size_t b = 0; b < items; b++)
        write_member(writer, b > 0 ? "," : "[", integers[b]);
    writer_add(writer, items > 0 ? "]" : "[]");
}

static void write_rules(struct writer *writer, const struct evaluation *evaluation)
{
    const struct request *request = evaluation->plan->request;
    const struct integers_input *prefix = &request->integers[INTEGERS_PREFIX_LENGTH];
    if (prefix->given && prefix->is_list) {
        writer_add(writer, ",\"prefix_length\":");
        write_items(writer, evaluation->plan, evaluation->prefix_lengths);
    } else if (prefix->given) {
        write_member(writer, ",\"prefix_length\":", prefix->value);
    }
    if (request->chunk_size > 0)
        write_member(writer, ",\"chunk_size\":", request->chunk_size);
    if (request->num_sink_tokens > 0)
        write_member(writer, ",\"num_sink_tokens\":", request->num_sink_tokens);
}

/* One integer, one an item or a packed sequence, or null where each query has a position of its own. */
static void write_query_offset(struct writer *writer, const struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct integers_input *input = &plan->request->integers[INTEGERS_QUERY_OFFSET];
    writer_add(writer, ",\"query_offset\":");
    if (plan->request->integers[INTEGERS_QUERY_POSITIONS].given)
        writer_add(writer, "null");
    else if (input->is_list || (plan->sequence_count > 0 && plan->request->causal == CAUSAL_BOTTOM_RIGHT))
        write_items(writer, plan, evaluation->query_offsets);
    else
        write_member(writer, "", plan->query_offset);
}

/* Every convention that another library could have understood differently. */
void conventions_write_applied(struct writer *writer, const struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct request *request = plan->request;
    const struct tensor_input *mask = &request->tensors[REQUEST_MASK];
    writer_add(writer, "{\"scale\":");
    writer_number(writer, plan->scale, plan->dtype, -1);
    const char *quote = request->causal == CAUSAL_FALSE || request->causal == CAUSAL_TRUE ? "" : "\"";
    writer_add(writer, ",\"causal\":");
    writer_add(writer, quote);
    writer_add(writer, request_causal_names[request->causal]);
    writer_add(writer, quote);
    write_query_offset(writer, evaluation);
    writer_add(writer, mask->kind == TENSOR_INPUT_ABSENT ? ",\"mask\":null"
                       : tensor_input_is_bool(mask)      ? ",\"mask\":\"boolean\""
                                                         : ",\"mask\":\"additive\"");
    write_name(writer, ",\"mask_semantics\":\"", request->mask_drops ? "drop" : "keep");
    write_member(writer, ",\"num_heads\":", (int64_t)plan->H);
    write_member(writer, ",\"num_kv_heads\":", (int64_t)plan->Hkv);
    write_member(writer, ",\"head_size\":", (int64_t)plan->D);
    if (plan->from_tokens && !request->identity)
        writer_add(writer, ",\"projection_layout\":\"[out, in]\"");
    if (plan->head_axis)
        write_name(writer, ",\"layout\":\"", request_layout_names[request->layout]);
    if (plan->Tpast > 0)
        write_member(writer, ",\"past_length\":", (int64_t)plan->Tpast);
    write_rules(writer, evaluation);
    write_biases(writer, evaluation);
    write_reductions(writer, request);
    write_select(writer, &request->select);
    write_name(writer, ",\"precision\":\"", element_dtype_name(plan->dtype));
    if (request->has_numerics)
        write_name(writer, ",\"numerics\":\"", request->row_invariant ? "row_invariant" : "default");
    if (request->has_seed)
        write_draws(writer, plan);
    writer_add(writer, "}");
}

/* Appends to the list. */
static void add_warning(struct writer *writer, bool *ret_first, const char *warning)
{
    writer_add(writer, *ret_first ? "" : ",");
    writer_string(writer, warning);
    *ret_first = false;
}

static void write_position_warnings(struct writer *writer, const struct plan *plan, bool *ret_first)
{
    const struct integers_input *integers = plan->request->integers;
    bool queries = integers[INTEGERS_QUERY_OFFSET].given || integers[INTEGERS_QUERY_POSITIONS].given;
    bool keys = integers[INTEGERS_KEY_POSITIONS].given;
    bool counted = plan_uses_positions(plan) || plan->causal;
    char text[WRITER_FORMAT_BYTES_MAX];
    if (plan_uses_positions(plan) && !queries && !keys && plan->sequence_count == 0 && plan->Tpast == 0 && !plan->causal &&
        plan->Tq != plan->Tk)
        add_warning(
            writer, ret_first,
            "there are more or fewer queries than keys, and window, relative_bias, alibi or rope count from the first query at "
            "position 0; "
            "libraries that align the last query with the last key need query_offset");
    if (counted && keys && !queries) {
        (void)snprintf(text, sizeof text,
                       "key_positions say where keys stand, and the first query stands at %" PRId64
                       ": query_positions or query_offset say otherwise",
                       plan->query_offset);
        add_warning(writer, ret_first, text);
    }
    static const enum request_integers fields[] = {INTEGERS_QUERY_OFFSET, INTEGERS_QUERY_POSITIONS, INTEGERS_KEY_POSITIONS};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        bool is_default = fields[i] == INTEGERS_QUERY_OFFSET && !integers[fields[i]].is_list && integers[fields[i]].value == 0;
        if (!integers[fields[i]].given || counted || is_default)
            continue;
        (void)snprintf(text, sizeof text, "%s has no effect without causal, window, chunk_size, relative_bias, alibi or rope",
                       request_integers_fields[fields[i]].name);
        add_warning(writer, ret_first, text);
    }
}

static void write_mask_warnings(struct writer *writer, const struct evaluation *evaluation, bool *ret_first)
{
    char readings[SHAPE_HINT_BYTES_MAX];
    if (evaluation->mask_look == MASK_LOOKS_BOOLEAN)
        add_warning(
            writer, ret_first,
            "the mask holds only the numbers 0 and 1, which were added to the scores; for a mask of booleans send true and "
            "false");
    if (evaluation->mask_look == MASK_LOOKS_SEGMENTS)
        add_warning(
            writer, ret_first,
            "the mask holds integers that look like segment ids, and they were added to the scores; for a query to see its own "
            "segment only, send \"segment_ids\": {\"query\": [..], \"key\": [..]}");
    for (enum request_tensor which = REQUEST_MASK; which <= REQUEST_BIAS; which++)
        if (shape_hint_of_readings(evaluation->plan, which, readings)[0] != '\0')
            add_warning(writer, ret_first, readings);
}

static void write_relative_bias_warnings(struct writer *writer, const struct plan *plan, bool *ret_first)
{
    const struct request *request = plan->request;
    if (request->relative_bias.given && !request->has_scale)
        add_warning(writer, ret_first,
                    "beside relative_bias the scores are multiplied by 1/sqrt(D), the default: T5 does not scale them, send "
                    "\"scale\": 1 for it");
    if (request->relative_bias.given && !request->relative_bias.has_bidirectional && plan->causal)
        add_warning(writer, ret_first,
                    "relative_bias was read as bidirectional, the default, and no query sees a key after it: T5's decoder has "
                    "\"bidirectional\": false");
}

void conventions_write_warnings(struct writer *writer, const struct evaluation *evaluation)
{
    const struct plan *plan = evaluation->plan;
    const struct request *request = plan->request;
    size_t masked = evaluation->attention.masked_row_count;
    bool first = true;
    writer_add(writer, "[");
    if (masked > 0) {
        char counted[WRITER_FORMAT_BYTES_MAX];
        (void)snprintf(counted, sizeof counted, "%zu %s every key masked: weights and output there are 0", masked,
                       masked == 1 ? "row has" : "rows have");
        add_warning(writer, &first, counted);
    }
    write_mask_warnings(writer, evaluation, &first);
    write_position_warnings(writer, plan, &first);
    write_relative_bias_warnings(writer, plan, &first);
    if (request->lse_base_2 && !request->results[RESULT_LSE])
        add_warning(writer, &first, "lse_base has no effect: return does not name lse");
    if (request->top > 0 && !request->results[RESULT_TOP_KEYS])
        add_warning(writer, &first, "top has no effect: return does not name top_keys");
    bool cuts = request->results[RESULT_WEIGHTS] || request->results[RESULT_MEAN_WEIGHTS] || request->results[RESULT_SCORES] ||
                request->results[RESULT_CAPPED_SCORES] || request->results[RESULT_MASKED_SCORES];
    if (request->select.given && !cuts)
        add_warning(writer, &first, "select has no effect: return names neither weights nor scores");
    if ((request->pool[0] > 0 || request->pool_max) && !request->results[RESULT_POOLED_WEIGHTS])
        add_warning(writer, &first, "pool and pool_by have no effect: return does not name pooled_weights");
    const struct tensor_input *mask = &request->tensors[REQUEST_MASK];
    bool no_booleans =
        mask->kind == TENSOR_INPUT_ABSENT || (!tensor_input_is_bool(mask) && shape_count(mask->rank, mask->shape) > 0);
    if (request->mask_drops && no_booleans)
        add_warning(writer, &first, "mask_semantics has no effect without a mask of booleans");
    writer_add(writer, "]");
}
