#include "tests/support/request_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/request_oracle_rope.h"
#include "tests/support/view.h"

struct checking {
    const char *name;
    json_t *request, *reply, *applied;
    const struct request_answer *answer;
};

static bool wants(const struct checking *c, const char *result)
{
    json_t *names = answer_field(c->answer, "return");
    if (names == NULL)
        return strcmp(result, "output") == 0 || strcmp(result, "weights") == 0;
    for (size_t i = 0; i < json_array_size(names); i++)
        if (strcmp(json_string_value(json_array_get(names, i)), result) == 0)
            return true;
    return false;
}

/* What rounding to `decimals` places may add; 0 where they are not asked for. */
static double rounding_of(const struct checking *c, double want)
{
    json_t *decimals = answer_field(c->answer, "decimals");
    if (decimals == NULL)
        return 0;
    return 0.5 * pow(10, -json_number_value(decimals)) + (isfinite(want) ? 1e-7 * fabs(want) : 0);
}

/* A number in the reply against the one that is right. */
static bool is_near(const struct checking *c, double got, double want, double allowed)
{
    if (c->answer->is_f32) {
        got = (double)(float)got;
        want = (double)(float)want;
    }
    if (got == want || (isnan(got) && isnan(want)))
        return true;
    return fabs(got - want) <= allowed + rounding_of(c, want);
}

static void check_shape(const struct checking *c, const char *result, const struct json_tensor *got,
                        const struct json_tensor *want, bool flat)
{
    bool same = got->rank == want->rank;
    for (size_t axis = 0; same && axis < got->rank; axis++)
        same = got->shape[axis] == want->shape[axis];
    size_t count = 1; /* below an axis of length 0 nested arrays show no other */
    for (size_t axis = 0; !flat && axis < got->rank && axis < want->rank && got->shape[axis] == want->shape[axis]; axis++)
        count *= got->shape[axis];
    if (same || (count == 0 && got->count == 0 && want->count == 0))
        return;
    char a[SHAPE_TEXT_BYTES_MAX], b[SHAPE_TEXT_BYTES_MAX];
    fail_msg("%s: %s has shape %s, should be %s", c->name, result, shape_text(got->rank, got->shape, a, sizeof a),
             shape_text(want->rank, want->shape, b, sizeof b));
}

/* A tensor of the reply in the format asked for, its shape as it should be. */
static struct json_tensor read_result(const struct checking *c, const char *result, json_t *json, const char *dtype,
                                      const struct json_tensor *want)
{
    json_t *format = answer_field(c->answer, "format");
    if (json == NULL)
        fail_msg("%s: the reply has no %s", c->name, result);
    bool flat = format != NULL && strcmp(json_string_value(format), "flat") == 0;
    if (flat != json_is_object(json))
        fail_msg("%s: %s is not in the format asked for", c->name, result);
    if (flat)
        assert_string_equal(json_string_value(json_object_get(json, "dtype")), dtype);
    struct json_tensor got = json_tensor_read(json, false);
    check_shape(c, result, &got, want, flat);
    return got;
}

static void check_top_indices(const struct checking *c, json_t *json)
{
    const struct json_tensor *want = &c->answer->top_indices;
    struct json_tensor got = read_result(c, "top_keys.indices", json, "int64", want);
    for (size_t k = 0; k < want->count; k++)
        if (!answer_names_key(c->answer, got.values[k], k))
            fail_msg("%s: top_keys.indices[%zu] is %g, should be %g", c->name, k, got.values[k], want->values[k]);
    json_tensor_done(&got);
}

