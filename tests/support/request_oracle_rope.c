#include "tests/support/request_oracle_rope.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/view.h"

#define PI 3.14159265358979323846
#define ANGLE_ULPS 8 /* frequencies, and so angles, may be off by */

static json_t *member(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}

static double number(const json_t *object, const char *name, double otherwise)
{
    json_t *value = member(object, name);
    return value == NULL ? otherwise : json_number_value(value);
}

static bool has_text(const json_t *object, const char *name, const char *text)
{
    json_t *value = member(object, name);
    return value != NULL && strcmp(json_string_value(value), text) == 0;
}

/* The member of "rope" or of its "scaling". */
static json_t *either(const json_t *rope, const char *name)
{
    json_t *value = member(rope, name);
    return value != NULL ? value : member(member(rope, "scaling"), name);
}

static const char *type_of(const json_t *rope)
{
    json_t *scaling = member(rope, "scaling");
    json_t *type = member(scaling, "rope_type") != NULL ? member(scaling, "rope_type") : member(scaling, "type");
    return type == NULL || strcmp(json_string_value(type), "mrope") == 0 ? "default" : json_string_value(type);
}

static bool is_type(const json_t *rope, const char *type)
{
    return strcmp(type_of(rope), type) == 0;
}

/* ---- positions ---- */

static double position_of(const struct request_answer *answer, bool query, size_t item, size_t token)
{
    return (double)(query ? answer->query_positions[item * answer->Tq + token]
                          : answer->key_positions[item * answer->Tk + answer->Tpast + token]);
}

/* The axis of a pair: 0 where there is but one. */
static size_t axis_of(const json_t *rope, size_t pair)
{
    json_t *section = either(rope, "mrope_section");
    double sizes[3] = {0};
    for (size_t axis = 0; axis < 3; axis++)
        sizes[axis] = json_number_value(json_array_get(section, axis));
    if (json_is_true(either(rope, "mrope_interleaved"))) {
        if (pair % 3 == 1 && (double)pair < 3 * sizes[1])
            return 1;
        return pair % 3 == 2 && (double)pair < 3 * sizes[2] ? 2 : 0;
    }
    return (double)pair < sizes[0] ? 0 : (double)pair < sizes[0] + sizes[1] ? 1 : 2;
}

/* The position by which a pair of a token turns. */
static double turning_position(const struct request_answer *answer, const json_t *rope, const struct json_tensor *given,
                               bool query, size_t item, size_t token, size_t axis)
{
    if (!given->present)
        return position_of(answer, query, item, token);
    size_t T = given->shape[given->rank - 1];
    (void)rope;
    return given->rank == 2 ? given->values[axis * T + token] : given->values[(axis * given->shape[1] + item) * T + token];
}

static struct json_tensor given_positions(const json_t *rope, bool query)
{
    return json_tensor_read(member(rope, query ? "query_positions" : "key_positions"), false);
}

/* How many tokens of an item are not padding. */
static size_t token_count(const struct request_answer *answer, const char *name, size_t item, size_t otherwise)
{
    json_t *json = answer_field(answer, name);
    struct json_tensor lengths = json_tensor_read(json, false);
    size_t count = lengths.present ? (size_t)lengths.values[item] : otherwise;
    json_tensor_done(&lengths);
    return count;
}

/* One more than the largest position of an item, padding left out. */
static double length_of(const struct request_answer *answer, const json_t *rope, size_t item)
{
    double largest = 0;
    for (size_t side = 0; side < 2; side++) {
        bool query = side == 0;
        struct json_tensor given = given_positions(rope, query);
        size_t tokens = query ? token_count(answer, "query_lengths", item, answer->Tq)
                              : token_count(answer, "key_lengths", item, answer->Tk);
        for (size_t t = 0; query ? t < tokens : answer->Tpast + t < tokens; t++)
            for (size_t axis = 0; axis < (given.present ? 3 : 1); axis++)
                largest = fmax(largest, turning_position(answer, rope, &given, query, item, t, axis));
        json_tensor_done(&given);
    }
    return largest + 1;
}

/* ---- frequencies ---- */

static double yarn(const json_t *scaling, double base, double dims, double pair, double factor, double original)
{
    double low = dims * log(original / (number(scaling, "beta_fast", 32) * 2 * PI)) / (2 * log(base));
    double high = dims * log(original / (number(scaling, "beta_slow", 1) * 2 * PI)) / (2 * log(base));
    if (!json_is_false(member(scaling, "truncate"))) {
        low = floor(low);
        high = ceil(high);
    }
    low = low < 0 ? 0 : low;
    high = high > dims - 1 ? dims - 1 : high;
    high += high == low ? 0.001 : 0;
    double ramp = (pair - low) / (high - low);
    ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
    double plain = pow(base, -2 * pair / dims);
    return plain / factor * ramp + plain * (1 - ramp);
}

static double llama3(const json_t *scaling, double plain, double factor, double original)
{
    double low = number(scaling, "low_freq_factor", 0), high = number(scaling, "high_freq_factor", 0);
    double wavelength = 2 * PI / plain;
    if (wavelength < original / high)
        return plain;
    if (wavelength > original / low)
        return plain / factor;
    double smooth = (original / wavelength - low) / (high - low);
    return (1 - smooth) * plain / factor + smooth * plain;
}

