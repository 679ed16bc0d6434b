#include "api/request/plan_shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/request/shape_hints.h"
#include "core/size.h"

/* A tensor's shape by the meaning of its axes. */
struct axes {
    size_t batch, heads, tokens, width; /* width: of one head */
};

static const char *name_of(const struct tensor_input *input)
{
    return input->name != NULL ? input->name : input->pointer + 1;
}

static bool refuse_pair(const struct tensor_input *a, const struct tensor_input *b, const char *what, struct error *err)
{
    char a_shape[SHAPE_TEXT_BYTES_MAX], b_shape[SHAPE_TEXT_BYTES_MAX];
    return error_set_at(err, ERROR_INVALID, b->pointer, "%s: %s has shape %s, %s has shape %s", what, name_of(a),
                        shape_text(a->rank, a->shape, a_shape, sizeof a_shape), name_of(b),
                        shape_text(b->rank, b->shape, b_shape, sizeof b_shape));
}

/* Where heads are packed in the last axis, the shapes alone do not show the sizes. */
static bool refuse_head_sizes(const struct tensor_input *a, const struct axes *a_axes, const struct tensor_input *b,
                              const struct axes *b_axes, const char *where, struct error *err)
{
    char what[128];
    (void)snprintf(what, sizeof what, "the head sizes differ%s, %zu and %zu", where, a_axes->width, b_axes->width);
    return refuse_pair(a, b, what, err);
}

static bool refuse_shape(const struct tensor_input *a, const char *expected, struct error *err)
{
    char shape[SHAPE_TEXT_BYTES_MAX];
    return error_set_at(err, ERROR_INVALID, a->pointer, "shape %s, where %s is expected",
                        shape_text(a->rank, a->shape, shape, sizeof shape), expected);
}

static bool refuse_bool(const struct tensor_input *a, struct error *err)
{
    if (!tensor_input_is_bool(a))
        return true;
    return error_set_at(err, ERROR_INVALID, a->array_pointer,
                        "booleans, where numbers are expected: only a mask may hold booleans");
}

/* Reads a tensor's axes. `heads` are packed in the last axis where the tensor has no head axis of its own. */
static bool axes_of(const struct plan *plan, const struct tensor_input *input, enum plan_layout layout, size_t heads,
                    struct axes *ret, struct error *err)
{
    const size_t *shape = input->shape;
    size_t tokens_axis = input->rank - 2;
    *ret = (struct axes){.batch = input->rank == 2 ? 1 : shape[0], .heads = heads};
    if (input->rank == 3 && plan->head_axis) {
        *ret = (struct axes){.batch = 1, .heads = shape[1], .tokens = shape[0], .width = shape[2]};
        return true;
    }
    if (input->rank == 4) {
        bool heads_first = layout == PLAN_HEADS_FIRST;
        ret->heads = shape[heads_first ? 1 : 2];
        ret->tokens = shape[heads_first ? 2 : 1];
        ret->width = shape[3];
        return true;
    }
    ret->tokens = shape[tokens_axis];
    ret->width = shape[tokens_axis + 1] / heads;
    if (shape[tokens_axis + 1] % heads == 0)
        return true;
    char text[SHAPE_TEXT_BYTES_MAX];
    return error_set_at(err, ERROR_INVALID, input->pointer, "shape %s: the last axis does not divide into %zu heads",
                        shape_text(input->rank, shape, text, sizeof text), heads);
}

static bool check_groups(const struct plan *plan, const char *pointer, struct error *err)
{
    if (plan->Hkv != 0 && plan->H % plan->Hkv == 0)
        return true;
    if (plan->H == 0 && plan->Hkv == 0)
        return true;
    return error_set_at(err, ERROR_INVALID, pointer,
                        "%zu query head%s cannot share %zu key and value head%s: the second must divide the first", plan->H,
                        error_s(plan->H), plan->Hkv, error_s(plan->Hkv));
}

