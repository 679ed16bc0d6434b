/* convention_inputs.c: layouts, heads, projections, draws: where query, key and value come from. */
#include <string.h>

#include "api/compare/convention.h"
#include "core/size.h"

/* ---- layouts and heads ---- */

static bool flip_layout(struct variant *variant)
{
    struct request *request = &variant->request;
    static const char *const shapes[] = {"[B,H,T,D]", "[B,T,H,D]"};
    if (!variant->source->plan->head_axis || request->layout == LAYOUT_THD) /* packed sequences lie along tokens alone */
        return false;
    request->layout = request->layout == LAYOUT_BHTD ? LAYOUT_BTHD : LAYOUT_BHTD;
    variant->changes_inputs = true;
    variant_say(variant, "Yours reads the tensors as %s; the request says %s.", shapes[request->layout],
                shapes[request->layout == LAYOUT_BHTD ? LAYOUT_BTHD : LAYOUT_BHTD]);
    variant_patch_add(variant, "/layout", "\"%s\"", request_layout_names[request->layout]);
    return true;
}

bool convention_layout(struct variant *variant, size_t choice)
{
    const struct plan *plan = variant->source->plan;
    if (choice == 0)
        return flip_layout(variant);
    bool splits = choice < 3, merges = choice != 2;
    if (plan->layout != PLAN_TOKENS_FIRST || plan->H < 2 || (merges && plan->Tq < 2)) /* one query lies the same in both */
        return false;
    if (splits && (plan->Tpast > 0 || plan->rope.dims > 0))
        return false;
    variant->deviation.heads_split = splits ? MERGE_VIEWED : MERGE_TRANSPOSED;
    variant->deviation.output_merge = merges ? MERGE_VIEWED : MERGE_TRANSPOSED;
    variant->changes_inputs |= splits;
    variant->unsayable = true;
    variant_say(variant,
                splits
                    ? "Yours views the memory of [B,T,H*D] as [B,H,T,D], where a view as [B,T,H,D] and a transpose belong%s."
                    : "Yours views the heads' output [B,H,T,D] as [B,T,H*D]; a transpose to [B,T,H,D] belongs before that%s.",
                splits && merges ? ", and the output's the same way back" : "");
    return true;
}

/* A copy whose last axis has feature d * heads + h at h * width + d. `axis` 0: rows are permuted, not columns. */
static bool interleave(struct variant *variant, const struct tensor *t, size_t heads, bool rows, struct tensor_input *ret)
{
    if (t->data == NULL)
        return true;
    struct tensor copy = *t;
    const size_t features = rows ? t->shape[0] : t->shape[t->rank - 1];
    const size_t row = rows ? (t->rank > 1 ? t->shape[1] : 1) : 1, width = features / size_max(heads, 1);
    const size_t count = tensor_count(t);
    const double *from = t->data;
    double *to = copy.data = variant_alloc(variant, count * sizeof(double));
    for (size_t at = 0; to != NULL && at < count; at++) {
        size_t feature = at / row % features, before = at / row / features;
        size_t source = feature % width * heads + feature / width;
        to[at] = from[(before * features + source) * row + at % row];
    }
    if (to != NULL)
        source_input(&copy, ret);
    return to != NULL;
}

static bool interleave_given(struct variant *variant)
{
    const struct source *source = variant->source;
    const struct plan *plan = source->plan;
    static const enum request_tensor tensors[] = {REQUEST_QUERY, REQUEST_KEY, REQUEST_VALUE, REQUEST_PAST_KEY,
                                                  REQUEST_PAST_VALUE};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        if (!interleave(variant, &source->tensors[tensors[i]], i == 0 ? plan->H : plan->Hkv, false,
                        &variant->request.tensors[tensors[i]]))
            return false;
    return true;
}

/* Of tokens: the weights' rows, or the tokens themselves where there are no weights. */
static bool interleave_tokens(struct variant *variant)
{
    const struct source *source = variant->source;
    const struct plan *plan = source->plan;
    struct request *request = &variant->request;
    if (request->identity)
        return plan->H == plan->Hkv &&
               interleave(variant, &source->tensors[REQUEST_X], plan->H, false, &request->tensors[REQUEST_X]) &&
               interleave(variant, &source->tensors[REQUEST_CONTEXT], plan->H, false, &request->tensors[REQUEST_CONTEXT]) &&
               interleave(variant, &source->tensors[REQUEST_VALUE_CONTEXT], plan->H, false,
                          &request->tensors[REQUEST_VALUE_CONTEXT]);
    for (size_t i = 0; i < PROJECTION_OUTPUT; i++) {
        const size_t heads = i == PROJECTION_QUERY ? plan->H : plan->Hkv;
        if (!interleave(variant, &source->weights[i], heads, true, &request->weights[i]) ||
            !interleave(variant, &source->biases[i], heads, true, &request->biases[i]))
            return false;
    }
    return true;
}

