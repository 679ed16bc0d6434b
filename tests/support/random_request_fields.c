/* random_request_fields.c: draws what is not a matrix of tokens: positions, masks, biases, and what the reply should hold. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/tensor.h"
#include "tests/support/random_request.h"
#include "tests/support/view.h"

static void set_numbers(struct random_tensor *t, size_t rank, const size_t *shape)
{
    t->given = true;
    t->rank = rank;
    for (size_t axis = 0; axis < rank; axis++)
        t->shape[axis] = shape[axis];
    t->values = test_alloc(shape_count(rank, shape), sizeof *t->values);
}

/* Both are right for any shape. */
static enum random_tensor_form draw_flat_form(const struct random_tensor *t, struct draw *d)
{
    return t->rank == 1 && draw_chance(d, 0.7) ? FORM_NESTED : FORM_FLAT;
}

/* [T] or [B,T] positions: in order with gaps and repetitions, or rolled as a cache that overwrites its oldest keys. */
static void list_positions(struct random_request *c, enum random_tensor_name name, size_t tokens, struct draw *d)
{
    struct random_tensor *t = &c->tensors[name];
    bool shared = !c->has_batch || draw_chance(d, 0.3), rolled = draw_chance(d, 0.3);
    set_numbers(t, shared ? 1 : 2, shared ? &tokens : (const size_t[]){c->B, tokens});
    t->form = draw_flat_form(t, d);
    for (size_t b = 0; tokens > 0 && b < (shared ? 1 : c->B); b++) {
        int64_t position = draw_integer(d, -(int64_t)tokens, 3);
        size_t start = rolled ? draw_size(d, 0, tokens) : 0;
        for (size_t k = 0; k < tokens; k++) {
            t->values[b * tokens + (start + k) % tokens] = (double)position;
            position += draw_chance(d, 0.2) ? draw_integer(d, 0, 4) : 1;
        }
    }
}

/* Positions of each item or of each token, instead of one offset. */
static void draw_lists(struct random_request *c, struct draw *d)
{
    size_t Tk = c->Tpast + c->Tnew;
    if (c->has_batch && draw_chance(d, 0.3)) {
        struct random_tensor *t = &c->tensors[RANDOM_QUERY_OFFSET];
        c->has_query_offset = false;
        set_numbers(t, 1, &c->B);
        t->form = draw_flat_form(t, d);
        for (size_t b = 0; b < c->B; b++)
            t->values[b] = (double)draw_integer(d, -(int64_t)c->Tq - 2, (int64_t)Tk + 3);
    } else if (draw_chance(d, 0.7)) {
        c->has_query_offset = false;
        list_positions(c, RANDOM_QUERY_POSITIONS, c->Tq, d);
    }
    if (draw_chance(d, 0.6))
        list_positions(c, RANDOM_KEY_POSITIONS, Tk, d);
}

/* Boundaries of `count` sequences: from 0 to the number of tokens. */
static void draw_cuts(struct random_request *c, enum random_tensor_name name, size_t tokens, struct draw *d)
{
    struct random_tensor *t = &c->tensors[name];
    size_t length = c->sequence_count + 1;
    set_numbers(t, 1, &length);
    t->form = draw_flat_form(t, d);
    for (size_t s = 1; s < length; s++) {
        double cut = s + 1 == length ? (double)tokens : (double)draw_size(d, 0, tokens);
        size_t at = s;
        for (; at > 1 && t->values[at - 1] > cut; at--)
            t->values[at] = t->values[at - 1];
        t->values[at] = cut;
    }
}

