/* random_request_rope.c: draws "rope" in all its forms, and "qk_norm", as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/random_request.h"

#define TABLE_ROWS_MAX 200
#define AXIS_POSITION_MAX 40

struct rope_writer {
    const struct random_request *request;
    struct draw *draw;
    FILE *file;
    size_t dims;
};

static void put_numbers(const struct rope_writer *w, const char *name, size_t count, double low, double high)
{
    (void)fprintf(w->file, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(w->file, "%s%.17g", i > 0 ? "," : "", low + (high - low) * draw_unit(w->draw));
    (void)fputs("]", w->file);
}

static double draw_of(struct draw *d, const double *choices, size_t count)
{
    return choices[draw_size(d, 0, count - 1)];
}

/* ---- scaling ---- */

static void put_yarn(const struct rope_writer *w)
{
    static const double slow[] = {0.5, 1, 2}, fast[] = {4, 16, 32};
    struct draw *d = w->draw;
    if (draw_chance(d, 0.5))
        (void)fprintf(w->file, ",\"beta_fast\":%.17g,\"beta_slow\":%.17g", draw_of(d, fast, 3), draw_of(d, slow, 3));
    if (draw_chance(d, 0.4))
        (void)fputs(draw_chance(d, 0.7) ? ",\"truncate\":false" : ",\"truncate\":true", w->file);
    if (draw_chance(d, 0.3))
        (void)fprintf(w->file, ",\"mscale\":%.3g,\"mscale_all_dim\":%.3g", 0.5 + draw_unit(d), 0.5 + draw_unit(d));
}

static void put_longrope(const struct rope_writer *w, bool has_max)
{
    put_numbers(w, "short_factor", w->dims / 2, 0.9, 2);
    put_numbers(w, "long_factor", w->dims / 2, 1, 30);
    if (!has_max)
        (void)fprintf(w->file, ",\"factor\":%.17g", 0.5 + 8 * draw_unit(w->draw));
}

/* The parameters of a type; `share`: what partial_rotary_factor is to be, 0 for none. */
static void put_scaling(const struct rope_writer *w, const char *type, double base, double share)
{
    static const double originals[] = {4, 16, 100, 4096};
    struct draw *d = w->draw;
    bool linear = type[0] == 'l' && type[1] == 'i', longrope = type[0] == 'l' && type[1] == 'o', llama3 = type[1] == 'l';
    bool scales = type[0] != 'm' && type[1] != 'e', proportional = type[0] == 'p',
         has_original = scales && !linear && !proportional;
    bool has_max = has_original && draw_chance(d, 0.5), only_max = has_max && !longrope && draw_chance(d, 0.4);
    double original = draw_of(d, originals, 4);
    (void)fprintf(w->file, ",\"scaling\":{\"%s\":\"%s\"", draw_chance(d, 0.7) ? "rope_type" : "type", type);
    if (base > 0)
        (void)fprintf(w->file, ",\"rope_theta\":%.17g", base);
    if (share > 0)
        (void)fprintf(w->file, ",\"partial_rotary_factor\":%.17g", share);
    if (has_original && !only_max)
        (void)fprintf(w->file, ",\"original_max_position_embeddings\":%.0f", original);
    if (has_max)
        (void)fprintf(w->file, ",\"max_position_embeddings\":%.0f", original * (double)draw_size(d, 1, 8));
    if (scales && !longrope && (!proportional || draw_chance(d, 0.5)))
        (void)fprintf(w->file, ",\"factor\":%.17g", 0.75 + 8 * draw_unit(d));
    if (type[0] == 'y')
        put_yarn(w);
    if (longrope)
        put_longrope(w, has_max);
    if ((longrope || type[0] == 'y') && draw_chance(d, 0.2))
        (void)fprintf(w->file, ",\"attention_factor\":%.17g", 0.5 + draw_unit(d));
    if (llama3)
        (void)fprintf(w->file, ",\"low_freq_factor\":%.17g,\"high_freq_factor\":%.17g", 0.25 + draw_unit(d),
                      2 + 4 * draw_unit(d));
}

/* ---- several axes ---- */

static void put_axis_positions(const struct rope_writer *w, const char *name, size_t tokens, bool per_item)
{
    const struct random_request *c = w->request;
    (void)fprintf(w->file, ",\"%s\":{\"shape\":[3,", name);
    if (per_item)
        (void)fprintf(w->file, "%zu,", c->B);
    (void)fprintf(w->file, "%zu],\"data\":[", tokens);
    for (size_t i = 0; i < 3 * tokens * (per_item ? c->B : 1); i++)
        (void)fprintf(w->file, "%s%zu", i > 0 ? "," : "", draw_size(w->draw, 0, AXIS_POSITION_MAX));
    (void)fputs("]}", w->file);
}