static void check_result(const struct checking *c, enum answer_name which)
{
    const char *result = answer_names[which];
    const struct json_tensor *want = &c->answer->results[which];
    json_t *json = json_object_get(c->reply, result);
    if (which == ANSWER_TOP_KEYS) {
        check_top_indices(c, json_object_get(json, "indices"));
        json = json_object_get(json, "weights");
    }
    struct json_tensor got = read_result(c, result, json, c->answer->is_f32 ? "float32" : "float64", want);
    bool weights = which == ANSWER_WEIGHTS || which == ANSWER_MEAN_WEIGHTS;
    double smallest = c->answer->is_f32 ? 0x1p-149 : 0x1p-1074; /* of a weight that vanishes though it is not masked */
    for (size_t k = 0; k < want->count; k++) {
        double allowed = weights && want->values[k] == 0 ? smallest : json_tensor_allowed(want, k);
        if (!is_near(c, got.values[k], want->values[k], allowed))
            fail_msg("%s: %s[%zu] is %.9g, should be %.9g, may be off by %.3g", c->name, result, k, got.values[k],
                     want->values[k], allowed);
    }
    json_tensor_done(&got);
}

static void check_results(const struct checking *c)
{
    size_t count = 0;
    for (enum answer_name which = 0; which < ANSWER_COUNT; which++) {
        if (!wants(c, answer_names[which]))
            continue;
        check_result(c, which);
        count++;
    }
    bool tokens = answer_field(c->answer, "tokens") != NULL;
    if (json_object_size(c->reply) != count + 2 + tokens)
        fail_msg("%s: %zu members in the reply, should be %zu results, applied, warnings and tokens as sent", c->name,
                 json_object_size(c->reply), count);
}

/* ---- applied ---- */

/* A number as the precision holds it stands there with the fewest digits that read back as such: 0.1, not 0.10000000149. */
static void check_digits(const struct checking *c, const char *name, const json_t *json)
{
    double got = json_number_value(json), fewest = NAN;
    char text[40];
    for (int digits = 1; digits <= 17 && !(c->answer->is_f32 ? (float)fewest == (float)got : fewest == got); digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, c->answer->is_f32 ? (double)(float)got : got);
        fewest = strtod(text, NULL);
    }
    if (json_is_real(json) && fewest != got)
        fail_msg("%s: applied.%s is %.17g, where %.17g has fewer digits", c->name, name, got, fewest);
}

static void check_number(const struct checking *c, const char *name, double want)
{
    json_t *json = json_object_get(c->applied, name);
    if (!json_is_number(json))
        fail_msg("%s: applied.%s is no number", c->name, name);
    double got = json_number_value(json);
    if (c->answer->is_f32 ? (float)got != (float)want : fabs(got - want) > 1e-15 * fabs(want))
        fail_msg("%s: applied.%s is %.17g, should be %.17g", c->name, name, got, want);
    check_digits(c, name, json);
}

/* A member that is `want`, or where that is NULL is not there. */
static void check_member(const struct checking *c, const json_t *in, const char *name, json_t *want)
{
    json_t *got = json_object_get(in, name);
    if (want == NULL ? got == NULL : json_equal(got, want))
        return;
    char *text = json_dumps(got, JSON_ENCODE_ANY), *wanted = json_dumps(want, JSON_ENCODE_ANY);
    fail_msg("%s: %s is %s, should be %s", c->name, name, text ? text : "absent", wanted ? wanted : "absent");
}

/* Takes over `want`. */
static void check_applied(const struct checking *c, const char *name, json_t *want)
{
    check_member(c, c->applied, name, want);
    json_decref(want);
}

static void check_draws(const struct checking *c)
{
    json_t *seed = answer_field(c->answer, "seed"), *order = json_array();
    for (size_t i = 0; i < c->answer->draw_count; i++)
        json_array_append_new(order, json_string(c->answer->draws[i]));
    check_member(c, c->applied, "draw_order", seed == NULL ? NULL : order);
    check_applied(c, "seed",
                  seed == NULL
                      ? NULL
                      : json_integer(json_is_integer(seed) ? json_integer_value(seed) : (json_int_t)json_number_value(seed)));
    json_decref(order);
}

/* The slopes as they were used: near, since the paper's may differ in the last bit. */
static void check_slopes(const struct checking *c)
{
    json_t *alibi = answer_field(c->answer, "alibi"), *slopes = json_object_get(c->applied, "alibi");
    if (alibi == NULL || json_is_false(alibi)) {
        assert_null(slopes);
        return;
    }
    assert_int_equal(json_array_size(slopes), c->answer->H);
    for (size_t h = 0; h < c->answer->H; h++) {
        double slope = json_number_value(json_array_get(slopes, h));
        double given = json_number_value(json_array_get(alibi, h));
        if (json_is_array(alibi) && (float)slope != (float)given)
            fail_msg("%s: applied.alibi[%zu] is %.9g, should be %.9g", c->name, h, slope, given);
        check_digits(c, "alibi", json_array_get(slopes, h));
    }
}

