#include "api/protocol/rope_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/document.h"

#define LENGTH_MAX 0x1p53

/* A number of `scaling`. */
struct parameter {
    const char *name;
    size_t offset;  /* in struct rope_request */
    unsigned types; /* that take it, a bit each */
    unsigned needs; /* that have no default for it */
};

#define TYPE(type) (1u << (type))
#define ALL_TYPES (TYPE(ROPE_TYPES) - 1)
#define OFFSET(member) offsetof(struct rope_request, member)
#define FACTORED (TYPE(ROPE_LINEAR) | TYPE(ROPE_DYNAMIC) | TYPE(ROPE_YARN) | TYPE(ROPE_LLAMA3))

static const struct parameter parameters[] = {
    {"rope_theta", OFFSET(theta), ALL_TYPES, 0},
    {"partial_rotary_factor", OFFSET(share), ALL_TYPES, TYPE(ROPE_PROPORTIONAL)},
    {"max_position_embeddings", OFFSET(max_length), ALL_TYPES, 0},
    {"original_max_position_embeddings", OFFSET(scaling.original_length),
     TYPE(ROPE_DYNAMIC) | TYPE(ROPE_YARN) | TYPE(ROPE_LONGROPE) | TYPE(ROPE_LLAMA3), 0},
    {"factor", OFFSET(scaling.factor), FACTORED | TYPE(ROPE_LONGROPE) | TYPE(ROPE_PROPORTIONAL), FACTORED},
    {"attention_factor", OFFSET(scaling.attention_factor), TYPE(ROPE_YARN) | TYPE(ROPE_LONGROPE), 0},
    {"beta_fast", OFFSET(scaling.beta_fast), TYPE(ROPE_YARN), 0},
    {"beta_slow", OFFSET(scaling.beta_slow), TYPE(ROPE_YARN), 0},
    {"mscale", OFFSET(scaling.mscale), TYPE(ROPE_YARN), 0},
    {"mscale_all_dim", OFFSET(scaling.mscale_all_dim), TYPE(ROPE_YARN), 0},
    {"low_freq_factor", OFFSET(scaling.low_factor), TYPE(ROPE_LLAMA3), TYPE(ROPE_LLAMA3)},
    {"high_freq_factor", OFFSET(scaling.high_factor), TYPE(ROPE_LLAMA3), TYPE(ROPE_LLAMA3)},
};
#define PARAMETERS (sizeof parameters / sizeof parameters[0])

/* What else `scaling` may hold. */
static const struct {
    const char *name;
    unsigned types;
} members[] = {
    {"rope_type", ALL_TYPES},
    {"type", ALL_TYPES},
    {"truncate", TYPE(ROPE_YARN)},
    {"short_factor", TYPE(ROPE_LONGROPE)},
    {"long_factor", TYPE(ROPE_LONGROPE)},
    {"mrope_section", ALL_TYPES},
    {"mrope_interleaved", ALL_TYPES},
};
#define MEMBERS (sizeof members / sizeof members[0])

struct reader {
    const struct extract *extract;
    struct rope_request *request;
    struct error *err;
};

static const char *type_name(const struct rope_request *request)
{
    return rope_type_names[request->is_mrope ? ROPE_TYPES : request->scaling.type];
}

static bool read_number(const struct reader *r, const json_t *value, const char *pointer, double *ret)
{
    if (!document_number(r->extract, value, pointer, ret, r->err))
        return false;
    return (isfinite(*ret) && *ret > 0) || document_refuse(r->extract, value, pointer, "a number above 0", r->err);
}

static bool read_integer(const struct reader *r, const json_t *value, const char *pointer, double *ret)
{
    int64_t integer = 0;
    if (!document_integer(r->extract, value, pointer, 1, (int64_t)LENGTH_MAX, &integer, r->err))
        return false;
    *ret = (double)integer;
    return true;
}

static bool read_tensor(const struct reader *r, const json_t *value, enum rope_tensor which)
{
    struct tensor_input *ret = &r->request->tensors[which];
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
    (void)snprintf(pointer, sizeof pointer, "/rope/%s", rope_tensor_names[which]);
    char *dot = strchr(pointer, '.');
    if (dot != NULL)
        *dot = '/';
    if (value == NULL)
        return true;
    if (!json_is_object(value) && !json_is_array(value))
        return document_refuse(r->extract, value, pointer, "an array of numbers", r->err);
    bool positions = which == ROPE_QUERY_POSITIONS || which == ROPE_KEY_POSITIONS;
    if (!tensor_input_read(r->extract, value, pointer, positions ? TENSOR_INPUT_INTEGERS : TENSOR_INPUT_NUMBERS, ret, r->err))
        return false;
    if (ret->kind == TENSOR_INPUT_DRAWN || tensor_input_is_bool(ret))
        return document_refuse(r->extract, value, pointer, "an array of numbers", r->err);
    return true;
}