static void put_section(const struct rope_writer *w)
{
    size_t pairs = w->dims / 2;
    bool interleaved = draw_chance(w->draw, 0.4);
    size_t height = draw_size(w->draw, 0, interleaved ? (pairs + 1) / 3 : pairs / 2);
    size_t width = draw_size(w->draw, 0, interleaved ? pairs / 3 : pairs - height);
    (void)fprintf(w->file, ",\"mrope_section\":[%zu,%zu,%zu]", pairs - height - width, height, width);
    if (interleaved || draw_chance(w->draw, 0.3))
        (void)fprintf(w->file, ",\"mrope_interleaved\":%s", interleaved ? "true" : "false");
}

static void put_positions(const struct rope_writer *w)
{
    bool per_item = draw_chance(w->draw, 0.5);
    put_axis_positions(w, "query_positions", w->request->Tq, per_item);
    put_axis_positions(w, "key_positions", w->request->Tnew, per_item);
}

/* ---- tables ---- */

static void put_table(const struct rope_writer *w, const char *name, bool by_token, size_t items, size_t rows)
{
    size_t pairs = w->dims / 2;
    (void)fprintf(w->file, ",\"%s\":{\"shape\":[", name);
    if (by_token)
        (void)fprintf(w->file, "%zu,", items);
    (void)fprintf(w->file, "%zu,%zu],\"data\":[", rows, pairs);
    for (size_t i = 0; i < (by_token ? items : 1) * rows * pairs; i++)
        (void)fprintf(w->file, "%s%.9g", i > 0 ? "," : "", 2 * draw_unit(w->draw) - 1);
    (void)fputs("]}", w->file);
}

/* Widens the range [*low, *high] by the positions of tokens [first, end). */
static void widen(const struct random_tensor *list, size_t first, size_t end, size_t tokens, double *low, double *high)
{
    size_t items = list->rank == 2 ? list->shape[0] : 1;
    for (size_t b = 0; b < items; b++) {
        for (size_t t = first; t < end; t++) {
            *low = fmin(*low, list->values[b * tokens + t]);
            *high = fmax(*high, list->values[b * tokens + t]);
        }
    }
}

/* The rows that positions need; 0 where they begin below 0 or go too far. */
static size_t rows_needed(const struct random_request *c)
{
    const struct random_tensor *offsets = &c->tensors[RANDOM_QUERY_OFFSET], *queries = &c->tensors[RANDOM_QUERY_POSITIONS];
    const struct random_tensor *keys = &c->tensors[RANDOM_KEY_POSITIONS];
    size_t Tk = c->Tpast + c->Tnew;
    double low = 0, high = 0, last = (double)c->Tq;
    if (c->tensors[RANDOM_KEY_BOUNDARIES].given && !offsets->given && !c->has_query_offset)
        return 0; /* a corner within each sequence: queries may stand before its first key */
    if (queries->given)
        widen(queries, 0, c->Tq, c->Tq, &low, &high);
    for (size_t b = 0; offsets->given && b < (offsets->rank == 0 ? 1 : offsets->shape[0]); b++) {
        low = fmin(low, offsets->values[b]);
        high = fmax(high, offsets->values[b] + last);
    }
    if (!queries->given && !offsets->given) {
        low = fmin(low, (double)c->query_offset);
        high = fmax(high, (double)c->query_offset + last);
    }
    if (keys->given)
        widen(keys, c->Tpast, Tk, Tk, &low, &high);
    else
        high = fmax(high, (double)Tk);
    return low < 0 || high > TABLE_ROWS_MAX ? 0 : (size_t)high + AXIS_POSITION_MAX + 1;
}

/* ---- the field ---- */

enum source { SOURCE_BASE, SOURCE_SCALING, SOURCE_FREQUENCIES, SOURCE_TABLE, SOURCE_TOKEN_TABLE };

static enum source draw_source(const struct random_request *c, struct draw *d)
{
    static const enum source sources[] = {SOURCE_BASE,    SOURCE_BASE,        SOURCE_SCALING, SOURCE_SCALING,
                                          SOURCE_SCALING, SOURCE_FREQUENCIES, SOURCE_TABLE,   SOURCE_TOKEN_TABLE};
    enum source source = sources[draw_size(d, 0, 7)];
    if (source == SOURCE_TABLE && rows_needed(c) == 0)
        return SOURCE_FREQUENCIES;
    return source == SOURCE_TOKEN_TABLE && c->Tq != c->Tnew ? SOURCE_BASE : source;
}

