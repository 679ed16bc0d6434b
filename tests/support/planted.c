#include "tests/support/planted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/torch_random.h"
#include "tests/support/view.h"

typedef bool plant(struct planted *p, const struct request_answer *asked, struct draw *draw);

/* ---- JSON ---- */

static json_t *number_json(double x)
{
    return isnan(x) ? json_string("NaN") : isinf(x) ? json_string(x > 0 ? "Infinity" : "-Infinity") : json_real(x);
}

static json_t *tensor_json(const struct json_tensor *t)
{
    json_t *shape = json_array(), *data = json_array();
    for (size_t axis = 0; axis < t->rank; axis++)
        json_array_append_new(shape, json_integer((json_int_t)t->shape[axis]));
    for (size_t i = 0; i < t->count; i++)
        json_array_append_new(data, t->is_bool ? json_boolean(t->values[i] != 0) : number_json(t->values[i]));
    return json_pack("{s:o,s:o}", "shape", shape, "data", data);
}

static json_t *field(const struct planted *p, const char *name)
{
    json_t *value = json_object_get(p->request, name);
    return json_is_null(value) ? NULL : value;
}

static void set(struct planted *p, const char *name, json_t *value)
{
    json_object_set_new(p->request, name, value);
}

static void drop(struct planted *p, const char *name)
{
    json_object_del(p->request, name);
}

static bool is_causal(const struct planted *p)
{
    json_t *causal = field(p, "causal");
    return (causal != NULL && !json_is_false(causal)) || p->last_keys != NULL;
}

static bool has(const struct planted *p, const char *name)
{
    return field(p, name) != NULL && !json_is_false(field(p, name));
}

static bool counts_positions(const struct planted *p)
{
    return has(p, "rope") || has(p, "alibi") || has(p, "relative_bias") || has(p, "window") || p->rope != NULL;
}

/* ---- scores ---- */

static bool plant_scale(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    const double D = (double)asked->D, H = (double)asked->H, now = asked->scale;
    const double scales[] = {1, 1 / sqrt(D), 1 / D, sqrt(D), 1 / sqrt(H * D), now * now};
    double scale = scales[draw_size(draw, 0, 5)];
    set(p, "scale", json_real(scale));
    return isfinite(scale) && !p->mask_scaled;
}

static bool plant_softcap_missing(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)asked, (void)draw;
    bool had = has(p, "softcap");
    drop(p, "softcap");
    return had;
}

static bool plant_softcap_order(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)asked, (void)draw;
    if (!has(p, "softcap"))
        return false;
    p->softcap = json_number_value(field(p, "softcap"));
    drop(p, "softcap");
    return true;
}

static bool plant_sinks_missing(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)asked, (void)draw;
    bool had = has(p, "sinks");
    drop(p, "sinks");
    return had;
}

static bool plant_bias_missing(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)asked, (void)draw;
    const char *name = has(p, "relative_bias") ? "relative_bias" : "bias";
    bool had = has(p, name);
    drop(p, name);
    return had;
}

static bool plant_query_scale_missing(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)asked, (void)draw;
    bool had = has(p, "query_scale");
    drop(p, "query_scale");
    return had;
}

static bool plant_softmax_axis(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)draw;
    return p->over_queries = asked->Tq > 1;
}

static bool plant_softmax_missing(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)asked, (void)draw;
    return p->no_softmax = true;
}

static bool plant_lse_base(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)asked;
    json_t *base = field(p, "lse_base");
    double asked_base = base != NULL && strcmp(json_string_value(base), "2") == 0 ? 2 : exp(1);
    p->lse_factor = log(asked_base) / log(draw_chance(draw, 0.7) ? 2 : 10);
    return true;
}

static bool plant_lse_unscaled(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)draw;
    return p->lse_unscaled = asked->scale != 0;
}

/* ---- masks ---- */

/* Whether queries stand at an offset + i and keys at j: one offset for all, or one in each packed sequence. */
static bool has_offset(const struct planted *p)
{
    json_t *offset = field(p, "query_offset");
    return has(p, "cu_seqlens") || (field(p, "query_positions") == NULL && field(p, "key_positions") == NULL &&
                                    (offset == NULL || json_is_number(offset)));
}