/* Packed sequences: in each as many queries as keys, or causal says its corner, or has an offset to count from. */
static void draw_boundaries(struct random_request *c, bool named, struct draw *d)
{
    size_t Tk = c->Tpast + c->Tnew;
    c->sequence_count = draw_size(d, 1, 5);
    draw_cuts(c, RANDOM_QUERY_BOUNDARIES, c->Tq, d);
    if (c->Tq != Tk || draw_chance(d, 0.5))
        draw_cuts(c, RANDOM_KEY_BOUNDARIES, Tk, d);
    c->has_query_offset = !named && (c->tensors[RANDOM_KEY_BOUNDARIES].given || draw_chance(d, 0.2));
    c->query_offset = draw_integer(d, -2, 4);
    if (c->has_query_offset && draw_chance(d, 0.5)) {
        struct random_tensor *t = &c->tensors[RANDOM_QUERY_OFFSET];
        c->has_query_offset = false;
        set_numbers(t, 1, &c->sequence_count);
        t->form = draw_flat_form(t, d);
        for (size_t s = 0; s < c->sequence_count; s++)
            t->values[s] = (double)draw_integer(d, -2, 4);
    }
}

/* Ids in pieces, some negative, for queries and keys together where there are as many. */
static void draw_ids(struct random_request *c, enum random_tensor_name query, struct draw *d)
{
    size_t tokens[2] = {c->Tq, c->Tpast + c->Tnew};
    bool one = tokens[0] == tokens[1] && draw_chance(d, 0.5);
    for (size_t k = 0; k < (one ? 1 : 2); k++) {
        struct random_tensor *t = &c->tensors[query + k];
        bool shared = !c->has_batch || draw_chance(d, 0.4);
        int64_t id = 0;
        set_numbers(t, shared ? 1 : 2, shared ? &tokens[k] : (const size_t[]){c->B, tokens[k]});
        t->form = draw_flat_form(t, d);
        for (size_t at = 0; at < shape_count(t->rank, t->shape); at++) {
            if (at % tokens[k] == 0 || draw_chance(d, 0.3))
                id = draw_chance(d, 0.1) ? -1 : draw_chance(d, 0.6) && at % tokens[k] > 0 ? id + 1 : draw_integer(d, 0, 2);
            t->values[at] = (double)id;
        }
    }
}

/* Segments, chunks, and what extends causal or a window. */
static void draw_rules(struct random_request *c, struct draw *d)
{
    bool causal = c->causal != NULL && strcmp(c->causal, "false") != 0;
    int64_t Tk = (int64_t)(c->Tpast + c->Tnew);
    if (draw_chance(d, 0.12))
        draw_ids(c, RANDOM_QUERY_SEGMENTS, d);
    if (causal && draw_chance(d, 0.15))
        draw_ids(c, RANDOM_QUERY_SPANS, d);
    if (causal && draw_chance(d, 0.2)) {
        struct random_tensor *t = &c->tensors[RANDOM_PREFIX_LENGTH];
        size_t items = c->sequence_count > 0 ? c->sequence_count : c->B;
        bool one = (!c->has_batch && c->sequence_count == 0) || draw_chance(d, 0.4);
        set_numbers(t, one ? 0 : 1, &items);
        t->form = one ? FORM_NESTED : draw_flat_form(t, d);
        for (size_t k = 0; k < (one ? 1 : items); k++)
            t->values[k] = (double)draw_integer(d, -1, Tk + 1);
    }
    c->chunk_size = draw_chance(d, 0.1) ? draw_size(d, 1, (size_t)Tk + 2) : 0;
    if ((c->window_left >= 0 || c->window_right >= 0) && draw_chance(d, 0.4))
        c->num_sink_tokens = draw_size(d, 1, draw_chance(d, 0.7) ? 3 : (size_t)Tk + 1);
}