/* num_heads and num_kv_heads, for tensors without a head axis of their own. */
static bool packed_heads(struct plan *plan, struct error *err)
{
    const struct request *request = plan->request;
    if (request->has_num_kv_heads && !request->has_num_heads)
        return error_set_at(err, ERROR_INVALID, "/num_kv_heads", "num_kv_heads goes with num_heads");
    plan->has_heads = request->has_num_heads;
    plan->H = request->has_num_heads ? (size_t)request->num_heads : 1;
    plan->Hkv = request->has_num_kv_heads ? (size_t)request->num_kv_heads : plan->H;
    return check_groups(plan, "/num_kv_heads", err);
}

/* Rank 4 tensors tell how many heads there are; num_heads may only repeat it. */
static bool check_head_count(const char *pointer, bool given, int64_t count, size_t heads, struct error *err)
{
    if (!given || (uint64_t)count == heads)
        return true;
    return error_set_at(err, ERROR_INVALID, pointer, "%" PRId64 ", where the tensors' head axis holds %zu", count, heads);
}

static bool check_layout(struct plan *plan, struct error *err)
{
    const struct request *request = plan->request;
    plan->layout = plan->head_axis && request->layout == LAYOUT_BHTD ? PLAN_HEADS_FIRST : PLAN_TOKENS_FIRST;
    plan->cache_layout = request->cache_heads_first ? PLAN_HEADS_FIRST : plan->layout;
    if (request->layout != LAYOUT_BHTD && !plan->head_axis)
        return error_set_at(
            err, ERROR_INVALID, "/layout",
            "layout applies to rank 4 tensors, and these have no head axis of their own: leave it out (num_heads says how "
            "many heads are packed in the last axis)");
    return true;
}

static bool tensors_rank(struct plan *plan, struct error *err)
{
    const struct tensor_input *tensors = plan->request->tensors;
    const struct tensor_input *query = &tensors[REQUEST_QUERY];
    bool thd = plan->request->layout == LAYOUT_THD;
    if (thd && query->rank != 3)
        return refuse_shape(query, "[T, H, D], as layout \"thd\" says,", err);
    if (query->rank < 2 || query->rank > 4)
        return refuse_shape(query, "[Tq, D], [B, Tq, D] or [B, H, Tq, D]", err);
    static const enum request_tensor others[] = {REQUEST_KEY, REQUEST_VALUE, REQUEST_PAST_KEY, REQUEST_PAST_VALUE};
    if (!refuse_bool(query, err))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const struct tensor_input *other = &tensors[others[i]];
        bool cache = others[i] == REQUEST_PAST_KEY || others[i] == REQUEST_PAST_VALUE;
        if (other->kind == TENSOR_INPUT_ABSENT)
            continue;
        if (cache && plan->request->cache_heads_first && other->rank != 4)
            return refuse_shape(other, "[B, Hkv, T, D]", err);
        if (!(cache && plan->request->cache_heads_first) && other->rank != query->rank)
            return refuse_pair(query, other, "the ranks differ", err);
        if (!refuse_bool(other, err))
            return false;
    }
    plan->has_batch = query->rank > 2 && !thd;
    plan->head_axis = query->rank == 4 || thd;
    return true;
}

/* past_key and past_value come before key and value on the token axis. */
static bool tensors_past(struct plan *plan, const struct axes *k, const struct axes *v, struct error *err)
{
    const struct tensor_input *tensors = plan->request->tensors;
    const struct tensor_input *past_key = &tensors[REQUEST_PAST_KEY], *past_value = &tensors[REQUEST_PAST_VALUE];
    if (past_key->kind == TENSOR_INPUT_ABSENT && past_value->kind == TENSOR_INPUT_ABSENT)
        return true;
    if (past_key->kind == TENSOR_INPUT_ABSENT || past_value->kind == TENSOR_INPUT_ABSENT)
        return error_set_at(err, ERROR_INVALID, past_key->kind == TENSOR_INPUT_ABSENT ? past_value->pointer : past_key->pointer,
                            "past_key and past_value go together");
    struct axes pk, pv;
    if (!axes_of(plan, past_key, plan->cache_layout, plan->Hkv, &pk, err) ||
        !axes_of(plan, past_value, plan->cache_layout, plan->Hkv, &pv, err))
        return false;
    if (pk.batch != k->batch || pk.heads != k->heads || pk.width != k->width)
        return refuse_pair(&tensors[REQUEST_KEY], past_key, "past_key and key may differ only in their number of tokens", err);
    if (pv.batch != v->batch || pv.heads != v->heads || pv.width != v->width)
        return refuse_pair(&tensors[REQUEST_VALUE], past_value,
                           "past_value and value may differ only in their number of tokens", err);
    if (pk.tokens != pv.tokens)
        return refuse_pair(past_key, past_value, "the numbers of past tokens differ", err);
    plan->Tpast = pk.tokens;
    return true;
}