/* The offset that a causal mask may have implied. */
static void keep_offset(struct planted *p, const struct request_answer *asked)
{
    json_t *list = json_array();
    for (size_t s = 0; s < asked->sequence_count; s++)
        json_array_append_new(list, json_integer(asked->sequence_offsets[s]));
    set(p, "query_offset", asked->sequence_count > 0 ? json_incref(list) : json_integer(asked->query_offset));
    json_decref(list);
}

static void not_causal(struct planted *p, const struct request_answer *asked)
{
    set(p, "causal", json_false());
    keep_offset(p, asked);
}

enum planted_causal { FROM_TOP_LEFT, FROM_BOTTOM_RIGHT, STRICTLY };

/* A causal mask of its own: of all tokens, or within each packed sequence. */
static void own_causal(struct planted *p, const struct request_answer *asked, enum planted_causal how)
{
    const struct attention_sequence all = {0, asked->Tq, 0, asked->Tk};
    const size_t count = asked->sequence_count;
    not_causal(p, asked);
    p->last_keys = test_alloc(asked->Tq, sizeof *p->last_keys);
    for (size_t s = 0; s < (count > 0 ? count : 1); s++) {
        const struct attention_sequence *sequence = count > 0 ? &asked->sequences[s] : &all;
        int64_t before = count > 0 ? asked->sequence_offsets[s] - 1 : asked->query_offset - 1;
        int64_t offset = how == FROM_TOP_LEFT ? 0
                         : how == STRICTLY    ? before
                                              : (int64_t)sequence->keys - (int64_t)sequence->queries;
        for (size_t i = 0; i < sequence->queries; i++)
            p->last_keys[sequence->first_query + i] = (int64_t)(sequence->first_key + i) + offset;
    }
}

static bool plant_causal(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    bool was = is_causal(p);
    if (!has_offset(p) || p->last_keys != NULL)
        return false;
    if (was && draw_chance(draw, 0.6))
        not_causal(p, asked);
    else if (was || draw_chance(draw, 0.3))
        own_causal(p, asked, STRICTLY);
    else
        own_causal(p, asked, draw_chance(draw, 0.5) ? FROM_TOP_LEFT : FROM_BOTTOM_RIGHT);
    return true;
}

static bool plant_causal_corner(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    bool bottom_right = draw_chance(draw, 0.5);
    if (!is_causal(p) || p->last_keys != NULL || !has_offset(p))
        return false;
    if (counts_positions(p) && draw_chance(draw, 0.5)) { /* of the mask alone */
        own_causal(p, asked, bottom_right ? FROM_BOTTOM_RIGHT : FROM_TOP_LEFT);
        return true;
    }
    drop(p, "query_offset");
    set(p, "causal", json_string(bottom_right ? "bottom_right" : "top_left"));
    return true;
}

static bool plant_mask_polarity(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    json_t *semantics = field(p, "mask_semantics");
    (void)draw;
    bool drops = semantics != NULL && strcmp(json_string_value(semantics), "drop") == 0;
    set(p, "mask_semantics", json_string(drops ? "keep" : "drop"));
    return asked->mask.present && asked->mask.is_bool;
}

static bool plant_mask_added(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    struct json_tensor mask = asked->mask;
    bool inverted = draw_chance(draw, 0.3);
    if (!mask.present || !has(p, "mask"))
        return false;
    mask.values = test_alloc(mask.count, sizeof(double));
    for (size_t i = 0; i < mask.count; i++) {
        double x = asked->mask.values[i];
        mask.values[i] = mask.is_bool ? (x != 0) != inverted : asked->mask_is_bits ? (x != 0) != inverted : x * asked->scale;
    }
    bool before_scale = !mask.is_bool && !asked->mask_is_bits;
    p->mask_scaled = before_scale;
    drop(p, "mask_semantics");
    mask.is_bool = !mask.is_bool && asked->mask_is_bits;
    set(p, "mask", tensor_json(&mask));
    free(mask.values);
    return !before_scale || (asked->scale > 0 && !has(p, "query_scale"));
}

static bool plant_mask_missing(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)asked, (void)draw;
    bool had = has(p, "mask");
    drop(p, "mask");
    drop(p, "mask_semantics");
    return had;
}