/* Both sides as integers, however the request wrote them; absent where neither bounds anything. */
static void check_window(const struct checking *c)
{
    json_t *given = answer_field(c->answer, "window"), *want = json_array();
    bool bounds = false;
    for (size_t side = 0; side < json_array_size(given); side++) {
        double keys = json_number_value(json_array_get(given, side));
        json_array_append_new(want, json_integer((json_int_t)keys));
        bounds |= keys >= 0;
    }
    check_member(c, c->applied, "window", bounds ? want : NULL);
    json_decref(want);
}

/* An integer, or a list of them, comes back as it was sent; 0 tokens are none. */
static void check_integer_field(const struct checking *c, const char *name)
{
    json_t *given = answer_field(c->answer, name), *got = json_object_get(c->applied, name);
    bool none = given == NULL || (strcmp(name, "num_sink_tokens") == 0 && json_number_value(given) == 0);
    struct json_tensor want = json_tensor_read(none ? NULL : given, false), is = json_tensor_read(got, false);
    if (want.present != is.present || want.count != is.count ||
        (want.present && memcmp(want.values, is.values, want.count * sizeof *want.values) != 0))
        fail_msg("%s: applied.%s is not what was sent", c->name, name);
    json_tensor_done(&want);
    json_tensor_done(&is);
}

static void check_query_offset(const struct checking *c)
{
    json_t *offset = answer_field(c->answer, "query_offset");
    struct json_tensor offsets = json_tensor_read(json_is_number(offset) ? NULL : offset, false);
    json_t *causal = answer_field(c->answer, "causal");
    bool corners =
        c->answer->sequences != NULL && json_is_string(causal) && strcmp(json_string_value(causal), "bottom_right") == 0;
    json_t *want = answer_field(c->answer, "query_positions") != NULL ? json_null()
                   : offsets.present || corners                       ? json_array()
                                                                      : json_integer((json_int_t)c->answer->query_offset);
    for (size_t b = 0; offsets.present && b < offsets.count; b++)
        json_array_append_new(want, json_integer((json_int_t)offsets.values[b]));
    for (size_t s = 0; corners && s < c->answer->sequence_count; s++)
        json_array_append_new(want, json_integer((json_int_t)c->answer->sequence_offsets[s]));
    check_member(c, c->applied, "query_offset", want);
    json_tensor_done(&offsets);
    json_decref(want);
}

static void check_near(const struct checking *c, const char *name, const json_t *json, double want)
{
    if (!json_is_number(json) || fabs(json_number_value(json) - want) > 1e-12 * fabs(want))
        fail_msg("%s: applied.%s is %.17g, should be %.17g", c->name, name, json_number_value(json), want);
}

static void check_frequencies(const struct checking *c, const json_t *applied, const struct rope_answer *rope)
{
    json_t *frequencies = json_object_get(applied, "inverse_frequencies"), *length = json_object_get(applied, "length");
    size_t pairs = rope->dims / 2;
    check_near(c, "rope.attention_factor", json_object_get(applied, "attention_factor"), rope->attention_factor);
    if (length != NULL && !rope->per_item)
        check_near(c, "rope.length", length, rope->lengths[0]);
    for (size_t set = 0; set < rope->sets; set++) {
        json_t *row = rope->per_item ? json_array_get(frequencies, set) : frequencies;
        if (rope->per_item && pairs > 0)
            check_near(c, "rope.length", json_array_get(length, set), rope->lengths[set]);
        if (json_array_size(row) != pairs)
            fail_msg("%s: %zu inverse frequencies, should be %zu", c->name, json_array_size(row), pairs);
        for (size_t i = 0; i < pairs; i++)
            check_near(c, "rope.inverse_frequencies", json_array_get(row, i), rope->frequencies[set * pairs + i]);
    }
}