static void draw_positions(struct random_request *c, struct draw *d)
{
    static const char *const corners[] = {"true", "\"top_left\"", "\"bottom_right\""};
    int64_t Tq = (int64_t)c->Tq, Tk = (int64_t)(c->Tpast + c->Tnew), corner = 0;
    size_t which = draw_size(d, 0, 2);
    c->query_offset = (int64_t)c->Tpast;
    c->has_query_offset = draw_chance(d, 0.2);
    if (draw_chance(d, 0.5)) {
        c->causal = draw_chance(d, 0.2) ? "false" : NULL;
        which = 0;
    } else {
        c->causal = corners[which];
        bool resolved = c->tensors[RANDOM_PAST_KEY].given || Tq == Tk;
        c->has_query_offset |= which == 0 && !resolved;
        corner = which == 2 ? Tk - Tq : 0;
    }
    if (which != 0)
        c->query_offset = corner;
    else if (c->has_query_offset)
        c->query_offset = draw_chance(d, 0.05) ? 100000 : draw_integer(d, -Tq - 2, Tk + 3);
    if (!c->has_batch && !c->tensors[RANDOM_PAST_KEY].given && draw_chance(d, 0.2))
        draw_boundaries(c, which != 0, d);
    else if (which == 0 && draw_chance(d, 0.25))
        draw_lists(c, d);
    c->has_window = draw_chance(d, 0.25);
    c->window_left = c->window_right = -1;
    if (c->has_window) {
        c->window_left = draw_integer(d, -1, draw_chance(d, 0.6) ? 4 : Tk + 2);
        c->window_right = draw_integer(d, -1, draw_chance(d, 0.6) ? 4 : Tk + 2);
    }
}

/* Tokens at and after a length are padding. */
static void draw_lengths(struct random_request *c, enum random_tensor_name name, size_t tokens, struct draw *d)
{
    struct random_tensor *t = &c->tensors[name];
    set_numbers(t, c->has_batch ? 1 : 0, &c->B);
    t->form = draw_flat_form(t, d);
    for (size_t b = 0; b < c->B; b++)
        t->values[b] = (double)draw_size(d, draw_chance(d, 0.1) ? 0 : tokens / 2, tokens);
}

static double draw_poison(struct draw *d)
{
    static const double poisons[] = {NAN, INFINITY, -INFINITY};
    return poisons[draw_size(d, 0, 2)];
}

/* Padding holds NaN and infinities now and then, which must reach nothing. */
static void poison_padding(struct random_request *c, struct draw *d)
{
    static const enum random_tensor_name names[] = {RANDOM_KEY, RANDOM_VALUE};
    const double *lengths = c->tensors[RANDOM_KEY_LENGTHS].values;
    bool may = lengths != NULL && !c->from_tokens && c->Hkv > 0 && draw_chance(d, 0.3);
    for (size_t k = 0; may && k < 2; k++) {
        struct random_tensor *t = &c->tensors[names[k]];
        size_t width = names[k] == RANDOM_KEY ? c->D : c->Dv;
        for (size_t b = 0; b < c->B && t->form != FORM_DRAWN && width > 0; b++) {
            for (size_t j = 0; j < c->Tnew; j++) {
                size_t h = draw_size(d, 0, c->Hkv - 1), e = draw_size(d, 0, width - 1);
                size_t row = c->heads_first ? (b * c->Hkv + h) * c->Tnew + j : (b * c->Tnew + j) * c->Hkv + h;
                if ((double)(c->Tpast + j) >= lengths[b])
                    t->values[row * width + e] = draw_poison(d);
            }
        }
    }
}

/* A tensor that broadcasts to the weights along drawn axes; leading axes may be missing. Returns how many numbers it has. */
static size_t give_pairs(struct random_request *c, enum random_tensor_name name, struct draw *d)
{
    struct random_tensor *t = &c->tensors[name];
    size_t whole[4] = {c->B, c->H, c->Tq, c->Tpast + c->Tnew}, shape[4], rank = 0;
    size_t missing = draw_chance(d, 0.5) ? 0 : draw_size(d, 0, 3);
    for (size_t axis = missing; axis < 4; axis++) {
        if ((axis > 0 || c->has_batch) && (axis != 1 || c->has_heads))
            shape[rank++] = draw_chance(d, 0.3) ? 1 : whole[axis];
    }
    set_numbers(t, rank, shape);
    t->form = draw_flat_form(t, d);
    return shape_count(rank, shape);
}

static double rounded(const struct random_request *c, double x)
{
    return c->is_f64 ? x : (double)(float)x;
}

