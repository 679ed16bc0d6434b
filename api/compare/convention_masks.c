/* convention_masks.c: causal and its corner, mask, window, padding, rows with every key masked. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/compare/convention.h"

#define ITEMS_SAID_MAX 64 /* more make no patch */

/* ---- causal ---- */

static bool uses_positions(const struct variant *variant)
{
    struct plan plan = *variant->source->plan;
    plan.request = &variant->request;
    return plan_uses_positions(&plan);
}

static struct integers_input *offset_of(struct variant *variant)
{
    return &variant->request.integers[INTEGERS_QUERY_OFFSET];
}

/* Whether queries stand at query_offset + i and keys at j, the same for all items. */
static bool has_one_offset(const struct variant *variant)
{
    const struct integers_input *integers = variant->request.integers;
    return !integers[INTEGERS_QUERY_POSITIONS].given && !integers[INTEGERS_KEY_POSITIONS].given &&
           !integers[INTEGERS_QUERY_OFFSET].is_list && !variant->request.offset_from_lengths;
}

static int64_t asked_offset(const struct variant *variant)
{
    return variant->source->plan->query_offset;
}

/* Where query 0 stands so that it sees keys from the top left, or the last query the last key. */
static int64_t corner_offset(const struct variant *variant, bool bottom_right)
{
    return bottom_right ? (int64_t)variant->source->plan->Tk - (int64_t)variant->source->plan->Tq : 0;
}

static void set_offset(struct variant *variant, int64_t offset)
{
    *offset_of(variant) = (struct integers_input){.given = true, .value = offset};
    variant_patch_add(variant, "/query_offset", "%" PRId64, offset);
}

/* Without a causal mask that implies it the offset stays what it was. */
static void keep_offset(struct variant *variant)
{
    if (has_one_offset(variant) && !offset_of(variant)->given && asked_offset(variant) != (int64_t)variant->source->plan->Tpast)
        set_offset(variant, asked_offset(variant));
}

/* What extends a causal mask goes with it: the request would be refused. */
static void drop_causal(struct variant *variant)
{
    struct integers_input *integers = variant->request.integers;
    variant->request.causal = CAUSAL_FALSE;
    if (integers[INTEGERS_PREFIX_LENGTH].given)
        variant_patch_remove(variant, "/prefix_length");
    if (integers[INTEGERS_QUERY_SPANS].given)
        variant_patch_remove(variant, "/span_ids");
    integers[INTEGERS_PREFIX_LENGTH] = (struct integers_input){0};
    integers[INTEGERS_QUERY_SPANS] = integers[INTEGERS_KEY_SPANS] = (struct integers_input){0};
}

/* The causal mask is ours, so that everything else that counts positions stays. */
static void own_causal(struct variant *variant, enum deviation_causal causal, int64_t offset)
{
    keep_offset(variant);
    drop_causal(variant);
    variant->deviation.causal = causal;
    variant->deviation.causal_offset = offset;
    variant->unsayable = true;
}

/* Through the request, which moves what else counts positions too. */
static void set_corner(struct variant *variant, bool bottom_right)
{
    if (offset_of(variant)->given)
        variant_patch_remove(variant, "/query_offset");
    *offset_of(variant) = (struct integers_input){0};
    variant->request.causal = bottom_right ? CAUSAL_BOTTOM_RIGHT : CAUSAL_TOP_LEFT;
    variant->changes_inputs |= variant->request.rope.given;
    variant_patch_add(variant, "/causal", "\"%s\"", request_causal_names[variant->request.causal]);
}

static bool not_causal(struct variant *variant)
{
    if (variant->request.causal == CAUSAL_FALSE)
        return false;
    variant_say(variant, "Yours is not causal: every query sees every key. The request says causal.");
    variant_patch_add(variant, "/causal", "false");
    if (uses_positions(variant))
        keep_offset(variant);
    drop_causal(variant);
    return true;
}

static bool causal_from(struct variant *variant, bool bottom_right)
{
    int64_t offset = corner_offset(variant, bottom_right);
    if (variant->request.causal != CAUSAL_FALSE || (bottom_right && offset == 0))
        return false;
    variant_say(variant, "Yours is causal%s; the request is not.",
                corner_offset(variant, true) == 0 ? ""
                : bottom_right                    ? " from the bottom right"
                                                  : " from the top left");
    if (!has_one_offset(variant) || (uses_positions(variant) && offset != asked_offset(variant)))
        own_causal(variant, CAUSAL_AT_INDEX, offset);
    else
        set_corner(variant, bottom_right);
    return true;
}