static bool resolve_tensors(struct plan *plan, struct error *err)
{
    const struct request *request = plan->request;
    const struct tensor_input *query = &request->tensors[REQUEST_QUERY];
    const struct tensor_input *key = &request->tensors[REQUEST_KEY];
    const struct tensor_input *value = &request->tensors[REQUEST_VALUE];
    if (!tensors_rank(plan, err) || !check_layout(plan, err))
        return false;
    if (!plan->head_axis && !packed_heads(plan, err))
        return false;
    struct axes q, k, v;
    if (!axes_of(plan, query, plan->layout, plan->H, &q, err) || !axes_of(plan, key, plan->layout, plan->Hkv, &k, err) ||
        !axes_of(plan, value, plan->layout, plan->Hkv, &v, err))
        return false;
    if (q.batch != k.batch)
        return refuse_pair(query, key, "the batch sizes differ", err);
    if (k.batch != v.batch)
        return refuse_pair(key, value, "the batch sizes differ", err);
    if (q.width != k.width)
        return refuse_head_sizes(query, &q, key, &k, "", err);
    if (k.heads != v.heads)
        return refuse_pair(key, value, "the numbers of heads differ", err);
    if (k.tokens != v.tokens)
        return refuse_pair(key, value, "the numbers of tokens differ", err);
    plan->B = q.batch;
    plan->H = q.heads;
    plan->Hkv = k.heads;
    plan->Tq = q.tokens;
    plan->Tnew = k.tokens;
    plan->D = q.width;
    plan->Dv = v.width;
    if (plan->head_axis) {
        plan->has_heads = true;
        if (!check_groups(plan, key->pointer, err) ||
            !check_head_count("/num_heads", request->has_num_heads, request->num_heads, plan->H, err) ||
            !check_head_count("/num_kv_heads", request->has_num_kv_heads, request->num_kv_heads, plan->Hkv, err))
            return false;
    }
    if (!tensors_past(plan, &k, &v, err))
        return false;
    plan->Tk = size_add(plan->Tpast, plan->Tnew);
    return true;
}

bool plan_shapes_of_tensors(struct plan *plan, struct error *err)
{
    if (resolve_tensors(plan, err))
        return true;
    char hint[SHAPE_HINT_BYTES_MAX];
    error_append(err, shape_hint_of_tensors(plan->request, hint));
    return false;
}

/* A weight that is given must be [out, in] with the right `in`. *ret_out is its `out`, 0 where it is not given. */
static bool weight_out(const struct plan *plan, enum request_projection which, size_t in, size_t *ret_out, struct error *err)
{
    const struct tensor_input *weight = &plan->request->weights[which];
    *ret_out = 0;
    if (weight->kind == TENSOR_INPUT_ABSENT)
        return true;
    if (!refuse_bool(weight, err))
        return false;
    char shape[SHAPE_TEXT_BYTES_MAX];
    if (weight->rank != 2 || weight->shape[1] != in)
        return error_set_at(err, ERROR_INVALID, weight->pointer,
                            "shape %s, where [out, %zu] is expected: the weight as torch's Linear stores it%s",
                            shape_text(weight->rank, weight->shape, shape, sizeof shape), in,
                            weight->rank == 2 && weight->shape[0] == in ? "; this one is [in, out]: transpose it" : "");
    *ret_out = weight->shape[0];
    return true;
}