static double frequency(const json_t *rope, double base, double dims, size_t at, double length)
{
    json_t *scaling = member(rope, "scaling");
    double factor = number(scaling, "factor", 1), pair = (double)at;
    double original = number(scaling, "original_max_position_embeddings", number(scaling, "max_position_embeddings", 0));
    double plain = pow(base, -2 * pair / dims);
    if (is_type(rope, "linear"))
        return plain / factor;
    if (is_type(rope, "dynamic") && length > original && dims > 2)
        return pow(base * pow(factor * length / original - (factor - 1), dims / (dims - 2)), -2 * pair / dims);
    if (is_type(rope, "yarn"))
        return yarn(scaling, base, dims, pair, factor, original);
    if (is_type(rope, "longrope"))
        return plain /
               json_number_value(json_array_get(member(scaling, length > original ? "long_factor" : "short_factor"), at));
    if (is_type(rope, "llama3"))
        return llama3(scaling, plain, factor, original);
    if (is_type(rope, "proportional"))
        return at < (size_t)(number(scaling, "partial_rotary_factor", 1) * dims / 2) ? plain / factor : 0;
    return plain;
}

static double attention_factor(const json_t *rope)
{
    json_t *scaling = member(rope, "scaling");
    double factor = number(scaling, "factor", 0), max = number(scaling, "max_position_embeddings", 0);
    double original = number(scaling, "original_max_position_embeddings", max);
    if (member(rope, "attention_factor") != NULL)
        return number(rope, "attention_factor", 0);
    if (member(scaling, "attention_factor") != NULL)
        return number(scaling, "attention_factor", 0);
    if (is_type(rope, "yarn") && factor > 1) {
        double mscale = number(scaling, "mscale", 1), all = number(scaling, "mscale_all_dim", 0);
        return (1 + 0.1 * mscale * log(factor)) / (1 + 0.1 * all * log(factor));
    }
    if (is_type(rope, "longrope")) {
        factor = factor == 0 ? max / original : factor;
        return factor <= 1 ? 1 : sqrt(1 + log(factor) / log(original));
    }
    return 1;
}

static size_t dims_of(const struct request_answer *answer, const json_t *rope)
{
    double share = number(member(rope, "scaling"), "partial_rotary_factor", 1);
    double dims = is_type(rope, "proportional") ? (double)answer->D : floor(share * (double)answer->D);
    return (size_t)number(rope, "dims", dims);
}

void rope_answer_init(struct rope_answer *ret, const struct request_answer *answer)
{
    json_t *rope = answer_field(answer, "rope");
    *ret = (struct rope_answer){.present = rope != NULL};
    if (rope == NULL)
        return;
    ret->tables = member(rope, "cos") != NULL;
    ret->dims = dims_of(answer, rope);
    ret->base = number(rope, "base", number(member(rope, "scaling"), "rope_theta", 10000));
    ret->attention_factor = attention_factor(rope);
    bool uses_length = is_type(rope, "dynamic") || is_type(rope, "longrope");
    ret->per_item = uses_length && member(rope, "length") == NULL;
    ret->sets = ret->per_item ? answer->B : 1;
    if (ret->tables)
        return;
    size_t pairs = ret->dims / 2;
    struct json_tensor given = json_tensor_read(member(rope, "inverse_frequencies"), false);
    ret->lengths = test_alloc(ret->sets, sizeof(double));
    ret->frequencies = test_alloc(ret->sets * pairs, sizeof(double));
    for (size_t set = 0; set < ret->sets; set++) {
        ret->lengths[set] = ret->per_item ? length_of(answer, rope, set) : number(rope, "length", 0);
        for (size_t i = 0; i < pairs; i++)
            ret->frequencies[set * pairs + i] =
                given.present ? given.values[i] : frequency(rope, ret->base, (double)ret->dims, i, ret->lengths[set]);
    }
    json_tensor_done(&given);
}

void rope_answer_done(struct rope_answer *rope)
{
    free(rope->lengths);
    free(rope->frequencies);
}

/* ---- rotation ---- */

struct rotation {
    struct request_answer *answer;
    const json_t *json;
    struct rope_answer rope;
    struct json_tensor cosines, sines;
};

/* Cosine and sine of a pair, and how far off they may be. */
static void turn(const struct rotation *r, size_t item, size_t token, size_t pair, double position, double ret[2],
                 double *ret_allowed)
{
    size_t pairs = r->rope.dims / 2;
    if (r->rope.tables) {
        bool by_token = r->cosines.rank == 3;
        size_t T = by_token ? r->cosines.shape[1] : 0, row = by_token ? token : (size_t)position;
        if (by_token && r->cosines.shape[0] > 1)
            row += item * T;
        ret[0] = r->cosines.values[row * pairs + pair];
        ret[1] = r->sines.values[row * pairs + pair];
        *ret_allowed = 0;
        return;
    }
    double angle = position * r->rope.frequencies[(r->rope.sets > 1 ? item : 0) * pairs + pair];
    ret[0] = r->rope.attention_factor * cos(angle);
    ret[1] = r->rope.attention_factor * sin(angle);
    *ret_allowed = r->rope.attention_factor * ANGLE_ULPS * DBL_EPSILON * fabs(angle);
}

