#include "tests/support/random_request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/attention/plan.h"
#include "core/precision.h"
#include "core/size.h"
#include "core/tensor.h"
#include "tests/support/view.h"

/* How large a request is. Most are small, so that ten thousand take seconds; the others reach what only size reaches. */
enum sizes {
    SIZES_SMALL,  /* to 8 tokens, 12 heads */
    SIZES_MIDDLE, /* to 24 tokens, 6 heads */
    SIZES_LARGE,  /* to 70 tokens, 4 heads; half of them too large to be computed in double throughout */
    SIZES_EDGES,  /* around the queries and the keys of a tile */
    SIZES_DECODE, /* few queries, keys up to and past the 2048 that one worker takes; heads of 16 and 32 */
    SIZES_EMPTY,  /* small, and some dimensions are 0 */
};

static enum sizes draw_sizes(struct draw *d)
{
    static const struct {
        size_t percent;
        enum sizes sizes;
    } shares[] = {{55, SIZES_SMALL}, {28, SIZES_MIDDLE}, {10, SIZES_LARGE}, {1, SIZES_EDGES}, {2, SIZES_DECODE}};
    size_t percent = draw_size(d, 0, 99);
    for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
        if (percent < shares[k].percent)
            return shares[k].sizes;
        percent -= shares[k].percent;
    }
    return SIZES_EMPTY;
}

static void draw_structure(struct random_request *c, enum sizes sizes, struct draw *d)
{
    static const size_t heads_max[] = {12, 6, 4, 2, 6, 6};
    c->from_tokens = draw_chance(d, 0.4);
    c->rank4 = !c->from_tokens && draw_chance(d, 0.45);
    c->has_batch = c->rank4 || draw_chance(d, 0.6);
    c->has_heads = c->rank4 || draw_chance(d, 0.6);
    c->has_layout = c->rank4 && draw_chance(d, 0.6);
    c->heads_first = c->rank4 && !(c->has_layout && draw_chance(d, 0.6));
    c->thd = c->rank4 && draw_chance(d, 0.2);
    if (c->thd) {
        c->has_batch = c->heads_first = false;
        c->has_layout = true;
    }
    c->is_f64 = draw_chance(d, 0.25);
    c->B = c->has_batch ? draw_size(d, 1, sizes == SIZES_EDGES || sizes == SIZES_DECODE ? 1 : 3) : 1;
    c->Hkv = c->has_heads ? draw_size(d, 1, heads_max[sizes]) : 1;
    c->H = c->has_heads ? c->Hkv * draw_size(d, 1, heads_max[sizes] / c->Hkv) : 1;
    c->has_num_heads = c->has_heads && (!c->rank4 || draw_chance(d, 0.2));
    c->has_num_kv_heads = c->has_num_heads && (c->H != c->Hkv || draw_chance(d, 0.3));
}

/* Sizes around a tile's edge, or few. */
static size_t draw_edge(struct draw *d, size_t edge)
{
    return draw_chance(d, 0.3) ? draw_size(d, 1, 4) : draw_size(d, edge - 2, edge + 3);
}

static void draw_token_counts(struct random_request *c, enum sizes sizes, struct draw *d)
{
    static const size_t tokens_max[] = {8, 24, 70, 0, 4, 6};
    size_t max = tokens_max[sizes];
    bool edges = sizes == SIZES_EDGES;
    bool past = !c->from_tokens && draw_chance(d, 0.3);
    c->Tq = edges ? draw_edge(d, QUERY_TILE) : draw_size(d, 1, max);
    size_t Tk = edges ? draw_edge(d, draw_chance(d, 0.3) ? QUERY_TILE : KEY_TILE) : draw_size(d, 1, max);
    if (draw_chance(d, 0.3))
        Tk = c->Tq;
    if (sizes == SIZES_DECODE && draw_chance(d, 0.15)) {
        c->Tq = 4;
        Tk = SPLIT_KV_KEYS + draw_size(d, 0, 20);
    } else if (sizes == SIZES_DECODE) {
        Tk = draw_size(d, 1, 600);
    }
    c->Tpast = past ? draw_size(d, 0, Tk) : 0;
    c->Tnew = Tk - c->Tpast;
    c->tensors[RANDOM_PAST_KEY].given = c->tensors[RANDOM_PAST_VALUE].given = past;
}

static void draw_widths(struct random_request *c, enum sizes sizes, struct draw *d)
{
    size_t pairs = c->Tq * (c->Tpast + c->Tnew);
    c->D = draw_size(d, 1, draw_chance(d, 0.1) ? 65 : sizes == SIZES_EDGES ? 8 : 16);
    c->Dv = draw_chance(d, 0.5) ? c->D : draw_size(d, 1, 20);
    if (sizes == SIZES_DECODE) {
        bool many = c->Tpast + c->Tnew >= SPLIT_KV_KEYS;
        c->D = many || draw_chance(d, 0.5) ? 32 : 16;
        c->Dv = many || draw_chance(d, 0.5) ? 32 : 16;
    }
    if (sizes == SIZES_LARGE && pairs >= 2000 && draw_chance(d, 0.6)) /* past the size that core computes in double */
        c->Dv = size_max(c->Dv, F32_IN_F64_PRODUCTS_MAX / pairs + 1);
    c->C = draw_size(d, 1, 24);
    c->context_C = draw_size(d, 1, 24);
    c->value_C = draw_size(d, 1, 24);
    c->output_size = draw_size(d, 1, 16);
}

