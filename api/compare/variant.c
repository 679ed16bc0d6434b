#include "api/compare/variant.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/request/plan_resolve.h"
#include "core/size.h"

#define VARIANT_SMALL_BYTES ((size_t)128 << 10) /* what does not grow with the request */

void variant_init(struct variant *ret, const struct source *source, const struct variant *base, size_t memory_bytes,
                  const struct executor *executor)
{
    *ret = (struct variant){.source = source, .request = source->request, .executor = executor};
    ret->base = base != NULL ? base : ret;
    arena_init(&ret->memory, memory_bytes);
}

void variant_done(struct variant *variant)
{
    arena_done(&variant->memory);
}

void *variant_alloc(struct variant *variant, size_t bytes)
{
    struct error unused;
    error_init(&unused);
    return arena_alloc(&variant->memory, bytes, &unused);
}

static void append(char *text, size_t text_bytes, const char *between, const char *format, va_list arguments)
{
    size_t used = strlen(text);
    if (used > 0)
        used += (size_t)snprintf(text + used, text_bytes - used, "%s", between);
    (void)vsnprintf(text + used, text_bytes - used, format, arguments);
}

void variant_say(struct variant *variant, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(variant->sentence, sizeof variant->sentence, " ", format, arguments);
    va_end(arguments);
}