bool convention_head_packing(struct variant *variant, size_t choice)
{
    static const char *const what[] = {"and the output", "of query, key and value", "of the output"};
    const struct plan *plan = variant->source->plan;
    const bool inputs = choice != 2, output = choice != 1;
    if (plan->head_axis || plan->H < 2 || (plan->Dv < 2 && (!inputs || plan->D < 2)))
        return false;
    if (inputs && !(plan->from_tokens ? interleave_tokens : interleave_given)(variant))
        return false;
    variant->deviation.output_merge = output ? MERGE_INTERLEAVED : MERGE_TRANSPOSED;
    variant->changes_inputs |= inputs;
    variant->unsayable = true;
    variant_say(variant, "Yours interleaves the heads in the last axis %s: feature d*H + h, where h*D + d is meant.",
                what[choice]);
    return true;
}

bool convention_head_grouping(struct variant *variant, size_t choice)
{
    const struct plan *plan = variant->source->plan;
    (void)choice;
    if (plan->Hkv < 2 || plan->H == plan->Hkv)
        return false;
    variant->deviation.heads_tiled = true;
    variant->unsayable = true;
    variant_say(variant,
                "Yours tiles the key heads: query head h reads key head h mod %zu (repeat); the heads of a group lie "
                "beside each other, h / %zu (repeat_interleave).",
                plan->Hkv, plan->H / plan->Hkv);
    return true;
}

/* ---- exchanged ---- */

static void swap_inputs(struct tensor_input *a, struct tensor_input *b)
{
    struct tensor_input a_was = *a;
    *a = *b;
    *b = a_was;
}

static void swap_tensors(struct variant *variant, enum request_tensor a, enum request_tensor b)
{
    char path_a[TENSOR_INPUT_POINTER_BYTES_MAX], path_b[TENSOR_INPUT_POINTER_BYTES_MAX];
    struct tensor_input *tensors = variant->request.tensors;
    if (tensors[a].kind == TENSOR_INPUT_ABSENT)
        return;
    memcpy(path_a, tensors[a].pointer, sizeof path_a);
    memcpy(path_b, tensors[b].pointer, sizeof path_b);
    swap_inputs(&tensors[a], &tensors[b]);
    variant_patch_swap(variant, path_a, path_b);
}

static void swap_layers(struct variant *variant, enum request_projection a, enum request_projection b)
{
    const struct request *asked = variant->source->asked;
    swap_inputs(&variant->request.weights[a], &variant->request.weights[b]);
    swap_inputs(&variant->request.biases[a], &variant->request.biases[b]);
    if (!tensor_input_is_given(&asked->weights[a]) || !tensor_input_is_given(&asked->weights[b]))
        variant->unsayable = true;
    else
        variant_patch_swap(variant, a == PROJECTION_QUERY ? "/projection/query" : "/projection/key",
                           b == PROJECTION_KEY ? "/projection/key" : "/projection/value");
}

bool convention_swapped(struct variant *variant, size_t choice)
{
    const struct plan *plan = variant->source->plan;
    const bool query = choice == 1;
    if (plan->from_tokens && variant->request.identity)
        return false;
    if (query ? plan->H != plan->Hkv || plan->Tq != plan->Tnew || plan->Tpast > 0 : plan->D != plan->Dv)
        return false;
    if (plan->from_tokens && (query ? plan->C != plan->context_C : plan->value_C != plan->context_C))
        return false;
    if (plan->from_tokens) {
        swap_layers(variant, query ? PROJECTION_QUERY : PROJECTION_KEY, query ? PROJECTION_KEY : PROJECTION_VALUE);
    } else if (query) {
        swap_tensors(variant, REQUEST_QUERY, REQUEST_KEY);
    } else {
        swap_tensors(variant, REQUEST_KEY, REQUEST_VALUE);
        swap_tensors(variant, REQUEST_PAST_KEY, REQUEST_PAST_VALUE);
    }
    variant->changes_inputs = true;
    variant_say(variant,
                query ? "Yours takes query for key and key for query." : "Yours takes key for value and value for key.");
    return true;
}

/* ---- projections ---- */