static bool check_out(const struct plan *plan, enum request_projection which, size_t heads, size_t width, struct error *err)
{
    const struct tensor_input *weight = &plan->request->weights[which];
    const struct tensor_input *bias = &plan->request->biases[which];
    size_t out = size_multiply(heads, width);
    char shape[SHAPE_TEXT_BYTES_MAX];
    if (weight->kind != TENSOR_INPUT_ABSENT && weight->shape[0] != out)
        return error_set_at(err, ERROR_INVALID, weight->pointer,
                            "shape %s gives %zu feature%s, where %zu head%s of size %zu %s expected",
                            shape_text(weight->rank, weight->shape, shape, sizeof shape), weight->shape[0],
                            error_s(weight->shape[0]), heads, error_s(heads), width, heads == 1 ? "is" : "are");
    if (bias->kind != TENSOR_INPUT_ABSENT && (bias->rank != 1 || bias->shape[0] != out))
        return error_set_at(err, ERROR_INVALID, bias->pointer, "shape %s, where [%zu] is expected: one number a feature",
                            shape_text(bias->rank, bias->shape, shape, sizeof shape), out);
    if (bias->kind != TENSOR_INPUT_ABSENT && !refuse_bool(bias, err))
        return false;
    if (weight->kind != TENSOR_INPUT_ABSENT || plan->request->has_seed)
        return true;
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
    (void)snprintf(pointer, sizeof pointer, "/projection/%s", request_projection_names[which]);
    return error_set_at(err, ERROR_INVALID, pointer, "projection.%s is not given, and there is no seed to draw it from",
                        request_projection_names[which]);
}

/* Tokens that keys or values come from, which go with x. */
static bool context_check(const struct tensor_input *x, const struct tensor_input *from, struct error *err)
{
    if (from->rank != x->rank)
        return refuse_pair(x, from, "the ranks differ", err);
    if (x->rank == 3 && from->shape[0] != x->shape[0])
        return refuse_pair(x, from, "the batch sizes differ", err);
    return refuse_bool(from, err);
}

static bool tokens_check(struct plan *plan, const struct tensor_input *x, const struct tensor_input *from,
                         const struct tensor_input *values_from, struct error *err)
{
    if (x->rank < 2 || x->rank > 3)
        return refuse_shape(x, "[T, C] or [B, T, C]", err);
    if (!refuse_bool(x, err) || !context_check(x, from, err) || !context_check(x, values_from, err))
        return false;
    if (values_from->shape[x->rank - 2] != from->shape[x->rank - 2])
        return refuse_pair(from, values_from, "the numbers of tokens differ", err);
    if (!check_layout(plan, err) || !packed_heads(plan, err))
        return false;
    plan->has_batch = x->rank == 3;
    plan->B = plan->has_batch ? x->shape[0] : 1;
    plan->Tq = x->shape[x->rank - 2];
    plan->C = x->shape[x->rank - 1];
    plan->Tnew = plan->Tk = from->shape[from->rank - 2];
    plan->context_C = from->shape[from->rank - 1];
    plan->value_C = values_from->shape[values_from->rank - 1];
    return true;
}

/* projection "identity": the tokens are query, key and value. */
static bool tokens_identity(struct plan *plan, const struct tensor_input *x, const struct tensor_input *from,
                            const struct tensor_input *values_from, struct error *err)
{
    struct axes q, k, v;
    if (!axes_of(plan, x, plan->layout, plan->H, &q, err) || !axes_of(plan, from, plan->layout, plan->Hkv, &k, err) ||
        !axes_of(plan, values_from, plan->layout, plan->Hkv, &v, err))
        return false;
    if (q.width != k.width && x == from)
        return error_set_at(
            err, ERROR_INVALID, "/num_kv_heads",
            "%zu query head%s of size %zu and %zu key head%s of size %zu: with projection \"identity\" and no context, "
            "num_kv_heads must equal num_heads",
            plan->H, error_s(plan->H), q.width, plan->Hkv, error_s(plan->Hkv), k.width);
    if (q.width != k.width)
        return refuse_head_sizes(x, &q, from, &k, " with projection \"identity\"", err);
    plan->D = q.width;
    plan->Dv = v.width;
    const struct request *request = plan->request;
    if (request->has_head_size && (uint64_t)request->head_size != plan->D)
        return error_set_at(err, ERROR_INVALID, "/head_size",
                            "%" PRId64 ", where the tokens give heads of size %zu with projection \"identity\"",
                            request->head_size, plan->D);
    return true;
}

