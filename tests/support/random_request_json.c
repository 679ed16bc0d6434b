/* random_request_json.c: the request's JSON, its fields in a drawn order. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/random_request.h"
#include "tests/support/view.h"

#define FIELDS_MAX 64

/* The members of the request's object, each `"name": value`. */
struct fields {
    char *texts[FIELDS_MAX]; /* owned */
    size_t count;
    struct draw *draw;
};

static FILE *field_open(struct fields *fields, size_t *bytes)
{
    assert_true(fields->count < FIELDS_MAX);
    FILE *file = open_memstream(&fields->texts[fields->count++], bytes);
    assert_non_null(file);
    return file;
}

static void field_format(struct fields *fields, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void field_format(struct fields *fields, const char *format, ...)
{
    size_t bytes;
    FILE *file = field_open(fields, &bytes);
    va_list arguments;
    va_start(arguments, format);
    (void)vfprintf(file, format, arguments);
    va_end(arguments);
    (void)fclose(file);
}

/* NaN and the infinities in one of the ways that are accepted. */
static void put_special(FILE *file, double x, struct draw *draw)
{
    static const char *const texts[3][3] = {
        {"\"NaN\"", "\"nan\"", "NaN"},
        {"\"Infinity\"", "\"inf\"", "Infinity"},
        {"\"-Infinity\"", "\"-inf\"", "-Infinity"},
    };
    (void)fputs(texts[isnan(x) ? 0 : x > 0 ? 1 : 2][draw_size(draw, 0, 2)], file);
}

static void put_number(FILE *file, const struct random_tensor *t, double x, bool is_f64, struct draw *draw)
{
    if (t->boolean)
        (void)fputs(x != 0 ? "true" : "false", file);
    else if (!isfinite(x))
        put_special(file, x, draw);
    else
        (void)fprintf(file, is_f64 ? "%.17g" : "%.9g", x);
}

/* Numbers from `at` on, nested from `axis` on; returns where the next begin. */
static size_t put_nested(FILE *file, const struct random_tensor *t, size_t axis, size_t at, bool is_f64, struct draw *draw)
{
    if (axis == t->rank) {
        put_number(file, t, t->values[at], is_f64, draw);
        return at + 1;
    }
    (void)fputc('[', file);
    for (size_t k = 0; k < t->shape[axis]; k++) {
        if (k > 0)
            (void)fputc(',', file);
        at = put_nested(file, t, axis + 1, at, is_f64, draw);
    }
    (void)fputc(']', file);
    return at;
}

static void put_tensor(FILE *file, const struct random_tensor *t, bool is_f64, struct draw *draw)
{
    if (t->form == FORM_NESTED || t->rank == 0) {
        (void)put_nested(file, t, 0, 0, is_f64, draw);
        return;
    }
    size_t count = 1;
    (void)fputs("{\"shape\":[", file);
    for (size_t axis = 0; axis < t->rank; axis++) {
        (void)fprintf(file, "%s%zu", axis > 0 ? "," : "", t->shape[axis]);
        count *= t->shape[axis];
    }
    (void)fputs("]", file);
    if (t->form != FORM_DRAWN) {
        struct random_tensor flat = *t;
        flat.rank = 1;
        flat.shape[0] = count;
        (void)fputs(",\"data\":", file);
        (void)put_nested(file, t->form == FORM_FLAT ? &flat : t, 0, 0, is_f64, draw);
    }
    (void)fputs("}", file);
}

static void write_tensor(const struct random_request *c, struct fields *fields, const char *name, enum random_tensor_name which)
{
    const struct random_tensor *t = &c->tensors[which];
    size_t bytes;
    if (!t->given)
        return;
    FILE *file = field_open(fields, &bytes);
    (void)fprintf(file, "\"%s\":", name);
    put_tensor(file, t, c->is_f64, fields->draw);
    (void)fclose(file);
}

/* One list for queries and keys, or {"query": .., "key": ..}. */
static void write_pair(const struct random_request *c, struct fields *fields, const char *name, enum random_tensor_name query)
{
    const struct random_tensor *of_query = &c->tensors[query], *of_key = of_query + 1;
    size_t bytes;
    if (!of_query->given)
        return;
    FILE *file = field_open(fields, &bytes);
    (void)fprintf(file, of_key->given ? "\"%s\":{\"query\":" : "\"%s\":", name);
    put_tensor(file, of_query, true, fields->draw);
    if (of_key->given) {
        (void)fputs(",\"key\":", file);
        put_tensor(file, of_key, true, fields->draw);
        (void)fputs("}", file);
    }
    (void)fclose(file);
}

static void write_relative_bias(const struct random_request *c, struct fields *fields)
{
    const struct random_tensor *table = &c->tensors[RANDOM_RELATIVE_TABLE];
    size_t bytes;
    if (!table->given)
        return;
    FILE *file = field_open(fields, &bytes);
    (void)fputs("\"relative_bias\":{\"table\":", file);
    put_tensor(file, table, c->is_f64, fields->draw);
    if (c->has_bidirectional)
        (void)fprintf(file, ",\"bidirectional\":%s", c->bidirectional ? "true" : "false");
    if (c->max_distance > 0)
        (void)fprintf(file, ",\"max_distance\":%zu", c->max_distance);
    (void)fputs("}", file);
    (void)fclose(file);
}

/* W, or {"weight", "bias"}. */
static bool put_layer(FILE *file, const struct random_request *c, const char *name, bool comma, size_t which, struct draw *draw)
{
    const struct random_tensor *weight = &c->tensors[RANDOM_WEIGHT_KEY + which];
    const struct random_tensor *bias = &c->tensors[RANDOM_BIAS_KEY + which];
    if (!weight->given && !bias->given)
        return comma;
    (void)fprintf(file, "%s\"%s\":", comma ? "," : "", name);
    bool object = bias->given || draw_chance(draw, 0.5);
    if (object)
        (void)fputs(weight->given ? "{\"weight\":" : "{", file);
    if (weight->given)
        put_tensor(file, weight, c->is_f64, draw);
    if (bias->given) {
        (void)fputs(weight->given ? ",\"bias\":" : "\"bias\":", file);
        put_tensor(file, bias, c->is_f64, draw);
    }
    if (object)
        (void)fputs("}", file);
    return true;
}

static void write_projection(const struct random_request *c, struct fields *fields)
{
    static const char *const names[] = {"key", "query", "value", "output"};
    size_t bytes;
    if (c->identity)
        field_format(fields, "\"projection\":\"identity\"");
    if (c->identity || !c->from_tokens)
        return;
    FILE *file = field_open(fields, &bytes);
    bool comma = false;
    (void)fputs("\"projection\":{", file);
    for (size_t k = 0; k < 4; k++)
        comma = put_layer(file, c, names[k], comma, k, fields->draw);
    (void)fputs("}", file);
    (void)fclose(file);
}

static void write_structure(const struct random_request *c, struct fields *fields)
{
    if (c->has_head_size)
        field_format(fields, "\"head_size\":%zu", c->D);
    if (c->has_num_heads)
        field_format(fields, "\"num_heads\":%zu", c->H);
    if (c->has_num_kv_heads)
        field_format(fields, "\"num_kv_heads\":%zu", c->Hkv);
    if (c->has_layout)
        field_format(fields, "\"layout\":\"%s\"", c->thd ? "thd" : c->heads_first ? "bhtd" : "bthd");
    if (c->is_f64 || draw_chance(fields->draw, 0.1))
        field_format(fields, "\"precision\":\"%s\"", c->is_f64 ? "float64" : "float32");
    if (c->numerics)
        field_format(fields, "\"numerics\":\"%s\"", c->numerics);
    if (c->has_seed)
        field_format(fields, "\"seed\":%" PRIu64, c->draw_seed);
}

static void write_conventions(const struct random_request *c, struct fields *fields)
{
    if (c->causal)
        field_format(fields, "\"causal\":%s", c->causal);
    if (c->has_query_offset)
        field_format(fields, "\"query_offset\":%" PRId64, c->query_offset);
    if (c->mask_semantics)
        field_format(fields, "\"mask_semantics\":\"%s\"", c->mask_semantics);
    if (c->has_window)
        field_format(fields, "\"window\":[%" PRId64 ",%" PRId64 "]", c->window_left, c->window_right);
    if (c->chunk_size > 0)
        field_format(fields, "\"chunk_size\":%zu", c->chunk_size);
    if (c->num_sink_tokens > 0)
        field_format(fields, "\"num_sink_tokens\":%zu", c->num_sink_tokens);
    if (c->has_scale)
        field_format(fields, "\"scale\":%.9g", c->scale);
    if (c->softcap > 0)
        field_format(fields, "\"softcap\":%.17g", c->softcap);
    if (c->lse_base)
        field_format(fields, "\"lse_base\":\"%s\"", c->lse_base);
    if (c->alibi)
        field_format(fields, "\"alibi\":%s", c->alibi);
    if (c->rope)
        field_format(fields, "\"rope\":%s", c->rope);
    if (c->qk_norm)
        field_format(fields, "\"qk_norm\":%s", c->qk_norm);
}

static const char *put_selected(FILE *file, const char *comma, const char *name, const size_t range[2])
{
    if (range[1] == 0)
        return comma;
    (void)fprintf(file, "%s\"%s\":[%zu,%zu]", comma, name, range[0], range[1]);
    return ",";
}

static void write_select(const struct random_request *c, struct fields *fields)
{
    size_t bytes;
    const char *comma = "";
    if (c->selected_head_count == 0 && c->selected_queries[1] == 0 && c->selected_keys[1] == 0)
        return;
    FILE *file = field_open(fields, &bytes);
    (void)fputs("\"select\":{", file);
    for (size_t k = 0; k < c->selected_head_count; k++)
        (void)fprintf(file, "%s%zu", k == 0 ? "\"heads\":[" : ",", c->selected_heads[k]);
    if (c->selected_head_count > 0) {
        (void)fputs("]", file);
        comma = ",";
    }
    comma = put_selected(file, comma, "queries", c->selected_queries);
    (void)put_selected(file, comma, "keys", c->selected_keys);
    (void)fputs("}", file);
    (void)fclose(file);
}

static void write_reply(const struct random_request *c, struct fields *fields)
{
    if (c->format)
        field_format(fields, "\"format\":\"%s\"", c->format);
    if (c->decimals >= 0)
        field_format(fields, "\"decimals\":%d", c->decimals);
    if (c->tokens)
        field_format(fields, "\"tokens\":%s", c->tokens);
    write_select(c, fields);
    if (c->top > 0)
        field_format(fields, "\"top\":%zu", c->top);
    if (c->pool[0] > 0)
        field_format(fields, "\"pool\":[%zu,%zu]", c->pool[0], c->pool[1]);
    if (c->pool_by)
        field_format(fields, "\"pool_by\":\"%s\"", c->pool_by);
    if (!c->has_return)
        return;
    size_t bytes;
    FILE *file = field_open(fields, &bytes);
    const char *comma = "";
    (void)fputs("\"return\":[", file);
    for (size_t k = 0; k < ANSWER_COUNT; k++) {
        if (!c->wanted[k])
            continue;
        (void)fprintf(file, "%s\"%s\"", comma, answer_names[k]);
        comma = ",";
    }
    (void)fputs("]", file);
    (void)fclose(file);
}

/* The fields in a drawn order, commas between. */
static void concatenate(struct random_request *c, struct fields *fields)
{
    FILE *file = open_memstream(&c->text, &c->text_bytes);
    assert_non_null(file);
    (void)fputs("{", file);
    for (size_t left = fields->count; left > 0; left--) {
        size_t at = draw_size(fields->draw, 0, left - 1);
        (void)fprintf(file, "%s%s", left < fields->count ? ", " : "", fields->texts[at]);
        free(fields->texts[at]);
        fields->texts[at] = fields->texts[left - 1];
    }
    (void)fputs("}", file);
    (void)fclose(file);
}

void random_request_write(struct random_request *c, struct draw *draw)
{
    static const struct {
        const char *name;
        enum random_tensor_name which;
    } tensors[] = {
        {"x", RANDOM_X},
        {"context", RANDOM_CONTEXT},
        {"value_context", RANDOM_VALUE_CONTEXT},
        {"query", RANDOM_QUERY},
        {"key", RANDOM_KEY},
        {"value", RANDOM_VALUE},
        {"past_key", RANDOM_PAST_KEY},
        {"mask", RANDOM_MASK},
        {"bias", RANDOM_BIAS},
        {"query_scale", RANDOM_QUERY_SCALE},
        {"alibi", RANDOM_ALIBI},
        {"past_value", RANDOM_PAST_VALUE},
        {"sinks", RANDOM_SINKS},
        {"query_offset", RANDOM_QUERY_OFFSET},
        {"query_positions", RANDOM_QUERY_POSITIONS},
        {"key_positions", RANDOM_KEY_POSITIONS},
        {"query_lengths", RANDOM_QUERY_LENGTHS},
        {"prefix_length", RANDOM_PREFIX_LENGTH},
        {"key_lengths", RANDOM_KEY_LENGTHS},
    };
    struct fields fields = {.draw = draw};
    for (size_t k = 0; k < sizeof tensors / sizeof *tensors; k++)
        write_tensor(c, &fields, tensors[k].name, tensors[k].which);
    write_pair(c, &fields, "segment_ids", RANDOM_QUERY_SEGMENTS);
    write_pair(c, &fields, "span_ids", RANDOM_QUERY_SPANS);
    write_pair(c, &fields, "cu_seqlens", RANDOM_QUERY_BOUNDARIES);
    write_relative_bias(c, &fields);
    write_projection(c, &fields);
    write_structure(c, &fields);
    write_conventions(c, &fields);
    write_reply(c, &fields);
    concatenate(c, &fields);
}

/* ---- the text read again ---- */

/* The number outside of JSON that the text begins with; NULL where it begins with none. */
static const char *special_at(const char *text)
{
    static const char *const specials[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t k = 0; k < sizeof specials / sizeof *specials; k++)
        if (strncmp(text, specials[k], strlen(specials[k])) == 0)
            return specials[k];
    return NULL;
}

/* The text with NaN and the infinities in strings. New. */
static char *quote_specials(const char *at)
{
    char *text = NULL;
    size_t bytes;
    bool in_string = false;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    while (*at != '\0') {
        in_string ^= *at == '"';
        const char *special = in_string ? NULL : special_at(at);
        if (special != NULL)
            (void)fprintf(file, "\"%s\"", special);
        else
            (void)fputc(*at, file);
        at += special != NULL ? strlen(special) : 1;
    }
    (void)fclose(file);
    return text;
}

json_t *random_request_parse(const char *text)
{
    json_t *request = json_loads(text, 0, NULL);
    if (request != NULL)
        return request;
    char *quoted = quote_specials(text);
    request = json_loads(quoted, 0, NULL);
    assert_non_null(request);
    free(quoted);
    return request;
}