static void draw_mask(struct random_request *c, struct draw *d)
{
    struct random_tensor *t = &c->tensors[RANDOM_MASK];
    c->mask_semantics = draw_chance(d, 0.1) ? "keep" : NULL;
    if (!draw_chance(d, 0.4))
        return;
    size_t count = give_pairs(c, RANDOM_MASK, d);
    t->boolean = draw_chance(d, 0.5);
    if (t->boolean && draw_chance(d, 0.4))
        c->mask_semantics = "drop";
    static const double ban_chances[] = {0.02, 0.3, 0.7, 0.98};
    double ban_chance = ban_chances[draw_size(d, 0, 3)];
    bool flags = draw_chance(d, 0.1);
    for (size_t k = 0; k < count; k++) {
        bool masked = draw_chance(d, ban_chance);
        double x = rounded(c, draw_normal(d));
        t->values[k] = t->boolean || flags ? !masked : masked ? -INFINITY : x;
    }
}

/* T5's, of any number of buckets and any distance that are allowed. */
static void draw_relative_bias(struct random_request *c, struct draw *d)
{
    struct random_tensor *t = &c->tensors[RANDOM_RELATIVE_TABLE];
    c->has_bidirectional = draw_chance(d, 0.7);
    c->bidirectional = !c->has_bidirectional || draw_chance(d, 0.5);
    size_t buckets = c->bidirectional ? 2 * draw_size(d, 2, 17) : draw_size(d, 2, 33);
    size_t exact = (c->bidirectional ? buckets / 2 : buckets) / 2;
    c->max_distance = draw_chance(d, 0.3) ? 0 : exact + draw_size(d, 1, draw_chance(d, 0.5) ? 8 : 300);
    set_numbers(t, 2, (const size_t[]){buckets, c->H});
    t->form = c->H > 0 && draw_chance(d, 0.5) ? FORM_NESTED : FORM_FLAT;
    for (size_t k = 0; k < buckets * c->H; k++)
        t->values[k] = rounded(c, draw_normal(d));
}

/* What is added before the softcap, and the queries' own scales. */
static void draw_terms(struct random_request *c, struct draw *d)
{
    if (draw_chance(d, 0.15)) {
        size_t count = give_pairs(c, RANDOM_BIAS, d);
        for (size_t k = 0; k < count; k++)
            c->tensors[RANDOM_BIAS].values[k] = rounded(c, draw_normal(d));
    }
    if (draw_chance(d, 0.15))
        draw_relative_bias(c, d);
    if (draw_chance(d, 0.15)) {
        struct random_tensor *t = &c->tensors[RANDOM_QUERY_SCALE];
        bool shared = !c->has_batch || draw_chance(d, 0.5);
        set_numbers(t, shared ? 1 : 2, shared ? &c->Tq : (const size_t[]){c->B, c->Tq});
        t->form = draw_flat_form(t, d);
        for (size_t k = 0; k < shape_count(t->rank, t->shape); k++)
            t->values[k] = draw_chance(d, 0.1) ? 0 : rounded(c, 1 + 0.5 * draw_normal(d));
    }
}

static void draw_per_head(struct random_request *c, enum random_tensor_name name, struct draw *d)
{
    struct random_tensor *t = &c->tensors[name];
    set_numbers(t, 1, &c->H);
    t->form = draw_flat_form(t, d);
    for (size_t h = 0; h < c->H; h++) {
        double x = name == RANDOM_ALIBI ? exp2(-8 * draw_unit(d)) : 2 * draw_normal(d);
        t->values[h] = c->is_f64 ? x : (double)(float)x;
    }
}

static void draw_biases(struct random_request *c, struct draw *d)
{
    static const double scales[] = {0, 1, -0.5, 0.125, 1.75, 0.3125};
    c->has_scale = c->D == 0 || draw_chance(d, 0.3);
    c->scale = c->has_scale ? scales[draw_size(d, 0, 5)] : 1 / sqrt((double)c->D);
    if (draw_chance(d, 0.25)) {
        double cap = 0.5 + 30 * draw_unit(d) * draw_unit(d);
        c->softcap = c->is_f64 ? cap : (double)(float)cap;
    }
    if (draw_chance(d, 0.12))
        draw_per_head(c, RANDOM_ALIBI, d);
    else
        c->alibi = draw_chance(d, 0.15) ? "true" : draw_chance(d, 0.05) ? "false" : NULL;
    if (draw_chance(d, 0.2))
        draw_per_head(c, RANDOM_SINKS, d);
}

