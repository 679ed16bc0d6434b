/* convention_masks.c: mask, window, padding, packed sequences, rows with every key masked. */
#include <inttypes.h>
#include <string.h>

#include "api/compare/convention.h"

/* ---- mask ---- */

static bool has_mask(const struct variant *variant)
{
    return variant->request.tensors[REQUEST_MASK].kind != TENSOR_INPUT_ABSENT;
}

/* The mask as it is so far; never written. */
static struct tensor mask_of(const struct variant *variant)
{
    const struct tensor_input *input = &variant->request.tensors[REQUEST_MASK];
    enum dtype dtype = input->element_type == ELEMENT_BOOL ? DTYPE_BOOL : DTYPE_F64;
    return tensor_contiguous((void *)(uintptr_t)input->bytes, dtype, input->rank, input->shape);
}

/* A mask of other numbers, or of booleans, in the variant's own memory. NULL where there is none left. */
static void *replace_mask(struct variant *variant, enum dtype dtype, const size_t *shape)
{
    struct tensor mask = tensor_contiguous(NULL, dtype, variant->request.tensors[REQUEST_MASK].rank, shape);
    mask.data = variant_alloc(variant, tensor_count(&mask) * dtype_bytes(dtype));
    if (mask.data != NULL)
        source_input(&mask, &variant->request.tensors[REQUEST_MASK]);
    variant->unsayable = true;
    return mask.data;
}

bool convention_mask_polarity(struct variant *variant, size_t choice)
{
    (void)choice;
    if (!has_mask(variant) || mask_of(variant).dtype != DTYPE_BOOL)
        return false;
    variant->request.mask_drops = !variant->request.mask_drops;
    variant_say(variant, "In your mask true means %s; the request says that it means %s.",
                variant->request.mask_drops ? "masked" : "may attend", variant->request.mask_drops ? "may attend" : "masked");
    variant_patch_add(variant, "/mask_semantics", "\"%s\"", variant->request.mask_drops ? "drop" : "keep");
    return true;
}

/* Booleans as numbers: true, or false where `inverted`, counts 1. */
static bool add_booleans(struct variant *variant, bool inverted)
{
    const struct tensor mask = mask_of(variant);
    const unsigned char *given = mask.data;
    double *numbers = replace_mask(variant, DTYPE_F64, mask.shape);
    for (size_t i = 0; numbers != NULL && i < tensor_count(&mask); i++)
        numbers[i] = (given[i] != 0) != inverted;
    variant->request.mask_drops = false;
    variant_say(variant, "Yours adds the mask to the scores as numbers, %s as 1; here booleans mask.",
                inverted ? "false" : "true");
    return numbers != NULL;
}

/* 0 and 1 as booleans. */
static bool mask_by_flags(struct variant *variant, bool drops)
{
    const struct tensor mask = mask_of(variant);
    const double *given = mask.data;
    unsigned char *booleans = replace_mask(variant, DTYPE_BOOL, mask.shape);
    for (size_t i = 0; booleans != NULL && i < tensor_count(&mask); i++)
        booleans[i] = (given[i] != 0) != drops;
    variant_say(variant, "Yours masks where the mask is %d; the request's mask holds numbers, which are added: send booleans.",
                drops ? 1 : 0);
    return booleans != NULL;
}

static bool add_before_scale(struct variant *variant)
{
    const struct tensor mask = mask_of(variant);
    const double scale = variant->request.has_scale ? variant->request.scale : variant->source->plan->scale, *given = mask.data;
    if (scale == 1 || scale <= 0 || variant->request.query_scale.kind != TENSOR_INPUT_ABSENT)
        return false;
    double *numbers = replace_mask(variant, DTYPE_F64, mask.shape);
    for (size_t i = 0; numbers != NULL && i < tensor_count(&mask); i++)
        numbers[i] = given[i] * scale;
    variant_say(variant, "Yours adds the mask before the scale; it belongs after it.");
    return numbers != NULL;
}

bool convention_mask_added(struct variant *variant, size_t choice)
{
    if (!has_mask(variant))
        return false;
    if (mask_of(variant).dtype == DTYPE_BOOL)
        return choice < 2 && add_booleans(variant, choice == 1);
    if (choice == 0)
        return add_before_scale(variant);
    return choice >= 2 && variant->source->mask_is_flags && mask_by_flags(variant, choice == 3);
}

bool convention_mask_missing(struct variant *variant, size_t choice)
{
    (void)choice;
    if (!has_mask(variant))
        return false;
    variant->request.tensors[REQUEST_MASK] = (struct tensor_input){0};
    variant_say(variant, "Yours leaves the mask out.");
    variant_patch_remove(variant, "/mask");
    return true;
}