static void check_rope(const struct checking *c)
{
    json_t *given = answer_field(c->answer, "rope"), *applied = json_object_get(c->applied, "rope");
    struct rope_answer rope;
    rope_answer_init(&rope, c->answer);
    assert_int_equal(rope.present, applied != NULL);
    if (rope.present) {
        check_member(c, applied, "style", json_object_get(given, "style"));
        check_near(c, "rope.dims", json_object_get(applied, "dims"), (double)rope.dims);
        if (json_object_get(applied, "base") != NULL)
            check_near(c, "rope.base", json_object_get(applied, "base"), rope.base);
    }
    if (rope.present && !rope.tables)
        check_frequencies(c, applied, &rope);
    rope_answer_done(&rope);
}

static void check_norm(const struct checking *c)
{
    json_t *given = answer_field(c->answer, "qk_norm"), *applied = json_object_get(c->applied, "qk_norm");
    assert_int_equal(given != NULL, applied != NULL);
    static const char *const sides[] = {"query", "key"};
    for (size_t i = 0; given != NULL && i < 2; i++) {
        json_t *side = json_object_get(given, sides[i]), *got = json_object_get(applied, sides[i]);
        assert_int_equal(side == NULL || json_is_null(side) || json_is_false(side), json_is_false(got));
    }
}

static void check_relative_bias(const struct checking *c)
{
    json_t *given = answer_field(c->answer, "relative_bias"), *want = NULL;
    if (given != NULL) {
        struct json_tensor table = json_tensor_read(json_object_get(given, "table"), false);
        json_t *both = json_object_get(given, "bidirectional"), *distance = json_object_get(given, "max_distance");
        bool bidirectional = both == NULL || json_is_null(both) || json_is_true(both);
        json_int_t max_distance = json_is_number(distance) ? (json_int_t)json_number_value(distance) : 128;
        want = json_pack("{s:I,s:b,s:I}", "buckets", (json_int_t)table.shape[0], "bidirectional", bidirectional, "max_distance",
                         max_distance);
        json_tensor_done(&table);
    }
    check_applied(c, "relative_bias", want);
}

