#include "api/request/shape_hints.h"

#include <stdio.h>
#include <string.h>

#include "core/size.h"

#define HEADS_RANK 4
#define AXES_TEXT_BYTES_MAX 96 /* of four axes */

struct shape {
    size_t rank, axes[TENSOR_RANK_MAX];
};

static struct shape shape_of(const struct tensor_input *input)
{
    struct shape shape = {.rank = input->rank};
    memcpy(shape.axes, input->shape, sizeof shape.axes);
    return shape;
}

/* The axes `a` and `b` the other way round. */
static struct shape swapped(struct shape shape, size_t a, size_t b)
{
    size_t axis = shape.axes[a];
    shape.axes[a] = shape.axes[b];
    shape.axes[b] = axis;
    return shape;
}

/* Whether query, key and value fit, heads (of rank 4) before tokens. */
static bool fits(const struct shape *q, const struct shape *k, const struct shape *v)
{
    size_t rank = q->rank;
    if (rank < 2 || rank > HEADS_RANK || k->rank != rank || v->rank != rank)
        return false;
    bool same = q->axes[rank - 1] == k->axes[rank - 1] && k->axes[rank - 2] == v->axes[rank - 2];
    if (rank > 2)
        same = same && q->axes[0] == k->axes[0] && k->axes[0] == v->axes[0];
    if (rank == HEADS_RANK)
        same = same && k->axes[1] == v->axes[1] && k->axes[1] > 0 && q->axes[1] % k->axes[1] == 0;
    return same;
}

static bool fits_as_given(const struct request *request, struct shape q, struct shape k, struct shape v)
{
    if (q.rank == HEADS_RANK && request->layout == LAYOUT_BTHD)
        q = swapped(q, 1, 2), k = swapped(k, 1, 2), v = swapped(v, 1, 2);
    return fits(&q, &k, &v);
}

/* Each reading of three shapes with the same rank. */
static const char *other_reading(const struct request *request, struct shape q, struct shape k, struct shape v)
{
    size_t last = q.rank - 1;
    bool tokens_first = q.rank == HEADS_RANK && request->layout == LAYOUT_BTHD;
    if (q.rank == HEADS_RANK) {
        struct shape oq = swapped(q, 1, 2), ok = swapped(k, 1, 2), ov = swapped(v, 1, 2);
        if (tokens_first ? fits(&q, &k, &v) : fits(&oq, &ok, &ov))
            return tokens_first ? "; read as [B, H, T, D] they fit: that is \"layout\": \"bhtd\""
                                : "; read as [B, T, H, D] they fit: that is \"layout\": \"bthd\"";
        if (tokens_first)
            q = oq, k = ok, v = ov;
    }
    struct shape kt = swapped(k, last, last - 1), vt = swapped(v, last, last - 1);
    bool packed = q.rank < HEADS_RANK && request->has_num_heads; /* whose last axes differ rightly */
    if (packed)
        return "";
    if (fits(&q, &kt, &v))
        return "; key fits with its last two axes swapped: send it as [.., Tk, D], not transposed";
    if (fits(&q, &k, &vt))
        return "; value fits with its last two axes swapped: send it as [.., Tk, Dv]";
    if (fits(&q, &kt, &vt))
        return "; key and value fit with their last two axes swapped: send them as [.., Tk, D] and [.., Tk, Dv]";
    if (q.rank == 3) {
        struct shape tq = swapped(q, 0, 1), tk = swapped(k, 0, 1), tv = swapped(v, 0, 1);
        if (fits(&tq, &tk, &tv))
            return "; read as [T, B, D] they fit, but the batch comes first: send x.transpose(0, 1) of each, [B, T, D]";
    }
    bool divides = q.rank < HEADS_RANK && k.axes[last] > 0 && q.axes[last] % k.axes[last] == 0;
    k.axes[last] = q.axes[last];
    if (divides && fits(&q, &k, &v))
        return "; where heads are packed in the last axis, num_heads and num_kv_heads say how many";
    return "";
}

/* A tensor that would have the others' rank with one axis more or less. */
static const char *missing_axis(const struct shape *q, const struct shape *k)
{
    if (q->rank + 1 == k->rank)
        return k->rank == HEADS_RANK ? "; query misses an axis: [B, H, Tq, D] (a single query has Tq = 1)"
                                     : "; query misses its batch axis: [B, Tq, D], B = 1 for a single item";
    if (k->rank + 1 == q->rank && q->axes[k->rank] == 2 && q->axes[k->rank - 1] == k->axes[k->rank - 1])
        return "; key misses its batch axis; or, if query holds complex numbers as pairs, attention is of real ones";
    if (k->rank + 1 == q->rank)
        return q->rank == HEADS_RANK ? "; key misses an axis: [B, Hkv, Tk, D], Hkv = 1 where all query heads share one"
                                     : "; key misses its batch axis: [B, Tk, D], repeated for each item that shares it";
    return "";
}

