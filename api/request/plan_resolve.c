#include "api/request/plan_resolve.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/request/plan_bias.h"
#include "api/request/plan_integers.h"
#include "api/request/plan_norm.h"
#include "api/request/plan_results.h"
#include "api/request/plan_return.h"
#include "api/request/plan_rope.h"
#include "api/request/plan_shapes.h"
#include "api/request/shape_hints.h"
#include "core/size.h"

/* Which of the two forms the request has, and that nothing of it is missing. */
static bool resolve_form(struct plan *plan, struct error *err)
{
    static const enum request_tensor needed[] = {REQUEST_QUERY, REQUEST_KEY, REQUEST_VALUE};
    const struct request *request = plan->request;
    const struct tensor_input *tensors = request->tensors;
    bool has_x = tensors[REQUEST_X].kind != TENSOR_INPUT_ABSENT;
    bool has_any = tensors[REQUEST_QUERY].kind != TENSOR_INPUT_ABSENT || tensors[REQUEST_KEY].kind != TENSOR_INPUT_ABSENT ||
                   tensors[REQUEST_VALUE].kind != TENSOR_INPUT_ABSENT;
    plan->from_tokens = has_x;
    if (has_x && has_any)
        return error_set_at(err, ERROR_INVALID, "/x",
                            "x is given beside query, key or value: send the three tensors, or x and projections");
    if (!has_x && !has_any)
        return error_set_at(err, ERROR_INVALID, "", "nothing to attend to: send query, key and value, or x");
    for (size_t i = 0; i < 3 && !has_x; i++)
        if (tensors[needed[i]].kind == TENSOR_INPUT_ABSENT)
            return error_set_at(err, ERROR_INVALID, "", "%s is missing: query, key and value go together",
                                request_tensor_names[needed[i]]);
    for (size_t i = REQUEST_CONTEXT; i <= REQUEST_VALUE_CONTEXT; i++)
        if (!has_x && tensors[i].kind != TENSOR_INPUT_ABSENT)
            return error_set_at(err, ERROR_INVALID, tensors[i].pointer, "%s goes with x; here key and value are given",
                                request_tensor_names[i]);
    if (!has_x && (request->has_projection || request->has_head_size))
        return error_set_at(err, ERROR_INVALID, request->has_projection ? "/projection" : "/head_size",
                            "%s goes with x; here query, key and value are given as they are",
                            request->has_projection ? "projection" : "head_size");
    for (size_t i = REQUEST_PAST_KEY; i <= REQUEST_PAST_VALUE; i++)
        if (has_x && tensors[i].kind != TENSOR_INPUT_ABSENT)
            return error_set_at(err, ERROR_INVALID, tensors[i].pointer, "a cache goes with query, key and value, not with x");
    return true;
}

/* A tensor with a shape and no data needs a seed, and must be one that the seed draws. */
static bool resolve_draws(const struct plan *plan, struct error *err)
{
    const struct request *request = plan->request;
    const struct tensor_input *drawn[REQUEST_TENSORS + PROJECTIONS];
    size_t count = 0;
    for (size_t i = 0; i < REQUEST_TENSORS; i++)
        if (request->tensors[i].kind == TENSOR_INPUT_DRAWN)
            drawn[count++] = &request->tensors[i];
    for (size_t i = 0; i < PROJECTIONS; i++)
        if (request->weights[i].kind == TENSOR_INPUT_DRAWN)
            drawn[count++] = &request->weights[i];
    for (size_t i = 0; i < count; i++) {
        const struct tensor_input *input = drawn[i];
        if (input == &request->tensors[REQUEST_PAST_KEY] || input == &request->tensors[REQUEST_PAST_VALUE] ||
            input == &request->tensors[REQUEST_MASK] || input == &request->tensors[REQUEST_BIAS])
            return error_set_at(err, ERROR_INVALID, input->pointer,
                                "a shape without data; this tensor is not drawn, give its data");
        if (!request->has_seed)
            return error_set_at(err, ERROR_INVALID, input->pointer,
                                "a shape without data, and no seed to draw the numbers from");
    }
    return true;
}