static void check_conventions(const struct checking *c)
{
    const struct request_answer *answer = c->answer;
    json_t *causal = answer_field(answer, "causal"), *semantics = answer_field(answer, "mask_semantics");
    json_t *softcap = answer_field(answer, "softcap");
    check_number(c, "scale", answer->scale);
    check_query_offset(c);
    static const char *const marks[] = {"query_positions", "key_positions", "query_lengths", "key_lengths", "segment_ids",
                                        "span_ids",        "cu_seqlens",    "bias",          "query_scale"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        check_applied(c, marks[i], answer_field(answer, marks[i]) == NULL ? NULL : json_true());
    check_integer_field(c, "chunk_size");
    check_integer_field(c, "num_sink_tokens");
    check_integer_field(c, "prefix_length");
    check_number(c, "num_heads", (double)answer->H);
    check_number(c, "num_kv_heads", (double)answer->Hkv);
    check_number(c, "head_size", (double)answer->D);
    if (softcap != NULL)
        check_number(c, "softcap", json_number_value(softcap));
    check_applied(c, "causal", causal == NULL ? json_false() : json_incref(causal));
    check_applied(c, "mask", !answer->mask.present ? json_null() : json_string(answer->mask.is_bool ? "boolean" : "additive"));
    check_applied(c, "mask_semantics", semantics == NULL ? json_string("keep") : json_incref(semantics));
    check_applied(c, "precision", json_string(answer->is_f32 ? "float32" : "float64"));
    check_applied(c, "numerics", json_incref(answer_field(answer, "numerics")));
    check_applied(c, "layout",
                  answer->rank4 ? json_string(answer->thd            ? "thd"
                                              : answer->tokens_first ? "bthd"
                                                                     : "bhtd")
                                : NULL);
    bool projected = answer_field(answer, "x") != NULL && !json_is_string(answer_field(answer, "projection"));
    check_applied(c, "projection_layout", projected ? json_string("[out, in]") : NULL);
    check_applied(c, "past_length", answer->Tpast > 0 ? json_integer((json_int_t)answer->Tpast) : NULL);
    check_applied(c, "lse_base", json_incref(answer_field(answer, "lse_base")));
    json_t *by = answer_field(answer, "pool_by");
    bool top = wants(c, "top_keys"), pool = wants(c, "pooled_weights");
    check_applied(c, "top", top ? json_incref(answer_field(answer, "top")) : NULL);
    check_applied(c, "select", json_incref(answer_field(answer, "select")));
    check_applied(c, "pool", pool ? json_incref(answer_field(answer, "pool")) : NULL);
    check_applied(c, "pool_by", !pool ? NULL : by == NULL ? json_string("mean") : json_incref(by));
    check_relative_bias(c);
    check_rope(c);
    check_norm(c);
    check_window(c);
    check_draws(c);
    check_slopes(c);
}

/* ---- warnings ---- */

static bool has_warning(const json_t *warnings, const char *words)
{
    for (size_t i = 0; i < json_array_size(warnings); i++)
        if (strstr(json_string_value(json_array_get(warnings, i)), words) != NULL)
            return true;
    return false;
}

/* Rows are counted only where one of attention's own results is asked for. */
static size_t masked_rows(const struct checking *c)
{
    for (enum answer_name which = ANSWER_OUTPUT; which <= ANSWER_POOLED_WEIGHTS; which++)
        if (wants(c, answer_names[which]))
            return c->answer->masked_row_count;
    return 0;
}

static bool is_true(const struct checking *c, const char *name)
{
    json_t *value = answer_field(c->answer, name);
    return value != NULL && !json_is_false(value);
}

/* Whether a window, ALiBi or rotations look at positions. */
static bool counts_positions(const struct checking *c)
{
    json_t *window = answer_field(c->answer, "window"), *rope_json = answer_field(c->answer, "rope");
    struct rope_answer rope;
    rope_answer_init(&rope, c->answer);
    bool bounded = json_number_value(json_array_get(window, 0)) >= 0 || json_number_value(json_array_get(window, 1)) >= 0;
    struct json_tensor cosines = json_tensor_read(json_object_get(rope_json, "cos"), false);
    bool own_positions = json_object_get(rope_json, "query_positions") != NULL || cosines.rank == 3;
    bool turns = rope.present && rope.dims > 0 && !own_positions;
    json_tensor_done(&cosines);
    rope_answer_done(&rope);
    return (window != NULL && bounded) || answer_field(c->answer, "chunk_size") != NULL ||
           answer_field(c->answer, "relative_bias") != NULL || is_true(c, "alibi") || turns;
}

/* A mask without a number in it is of booleans as well as of anything. */
static bool mask_is_boolean(const struct checking *c)
{
    json_t *value = answer_field(c->answer, "mask");
    if (value == NULL)
        return false;
    if (json_is_object(value))
        value = json_object_get(value, "data");
    while (json_is_array(value))
        value = json_array_get(value, 0);
    return value == NULL || json_is_boolean(value);
}

static bool wants_pairs(const struct checking *c)
{
    bool any = false;
    for (enum answer_name which = ANSWER_WEIGHTS; which <= ANSWER_MASKED_SCORES; which++)
        any |= wants(c, answer_names[which]);
    return any;
}

/* Whole numbers from -1 on, one of them above 1. */
static bool mask_is_segments(const struct checking *c)
{
    const struct json_tensor *mask = &c->answer->mask;
    bool above = false;
    for (size_t k = 0; k < mask->count; k++) {
        double x = mask->values[k];
        if (!(x >= -1 && x <= INT32_MAX) || x != floor(x))
            return false;
        above |= x > 1;
    }
    return above && !mask_is_boolean(c);
}

/* Fewer axes than the weights have, the first as long as the batch. */
static bool has_two_readings(const struct checking *c, const char *name)
{
    struct json_tensor given = json_tensor_read(answer_field(c->answer, name), false);
    const struct json_tensor *mask = &given;
    size_t rank = (c->answer->has_batch ? 3U : 2U) + (c->answer->has_heads ? 1U : 0U);
    bool two = mask->present && c->answer->has_batch && c->answer->B > 1 && mask->rank >= 2 && mask->rank < rank &&
               mask->shape[0] == c->answer->B;
    json_tensor_done(&given);
    return two;
}

static bool is_text(const json_t *value, const char *text)
{
    return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

static bool is_number(const json_t *value, double number)
{
    return json_is_number(value) && json_number_value(value) == number;
}

static void check_warnings(const struct checking *c)
{
    const json_t *warnings = json_object_get(c->reply, "warnings");
    bool offset = answer_field(c->answer, "query_offset") != NULL, causal = is_true(c, "causal");
    bool listed = answer_field(c->answer, "query_positions") != NULL, keys = answer_field(c->answer, "key_positions") != NULL;
    bool counted = causal || counts_positions(c);
    json_t *relative = answer_field(c->answer, "relative_bias"), *both = json_object_get(relative, "bidirectional");
    both = json_is_null(both) ? NULL : both;
    char rows[64];
    (void)snprintf(rows, sizeof rows, "%zu row", masked_rows(c));
    const struct {
        bool due;
        const char *words;
    } all[] = {
        {masked_rows(c) > 0, rows},
        {c->answer->mask_is_bits, "0 and 1"},
        {counts_positions(c) && !offset && !listed && !keys && !causal && c->answer->sequences == NULL &&
             c->answer->Tpast == 0 && c->answer->Tq != c->answer->Tk,
         "first query at position 0"},
        {counted && keys && !offset && !listed, "key_positions say where keys stand"},
        {mask_is_segments(c), "segment ids"},
        {has_two_readings(c, "mask"), "the mask's shape"},
        {has_two_readings(c, "bias"), "the bias's shape"},
        {relative != NULL && answer_field(c->answer, "scale") == NULL, "beside relative_bias the scores are multiplied by"},
        {relative != NULL && both == NULL && causal, "relative_bias was read as bidirectional"},
        {offset && !counted && !is_number(answer_field(c->answer, "query_offset"), 0), "query_offset has no effect"},
        {listed && !counted, "query_positions has no effect"},
        {keys && !counted, "key_positions has no effect"},
        {is_text(answer_field(c->answer, "lse_base"), "2") && !wants(c, "lse"), "lse_base has no effect"},
        {answer_field(c->answer, "top") != NULL && !wants(c, "top_keys"), "top has no effect"},
        {(answer_field(c->answer, "pool") != NULL || is_text(answer_field(c->answer, "pool_by"), "max")) &&
             !wants(c, "pooled_weights"),
         "pool and pool_by have no effect"},
        {answer_field(c->answer, "select") != NULL && !wants_pairs(c), "select has no effect"},
        {is_text(answer_field(c->answer, "mask_semantics"), "drop") && !mask_is_boolean(c), "mask_semantics has no effect"},
    };
    size_t due = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        due += all[i].due;
        if (all[i].due && !has_warning(warnings, all[i].words))
            fail_msg("%s: no warning says \"%s\"", c->name, all[i].words);
    }
    if (!json_is_array(warnings) || json_array_size(warnings) != due)
        fail_msg("%s: %zu warnings, where %zu are due", c->name, json_array_size(warnings), due);
}

/* Labels come back as they were sent. */
static void check_tokens(const struct checking *c)
{
    json_t *sent = answer_field(c->answer, "tokens"), *returned = json_object_get(c->reply, "tokens");
    if (sent == NULL ? returned != NULL : !json_equal(sent, returned))
        fail_msg("%s: tokens are not those of the request", c->name);
}

void request_check(const char *name, json_t *request, json_t *reply)
{
    struct request_answer answer;
    request_answer_init(&answer, request);
    const struct checking c = {
        .name = name, .request = request, .reply = reply, .applied = json_object_get(reply, "applied"), .answer = &answer};
    check_results(&c);
    check_conventions(&c);
    check_tokens(&c);
    check_warnings(&c);
    request_answer_done(&answer);
}