static bool plant_mask_transposed(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    struct json_tensor mask = asked->mask;
    (void)draw;
    if (!mask.present || !has(p, "mask") || mask.rank < 2 || mask.shape[mask.rank - 1] != mask.shape[mask.rank - 2])
        return false;
    const size_t n = mask.shape[mask.rank - 1];
    mask.values = test_alloc(mask.count, sizeof(double));
    for (size_t at = 0; at < mask.count; at++)
        mask.values[at] = asked->mask.values[at / (n * n) * n * n + at % n * n + at / n % n];
    set(p, "mask", tensor_json(&mask));
    free(mask.values);
    return true;
}

static bool plant_window_bound(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    json_t *window = field(p, "window");
    (void)asked;
    if (window == NULL)
        return false;
    int64_t bounds[2] = {(int64_t)json_number_value(json_array_get(window, 0)),
                         (int64_t)json_number_value(json_array_get(window, 1))};
    size_t side = draw_size(draw, 0, 1), how = draw_size(draw, 0, 2);
    if (bounds[side] < 0 || (how == 1 && bounds[side] == 0))
        return false;
    if (how == 2)
        set(p, "window", json_pack("[I,I]", (json_int_t)bounds[1], (json_int_t)bounds[0]));
    bounds[side] += how == 0 ? 1 : -1;
    if (how < 2)
        set(p, "window", json_pack("[I,I]", (json_int_t)bounds[0], (json_int_t)bounds[1]));
    return true;
}

static bool plant_padding(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    if (!has(p, "key_lengths"))
        return false;
    struct json_tensor lengths = json_tensor_read(field(p, "key_lengths"), false);
    bool left = draw_chance(draw, 0.5);
    drop(p, "key_lengths");
    if (left)
        p->left_lengths = test_alloc(asked->B, sizeof *p->left_lengths);
    for (size_t b = 0; left && b < asked->B; b++)
        p->left_lengths[b] = (size_t)lengths.values[b];
    json_tensor_done(&lengths);
    return true;
}

/* All tokens are one sequence, whose corner must still be said. */
static bool plant_sequences_missing(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)draw;
    json_t *causal = field(p, "causal"), *offset = field(p, "query_offset"), *prefix = field(p, "prefix_length");
    bool no_corner = json_is_true(causal) && asked->Tq != asked->Tk && offset == NULL;
    if (has(p, "cu_seqlens")) {
        drop(p, "cu_seqlens");
        return !no_corner && p->last_keys == NULL && (offset == NULL || json_is_number(offset)) &&
               (prefix == NULL || json_is_number(prefix));
    }
    bool had = has(p, "segment_ids");
    drop(p, "segment_ids");
    return had;
}

static bool plant_masked_rows(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    p->masked_rows = draw_chance(draw, 0.5) ? 'm' : 'n';
    return asked->masked_row_count > 0;
}

/* ---- inputs ---- */

static bool plant_layout(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    if (asked->rank4 && draw_chance(draw, 0.7)) {
        set(p, "layout", json_string(asked->tokens_first ? "bhtd" : "bthd"));
        return asked->H == asked->Tq && asked->Hkv == asked->Tnew && asked->Tpast == 0;
    }
    size_t how = draw_size(draw, 0, 2);
    if (!asked->tokens_first || asked->H < 2 || (how < 2 && (asked->Tpast > 0 || has(p, "rope") || p->rope != NULL)))
        return false;
    p->viewed_inputs = how < 2;
    p->viewed_output = how != 1;
    return true;
}

static bool plant_head_packing(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    size_t how = draw_size(draw, 0, 2);
    if (asked->rank4 || asked->thd || asked->H < 2 || (how < 2 && (has(p, "rope") || has(p, "qk_norm"))))
        return false;
    if (json_is_string(field(p, "projection")) && how < 2 && asked->H != asked->Hkv)
        return false;
    p->packed_inputs = how < 2;
    p->packed_output = how != 1;
    return true;
}

static bool plant_head_grouping(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)draw;
    return p->tiled = asked->Hkv > 1 && asked->H > asked->Hkv;
}

static void exchange(json_t *object, const char *a, const char *b)
{
    json_t *was = json_incref(json_object_get(object, a));
    json_object_set(object, a, json_object_get(object, b));
    json_object_set_new(object, b, was);
}