/* A named corner says where queries stand; nothing else may say it differently. */
static bool check_corner(const struct plan *plan, bool named, int64_t corner, struct error *err)
{
    const struct request *request = plan->request;
    const struct integers_input *offset = &request->integers[INTEGERS_QUERY_OFFSET];
    const char *name = request->causal == CAUSAL_TOP_LEFT ? "top_left" : "bottom_right";
    if (offset->given && request->integers[INTEGERS_QUERY_POSITIONS].given)
        return error_set_at(err, ERROR_INVALID, "/query_positions",
                            "query_positions and query_offset both say where queries stand: leave one of them out");
    for (enum request_integers i = INTEGERS_QUERY_POSITIONS; i <= INTEGERS_KEY_POSITIONS && named; i++)
        if (request->integers[i].given)
            return error_set_at(err, ERROR_INVALID, "/causal",
                                "\"%s\" counts keys from 0, and %s says where they stand: send true", name,
                                request_integers_fields[i].name);
    if (!named || !offset->given || (!offset->is_list && offset->value == corner && plan->sequence_count == 0))
        return true;
    if (plan->sequence_count > 0)
        return error_set_at(err, ERROR_INVALID, "/query_offset",
                            "\"%s\" says where each sequence's queries stand, and so does query_offset: send true", name);
    if (offset->is_list)
        return error_set_at(err, ERROR_INVALID, "/query_offset",
                            "an offset for each item contradicts causal \"%s\", which means %" PRId64 " for all: send true",
                            name, corner);
    return error_set_at(err, ERROR_INVALID, "/query_offset",
                        "query_offset %" PRId64 " contradicts causal \"%s\", which means %" PRId64 " here", offset->value, name,
                        corner);
}

/* The position of the first query among the keys. */
static bool resolve_causal(struct plan *plan, struct error *err)
{
    const struct request *request = plan->request;
    bool has_past = request->tensors[REQUEST_PAST_KEY].kind != TENSOR_INPUT_ABSENT;
    const struct integers_input *offset = &request->integers[INTEGERS_QUERY_OFFSET];
    const struct integers_input *positions = &request->integers[INTEGERS_QUERY_POSITIONS];
    bool bottom_right = request->causal == CAUSAL_BOTTOM_RIGHT && plan->sequence_count == 0; /* packed: each has its own */
    int64_t corner = bottom_right ? (int64_t)plan->Tk - (int64_t)plan->Tq : 0;
    bool named = request->causal == CAUSAL_TOP_LEFT || request->causal == CAUSAL_BOTTOM_RIGHT;
    plan->causal = request->causal != CAUSAL_FALSE;
    plan->query_offset = offset->given ? offset->value : named ? corner : (int64_t)plan->Tpast;
    if (!check_corner(plan, named, corner, err))
        return false;
    bool resolved = offset->given || positions->given || request->offset_from_lengths || has_past || plan->sequence_count > 0;
    if (request->causal == CAUSAL_TRUE && !resolved && plan->Tq != plan->Tk)
        return error_set_at(err, ERROR_INVALID, "/causal",
                            "%zu quer%s and %zu key%s: libraries disagree on what causal means here. Say \"top_left\" (query i "
                            "sees keys up to i, as PyTorch) or \"bottom_right\" (the last query sees the last key, as "
                            "FlashAttention), or give query_offset",
                            plan->Tq, error_ies(plan->Tq), plan->Tk, error_s(plan->Tk));
    return true;
}

/* Rules that extend causal, or a window, where there is none. */
static bool resolve_extensions(const struct plan *plan, struct error *err)
{
    static const enum request_integers extends_causal[] = {INTEGERS_PREFIX_LENGTH, INTEGERS_QUERY_SPANS};
    const struct request *request = plan->request;
    for (size_t i = 0; i < 2; i++) {
        const char *name = request_integers_fields[extends_causal[i]].name;
        char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
        (void)snprintf(pointer, sizeof pointer, "/%s", name);
        if (request->integers[extends_causal[i]].given && !plan->causal)
            return error_set_at(err, ERROR_INVALID, pointer,
                                "%s says which keys a causal mask leaves visible, and causal is not set: without it all are; "
                                "set causal, or leave it out",
                                name);
    }
    return request->num_sink_tokens == 0 || request->window_left >= 0 || request->window_right >= 0 ||
           error_set_at(err, ERROR_INVALID, "/num_sink_tokens",
                        "num_sink_tokens says which keys stay visible outside of a window, and there is none: give window");
}