/* Makes some dimensions 0. */
static void draw_empty(struct random_request *c, struct draw *d)
{
    size_t *const dimensions[] = {&c->Tq,        &c->Tpast,   &c->Tnew, &c->D, &c->Dv,         &c->C,
                                  &c->context_C, &c->value_C, &c->B,    &c->H, &c->output_size};
    for (size_t k = 0; k < sizeof dimensions / sizeof *dimensions; k++) {
        bool may = dimensions[k] == &c->B ? c->has_batch : dimensions[k] != &c->H || c->rank4;
        if (may && draw_chance(d, 0.15))
            *dimensions[k] = 0;
    }
    if (c->H == 0) {
        c->Hkv = 0;
        c->has_num_heads = c->has_num_kv_heads = false; /* a count of heads is at least 1 */
    }
}

static void set_shape(struct random_tensor *t, size_t rank, const size_t *shape)
{
    t->rank = rank;
    memcpy(t->shape, shape, rank * sizeof *shape);
}

/* [B,T,features] or [T,features], or with the heads on an axis of their own. */
static void shape_tokens(const struct random_request *c, size_t heads, size_t tokens, size_t width, struct random_tensor *ret)
{
    if (c->thd)
        set_shape(ret, 3, (const size_t[]){tokens, heads, width});
    else if (c->rank4)
        set_shape(ret, 4, (const size_t[]){c->B, c->heads_first ? heads : tokens, c->heads_first ? tokens : heads, width});
    else if (c->has_batch)
        set_shape(ret, 3, (const size_t[]){c->B, tokens, heads * width});
    else
        set_shape(ret, 2, (const size_t[]){tokens, heads * width});
}

static bool nests(const struct random_tensor *t)
{
    for (size_t axis = 0; axis + 1 < t->rank; axis++)
        if (t->shape[axis] == 0)
            return false;
    return true;
}

static double draw_number(const struct random_request *c, struct draw *d)
{
    double x = draw_normal(d);
    return c->is_f64 ? x : (double)(float)x;
}

/* The tensor stands in the request, in a drawn form; unless the seed is to draw it, its numbers are drawn here. */
static void give(struct random_request *c, enum random_tensor_name name, bool seed_may, struct draw *d)
{
    struct random_tensor *t = &c->tensors[name];
    t->given = true;
    t->form = seed_may && draw_chance(d, 0.35) ? FORM_DRAWN : (enum random_tensor_form)draw_size(d, FORM_NESTED, FORM_SHAPED);
    if (t->form != FORM_FLAT && t->form != FORM_DRAWN && !nests(t))
        t->form = FORM_FLAT;
    if (t->form == FORM_DRAWN) {
        c->has_seed = true;
        return;
    }
    size_t count = shape_count(t->rank, t->shape);
    t->values = test_alloc(count, sizeof *t->values);
    for (size_t k = 0; k < count; k++)
        t->values[k] = draw_number(c, d);
}

/* A projection's weight, out x in, and bias: given, or left to the seed. */
static void draw_projection(struct random_request *c, enum random_tensor_name weight, size_t out, size_t in, struct draw *d)
{
    enum random_tensor_name bias = weight - RANDOM_WEIGHT_KEY + RANDOM_BIAS_KEY;
    set_shape(&c->tensors[weight], 2, (const size_t[]){out, in});
    set_shape(&c->tensors[bias], 1, &out);
    if (draw_chance(d, 0.5)) {
        give(c, weight, true, d);
        struct random_tensor *t = &c->tensors[weight];
        for (size_t k = 0; t->values != NULL && k < out * in; k++) { /* as large as Linear's, so that what comes out is, too */
            double w = t->values[k] / sqrt(3 * (double)in);
            t->values[k] = c->is_f64 ? w : (double)(float)w;
        }
    } else {
        c->has_seed = true;
    }
    if (draw_chance(d, 0.4))
        give(c, bias, false, d);
}