static bool plant_swapped(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    bool query = draw_chance(draw, 0.5);
    json_t *projection = field(p, "projection");
    if (query ? asked->H != asked->Hkv || asked->Tq != asked->Tk || asked->Tpast > 0 || has(p, "context")
              : asked->D != asked->Dv)
        return false;
    const char *a = query ? "query" : "key", *b = query ? "key" : "value";
    if (has(p, "x")) {
        bool given = json_object_get(json_object_get(projection, a), "shape") == NULL &&
                     json_object_get(projection, a) != NULL && json_object_get(projection, b) != NULL && !has(p, "seed") &&
                     !has(p, "value_context");
        if (given)
            exchange(projection, a, b);
        return given;
    }
    if (has(p, "seed"))
        return false;
    exchange(p->request, a, b);
    if (!query && has(p, "past_key"))
        exchange(p->request, "past_key", "past_value");
    return true;
}

static bool plant_projection_transposed(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    static const char *const names[] = {"key", "query", "value", "output"};
    json_t *projection = field(p, "projection");
    size_t which = draw_size(draw, 0, 3);
    const struct json_tensor *weight = &asked->weight[which];
    json_t *layer = json_object_get(projection, names[which]);
    json_t *own = json_object_get(layer, "weight"), *given = own != NULL ? own : layer;
    bool has_data = json_is_array(given) || json_object_get(given, "data") != NULL; /* else the seed draws it */
    if (!has_data || !weight->present || weight->shape[0] != weight->shape[1])
        return false;
    struct json_tensor transposed = *weight;
    const size_t n = weight->shape[0];
    transposed.values = test_alloc(n * n, sizeof(double));
    for (size_t i = 0; i < n * n; i++)
        transposed.values[i] = weight->values[i % n * n + i / n];
    if (json_object_get(layer, "weight") != NULL)
        json_object_set_new(layer, "weight", tensor_json(&transposed));
    else
        json_object_set_new(projection, names[which], tensor_json(&transposed));
    free(transposed.values);
    return true;
}

/* Draws the projections anew, and gives them as data. */
static bool plant_seed_order(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    static const char *const names[] = {"key", "query", "value", "output"};
    static const size_t orders[][4] = {{1, 0, 2, 3}, {0, 2, 1, 3}, {2, 0, 1, 3}, {2, 1, 0, 3}, {1, 2, 0, 3}};
    const size_t *order = orders[draw_size(draw, 0, 4)];
    json_t *projection = field(p, "projection");
    struct torch_random random;
    size_t drawn = 0;
    bool drawn_layer[4] = {false}, drawn_x = false, drawn_context = false;
    if (has(p, "value_context"))
        return false;
    if (!has(p, "seed") || !has(p, "x") || json_is_string(projection))
        return false;
    for (size_t i = 0; i < asked->draw_count; i++) {
        drawn_x |= strcmp(asked->draws[i], "x") == 0;
        drawn_context |= strcmp(asked->draws[i], "context") == 0;
        for (size_t k = 0; k < 4; k++)
            if (strncmp(asked->draws[i], "projection.", 11) == 0 && strcmp(asked->draws[i] + 11, names[k]) == 0)
                drawn_layer[k] = true, drawn++;
    }
    if (drawn < 2)
        return false;
    torch_random_init(&random, (uint64_t)json_integer_value(field(p, "seed")));
    double *unused = test_alloc(asked->x.count + asked->context.count, sizeof *unused);
    if (drawn_x)
        torch_random_normal(&random, asked->x.count, unused);
    if (drawn_context)
        torch_random_normal(&random, asked->context.count, unused);
    free(unused);
    if (projection == NULL) {
        projection = json_object();
        set(p, "projection", projection);
    }
    for (size_t i = 0; i < 4; i++) {
        const size_t which = order[i];
        struct json_tensor weight = asked->weight[which];
        json_t *bias = json_object_get(json_object_get(projection, names[which]), "bias");
        if (!drawn_layer[which])
            continue;
        weight.values = test_alloc(weight.count, sizeof(double));
        torch_random_linear(&random, weight.shape[0], weight.shape[1], weight.values);
        json_t *layer = json_pack("{s:o}", "weight", tensor_json(&weight));
        if (bias != NULL)
            json_object_set(layer, "bias", bias);
        json_object_set_new(projection, names[which], layer);
        free(weight.values);
    }
    return true;
}