static void patch_format(struct variant *variant, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void patch_format(struct variant *variant, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(variant->patch, sizeof variant->patch, ",", format, arguments);
    va_end(arguments);
}

void variant_patch_add(struct variant *variant, const char *path, const char *format, ...)
{
    char value[VARIANT_PATCH_BYTES_MAX / 2];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    patch_format(variant, "{\"op\":\"add\",\"path\":\"%s\",\"value\":%s}", path, value);
}

void variant_patch_remove(struct variant *variant, const char *path)
{
    patch_format(variant, "{\"op\":\"remove\",\"path\":\"%s\"}", path);
}

/* By way of a third place, which is empty again in the end. */
void variant_patch_swap(struct variant *variant, const char *path_a, const char *path_b)
{
    patch_format(variant,
                 "{\"op\":\"move\",\"from\":\"%s\",\"path\":\"/swapped\"},{\"op\":\"move\",\"from\":\"%s\",\"path\":\"%s\"},"
                 "{\"op\":\"move\",\"from\":\"/swapped\",\"path\":\"%s\"}",
                 path_a, path_b, path_a, path_b);
}

struct tensor variant_copy(struct variant *variant, const struct tensor *t)
{
    struct tensor copy = tensor_contiguous(NULL, t->dtype, t->rank, t->shape);
    copy.data = variant_alloc(variant, size_multiply(tensor_count(t), dtype_bytes(t->dtype)));
    if (copy.data != NULL && tensor_count(t) > 0)
        tensor_copy(t, &copy);
    return copy;
}

/* An evaluation; and the tensors that a convention changes and the copies that a deviation needs. */
size_t variant_memory_bytes(const struct plan *plan, const struct extract *extract, const struct executor *executor)
{
    struct evaluation_memory costs = {0};
    struct evaluation evaluation = {.plan = plan, .extract = extract};
    struct error unused;
    error_init(&unused);
    if (!evaluation_allocate(&evaluation, executor, 0, &costs, &unused))
        return SIZE_MAX;
    const struct tensor_input *mask = &plan->request->tensors[REQUEST_MASK];
    size_t heads = size_multiply(plan->B, plan->H), kv_heads = size_multiply(plan->B, plan->Hkv);
    size_t query = size_multiply(size_multiply(heads, plan->Tq), plan->D);
    size_t kv = size_multiply(size_multiply(kv_heads, plan->Tk), size_add(plan->D, plan->Dv));
    size_t output = size_multiply(size_multiply(heads, plan->Tq), plan->Dv);
    size_t columns = size_multiply(2, size_multiply(heads, plan->Tk));
    size_t numbers = size_add(size_multiply(3, size_add(query, kv)), size_add(output, columns));
    for (size_t i = 0; i < PROJECTIONS; i++)
        numbers = size_add(numbers, size_multiply(3, size_multiply(plan->weight_shape[i][0], plan->weight_shape[i][1])));
    if (mask->kind != TENSOR_INPUT_ABSENT)
        numbers = size_add(numbers, size_multiply(3, shape_count(mask->rank, mask->shape)));
    return size_add(size_add(costs.cost_bytes, size_multiply(sizeof(double), numbers)), VARIANT_SMALL_BYTES);
}

static void share_inputs(struct variant *variant, const struct variant *same)
{
    const struct attention_params *from = &same->evaluation.params;
    struct attention_params *to = &variant->evaluation.params;
    to->query = from->query;
    to->key = from->key;
    to->value = from->value;
}

/* Heads as they come out where the memory of [B,T,H,D] is viewed as [B,H,T,D]. */
static void view_heads(struct variant *variant)
{
    const struct plan *plan = &variant->plan;
    struct attention_params *params = &variant->evaluation.params;
    params->query = plan_heads_view(plan, PLAN_HEADS_FIRST, params->query.data, plan->H, plan->Tq, plan->D);
    params->key = plan_heads_view(plan, PLAN_HEADS_FIRST, params->key.data, plan->Hkv, plan->Tk, plan->D);
    params->value = plan_heads_view(plan, PLAN_HEADS_FIRST, params->value.data, plan->Hkv, plan->Tk, plan->Dv);
}

static void shift(const struct tensor *positions, size_t items, int64_t by)
{
    size_t count = size_multiply(size_multiply(positions->shape[0], items), positions->shape[2]);
    for (size_t i = 0; i < count; i++)
        ((double *)positions->data)[i] += (double)by;
}

/* Moves the positions by which queries and keys turn, or has them not turn at all. */
static void deviate_rope(struct variant *variant)
{
    const struct deviation *d = &variant->deviation;
    struct evaluation_rope *rope = &variant->evaluation.rope;
    struct tensor *const positions[] = {&rope->query_positions, &rope->key_positions};
    const int64_t shifts[] = {d->rope_query_shift, d->rope_key_shift};
    const bool missing[] = {d->rope_query_missing, d->rope_key_missing};
    for (size_t i = 0; i < 2; i++) {
        if (shifts[i] != 0)
            shift(positions[i], positions[i]->stride[1] == 0 ? 1 : variant->plan.B, shifts[i]);
        if (missing[i])
            positions[i]->data = NULL;
    }
}

static bool no_memory(struct error *err)
{
    return error_set(err, ERROR_NO_MEMORY, "no memory left to change the request's tensors");
}

/* Query, key and value as the deviation has them, in memory of the variant's own. */
static bool deviate_inputs(struct variant *variant, struct error *err)
{
    const struct deviation *d = &variant->deviation;
    struct attention_params *params = &variant->evaluation.params;
    struct tensor *const inputs[] = {&params->query, &params->key, &params->value};
    if (d->heads_split == MERGE_VIEWED)
        view_heads(variant);
    if (d->round_inputs == ELEMENT_F64)
        return true;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct tensor copy = variant_copy(variant, inputs[i]);
        if (copy.data == NULL)
            return no_memory(err);
        *inputs[i] = copy;
    }
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        element_round(d->round_inputs, inputs[i]);
    return true;
}

bool variant_prepare(struct variant *variant, const struct variant *same, struct error *err)
{
    struct error refused;
    struct evaluation_memory memory = {.arena = &variant->memory};
    struct evaluation *evaluation = &variant->evaluation;
    error_init(&refused);
    if (executor_stopped(variant->executor))
        return executor_set_stopped(err);
    if (!plan_resolve(&variant->request, &variant->plan, &refused))
        return false;
    *evaluation = (struct evaluation){.plan = &variant->plan, .extract = variant->source->extract};
    if (!evaluation_allocate(evaluation, variant->executor, 0, &memory, err))
        return false;
    if (!evaluation_read(evaluation, variant->executor, &refused)) {
        if (refused.code != ERROR_INVALID) /* else there is no such variant: its positions leave a table, say */
            *err = refused;
        return false;
    }
    if (variant->deviation.rope_own)
        deviate_rope(variant);
    if (same == NULL && !evaluation_compute(evaluation, &variant->memory, variant->executor, err))
        return false;
    if (same != NULL)
        share_inputs(variant, same);
    return same != NULL || deviate_inputs(variant, err); /* shared ones are as the other deviates */
}