/* mrope_section and mrope_interleaved, which stand in "rope" or in its "scaling". */
static bool read_axes(const struct reader *r, const json_t *object, const char *section_pointer,
                      const char *interleaved_pointer)
{
    struct rope_request *request = r->request;
    const json_t *section = document_member(object, "mrope_section");
    const json_t *interleaved = document_member(object, "mrope_interleaved");
    size_t count = 0;
    if ((section != NULL && request->has_section) || (interleaved != NULL && request->has_interleaved))
        return error_set_at(r->err, ERROR_INVALID, section != NULL ? section_pointer : interleaved_pointer,
                            "given twice, in rope and in rope.scaling: send one of the two");
    if (section != NULL) {
        if (!tensor_input_integers(r->extract, section, section_pointer, ROPE_AXES, 0, INT32_MAX, request->section, &count,
                                   r->err))
            return false;
        if (count != ROPE_AXES)
            return error_set_at(r->err, ERROR_INVALID, section_pointer,
                                "an array of %zu, where 3 are expected: the pairs that go by time, by height and by width",
                                count);
        request->has_section = true;
        request->section_pointer = section_pointer;
    }
    request->has_interleaved |= interleaved != NULL;
    return interleaved == NULL ||
           document_bool(r->extract, interleaved, interleaved_pointer, &request->interleaved_axes, r->err);
}

/* ---- scaling ---- */

static bool check_names(const struct reader *r, const json_t *value)
{
    const char *names[PARAMETERS + MEMBERS + 1];
    static const char *const layer_types[] = {"full_attention", "sliding_attention"};
    for (size_t i = 0; i < 2; i++)
        if (json_object_get(value, layer_types[i]) != NULL)
            return error_set_at(r->err, ERROR_INVALID, "/rope/scaling",
                                "parameters by type of layer: send those of one, the object under \"%s\"", layer_types[i]);
    for (size_t i = 0; i < PARAMETERS; i++)
        names[i] = parameters[i].name;
    for (size_t i = 0; i < MEMBERS; i++)
        names[PARAMETERS + i] = members[i].name;
    names[PARAMETERS + MEMBERS] = NULL;
    return document_known(value, "/rope/scaling", names, r->err);
}

static bool read_type(const struct reader *r, const json_t *value)
{
    const json_t *named = document_member(value, "rope_type"), *older = document_member(value, "type");
    size_t choice = ROPE_DEFAULT, other = 0;
    if (named == NULL && older == NULL)
        return error_set_at(r->err, ERROR_INVALID, "/rope/scaling/rope_type",
                            "rope_type is missing: \"default\", \"linear\", \"dynamic\", \"yarn\", \"longrope\", \"llama3\", "
                            "\"proportional\" or \"mrope\"");
    if (named != NULL && !document_choice(r->extract, named, "/rope/scaling/rope_type", rope_type_names, &choice, r->err))
        return false;
    if (older != NULL && !document_choice(r->extract, older, "/rope/scaling/type", rope_type_names, &other, r->err))
        return false;
    if (named == NULL)
        choice = other;
    bool same = choice == other || (choice == ROPE_DEFAULT && other == ROPE_TYPES);
    if (named != NULL && older != NULL && !same)
        return error_set_at(r->err, ERROR_INVALID, "/rope/scaling/type",
                            "\"%s\" contradicts rope_type \"%s\": send one of the two", rope_type_names[other],
                            rope_type_names[choice]);
    r->request->is_mrope = choice == ROPE_TYPES || other == ROPE_TYPES;
    r->request->scaling.type = choice == ROPE_TYPES ? ROPE_DEFAULT : (enum rope_type)choice;
    return true;
}

/* A member that the type does not use would change nothing, which is not what its sender expects. */
static bool check_taken(const struct reader *r, const json_t *value, const char *name, unsigned types)
{
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
    (void)snprintf(pointer, sizeof pointer, "/rope/scaling/%s", name);
    return document_member(value, name) == NULL || (types & TYPE(r->request->scaling.type)) != 0 ||
           error_set_at(r->err, ERROR_INVALID, pointer, "%s has no meaning with rope_type \"%s\": leave it out", name,
                        type_name(r->request));
}