static void put_rope(struct rope_writer *w)
{
    static const char *const types[] = {"default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional", "mrope"};
    static const double bases[] = {100, 500000, 2.5};
    const struct random_request *c = w->request;
    struct draw *d = w->draw;
    enum source source = draw_source(c, d);
    const char *type = source == SOURCE_SCALING ? types[draw_size(d, 0, 7)] : types[0];
    bool proportional = type[0] == 'p' && c->D % 2 == 0, theta = draw_chance(d, 0.4);
    if (type[0] == 'p' && !proportional)
        type = "linear";
    double base = source <= SOURCE_SCALING && draw_chance(d, 0.5) ? draw_of(d, bases, 3) : 0;
    bool has_dims = !proportional && (c->D % 2 != 0 || draw_chance(d, 0.5));
    bool as_share = source == SOURCE_SCALING && has_dims && c->D > 0 && draw_chance(d, 0.5);
    w->dims = has_dims ? 2 * draw_size(d, as_share && c->D > 1 ? 1 : 0, c->D / 2) : c->D;
    as_share &= w->dims > 0;
    (void)fprintf(w->file, "{\"style\":\"%s\"", draw_chance(d, 0.5) ? "half" : "interleaved");
    if (has_dims && !as_share)
        (void)fprintf(w->file, ",\"dims\":%zu", w->dims);
    bool as_theta = base > 0 && theta && source == SOURCE_SCALING;
    if (base > 0 && !as_theta)
        (void)fprintf(w->file, ",\"base\":%.17g", base);
    bool section = type[0] == 'm' || (source != SOURCE_TOKEN_TABLE && draw_chance(d, 0.2)), inside = false;
    if (source == SOURCE_SCALING) {
        double share = as_share ? ((double)w->dims + 0.5) / (double)c->D : proportional ? 0.1 + 0.9 * draw_unit(d) : 0;
        put_scaling(w, type, as_theta ? base : 0, share);
        inside = section && (type[0] == 'm' || draw_chance(d, 0.5));
        if (inside)
            put_section(w);
        (void)fputs("}", w->file);
        if ((type[0] == 'd' && type[1] == 'y') || (type[0] == 'l' && type[1] == 'o'))
            if (draw_chance(d, 0.4))
                (void)fprintf(w->file, ",\"length\":%zu", draw_size(d, 1, 300));
    }
    if (section && !inside)
        put_section(w);
    if (section && draw_chance(d, 0.7))
        put_positions(w);
    if (source == SOURCE_FREQUENCIES) {
        put_numbers(w, "inverse_frequencies", w->dims / 2, -0.2, 1);
        if (draw_chance(d, 0.4))
            (void)fprintf(w->file, ",\"attention_factor\":%.17g", 0.5 + draw_unit(d));
    }
    if (source >= SOURCE_TABLE) {
        bool by_token = source == SOURCE_TOKEN_TABLE;
        size_t items = draw_chance(d, 0.5) ? c->B : 1, rows = by_token ? c->Tq : rows_needed(c);
        put_table(w, "cos", by_token, items, rows);
        put_table(w, "sin", by_token, items, rows);
    }
    (void)fputs("}", w->file);
}

/* Weights of a head or of all heads, or true. */
static void put_norm_side(const struct rope_writer *w, const char *name, size_t heads)
{
    size_t D = w->request->D, count = draw_chance(w->draw, 0.5) ? D : heads * D;
    if (draw_chance(w->draw, 0.3)) {
        (void)fprintf(w->file, "\"%s\":true", name);
        return;
    }
    (void)fprintf(w->file, "\"%s\":[", name);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(w->file, "%s%.9g", i > 0 ? "," : "", 0.5 + draw_unit(w->draw));
    (void)fputs("]", w->file);
}

/* A projection's rounding is not to be magnified by a short vector: there eps is large. */
static void put_norm(struct rope_writer *w)
{
    struct draw *d = w->draw;
    const struct random_request *c = w->request;
    bool query = draw_chance(d, 0.8), key = !query || draw_chance(d, 0.8), projected = c->from_tokens && !c->identity;
    (void)fputs("{", w->file);
    if (query)
        put_norm_side(w, "query", c->H);
    (void)fputs(query && key ? "," : "", w->file);
    if (key)
        put_norm_side(w, "key", c->Hkv);
    if (draw_chance(d, 0.6))
        (void)fputs(draw_chance(d, 0.6) ? ",\"type\":\"l2\"" : ",\"type\":\"rms\"", w->file);
    if (projected || draw_chance(d, 0.5))
        (void)fprintf(w->file, ",\"eps\":%.17g", projected ? 0.5 : 1e-5 + draw_unit(d) * draw_unit(d));
    if (draw_chance(d, 0.6))
        (void)fputs(draw_chance(d, 0.7) ? ",\"order\":\"after_rope\"" : ",\"order\":\"before_rope\"", w->file);
    (void)fputs("}", w->file);
}

/* What `put` writes, as a text of its own. */
static char *written(struct random_request *c, struct draw *draw, void (*put)(struct rope_writer *w))
{
    char *text = NULL;
    size_t bytes;
    struct rope_writer w = {.request = c, .draw = draw, .file = open_memstream(&text, &bytes)};
    assert_non_null(w.file);
    put(&w);
    (void)fclose(w.file);
    return text;
}

void random_request_draw_rope(struct random_request *c, struct draw *draw)
{
    if (draw_chance(draw, 0.35))
        c->rope = written(c, draw, put_rope);
    if (draw_chance(draw, 0.2))
        c->qk_norm = written(c, draw, put_norm);
}