static void draw_tokens(struct random_request *c, struct draw *d)
{
    bool cross = draw_chance(d, 0.5), values_apart = draw_chance(d, 0.3);
    c->identity = draw_chance(d, 0.35);
    if (!cross)
        c->Tnew = c->Tq;
    if (c->identity) {
        if (!cross && c->H != c->Hkv)
            c->Hkv = c->H;
        c->Dv = values_apart ? c->Dv : c->D;
        c->C = c->H * c->D;
        c->context_C = c->Hkv * c->D;
        c->value_C = c->Hkv * c->Dv;
    }
    if (!cross)
        c->context_C = c->C;
    if (!values_apart)
        c->value_C = c->context_C;
    shape_tokens(c, 1, c->Tq, c->C, &c->tensors[RANDOM_X]);
    shape_tokens(c, 1, c->Tnew, c->context_C, &c->tensors[RANDOM_CONTEXT]);
    give(c, RANDOM_X, true, d);
    if (cross)
        give(c, RANDOM_CONTEXT, true, d);
    shape_tokens(c, 1, c->Tnew, c->value_C, &c->tensors[RANDOM_VALUE_CONTEXT]);
    if (values_apart)
        give(c, RANDOM_VALUE_CONTEXT, true, d);
    if (c->identity) {
        c->has_head_size = draw_chance(d, 0.3);
        return;
    }
    draw_projection(c, RANDOM_WEIGHT_KEY, c->Hkv * c->D, c->context_C, d);
    draw_projection(c, RANDOM_WEIGHT_QUERY, c->H * c->D, c->C, d);
    draw_projection(c, RANDOM_WEIGHT_VALUE, c->Hkv * c->Dv, c->value_C, d);
    if (!c->tensors[RANDOM_WEIGHT_VALUE].given) { /* nothing says that values have a size of their own */
        c->Dv = c->D;
        c->tensors[RANDOM_WEIGHT_VALUE].shape[0] = c->Hkv * c->D;
        free(c->tensors[RANDOM_BIAS_VALUE].values);
        c->tensors[RANDOM_BIAS_VALUE] = (struct random_tensor){0};
    }
    set_shape(&c->tensors[RANDOM_WEIGHT_OUTPUT], 2, (const size_t[]){c->output_size, c->H * c->Dv});
    set_shape(&c->tensors[RANDOM_BIAS_OUTPUT], 1, &c->output_size);
    if (draw_chance(d, 0.4)) {
        give(c, RANDOM_WEIGHT_OUTPUT, true, d);
        if (draw_chance(d, 0.4))
            give(c, RANDOM_BIAS_OUTPUT, false, d);
    }
    bool implied = c->tensors[RANDOM_WEIGHT_QUERY].given || c->tensors[RANDOM_WEIGHT_KEY].given;
    c->has_head_size = !implied || draw_chance(d, 0.5);
}

static void draw_tensors(struct random_request *c, struct draw *d)
{
    static const enum random_tensor_name names[] = {RANDOM_QUERY, RANDOM_KEY, RANDOM_VALUE, RANDOM_PAST_KEY, RANDOM_PAST_VALUE};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        bool query = names[k] == RANDOM_QUERY, past = k >= 3;
        bool value = names[k] == RANDOM_VALUE || names[k] == RANDOM_PAST_VALUE;
        struct random_tensor *t = &c->tensors[names[k]];
        if (past && !t->given)
            continue;
        shape_tokens(c, query ? c->H : c->Hkv, query ? c->Tq : past ? c->Tpast : c->Tnew, value ? c->Dv : c->D, t);
        give(c, names[k], !past, d);
    }
}

/* "row_invariant" is refused then. */
static bool frequencies_follow_length(const struct random_request *c)
{
    return c->rope && !strstr(c->rope, "\"length\"") && (strstr(c->rope, "\"dynamic\"") || strstr(c->rope, "\"longrope\""));
}

/* Labels may be more or fewer than the tokens: they are for people. Most requests have none. */
static const char *const token_lists[] = {
    [2] = "[]",
    [5] = "[\"The\", \" cat\", \"]\", \"NaN\", \"\\u00e9\"]",
    [9] = "{\"query\": [\"a\", \",\"], \"key\": [\"[1]\"]}",
    [10] = NULL,
};
#define TOKEN_LISTS (sizeof token_lists / sizeof *token_lists)

struct draw random_request_draw(struct random_request *c, uint64_t seed)
{
    struct draw draw = {seed * 0x2545f4914f6cdd1dU + 1};
    *c = (struct random_request){.decimals = -1};
    enum sizes sizes = draw_sizes(&draw);
    draw_structure(c, sizes, &draw);
    draw_token_counts(c, sizes, &draw);
    draw_widths(c, sizes, &draw);
    if (sizes == SIZES_EMPTY)
        draw_empty(c, &draw);
    c->has_seed = draw_chance(&draw, 0.1);
    c->draw_seed = draw_chance(&draw, 0.3) ? draw_u64(&draw) >> 1 : draw_size(&draw, 0, 2000);
    if (c->from_tokens)
        draw_tokens(c, &draw);
    else
        draw_tensors(c, &draw);
    random_request_draw_fields(c, &draw);
    c->tokens = token_lists[seed % TOKEN_LISTS];
    c->numerics = seed % 7 != 3 ? NULL : frequencies_follow_length(c) ? "default" : "row_invariant";
    return draw;
}

void random_request_init(struct random_request *c, uint64_t seed)
{
    struct draw draw = random_request_draw(c, seed);
    random_request_write(c, &draw);
}

void random_request_done(struct random_request *c)
{
    for (size_t k = 0; k < RANDOM_TENSOR_COUNT; k++)
        free(c->tensors[k].values);
    free(c->rope);
    free(c->qk_norm);
    free(c->text);
}