/* The head size: given, or what the weights of query or key imply. */
static bool tokens_head_size(struct plan *plan, struct error *err)
{
    const struct request *request = plan->request;
    size_t query_out, key_out, value_out;
    if (!weight_out(plan, PROJECTION_QUERY, plan->C, &query_out, err) ||
        !weight_out(plan, PROJECTION_KEY, plan->context_C, &key_out, err) ||
        !weight_out(plan, PROJECTION_VALUE, plan->value_C, &value_out, err))
        return false;
    if (request->has_head_size)
        plan->D = (size_t)request->head_size;
    else if (request->weights[PROJECTION_QUERY].kind != TENSOR_INPUT_ABSENT)
        plan->D = query_out / plan->H;
    else if (request->weights[PROJECTION_KEY].kind != TENSOR_INPUT_ABSENT)
        plan->D = key_out / plan->Hkv;
    else
        return error_set_at(err, ERROR_INVALID, "/head_size",
                            "head_size is missing: with x, give head_size, the projections, or projection \"identity\"");
    plan->Dv = request->weights[PROJECTION_VALUE].kind == TENSOR_INPUT_ABSENT ? plan->D : value_out / plan->Hkv;
    return true;
}

bool plan_shapes_of_tokens(struct plan *plan, struct error *err)
{
    const struct request *request = plan->request;
    const struct tensor_input *x = &request->tensors[REQUEST_X];
    const struct tensor_input *from = &request->tensors[plan_source(plan, PROJECTION_KEY)];
    const struct tensor_input *values_from = &request->tensors[plan_source(plan, PROJECTION_VALUE)];
    if (!tokens_check(plan, x, from, values_from, err))
        return false;
    if (request->identity)
        return tokens_identity(plan, x, from, values_from, err);
    if (!tokens_head_size(plan, err) || !check_out(plan, PROJECTION_QUERY, plan->H, plan->D, err) ||
        !check_out(plan, PROJECTION_KEY, plan->Hkv, plan->D, err) ||
        !check_out(plan, PROJECTION_VALUE, plan->Hkv, plan->Dv, err))
        return false;
    size_t width = size_multiply(plan->H, plan->Dv);
    size_t output = 0;
    if (!weight_out(plan, PROJECTION_OUTPUT, width, &output, err))
        return false;
    const struct tensor_input *bias = &request->biases[PROJECTION_OUTPUT];
    bool projected = request->weights[PROJECTION_OUTPUT].kind != TENSOR_INPUT_ABSENT;
    if (bias->kind != TENSOR_INPUT_ABSENT && !projected)
        return error_set_at(err, ERROR_INVALID, bias->pointer, "a bias without its weight");
    if (projected && !check_out(plan, PROJECTION_OUTPUT, 1, output, err))
        return false;
    const size_t shapes[PROJECTIONS][2] = {
        [PROJECTION_KEY] = {size_multiply(plan->Hkv, plan->D), plan->context_C},
        [PROJECTION_QUERY] = {size_multiply(plan->H, plan->D), plan->C},
        [PROJECTION_VALUE] = {size_multiply(plan->Hkv, plan->Dv), plan->value_C},
        [PROJECTION_OUTPUT] = {output, width},
    };
    for (size_t i = 0; i < PROJECTIONS; i++) {
        memcpy(plan->weight_shape[i], shapes[i], sizeof shapes[i]);
        if (shapes[i][0] > TENSOR_INPUT_AXIS_MAX || shapes[i][1] > TENSOR_INPUT_AXIS_MAX)
            return error_set_limit(err, "axis-length", TENSOR_INPUT_AXIS_MAX,
                                   "a projection of shape [%zu, %zu]: an axis may have at most %zu elements", shapes[i][0],
                                   shapes[i][1], TENSOR_INPUT_AXIS_MAX);
    }
    return true;
}