static bool transpose_weight(struct variant *variant, enum request_projection which)
{
    const struct tensor *weight = &variant->source->weights[which];
    if (weight->data == NULL || weight->shape[0] != weight->shape[1])
        return false;
    const size_t n = weight->shape[0];
    struct tensor transposed = *weight;
    const double *from = weight->data;
    double *to = transposed.data = variant_alloc(variant, n * n * sizeof(double));
    for (size_t at = 0; to != NULL && at < n * n; at++)
        to[at % n * n + at / n] = from[at];
    if (to != NULL)
        source_input(&transposed, &variant->request.weights[which]);
    return to != NULL;
}

bool convention_projection_transposed(struct variant *variant, size_t choice)
{
    const struct plan *plan = variant->source->plan;
    size_t count = 0, known = 0;
    if (!plan->from_tokens || variant->request.identity)
        return false;
    for (size_t i = 0; i < PROJECTIONS; i++) {
        known += plan_projects(plan, (enum request_projection)i);
        if (choice == i || choice == PROJECTIONS)
            count += plan_projects(plan, (enum request_projection)i) && transpose_weight(variant, (enum request_projection)i);
    }
    if (count == 0 || (choice == PROJECTIONS && count < known))
        return false;
    variant->changes_inputs |= choice != PROJECTION_OUTPUT;
    variant->unsayable = true;
    variant_say(variant,
                "Yours multiplies with the weight of %s%s transposed, [in, out]; here it is [out, in], as torch's Linear "
                "stores it.",
                choice == PROJECTIONS ? "every projection" : "projection.",
                choice == PROJECTIONS ? "" : request_projection_names[choice]);
    return true;
}

/* ---- draws ---- */

/* Memory for what the seed draws. */
static bool draws_alloc(struct variant *variant, struct tensor tensors[REQUEST_TENSORS], struct tensor weights[PROJECTIONS],
                        size_t *ret_tensors, size_t *ret_weights)
{
    const struct source *source = variant->source;
    *ret_tensors = *ret_weights = 0;
    for (size_t i = 0; i < REQUEST_TENSORS; i++) {
        tensors[i] = source->tensors[i];
        if (!source_draws_tensor(source, (enum request_tensor)i))
            continue;
        ++*ret_tensors;
        if ((tensors[i].data = variant_alloc(variant, tensor_count(&tensors[i]) * sizeof(double))) == NULL)
            return false;
        source_input(&tensors[i], &variant->request.tensors[i]);
    }
    for (size_t i = 0; i < PROJECTIONS; i++) {
        weights[i] = source->weights[i];
        if (!source_draws_weight(source, (enum request_projection)i))
            continue;
        ++*ret_weights;
        if ((weights[i].data = variant_alloc(variant, tensor_count(&weights[i]) * sizeof(double))) == NULL)
            return false;
        source_input(&weights[i], &variant->request.weights[i]);
    }
    return true;
}

/* The orders of the projections of query, key and value, ours first; from choice 5 on before the tokens. */
bool convention_seed_order(struct variant *variant, size_t choice)
{
    static const enum request_projection orders[][PROJECTIONS] = {
        {PROJECTION_KEY, PROJECTION_QUERY, PROJECTION_VALUE, PROJECTION_OUTPUT},
        {PROJECTION_QUERY, PROJECTION_KEY, PROJECTION_VALUE, PROJECTION_OUTPUT},
        {PROJECTION_KEY, PROJECTION_VALUE, PROJECTION_QUERY, PROJECTION_OUTPUT},
        {PROJECTION_VALUE, PROJECTION_KEY, PROJECTION_QUERY, PROJECTION_OUTPUT},
        {PROJECTION_VALUE, PROJECTION_QUERY, PROJECTION_KEY, PROJECTION_OUTPUT},
        {PROJECTION_QUERY, PROJECTION_VALUE, PROJECTION_KEY, PROJECTION_OUTPUT},
    };
    const bool projections_first = choice >= 5;
    const enum request_projection *order = orders[projections_first ? choice - 5 : choice + 1];
    struct tensor tensors[REQUEST_TENSORS], weights[PROJECTIONS];
    size_t tensor_draws, weight_draws;
    if (!variant->source->asked->has_seed || !draws_alloc(variant, tensors, weights, &tensor_draws, &weight_draws))
        return false;
    if (weight_draws == 0 || (projections_first ? tensor_draws == 0 : weight_draws == 1) || (weight_draws == 1 && choice > 5))
        return false;
    source_draw(variant->source, order, projections_first, tensors, weights);
    variant->changes_inputs = true;
    variant->unsayable = true;
    variant_say(variant,
                "Yours draws the projections in the order %s, %s, %s%s; here they are drawn key, query, value after "
                "the tokens.",
                request_projection_names[order[0]], request_projection_names[order[1]], request_projection_names[order[2]],
                projections_first ? ", before the tokens" : "");
    return true;
}