const char *shape_hint_of_tensors(const struct request *request, char ret[SHAPE_HINT_BYTES_MAX])
{
    const struct tensor_input *tensors = request->tensors;
    const struct shape q = shape_of(&tensors[REQUEST_QUERY]), k = shape_of(&tensors[REQUEST_KEY]),
                       v = shape_of(&tensors[REQUEST_VALUE]);
    const struct tensor_input *past = &tensors[REQUEST_PAST_KEY];
    const char *hint = "";
    if (q.rank < 2)
        hint = q.rank == 1 ? "; a single query is [1, D]" : "";
    else if (q.rank != k.rank)
        hint = missing_axis(&q, &k);
    else if (k.rank == v.rank && q.rank <= HEADS_RANK && !fits_as_given(request, q, k, v))
        hint = other_reading(request, q, k, v);
    if (hint[0] == '\0' && past->rank == HEADS_RANK && k.rank == HEADS_RANK && past->shape[0] == k.axes[0] &&
        past->shape[3] == k.axes[3]) {
        size_t heads_axis = request->layout == LAYOUT_BTHD && !request->cache_heads_first ? 2 : 1;
        if (past->shape[3 - heads_axis] == k.axes[heads_axis] && past->shape[heads_axis] != k.axes[heads_axis])
            hint = "; a cache has its axes in the order of key: swap its second and third";
    }
    (void)snprintf(ret, SHAPE_HINT_BYTES_MAX, "%s", hint);
    return ret;
}

/* A mask or a bias with one row (and so on) an item, as it is written: [B, 1, .., rest]. */
static void with_batch(const struct plan *plan, const struct tensor_input *input, char ret[AXES_TEXT_BYTES_MAX])
{
    const struct plan_result *weights = &plan->results[RESULT_WEIGHTS];
    size_t axes[4] = {plan->B, 1, 1, 1};
    for (size_t i = 1; i < input->rank; i++)
        axes[weights->rank - input->rank + i] = input->shape[i];
    (void)shape_text(weights->rank, axes, ret, AXES_TEXT_BYTES_MAX);
}

const char *shape_hint_of_pairs(const struct plan *plan, enum request_tensor which, char ret[SHAPE_HINT_BYTES_MAX])
{
    const struct tensor_input *input = &plan->request->tensors[which];
    const struct plan_result *weights = &plan->results[RESULT_WEIGHTS];
    const size_t *shape = input->shape, rank = input->rank;
    char text[AXES_TEXT_BYTES_MAX];
    ret[0] = '\0';
    if (rank == 0)
        return ret;
    size_t last = shape[rank - 1], rows = rank > 1 ? shape[rank - 2] : 1;
    if (plan->has_batch && rank > 1 && rank < weights->rank && shape[0] == plan->B && last == plan->Tk &&
        (rank == 2 || rows == plan->Tq || rows == 1)) {
        with_batch(plan, input, text);
        (void)snprintf(ret, SHAPE_HINT_BYTES_MAX, "; if its first axis is the batch, send it as %s", text);
    } else if (plan->has_batch && plan->has_heads && rank == 3 && shape[0] == size_multiply(plan->B, plan->H) &&
               rows == plan->Tq && last == plan->Tk) {
        const size_t axes[4] = {plan->B, plan->H, rows, last};
        (void)shape_text(4, axes, text, sizeof text);
        (void)snprintf(ret, SHAPE_HINT_BYTES_MAX, "; torch's [B*H, Tq, Tk] is sent as %s", text);
    } else if (rank > 1 && last == plan->Tq && rows == plan->Tk) {
        (void)snprintf(ret, SHAPE_HINT_BYTES_MAX, "; its last two axes are queries and keys, [.., Tq, Tk]: swap them");
    } else if (plan->Tpast > 0 && last == plan->Tnew) {
        (void)snprintf(ret, SHAPE_HINT_BYTES_MAX,
                       "; a %s covers all %zu keys, the cache's before the new ones: add %zu column%s in front",
                       request_tensor_names[which], plan->Tk, plan->Tpast, error_s(plan->Tpast));
    } else if (which == REQUEST_MASK && rank == 1 && last == plan->B && !tensor_input_is_bool(input)) {
        (void)snprintf(ret, SHAPE_HINT_BYTES_MAX, "; lengths, one per item, are key_lengths");
    } else if (rank > weights->rank && !plan->has_heads) {
        (void)snprintf(ret, SHAPE_HINT_BYTES_MAX, "; there are no heads here: leave out the %s's axis for them",
                       request_tensor_names[which]);
    }
    return ret;
}

const char *shape_hint_of_readings(const struct plan *plan, enum request_tensor which, char ret[SHAPE_HINT_BYTES_MAX])
{
    const struct tensor_input *input = &plan->request->tensors[which];
    const struct plan_result *weights = &plan->results[RESULT_WEIGHTS];
    const size_t rank = input->rank;
    ret[0] = '\0';
    if (input->kind == TENSOR_INPUT_ABSENT || !plan->has_batch || plan->B < 2 || rank < 2 || rank >= weights->rank ||
        input->shape[0] != plan->B)
        return ret;
    char shape[AXES_TEXT_BYTES_MAX], batch[AXES_TEXT_BYTES_MAX], taken[AXES_TEXT_BYTES_MAX];
    size_t axes[4] = {1, 1, 1, 1};
    for (size_t i = 0; i < rank; i++)
        axes[weights->rank - rank + i] = input->shape[i];
    (void)shape_text(rank, input->shape, shape, sizeof shape);
    (void)shape_text(weights->rank, axes, taken, sizeof taken);
    with_batch(plan, input, batch);
    (void)snprintf(
        ret, SHAPE_HINT_BYTES_MAX,
        "the %s's shape %s was read as [%s, %s]; if its first axis is the batch, send it as %s (%s says that it is not)",
        request_tensor_names[which], shape, rank == 2 ? "Tq" : "H", rank == 2 ? "Tk" : "Tq, Tk", batch, taken);
    return ret;
}