static bool read_parameter(const struct reader *r, const json_t *object, const struct parameter *parameter)
{
    const json_t *value = document_member(object, parameter->name);
    double *ret = (double *)(void *)((char *)r->request + parameter->offset);
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
    (void)snprintf(pointer, sizeof pointer, "/rope/scaling/%s", parameter->name);
    if (!check_taken(r, object, parameter->name, parameter->types))
        return false;
    if (value == NULL)
        return (parameter->needs & TYPE(r->request->scaling.type)) == 0 ||
               error_set_at(r->err, ERROR_INVALID, pointer, "%s is missing: rope_type \"%s\" needs it", parameter->name,
                            type_name(r->request));
    bool is_length = ret == &r->request->max_length || ret == &r->request->scaling.original_length;
    return is_length ? read_integer(r, value, pointer, ret) : read_number(r, value, pointer, ret);
}

static bool read_scaling(const struct reader *r, const json_t *value)
{
    struct rope_scaling *scaling = &r->request->scaling;
    *scaling = (struct rope_scaling){.type = ROPE_DEFAULT, .beta_fast = 32, .beta_slow = 1, .truncate = true};
    if (value == NULL)
        return true;
    r->request->has_scaling = true;
    if (!json_is_object(value))
        return document_refuse(r->extract, value, "/rope/scaling",
                               "an object, the rope_scaling or rope_parameters of a model's configuration,", r->err);
    if (!check_names(r, value) || !read_type(r, value))
        return false;
    for (size_t i = 0; i < PARAMETERS; i++)
        if (!read_parameter(r, value, &parameters[i]))
            return false;
    for (size_t i = 0; i < MEMBERS; i++)
        if (!check_taken(r, value, members[i].name, members[i].types))
            return false;
    r->request->has_share = r->request->share > 0;
    const json_t *truncate = document_member(value, "truncate");
    if (truncate != NULL && !document_bool(r->extract, truncate, "/rope/scaling/truncate", &scaling->truncate, r->err))
        return false;
    return read_tensor(r, document_member(value, "short_factor"), ROPE_SHORT_FACTOR) &&
           read_tensor(r, document_member(value, "long_factor"), ROPE_LONG_FACTOR) &&
           read_axes(r, value, "/rope/scaling/mrope_section", "/rope/scaling/mrope_interleaved");
}

/* ---- rope ---- */

static bool read_style(const struct reader *r, const json_t *style)
{
    size_t choice = 0;
    if (style == NULL)
        return error_set_at(r->err, ERROR_INVALID, "/rope/style",
                            "style is missing: models disagree, so it has no default; \"interleaved\" pairs dimensions 2i and "
                            "2i+1, \"half\" pairs i and i + dims/2");
    if (!document_choice(r->extract, style, "/rope/style", rope_style_names, &choice, r->err))
        return false;
    r->request->style = (enum rope_style)choice;
    return true;
}

static bool read_base(const struct reader *r, const json_t *base)
{
    r->request->has_base = base != NULL;
    r->request->base = 10000;
    if (base != NULL && !document_number(r->extract, base, "/rope/base", &r->request->base, r->err))
        return false;
    return r->request->base >= ROPE_BASE_MIN ||
           document_refuse(r->extract, base, "/rope/base", "a number above 0 (at least 1e-200)", r->err);
}

bool rope_read(const struct extract *extract, const json_t *value, struct rope_request *ret, struct error *err)
{
    static const char *const names[] = {
        "style", "base", "dims",          "scaling",           "length",          "inverse_frequencies", "attention_factor",
        "cos",   "sin",  "mrope_section", "mrope_interleaved", "query_positions", "key_positions",       NULL};
    const struct reader r = {extract, ret, err};
    if (!json_is_object(value))
        return document_refuse(extract, value, "/rope", "an object with \"style\": \"interleaved\" or \"half\"", err);
    if (!document_known(value, "/rope", names, err))
        return false;
    const json_t *dims = document_member(value, "dims"), *length = document_member(value, "length");
    const json_t *attention_factor = document_member(value, "attention_factor");
    ret->given = true;
    ret->has_dims = dims != NULL;
    ret->has_length = length != NULL;
    if (!read_style(&r, document_member(value, "style")) || !read_base(&r, document_member(value, "base")))
        return false;
    if (dims != NULL && !document_integer(extract, dims, "/rope/dims", 0, INT32_MAX, &ret->dims, err))
        return false;
    if (!read_axes(&r, value, "/rope/mrope_section", "/rope/mrope_interleaved") ||
        !read_scaling(&r, document_member(value, "scaling")))
        return false;
    if (length != NULL && !document_integer(extract, length, "/rope/length", 1, (int64_t)LENGTH_MAX, &ret->length, err))
        return false;
    if (attention_factor != NULL && !read_number(&r, attention_factor, "/rope/attention_factor", &ret->attention_factor))
        return false;
    for (size_t i = ROPE_FREQUENCIES; i <= ROPE_KEY_POSITIONS; i++)
        if (!read_tensor(&r, document_member(value, rope_tensor_names[i]), (enum rope_tensor)i))
            return false;
    return true;
}
