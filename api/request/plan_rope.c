#include "api/request/plan_rope.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define INTERLEAVED_STEP 3 /* mrope_interleaved: every third pair goes by height, and every third by width */

static bool is_given(const struct rope_request *rope, enum rope_tensor which)
{
    return rope->tensors[which].kind != TENSOR_INPUT_ABSENT;
}

/* A tensor of a safetensors file without the field that says how dimensions pair. */
static bool refuse_strays(const struct rope_request *rope, struct error *err)
{
    for (size_t i = 0; i < ROPE_TENSORS; i++)
        if (is_given(rope, (enum rope_tensor)i))
            return error_set_at(err, ERROR_INVALID, rope->tensors[i].pointer,
                                "rope.%s goes with the field rope, which says at least the style", rope_tensor_names[i]);
    return true;
}

static bool refuse_shape(const struct tensor_input *input, const char *expected, struct error *err)
{
    char shape[SHAPE_TEXT_BYTES_MAX];
    return error_set_at(err, ERROR_INVALID, input->pointer, "shape %s, where %s is expected",
                        shape_text(input->rank, input->shape, shape, sizeof shape), expected);
}

/* How many dimensions turn, and at which base. */
static bool resolve_dims(struct plan *plan, struct error *err)
{
    const struct rope_request *rope = &plan->request->rope;
    bool partial = rope->has_share && rope->scaling.type != ROPE_PROPORTIONAL;
    double share = floor(rope->share * (double)plan->D);
    plan->rope.dims = rope->has_dims ? (size_t)rope->dims : partial ? (size_t)fmin(share, INT32_MAX) : plan->D;
    plan->rope.base = rope->theta > 0 ? rope->theta : rope->base;
    if (rope->theta > 0 && rope->has_base && rope->theta != rope->base)
        return error_set_at(err, ERROR_INVALID, "/rope/base",
                            "base %g contradicts rope.scaling's rope_theta %g: send one of the two", rope->base, rope->theta);
    if (plan->rope.base < ROPE_BASE_MIN)
        return error_set_at(err, ERROR_INVALID, "/rope/scaling/rope_theta",
                            "%g, where a number above 0 (at least 1e-200) is expected", rope->theta);
    if (rope->has_dims && partial && (double)rope->dims != share)
        return error_set_at(err, ERROR_INVALID, "/rope/dims",
                            "dims %" PRId64 " contradicts partial_rotary_factor %g, which means %g of %zu dimensions",
                            rope->dims, rope->share, share, plan->D);
    if (plan->rope.dims > plan->D || plan->rope.dims % 2 != 0)
        return error_set_at(err, ERROR_INVALID, partial ? "/rope/scaling/partial_rotary_factor" : "/rope/dims",
                            "%zu dimension%s to rotate, where an even number up to the head size %zu is expected",
                            plan->rope.dims, error_s(plan->rope.dims), plan->D);
    if (rope->scaling.type == ROPE_PROPORTIONAL && plan->rope.dims != plan->D)
        return error_set_at(err, ERROR_INVALID, "/rope/dims",
                            "rope_type \"proportional\" takes its pairs from all %zu dimensions, of which "
                            "partial_rotary_factor says how many turn: leave dims out",
                            plan->D);
    return true;
}

/* Frequencies come from one of three: base and scaling, inverse_frequencies, or tables. */
static bool check_source(const struct rope_request *rope, struct error *err)
{
    bool tables = is_given(rope, ROPE_COS) || is_given(rope, ROPE_SIN), frequencies = is_given(rope, ROPE_FREQUENCIES);
    const char *source = tables ? "cos and sin" : "inverse_frequencies";
    if (is_given(rope, ROPE_COS) != is_given(rope, ROPE_SIN))
        return error_set_at(err, ERROR_INVALID, is_given(rope, ROPE_COS) ? "/rope/cos" : "/rope/sin",
                            "cos and sin go together");
    if (tables && frequencies)
        return error_set_at(err, ERROR_INVALID, "/rope/inverse_frequencies",
                            "inverse_frequencies beside cos and sin: the tables hold the angles already, send one of the two");
    const char *beside = rope->has_base ? "base" : rope->has_scaling ? "scaling" : rope->has_length ? "length" : NULL;
    if ((tables || frequencies) && beside != NULL)
        return error_set_at(err, ERROR_INVALID,
                            rope->has_base      ? "/rope/base"
                            : rope->has_scaling ? "/rope/scaling"
                                                : "/rope/length",
                            "%s beside %s, which stand in its place: send one of the two", beside, source);
    if (rope->attention_factor > 0 && !frequencies)
        return error_set_at(err, ERROR_INVALID, "/rope/attention_factor",
                            tables ? "attention_factor beside cos and sin: multiply the tables by it"
                                   : "attention_factor goes with inverse_frequencies; with a scaling send it there");
    if (rope->has_length && !rope_scaling_uses_length(&rope->scaling))
        return error_set_at(err, ERROR_INVALID, "/rope/length",
                            "length goes with a scaling of rope_type \"dynamic\" or \"longrope\"; no other depends on it");
    return true;
}