static void rotate(const struct rotation *r, struct json_tensor *t, bool query)
{
    const size_t H = t->shape[1], T = t->shape[2], D = t->shape[3], dims = r->rope.dims;
    bool half = has_text(r->json, "style", "half");
    double *blur = query ? &r->answer->query_blur : &r->answer->key_blur;
    struct json_tensor given = given_positions(r->json, query);
    json_tensor_allow(t);
    for (size_t row = 0; D > 0 && row < t->count / D; row++) {
        size_t token = row % T, item = row / T / H;
        for (size_t i = 0; i < dims / 2; i++) {
            size_t a = row * D + (half ? i : 2 * i), b = row * D + (half ? i + dims / 2 : 2 * i + 1);
            size_t axis = given.present ? axis_of(r->json, i) : 0;
            double position = turning_position(r->answer, r->json, &given, query, item, token, axis);
            double cs[2], angle_allowed, va = t->values[a], vb = t->values[b];
            turn(r, item, token, i, position, cs, &angle_allowed);
            double size = fmax(1, fmax(fabs(cs[0]), fabs(cs[1])));
            double allowed = size * (t->allowed[a] + t->allowed[b] + answer_bound(r->answer, fabs(va) + fabs(vb))) +
                             angle_allowed * (fabs(va) + fabs(vb));
            if (isfinite(va) && isfinite(vb))
                *blur = fmax(*blur, angle_allowed * (fabs(va) + fabs(vb)));
            t->values[a] = va * cs[0] - vb * cs[1];
            t->values[b] = va * cs[1] + vb * cs[0];
            t->allowed[a] = t->allowed[b] = allowed;
        }
    }
    json_tensor_done(&given);
}

static void rotate_both(struct request_answer *answer)
{
    json_t *json = answer_field(answer, "rope");
    if (json == NULL)
        return;
    struct rotation r = {.answer = answer, .json = json};
    rope_answer_init(&r.rope, answer);
    r.cosines = json_tensor_read(member(json, "cos"), false);
    r.sines = json_tensor_read(member(json, "sin"), false);
    rotate(&r, &answer->query, true);
    rotate(&r, &answer->key, false);
    json_tensor_done(&r.cosines);
    json_tensor_done(&r.sines);
    rope_answer_done(&r.rope);
}

/* ---- norms ---- */

static void normalize(const struct request_answer *answer, const json_t *norm, const char *side, struct json_tensor *t)
{
    const size_t H = t->shape[1], T = t->shape[2], D = t->shape[3];
    json_t *json = member(norm, side);
    if (json == NULL || json_is_false(json) || t->count == 0)
        return;
    struct json_tensor weights = json_tensor_read(json_is_true(json) ? NULL : json, answer->is_f32);
    bool together = weights.present && weights.count != D;
    struct json_tensor before = json_tensor_new(t->rank, t->shape);
    memcpy(before.values, t->values, t->count * sizeof *t->values);
    json_tensor_allow(t);
    for (size_t row = 0; row < t->count / D; row++) {
        size_t token = row % T, head = row / T % H, item = row / T / H;
        double squares = 0, largest_allowed = 0;
        for (size_t h = together ? 0 : head; h < (together ? H : head + 1); h++) {
            for (size_t d = 0; d < D; d++) {
                size_t at = ((item * H + h) * T + token) * D + d;
                squares += before.values[at] * before.values[at];
                largest_allowed = fmax(largest_allowed, t->allowed[at]);
            }
        }
        double count = (double)(together ? H * D : D);
        double length = sqrt((has_text(norm, "type", "l2") ? squares : squares / count) + number(norm, "eps", 1e-6));
        for (size_t d = 0; d < D; d++) {
            double weight = weights.present ? weights.values[together ? head * D + d : d] : 1;
            double x = before.values[row * D + d] / length * weight;
            /* Numbers that are off change the length by no more than each is off, times the root of their count. */
            double off = largest_allowed * (fabs(weight) + fabs(x) * sqrt(count)) / length;
            t->values[row * D + d] = x;
            t->allowed[row * D + d] = off + answer_bound(answer, fabs(x));
        }
    }
    json_tensor_done(&before);
    json_tensor_done(&weights);
}

static void normalize_both(struct request_answer *answer)
{
    json_t *norm = answer_field(answer, "qk_norm");
    if (norm == NULL)
        return;
    normalize(answer, norm, "query", &answer->query);
    normalize(answer, norm, "key", &answer->key);
}

void answer_change_inputs(struct request_answer *answer)
{
    bool after = has_text(answer_field(answer, "qk_norm"), "order", "after_rope");
    if (!after)
        normalize_both(answer);
    rotate_both(answer);
    if (after)
        normalize_both(answer);
}