/* Scale and softcap as the precision holds them. */
static bool resolve_scale(struct plan *plan, struct error *err)
{
    const struct request *request = plan->request;
    bool narrow = plan->dtype == DTYPE_F32;
    if (!request->has_scale && plan->D == 0)
        return error_set_at(err, ERROR_INVALID, "/scale",
                            "the head size is 0, so the default scale 1/sqrt(0) is none: give scale");
    double scale = request->has_scale ? request->scale : 1 / sqrt((double)plan->D);
    plan->scale = narrow ? (double)(float)scale : scale;
    plan->softcap = narrow ? (double)(float)request->softcap : request->softcap;
    if (!isfinite(plan->scale))
        return error_set_at(err, ERROR_INVALID, "/scale", "%g overflows float32: send a smaller one, or compute in float64",
                            scale);
    if (!isfinite(plan->softcap) || (request->softcap > 0 && !(plan->softcap > 0)))
        return error_set_at(err, ERROR_INVALID, "/softcap", "%g is out of float32's range%s", request->softcap,
                            request->softcap > 1 ? ": leave softcap out for none, or compute in float64"
                                                 : ": compute in float64");
    return true;
}

/* A mask or a bias. */
static bool resolve_pairs(const struct plan *plan, enum request_tensor which, struct error *err)
{
    const struct request *request = plan->request;
    const struct tensor_input *input = &request->tensors[which];
    bool numbers = !tensor_input_is_bool(input) && !tensor_input_is_empty(input);
    if (input->kind == TENSOR_INPUT_ABSENT)
        return true;
    if (which == REQUEST_MASK && request->mask_drops && numbers)
        return error_set_at(err, ERROR_INVALID, "/mask_semantics",
                            "\"drop\" speaks of booleans, and the mask holds numbers, which are added to the scores");
    const struct plan_result *weights = &plan->pairs;
    struct tensor unused;
    if (plan_pairs_view(plan, which, NULL, &unused))
        return true;
    char given[SHAPE_TEXT_BYTES_MAX], wanted[SHAPE_TEXT_BYTES_MAX], hint[SHAPE_HINT_BYTES_MAX];
    return error_set_at(err, ERROR_INVALID, input->pointer, "shape %s does not broadcast to the weights' shape %s%s",
                        shape_text(input->rank, input->shape, given, sizeof given),
                        shape_text(weights->rank, weights->shape, wanted, sizeof wanted),
                        shape_hint_of_pairs(plan, which, hint));
}

static bool resolve_per_head(const struct plan *plan, const struct tensor_input *input, struct error *err)
{
    if (input->kind == TENSOR_INPUT_ABSENT || (input->rank == 1 && input->shape[0] == plan->H))
        return true;
    char shape[SHAPE_TEXT_BYTES_MAX];
    return error_set_at(err, ERROR_INVALID, input->pointer, "shape %s, where [%zu] is expected: one number per query head",
                        shape_text(input->rank, input->shape, shape, sizeof shape), plan->H);
}

static bool resolve_result(const struct plan *plan, enum request_result which, bool has, struct error *err)
{
    char place[TENSOR_INPUT_POINTER_BYTES_MAX];
    if (has || !plan->request->results[which])
        return true;
    (void)snprintf(place, sizeof place, "/return/%zu", plan->request->result_places[which]);
    return error_set_at(err, ERROR_INVALID, place, "%s is asked for, and the request has none", request_result_names[which]);
}

static bool resolve_results(const struct plan *plan, struct error *err)
{
    return resolve_result(plan, RESULT_X, plan->from_tokens, err) &&
           resolve_result(plan, RESULT_CONTEXT, plan->request->tensors[REQUEST_CONTEXT].kind != TENSOR_INPUT_ABSENT, err) &&
           resolve_result(plan, RESULT_VALUE_CONTEXT, plan->request->tensors[REQUEST_VALUE_CONTEXT].kind != TENSOR_INPUT_ABSENT,
                          err);
}

bool plan_resolve(const struct request *request, struct plan *ret, struct error *err)
{
    *ret = (struct plan){.request = request, .dtype = request->dtype};
    if (!resolve_form(ret, err) || !resolve_draws(ret, err))
        return false;
    if (!(ret->from_tokens ? plan_shapes_of_tokens(ret, err) : plan_shapes_of_tensors(ret, err)))
        return false;
    if (!plan_return_resolve(ret, err))
        return false;
    plan_results_resolve(ret);
    return plan_integers_resolve(ret, err) && resolve_causal(ret, err) && resolve_extensions(ret, err) &&
           resolve_scale(ret, err) && plan_rope_resolve(ret, err) && plan_norm_resolve(ret, err) &&
           resolve_pairs(ret, REQUEST_MASK, err) && resolve_pairs(ret, REQUEST_BIAS, err) && plan_bias_resolve(ret, err) &&
           resolve_per_head(ret, &request->alibi_slopes, err) && resolve_per_head(ret, &request->sinks, err) &&
           resolve_results(ret, err);
}
