#include "api/compare/source.h"

#include <string.h>

#include "core/random.h"
#include "core/size.h"

static enum dtype dtype_of(const struct tensor_input *input)
{
    return tensor_input_is_bool(input) ? DTYPE_BOOL : DTYPE_F64;
}

static size_t tensor_cost(enum dtype dtype, size_t rank, const size_t *shape)
{
    return arena_cost(size_multiply(shape_count(rank, shape), dtype_bytes(dtype)));
}

size_t source_cost(const struct plan *plan)
{
    const struct request *request = plan->request;
    size_t bytes = 0;
    for (size_t i = 0; i < REQUEST_TENSORS; i++)
        if (request->tensors[i].kind != TENSOR_INPUT_ABSENT)
            bytes = size_add(bytes,
                             tensor_cost(dtype_of(&request->tensors[i]), request->tensors[i].rank, request->tensors[i].shape));
    for (size_t i = 0; i < PROJECTIONS; i++) {
        if (!plan_projects(plan, (enum request_projection)i))
            continue;
        bytes = size_add(bytes, tensor_cost(DTYPE_F64, 2, plan->weight_shape[i]));
        bytes = size_add(bytes, tensor_cost(DTYPE_F64, 1, plan->weight_shape[i]));
    }
    return bytes;
}

void source_input(const struct tensor *t, struct tensor_input *ret)
{
    const char *name = ret->name;
    struct tensor_input input = {
        .kind = TENSOR_INPUT_BYTES,
        .name = name,
        .bytes = t->data,
        .element_type = element_of_dtype(t->dtype),
        .rank = t->rank,
    };
    memcpy(input.shape, t->shape, t->rank * sizeof *t->shape);
    memcpy(input.pointer, ret->pointer, sizeof input.pointer);
    memcpy(input.array_pointer, ret->array_pointer, sizeof input.array_pointer);
    *ret = input;
}

static bool read_input(struct source *source, struct tensor_input *input, enum dtype dtype, struct arena *arena,
                       const struct executor *executor, struct tensor *ret, struct error *err)
{
    if (input->kind == TENSOR_INPUT_ABSENT)
        return true;
    const void *in_place = tensor_input_in_place(input, dtype);
    *ret = tensor_contiguous((void *)(uintptr_t)in_place, dtype, input->rank, input->shape);
    if (in_place == NULL && (ret->data = arena_alloc(arena, tensor_count(ret) * dtype_bytes(dtype), err)) == NULL)
        return false;
    if (input->kind != TENSOR_INPUT_DRAWN && !tensor_input_load(source->extract, input, executor, ret, err))
        return false;
    source_input(ret, input);
    return true;
}

bool source_draws_tensor(const struct source *source, enum request_tensor which)
{
    return source->asked->tensors[which].kind == TENSOR_INPUT_DRAWN;
}

bool source_draws_weight(const struct source *source, enum request_projection which)
{
    return plan_projects(source->plan, which) && !tensor_input_is_given(&source->asked->weights[which]);
}

static void draw_weights(const struct source *source, struct random *random, const enum request_projection order[PROJECTIONS],
                         const struct tensor weights[PROJECTIONS])
{
    for (size_t i = 0; i < PROJECTIONS; i++)
        if (source_draws_weight(source, order[i]))
            random_linear(random, &weights[order[i]]);
}

void source_draw(const struct source *source, const enum request_projection order[PROJECTIONS], bool projections_first,
                 const struct tensor tensors[REQUEST_TENSORS], const struct tensor weights[PROJECTIONS])
{
    struct random random;
    random_init(&random, source->asked->seed);
    if (projections_first)
        draw_weights(source, &random, order, weights);
    for (size_t i = REQUEST_X; i <= REQUEST_VALUE; i++)
        if (source_draws_tensor(source, (enum request_tensor)i))
            random_normal(&random, &tensors[i], NULL);
    if (!projections_first)
        draw_weights(source, &random, order, weights);
}

/* A weight that is neither given nor named is drawn all the same. */
static bool read_projection(struct source *source, enum request_projection which, struct arena *arena,
                            const struct executor *executor, struct error *err)
{
    struct tensor_input *weight = &source->request.weights[which];
    if (!plan_projects(source->plan, which))
        return true;
    if (weight->kind == TENSOR_INPUT_ABSENT) {
        *weight = (struct tensor_input){.kind = TENSOR_INPUT_DRAWN, .rank = 2};
        memcpy(weight->shape, source->plan->weight_shape[which], 2 * sizeof *weight->shape);
    }
    return read_input(source, weight, DTYPE_F64, arena, executor, &source->weights[which], err) &&
           read_input(source, &source->request.biases[which], DTYPE_F64, arena, executor, &source->biases[which], err);
}

static bool holds_flags(const struct tensor *mask)
{
    bool one = false;
    if (mask->data == NULL || mask->dtype == DTYPE_BOOL)
        return false;
    for (size_t i = 0; i < tensor_count(mask); i++) {
        double x = ((const double *)mask->data)[i];
        if (x != 0 && x != 1)
            return false;
        one |= x == 1;
    }
    return one;
}

bool source_read(struct source *ret, const struct request *asked, const struct plan *plan, const struct extract *extract,
                 struct arena *arena, const struct executor *executor, struct error *err)
{
    static const enum request_projection order[PROJECTIONS] = {PROJECTION_KEY, PROJECTION_QUERY, PROJECTION_VALUE,
                                                               PROJECTION_OUTPUT};
    *ret = (struct source){.extract = extract, .asked = asked, .plan = plan, .request = *plan->request};
    for (size_t i = 0; i < REQUEST_TENSORS; i++)
        if (!read_input(ret, &ret->request.tensors[i], dtype_of(&asked->tensors[i]), arena, executor, &ret->tensors[i], err))
            return false;
    for (size_t i = 0; i < PROJECTIONS; i++)
        if (!read_projection(ret, (enum request_projection)i, arena, executor, err))
            return false;
    source_draw(ret, order, false, ret->tensors, ret->weights);
    ret->mask_is_flags = holds_flags(&ret->tensors[REQUEST_MASK]);
    return true;
}