bool convention_mask_transposed(struct variant *variant, size_t choice)
{
    const struct tensor mask = mask_of(variant);
    (void)choice;
    if (!has_mask(variant) || mask.rank < 2 || tensor_count(&mask) == 0)
        return false;
    size_t shape[TENSOR_RANK_MAX];
    const size_t rows = mask.shape[mask.rank - 2], columns = mask.shape[mask.rank - 1];
    memcpy(shape, mask.shape, sizeof shape);
    shape[mask.rank - 2] = columns;
    shape[mask.rank - 1] = rows;
    const size_t bytes = dtype_bytes(mask.dtype), count = tensor_count(&mask);
    char *transposed = replace_mask(variant, mask.dtype, shape);
    for (size_t at = 0; transposed != NULL && at < count; at++) {
        size_t i = at / columns % rows, j = at % columns, matrix = at / (rows * columns);
        memcpy(transposed + (matrix * rows * columns + j * rows + i) * bytes, (const char *)mask.data + at * bytes, bytes);
    }
    variant_say(variant, "Your mask is transposed: its last axis counts queries, where it should count keys.");
    return transposed != NULL;
}

/* ---- window, padding ---- */

bool convention_window_bound(struct variant *variant, size_t choice)
{
    struct request *request = &variant->request;
    static const int changes[][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    int64_t left = request->window_left, right = request->window_right;
    if (left < 0 && right < 0)
        return false;
    if (choice == 5) {
        request->window_left = request->window_right = -1;
        variant_say(variant, "Yours has no window.");
        variant_patch_remove(variant, "/window");
        if (request->num_sink_tokens > 0) /* it extends the window */
            variant_patch_remove(variant, "/num_sink_tokens");
        request->num_sink_tokens = 0;
        return true;
    }
    if (choice == 4) {
        request->window_left = right;
        request->window_right = left;
        if (left == right)
            return false;
    } else {
        int left_change = changes[choice][0], right_change = changes[choice][1];
        if ((left_change != 0 && left < (left_change < 0)) || (right_change != 0 && right < (right_change < 0)) ||
            left >= REQUEST_POSITION_MAX || right >= REQUEST_POSITION_MAX)
            return false;
        request->window_left += left_change;
        request->window_right += right_change;
    }
    variant_say(variant, "Your window is [%" PRId64 ", %" PRId64 "]%s; the request says [%" PRId64 ", %" PRId64 "].",
                request->window_left, request->window_right, choice == 4 ? ", its sides exchanged" : "", left, right);
    variant_patch_add(variant, "/window", "[%" PRId64 ",%" PRId64 "]", request->window_left, request->window_right);
    return true;
}

bool convention_padding(struct variant *variant, size_t choice)
{
    struct request *request = &variant->request;
    if (!request->integers[INTEGERS_KEY_LENGTHS].given || request->offset_from_lengths ||
        variant->base->evaluation.key_lengths == NULL)
        return false;
    request->integers[INTEGERS_KEY_LENGTHS] = (struct integers_input){0};
    variant->deviation.left_padded = choice == 1;
    if (choice == 0) {
        variant_say(variant, "Yours attends to the padding: key_lengths are left out.");
        variant_patch_remove(variant, "/key_lengths");
        return true;
    }
    variant->unsayable = true;
    variant_say(variant, "Yours pads on the left: of each item the last key_lengths keys are there, not the first.");
    return true;
}

/* Choice 0 of boundaries, 1 of segment ids. */
bool convention_sequences_missing(struct variant *variant, size_t choice)
{
    struct integers_input *integers = variant->request.integers;
    const enum request_integers which = choice == 0 ? INTEGERS_QUERY_BOUNDARIES : INTEGERS_QUERY_SEGMENTS;
    const bool per_sequence = integers[INTEGERS_QUERY_OFFSET].is_list || integers[INTEGERS_PREFIX_LENGTH].is_list;
    if (!integers[which].given || (choice == 0 && per_sequence))
        return false;
    integers[which] = integers[which + 1] = (struct integers_input){0};
    variant->changes_inputs |= choice == 0 && variant->request.rope.given; /* positions run on */
    variant_say(variant, choice == 0 ? "Yours takes all tokens for one sequence: cu_seqlens are left out."
                                     : "Yours attends across segments: segment_ids are left out.");
    variant_patch_remove(variant, choice == 0 ? "/cu_seqlens" : "/segment_ids");
    return true;
}

/* Whether anything masks keys. */
static bool has_masks(const struct variant *variant)
{
    static const enum request_integers masking[] = {INTEGERS_KEY_LENGTHS, INTEGERS_QUERY_SEGMENTS, INTEGERS_QUERY_BOUNDARIES};
    const struct request *request = &variant->request;
    const struct deviation *d = &variant->deviation;
    bool masks = has_mask(variant) || request->causal != CAUSAL_FALSE || request->window_left >= 0 ||
                 request->window_right >= 0 || request->chunk_size > 0 || d->causal != CAUSAL_AS_ASKED || d->left_padded;
    for (size_t i = 0; i < sizeof masking / sizeof *masking; i++)
        masks |= request->integers[masking[i]].given;
    return masks;
}

bool convention_masked_rows(struct variant *variant, size_t choice)
{
    if (!has_masks(variant))
        return false;
    variant->deviation.masked_rows = choice == 0 ? MASKED_ROWS_MEAN : MASKED_ROWS_NAN;
    variant->unsayable = true;
    variant_say(variant, choice == 0 ? "Rows with every key masked are the mean of all values in yours (a mask of large "
                                       "negative numbers); here they are 0."
                                     : "Rows with every key masked are NaN in yours (a softmax over -Infinity alone); here "
                                       "they are 0.");
    return true;
}