/* ---- positions ---- */

/* Rotations by a base alone, which come last before the scores. */
static bool has_plain_rope(const struct planted *p)
{
    static const char *const others[] = {"scaling", "inverse_frequencies", "cos", "mrope_section"};
    bool plain = has(p, "rope") && !has(p, "qk_norm");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        plain &= json_object_get(field(p, "rope"), others[i]) == NULL;
    return plain;
}

static bool plant_rope_style(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    json_t *rope = field(p, "rope");
    (void)asked, (void)draw;
    if (!has_plain_rope(p))
        return false;
    bool half = strcmp(json_string_value(json_object_get(rope, "style")), "half") == 0;
    json_object_set_new(rope, "style", json_string(half ? "interleaved" : "half"));
    return true;
}

static bool plant_rope_base(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    static const double bases[] = {10000, 500000, 1000000};
    (void)asked;
    if (!has_plain_rope(p))
        return false;
    json_object_set_new(field(p, "rope"), "base", json_real(bases[draw_size(draw, 0, 2)]));
    return true;
}

static bool take_rope(struct planted *p, const struct request_answer *asked)
{
    if (!has_plain_rope(p))
        return false;
    p->rope = json_incref(field(p, "rope"));
    drop(p, "rope");
    if (!is_causal(p) && has_offset(p))
        keep_offset(p, asked);
    return true;
}

static bool plant_rope_offset(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    size_t how = draw_size(draw, 0, 3);
    if (!take_rope(p, asked))
        return false;
    p->query_shift = how == 1 ? -1 : how == 2 ? -asked->query_offset : 1;
    p->key_shift = how == 2 ? -(int64_t)asked->Tpast : how == 3;
    if (how == 3)
        return asked->Tpast > 0 && has_offset(p);
    return how < 2 || (asked->Tpast > 0 && asked->query_offset != 0 && has_offset(p));
}

static bool plant_rope_missing(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    size_t how = draw_size(draw, 0, 2);
    if (!take_rope(p, asked))
        return false;
    p->unrotated_query = how != 1;
    p->unrotated_key = how != 2;
    return true;
}

/* Left out, or linear by the same factor. Shares of the dimensions and sections are other differences, too. */
static bool plant_rope_scaling(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    json_t *rope = field(p, "rope"), *scaling = json_object_get(rope, "scaling");
    json_t *type = json_object_get(scaling, "rope_type"), *base = json_object_get(scaling, "rope_theta");
    json_t *factor = json_incref(json_object_get(scaling, "factor"));
    bool linear = factor != NULL && draw_chance(draw, 0.5);
    (void)asked;
    if (type == NULL)
        type = json_object_get(scaling, "type");
    if (scaling == NULL || has(p, "qk_norm") || json_object_get(scaling, "partial_rotary_factor") != NULL ||
        json_object_get(rope, "mrope_section") != NULL || json_object_get(scaling, "mrope_section") != NULL ||
        strcmp(json_string_value(type), "proportional") == 0 || (linear && strcmp(json_string_value(type), "linear") == 0)) {
        json_decref(factor);
        return false;
    }
    if (base != NULL)
        json_object_set(rope, "base", base);
    json_object_del(rope, "scaling");
    json_object_del(rope, "length");
    if (linear)
        json_object_set_new(rope, "scaling", json_pack("{s:s,s:O}", "rope_type", "linear", "factor", factor));
    json_decref(factor);
    return true;
}

static bool plant_alibi_missing(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    (void)asked, (void)draw;
    bool had = has(p, "alibi");
    drop(p, "alibi");
    return had;
}

/* The slopes of the paper. */
static double paper_slope(size_t h, size_t H)
{
    size_t power = 1;
    while (power * 2 <= H)
        power *= 2;
    return h < power ? pow(2, -8.0 * (double)(h + 1) / (double)power)
                     : pow(2, -8.0 * (double)(2 * (h - power) + 1) / (double)(2 * power));
}