/* [start, end) of what there is; now and then left out. */
static void draw_selected(size_t count, size_t ret[2], struct draw *d)
{
    if (count == 0 || draw_chance(d, 0.3))
        return;
    ret[0] = draw_size(d, 0, count - 1);
    ret[1] = draw_size(d, ret[0] + 1, count);
}

static void draw_select(struct random_request *c, struct draw *d)
{
    if (!draw_chance(d, 0.2))
        return;
    draw_selected(c->Tq, c->selected_queries, d);
    draw_selected(c->Tpast + c->Tnew, c->selected_keys, d);
    size_t first = draw_size(d, 0, 3), step = 1 + 2 * draw_size(d, 0, 1);
    for (size_t k = 0; c->has_heads && k < 4 && k < c->H && draw_chance(d, 0.7); k++) {
        size_t head = (first + k * step) % c->H;
        bool taken = false;
        for (size_t other = 0; other < c->selected_head_count; other++)
            taken |= c->selected_heads[other] == head;
        if (!taken)
            c->selected_heads[c->selected_head_count++] = head;
    }
}

static void draw_reply(struct random_request *c, struct draw *d)
{
    static const char *const formats[] = {"nested", "flat"};
    c->format = draw_chance(d, 0.4) ? formats[draw_size(d, 0, 1)] : NULL;
    c->decimals = draw_chance(d, 0.1) ? (int)draw_size(d, 0, 9) : -1;
    c->has_return = draw_chance(d, 0.85);
    c->lse_base = draw_chance(d, 0.15) ? draw_chance(d, 0.8) ? "2" : "e" : NULL;
    c->wanted[ANSWER_OUTPUT] = c->wanted[ANSWER_WEIGHTS] = true;
    double chance = draw_chance(d, 0.3) ? 0.9 : 0.25;
    for (size_t k = 0; c->has_return && k < ANSWER_COUNT; k++) {
        bool has = (k != ANSWER_X || c->from_tokens) && (k != ANSWER_CONTEXT || c->tensors[RANDOM_CONTEXT].given) &&
                   (k != ANSWER_VALUE_CONTEXT || c->tensors[RANDOM_VALUE_CONTEXT].given);
        c->wanted[k] = has && draw_chance(d, chance);
    }
    if (c->wanted[ANSWER_TOP_KEYS] || draw_chance(d, 0.05))
        c->top = draw_size(d, 1, draw_chance(d, 0.8) ? 5 : 40);
    if (c->wanted[ANSWER_POOLED_WEIGHTS] || draw_chance(d, 0.05)) {
        c->pool[0] = draw_size(d, 1, c->Tq > 0 ? c->Tq : 1);
        c->pool[1] = draw_size(d, 1, c->Tpast + c->Tnew > 0 ? c->Tpast + c->Tnew : 1);
    }
    draw_select(c, d);
    if (draw_chance(d, 0.3))
        c->pool_by = draw_chance(d, 0.7) ? "max" : "mean";
}

void random_request_draw_fields(struct random_request *c, struct draw *draw)
{
    draw_positions(c, draw);
    draw_rules(c, draw);
    if (c->sequence_count == 0 && draw_chance(draw, 0.25))
        draw_lengths(c, RANDOM_KEY_LENGTHS, c->Tpast + c->Tnew, draw);
    if (c->sequence_count == 0 && draw_chance(draw, 0.12))
        draw_lengths(c, RANDOM_QUERY_LENGTHS, c->Tq, draw);
    poison_padding(c, draw);
    draw_mask(c, draw);
    draw_biases(c, draw);
    random_request_draw_rope(c, draw);
    draw_reply(c, draw);
    draw_terms(c, draw);
}