static bool strictly_causal(struct variant *variant)
{
    variant_say(variant, "Yours is strictly causal: a query sees the keys before its own position, and not its own.");
    if (uses_positions(variant) || !has_one_offset(variant)) {
        own_causal(variant, CAUSAL_AT_POSITION, -1);
        return true;
    }
    variant->request.causal = CAUSAL_TRUE;
    variant_patch_add(variant, "/causal", "true");
    set_offset(variant, asked_offset(variant) - 1);
    return true;
}

/* By positions, where the request has its own: not by a corner. */
static bool causal_by_position(struct variant *variant)
{
    if (variant->request.causal != CAUSAL_FALSE || has_one_offset(variant))
        return false;
    variant->request.causal = CAUSAL_TRUE;
    variant_say(variant, "Yours is causal; the request is not.");
    variant_patch_add(variant, "/causal", "true");
    return true;
}

bool convention_causal(struct variant *variant, size_t choice)
{
    if (variant->deviation.causal != CAUSAL_AS_ASKED)
        return false;
    switch (choice) {
    case 0:
        return not_causal(variant);
    case 1:
    case 2:
        return causal_from(variant, choice == 2);
    case 3:
        return strictly_causal(variant);
    default:
        return causal_by_position(variant);
    }
}

/* From the bottom right of each item's own keys. */
static bool corner_of_lengths(struct variant *variant)
{
    const size_t *lengths = variant->base->evaluation.key_lengths;
    const size_t B = variant->source->plan->B, Tq = variant->source->plan->Tq;
    char offsets[ITEMS_SAID_MAX * 24] = "";
    if (!variant->request.integers[INTEGERS_KEY_LENGTHS].given || lengths == NULL || !has_one_offset(variant))
        return false;
    for (size_t b = 0, used = 0; b < B && b < ITEMS_SAID_MAX; b++)
        used += (size_t)snprintf(offsets + used, sizeof offsets - used, "%s%" PRId64, b > 0 ? "," : "",
                                 (int64_t)lengths[b] - (int64_t)Tq);
    variant->request.causal = CAUSAL_TRUE;
    *offset_of(variant) = (struct integers_input){0};
    variant->request.offset_from_lengths = true;
    variant->changes_inputs |= variant->request.rope.given;
    variant->unsayable |= B > ITEMS_SAID_MAX;
    variant_say(variant, "Yours is causal from the bottom right of each item's own keys (its key_lengths).");
    variant_patch_add(variant, "/causal", "true");
    variant_patch_add(variant, "/query_offset", variant->source->plan->has_batch ? "[%s]" : "%s", offsets);
    return true;
}

/* Choices 0 and 1 through the request; 2 and 3 of the mask alone, where other things count positions too; 4 of each item. */
bool convention_causal_corner(struct variant *variant, size_t choice)
{
    static const char *const corners[] = {"top left", "bottom right"};
    const bool bottom_right = choice % 2 == 1, one = has_one_offset(variant);
    const int64_t offset = corner_offset(variant, bottom_right), asked = asked_offset(variant);
    if (variant->request.causal == CAUSAL_FALSE || variant->deviation.causal != CAUSAL_AS_ASKED)
        return false;
    if (choice == 4)
        return corner_of_lengths(variant);
    if ((one && offset == asked) || (choice >= 2 && one && !uses_positions(variant)))
        return false;
    if (choice < 2 && (variant->request.integers[INTEGERS_QUERY_POSITIONS].given || variant->request.offset_from_lengths))
        return false;
    variant_say(variant, "Yours is causal from the %s; the request says %s.", corners[bottom_right],
                one && asked == corner_offset(variant, !bottom_right) ? corners[!bottom_right]
                                                                      : "other positions (query_offset)");
    if (choice >= 2)
        own_causal(variant, CAUSAL_AT_INDEX, offset);
    else
        set_corner(variant, bottom_right);
    return true;
}

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
    if (scale == 1 || scale <= 0)
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

bool convention_masked_rows(struct variant *variant, size_t choice)
{
    const struct request *request = &variant->request;
    bool masks = request->causal != CAUSAL_FALSE || variant->deviation.causal != CAUSAL_AS_ASKED ||
                 request->integers[INTEGERS_KEY_LENGTHS].given || variant->deviation.left_padded || has_mask(variant) ||
                 request->window_left >= 0 || request->window_right >= 0;
    if (!masks)
        return false;
    variant->deviation.masked_rows = choice == 0 ? MASKED_ROWS_MEAN : MASKED_ROWS_NAN;
    variant->unsayable = true;
    variant_say(variant, choice == 0 ? "Rows with every key masked are the mean of all values in yours (a mask of large "
                                       "negative numbers); here they are 0."
                                     : "Rows with every key masked are NaN in yours (a softmax over -Infinity alone); here "
                                       "they are 0.");
    return true;
}