static bool plant_alibi_sign(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    json_t *alibi = field(p, "alibi"), *slopes = json_array();
    (void)draw;
    struct json_tensor given = {0};
    if (!json_is_boolean(alibi))
        given = json_tensor_read(alibi, false);
    for (size_t h = 0; h < asked->H; h++)
        json_array_append_new(slopes, json_real(-(given.present ? given.values[h] : paper_slope(h, asked->H))));
    json_tensor_done(&given);
    bool had = has(p, "alibi");
    set(p, "alibi", slopes);
    return had;
}

static bool plant_alibi_slopes(struct planted *p, const struct request_answer *asked, struct draw *draw)
{
    json_t *slopes = json_array();
    size_t how = draw_size(draw, 0, 1);
    bool had = has(p, "alibi");
    for (size_t h = 0; h < asked->H; h++)
        json_array_append_new(slopes, json_real(pow(2, -8.0 * (double)(h + 1 - how) / (double)asked->H)));
    set(p, "alibi", slopes);
    return had;
}

/* ---- all ---- */

static const struct {
    const char *name;
    plant *plant;
    const char *needs; /* a field that the request must have; NULL: none */
} plants[] = {
    {"scale", plant_scale, NULL},
    {"causal", plant_causal, NULL},
    {"causal_corner", plant_causal_corner, "causal"},
    {"mask_polarity", plant_mask_polarity, "mask"},
    {"mask_added", plant_mask_added, "mask"},
    {"mask_missing", plant_mask_missing, "mask"},
    {"mask_transposed", plant_mask_transposed, "mask"},
    {"window_bound", plant_window_bound, "window"},
    {"padding", plant_padding, "key_lengths"},
    {"sequences_missing", plant_sequences_missing, NULL},
    {"masked_rows", plant_masked_rows, NULL},
    {"layout", plant_layout, NULL},
    {"head_packing", plant_head_packing, NULL},
    {"head_grouping", plant_head_grouping, NULL},
    {"swapped", plant_swapped, NULL},
    {"projection_transposed", plant_projection_transposed, "projection"},
    {"rope_style", plant_rope_style, "rope"},
    {"rope_base", plant_rope_base, "rope"},
    {"rope_offset", plant_rope_offset, "rope"},
    {"rope_missing", plant_rope_missing, "rope"},
    {"rope_scaling", plant_rope_scaling, "rope"},
    {"softcap_order", plant_softcap_order, "softcap"},
    {"softcap_missing", plant_softcap_missing, "softcap"},
    {"sinks_missing", plant_sinks_missing, "sinks"},
    {"bias_missing", plant_bias_missing, NULL},
    {"query_scale_missing", plant_query_scale_missing, "query_scale"},
    {"alibi_missing", plant_alibi_missing, "alibi"},
    {"alibi_sign", plant_alibi_sign, "alibi"},
    {"alibi_slopes", plant_alibi_slopes, "alibi"},
    {"softmax_axis", plant_softmax_axis, NULL},
    {"softmax_missing", plant_softmax_missing, NULL},
    {"lse_base", plant_lse_base, NULL},
    {"lse_unscaled", plant_lse_unscaled, NULL},
    {"seed_order", plant_seed_order, "seed"},
};

const char *planted_name(size_t i)
{
    return i < sizeof plants / sizeof *plants ? plants[i].name : NULL;
}

void planted_init(struct planted *ret, json_t *request)
{
    *ret = (struct planted){.request = json_deep_copy(request)};
}

void planted_done(struct planted *planted)
{
    json_decref(planted->request);
    json_decref(planted->rope);
    free(planted->left_lengths);
    free(planted->last_keys);
}

bool planted_add(struct planted *planted, const char *name, struct draw *draw)
{
    struct request_answer asked;
    size_t i = 0;
    while (strcmp(plants[i].name, name) != 0)
        i++;
    if (plants[i].needs != NULL && !has(planted, plants[i].needs))
        return false;
    request_answer_init(&asked, planted->request);
    bool added = plants[i].plant(planted, &asked, draw);
    request_answer_done(&asked);
    return added;
}

void planted_answer(struct planted *planted, struct request_answer *ret)
{
    const struct request_deviation deviation = {
        .context = planted,
        .change_inputs = planted_change_inputs,
        .attend = planted_attend,
        .change_output = planted_change_output,
    };
    request_answer_deviating(ret, planted->request, &deviation);
}