static bool check_pairs(const struct plan *plan, enum rope_tensor which, struct error *err)
{
    const struct tensor_input *input = &plan->request->rope.tensors[which];
    size_t pairs = plan->rope.dims / 2;
    char expected[SHAPE_TEXT_BYTES_MAX + sizeof " (one number a pair of dimensions)"];
    if (input->kind == TENSOR_INPUT_ABSENT || (input->rank == 1 && input->shape[0] == pairs))
        return true;
    (void)snprintf(expected, sizeof expected, "[%zu] (one number a pair of dimensions)", pairs);
    return refuse_shape(input, expected, err);
}

/* [positions, dims/2], or [B or 1, T, dims/2] for queries and new keys alike. */
static bool resolve_table(struct plan *plan, enum rope_tensor which, struct error *err)
{
    const struct tensor_input *table = &plan->request->rope.tensors[which];
    size_t pairs = plan->rope.dims / 2;
    if (table->kind == TENSOR_INPUT_ABSENT)
        return true;
    if (table->rank >= 2 && table->shape[table->rank - 1] == plan->rope.dims && pairs > 0)
        return error_set_at(err, ERROR_INVALID, table->pointer,
                            "%s has %zu columns, each angle twice, as Hugging Face's tables do: send one a pair, %zu column%s "
                            "(the first half of a rotate_half table, every second column of an interleaved one)",
                            rope_tensor_names[which], plan->rope.dims, pairs, error_s(pairs));
    bool by_token = table->rank == 3;
    if ((table->rank != 2 && !by_token) || table->shape[table->rank - 1] != pairs)
        return refuse_shape(table, "[positions, dims/2], or [B, T, dims/2] for the tokens of query and key,", err);
    plan->rope.tables = true;
    plan->rope.by_token = by_token;
    plan->rope.table_rows = by_token ? table->shape[0] * table->shape[1] : table->shape[0];
    if (!by_token)
        return true;
    if (table->shape[0] != 1 && table->shape[0] != plan->B)
        return refuse_shape(table, "a table for each item of the batch, or one for all", err);
    return (table->shape[1] == plan->Tq && table->shape[1] == plan->Tnew) ||
           refuse_shape(table, "one row for each token of query and of key, as many of both (else send [positions, dims/2])",
                        err);
}

static bool resolve_tables(struct plan *plan, struct error *err)
{
    const struct tensor_input *cosines = &plan->request->rope.tensors[ROPE_COS];
    const struct tensor_input *sines = &plan->request->rope.tensors[ROPE_SIN];
    if (!resolve_table(plan, ROPE_COS, err) || !resolve_table(plan, ROPE_SIN, err))
        return false;
    for (size_t axis = 0; axis < cosines->rank; axis++)
        if (cosines->rank != sines->rank || cosines->shape[axis] != sines->shape[axis])
            return refuse_shape(sines, "the shape of cos", err);
    return true;
}

/* ---- scaling ---- */

/* The length that the model was trained for; longrope's factor follows from it. */
static bool resolve_original(struct plan *plan, struct error *err)
{
    const struct rope_request *rope = &plan->request->rope;
    struct rope_scaling *scaling = &plan->rope.scaling;
    bool needed = scaling->type == ROPE_DYNAMIC || scaling->type == ROPE_YARN || scaling->type == ROPE_LONGROPE ||
                  scaling->type == ROPE_LLAMA3;
    double ratio = rope->max_length / scaling->original_length; /* not used where one of them is absent */
    if (!needed)
        return true;
    bool both = rope->max_length > 0 && scaling->original_length > 0;
    if (scaling->original_length == 0)
        scaling->original_length = rope->max_length;
    if (scaling->original_length == 0)
        return error_set_at(err, ERROR_INVALID, "/rope/scaling/original_max_position_embeddings",
                            "original_max_position_embeddings is missing: the length that the model was trained for, which "
                            "rope_type \"%s\" needs (some configurations have it as max_position_embeddings)",
                            rope_type_names[scaling->type]);
    if (scaling->type != ROPE_LONGROPE)
        return true;
    if (both && scaling->factor > 0 && scaling->factor != ratio)
        return error_set_at(err, ERROR_INVALID, "/rope/scaling/factor",
                            "factor %g contradicts max_position_embeddings / original_max_position_embeddings, which is %g: "
                            "send one of the two",
                            scaling->factor, ratio);
    if (both)
        scaling->factor = ratio;
    return scaling->factor > 0 || scaling->attention_factor > 0 ||
           error_set_at(err, ERROR_INVALID, "/rope/scaling/factor",
                        "factor is missing: rope_type \"longrope\" needs it, or max_position_embeddings beside "
                        "original_max_position_embeddings, or attention_factor");
}

static bool check_yarn(const struct plan *plan, struct error *err)
{
    const struct rope_scaling *scaling = &plan->rope.scaling;
    if ((scaling->mscale > 0) != (scaling->mscale_all_dim > 0))
        return error_set_at(err, ERROR_INVALID, "/rope/scaling/mscale",
                            "mscale and mscale_all_dim go together: their quotient is the attention factor");
    if (scaling->beta_fast < scaling->beta_slow)
        return error_set_at(err, ERROR_INVALID, "/rope/scaling/beta_fast", "beta_fast %g is below beta_slow %g",
                            scaling->beta_fast, scaling->beta_slow);
    return plan->rope.base > 1 ||
           error_set_at(err, ERROR_INVALID, plan->request->rope.theta > 0 ? "/rope/scaling/rope_theta" : "/rope/base",
                        "%g, where yarn needs a base above 1: its frequencies must fall from pair to pair", plan->rope.base);
}

static bool check_longrope(const struct plan *plan, struct error *err)
{
    static const enum rope_tensor factors[] = {ROPE_SHORT_FACTOR, ROPE_LONG_FACTOR};
    for (size_t i = 0; i < 2; i++) {
        if (!is_given(&plan->request->rope, factors[i]))
            return error_set_at(err, ERROR_INVALID, i == 0 ? "/rope/scaling/short_factor" : "/rope/scaling/long_factor",
                                "%s is missing: rope_type \"longrope\" needs one number a pair of dimensions",
                                i == 0 ? "short_factor" : "long_factor");
        if (!check_pairs(plan, factors[i], err))
            return false;
    }
    return true;
}

static bool check_type(const struct plan *plan, struct error *err)
{
    const struct rope_request *rope = &plan->request->rope;
    const struct rope_scaling *scaling = &plan->rope.scaling;
    for (size_t i = ROPE_SHORT_FACTOR; i <= ROPE_LONG_FACTOR && scaling->type != ROPE_LONGROPE; i++)
        if (is_given(rope, (enum rope_tensor)i)) /* as a tensor of a safetensors file */
            return error_set_at(err, ERROR_INVALID, rope->tensors[i].pointer, "rope.%s goes with rope_type \"longrope\"",
                                rope_tensor_names[i]);
    if (scaling->type == ROPE_YARN)
        return check_yarn(plan, err);
    if (scaling->type == ROPE_LONGROPE)
        return check_longrope(plan, err);
    if (scaling->type == ROPE_LLAMA3 && !(scaling->high_factor > scaling->low_factor))
        return error_set_at(err, ERROR_INVALID, "/rope/scaling/high_freq_factor",
                            "high_freq_factor %g is not above low_freq_factor %g", scaling->high_factor, scaling->low_factor);
    return scaling->type != ROPE_PROPORTIONAL || scaling->share <= 1 ||
           error_set_at(err, ERROR_INVALID, "/rope/scaling/partial_rotary_factor",
                        "%g, where a number up to 1 is expected: the share of pairs that turn", scaling->share);
}

/* Rotated queries and keys are stored in the precision: a factor that it cannot hold would make them infinite. */
static bool check_attention_factor(const struct plan *plan, struct error *err)
{
    double factor = plan->rope.attention_factor;
    if (!isfinite(factor))
        return error_set_at(err, ERROR_INVALID, "/rope/scaling",
                            "these parameters make an attention factor that is no finite number: send attention_factor");
    return plan->dtype != DTYPE_F32 || isfinite((float)factor) ||
           error_set_at(err, ERROR_INVALID,
                        plan->request->rope.attention_factor > 0 ? "/rope/attention_factor" : "/rope/scaling",
                        "the attention factor %g overflows float32: send a smaller one, or compute in float64", factor);
}

static bool resolve_scaling(struct plan *plan, struct error *err)
{
    const struct rope_request *rope = &plan->request->rope;
    struct rope_scaling *scaling = &plan->rope.scaling;
    *scaling = rope->scaling;
    scaling->share = rope->share;
    if (scaling->type == ROPE_PROPORTIONAL && scaling->factor == 0)
        scaling->factor = 1;
    if (!resolve_original(plan, err) || !check_type(plan, err))
        return false;
    bool own_lengths = rope_scaling_uses_length(scaling) && !rope->has_length;
    if (own_lengths && plan->request->row_invariant)
        return error_set_at(err, ERROR_INVALID, "/rope/length",
                            "length is missing: with numerics \"row_invariant\" rope_type \"%s\" needs it, since otherwise its "
                            "frequencies follow from the last position of each request",
                            rope_type_names[scaling->type]);
    plan->rope.frequency_sets = plan->rope.tables ? 0 : own_lengths ? plan->B : 1;
    plan->rope.attention_factor = rope->attention_factor > 0 ? rope->attention_factor : rope_scaling_attention_factor(scaling);
    return check_attention_factor(plan, err);
}

/* ---- axes ---- */

static bool check_axis_positions(const struct plan *plan, enum rope_tensor which, size_t tokens, struct error *err)
{
    const struct tensor_input *input = &plan->request->rope.tensors[which];
    char expected[SHAPE_TEXT_BYTES_MAX];
    bool per_item = input->rank == 3 && input->shape[1] == plan->B;
    if (input->kind == TENSOR_INPUT_ABSENT ||
        ((input->rank == 2 || per_item) && input->shape[0] == ROPE_AXES && input->shape[input->rank - 1] == tokens))
        return true;
    (void)snprintf(expected, sizeof expected, "[3, %zu] or [3, %zu, %zu] (time, height and width of each token of %s)", tokens,
                   plan->B, tokens, which == ROPE_QUERY_POSITIONS ? "query" : "key, without the past");
    return refuse_shape(input, expected, err);
}

static bool check_section(const struct plan *plan, struct error *err)
{
    const struct rope_request *rope = &plan->request->rope;
    int64_t pairs = (int64_t)(plan->rope.dims / 2), sum = rope->section[0] + rope->section[1] + rope->section[2];
    if (sum != pairs)
        return error_set_at(
            err, ERROR_INVALID, rope->section_pointer,
            "[%" PRId64 ", %" PRId64 ", %" PRId64 "] adds up to %" PRId64 ", where %zu dimensions have %" PRId64 " pair%s",
            rope->section[0], rope->section[1], rope->section[2], sum, plan->rope.dims, pairs, error_s((size_t)pairs));
    for (int64_t axis = 1; axis < ROPE_AXES && rope->interleaved_axes; axis++)
        if (rope->section[axis] > 0 && (rope->section[axis] - 1) * INTERLEAVED_STEP + axis >= pairs)
            return error_set_at(err, ERROR_INVALID, rope->section_pointer,
                                "%" PRId64 " of %" PRId64 " pairs go by one axis, where every third is the most that "
                                "mrope_interleaved gives to height and to width",
                                rope->section[axis], pairs);
    return true;
}

static bool resolve_axes(struct plan *plan, struct error *err)
{
    const struct rope_request *rope = &plan->request->rope;
    bool query = is_given(rope, ROPE_QUERY_POSITIONS), key = is_given(rope, ROPE_KEY_POSITIONS);
    plan->rope.axes = query ? ROPE_AXES : 1;
    if ((rope->is_mrope || rope->has_interleaved) && !rope->has_section)
        return error_set_at(err, ERROR_INVALID, rope->is_mrope ? "/rope/scaling/mrope_section" : "/rope/mrope_section",
                            "mrope_section is missing: how many pairs go by time, by height and by width");
    if (query != key)
        return error_set_at(err, ERROR_INVALID, query ? "/rope/query_positions" : "/rope/key_positions",
                            "rope.query_positions and rope.key_positions go together");
    if (query && !rope->has_section)
        return error_set_at(err, ERROR_INVALID, "/rope/query_positions",
                            "positions on three axes go with mrope_section, which says which pairs go by which; for one axis "
                            "send query_positions and key_positions beside rope");
    if (rope->has_section && plan->rope.by_token)
        return error_set_at(err, ERROR_INVALID, rope->section_pointer,
                            "mrope_section beside cos and sin for each token, which hold the angles already: leave it out");
    if (rope->has_section && !check_section(plan, err))
        return false;
    return check_axis_positions(plan, ROPE_QUERY_POSITIONS, plan->Tq, err) &&
           check_axis_positions(plan, ROPE_KEY_POSITIONS, plan->Tnew, err);
}

bool plan_rope_resolve(struct plan *plan, struct error *err)
{
    const struct rope_request *rope = &plan->request->rope;
    if (!rope->given)
        return refuse_strays(rope, err);
    return resolve_dims(plan, err) && check_source(rope, err) && check_pairs(plan, ROPE_FREQUENCIES, err) &&
           resolve_tables(plan, err) && resolve_scaling(plan, err) && resolve_axes(plan, err);
}
