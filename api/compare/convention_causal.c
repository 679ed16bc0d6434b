/* convention_causal.c: causal, and the corner that it is counted from: of each item, or within each packed sequence. */
#include <inttypes.h>
#include <stdio.h>

#include "api/compare/convention.h"
#include "core/size.h"

#define OFFSETS_SAID_MAX 64 /* of items or sequences; more make no patch */

/* ---- where queries stand ---- */

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

static bool is_packed(const struct variant *variant)
{
    return variant->request.integers[INTEGERS_QUERY_BOUNDARIES].given;
}

/* Whether queries stand at an offset + i and keys at j: at one offset in all items, or at its own in each packed sequence. */
static bool has_offset(const struct variant *variant)
{
    const struct integers_input *integers = variant->request.integers;
    return is_packed(variant) || (!integers[INTEGERS_QUERY_POSITIONS].given && !integers[INTEGERS_KEY_POSITIONS].given &&
                                  !integers[INTEGERS_QUERY_OFFSET].is_list && !variant->request.offset_from_lengths);
}

/* One, or one a packed sequence. */
static size_t offset_count(const struct variant *variant)
{
    return is_packed(variant) ? variant->source->plan->sequence_count : 1;
}

/* Where query 0 stands so that it sees keys from the top left, or the last query the last key. */
static int64_t corner_offset(const struct variant *variant, bool bottom_right, size_t s)
{
    const struct plan *plan = variant->source->plan;
    const struct attention_sequence *sequences = variant->base->evaluation.sequences;
    const size_t queries = is_packed(variant) ? sequences[s].queries : plan->Tq;
    const size_t keys = is_packed(variant) ? sequences[s].keys : plan->Tk;
    return bottom_right ? (int64_t)keys - (int64_t)queries : 0;
}

/* Where query 0 stands: at the corner that is named, or as it was asked. */
static int64_t offset_now(const struct variant *variant, size_t s)
{
    const enum request_causal causal = variant->request.causal;
    if (causal == CAUSAL_TOP_LEFT || causal == CAUSAL_BOTTOM_RIGHT)
        return corner_offset(variant, causal == CAUSAL_BOTTOM_RIGHT, s);
    return is_packed(variant) ? variant->base->evaluation.query_offsets[s] : variant->source->plan->query_offset;
}

/* Whether queries stand at a corner. */
static bool is_at_corner(const struct variant *variant, bool bottom_right)
{
    bool at = has_offset(variant);
    for (size_t s = 0; at && s < offset_count(variant); s++)
        at = offset_now(variant, s) == corner_offset(variant, bottom_right, s);
    return at;
}

static bool corners_differ(const struct variant *variant)
{
    bool differ = false;
    for (size_t s = 0; s < offset_count(variant); s++)
        differ |= corner_offset(variant, true, s) != 0;
    return differ;
}

static void patch_offsets(struct variant *variant, const double *offsets, size_t count, bool list)
{
    char text[OFFSETS_SAID_MAX * 24] = "";
    for (size_t s = 0, used = 0; s < count && s < OFFSETS_SAID_MAX; s++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.0f", s > 0 ? "," : "", offsets[s]);
    variant->unsayable |= count > OFFSETS_SAID_MAX;
    variant_patch_add(variant, "/query_offset", list ? "[%s]" : "%s", text);
}

/* Queries stand `by` farther on. False where there is no memory. */
static bool move_offset(struct variant *variant, int64_t by)
{
    const size_t count = offset_count(variant);
    struct integers_input *offset = offset_of(variant);
    double *offsets = variant_alloc(variant, count * sizeof *offsets);
    if (offsets == NULL)
        return false;
    for (size_t s = 0; s < count; s++)
        offsets[s] = (double)(offset_now(variant, s) + by);
    *offset = (struct integers_input){.given = true, .is_list = is_packed(variant), .value = (int64_t)offsets[0]};
    if (is_packed(variant)) {
        const struct tensor list = tensor_contiguous(offsets, DTYPE_F64, 1, &count);
        source_input(&list, &offset->list);
    }
    patch_offsets(variant, offsets, count, is_packed(variant));
    return true;
}

/* Without a causal mask that implies it the offset stays what it was. */
static bool keep_offset(struct variant *variant)
{
    bool moves = false;
    for (size_t s = 0; s < offset_count(variant); s++)
        moves |= offset_now(variant, s) != (int64_t)variant->source->plan->Tpast;
    return !moves || !has_offset(variant) || offset_of(variant)->given || move_offset(variant, 0);
}

/* ---- causal ---- */

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
static bool own_causal(struct variant *variant, enum deviation_causal causal)
{
    const bool kept = keep_offset(variant);
    drop_causal(variant);
    variant->deviation.causal = causal;
    variant->unsayable = true;
    return kept;
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
    variant_say(variant, "Yours is not causal: every query sees every key%s. The request says causal.",
                is_packed(variant) ? " of its sequence" : "");
    variant_patch_add(variant, "/causal", "false");
    const bool kept = !uses_positions(variant) || keep_offset(variant);
    drop_causal(variant);
    return kept;
}

static bool causal_from(struct variant *variant, bool bottom_right)
{
    if (variant->request.causal != CAUSAL_FALSE || (bottom_right && !corners_differ(variant)))
        return false;
    variant_say(variant, "Yours is causal%s; the request is not.",
                !corners_differ(variant) ? ""
                : bottom_right           ? " from the bottom right"
                                         : " from the top left");
    if (!has_offset(variant) || (uses_positions(variant) && !is_at_corner(variant, bottom_right)))
        return own_causal(variant, bottom_right ? CAUSAL_FROM_BOTTOM_RIGHT : CAUSAL_FROM_TOP_LEFT);
    set_corner(variant, bottom_right);
    return true;
}

static bool strictly_causal(struct variant *variant)
{
    variant_say(variant, "Yours is strictly causal: a query sees the keys before its own position, and not its own.");
    if (uses_positions(variant) || !has_offset(variant))
        return own_causal(variant, CAUSAL_STRICT);
    variant->request.causal = CAUSAL_TRUE;
    variant_patch_add(variant, "/causal", "true");
    return move_offset(variant, -1);
}

/* By positions, where the request has its own: not by a corner. */
static bool causal_by_position(struct variant *variant)
{
    if (variant->request.causal != CAUSAL_FALSE || has_offset(variant))
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

/* ---- the corner ---- */

/* From the bottom right of each item's own keys. */
static bool corner_of_lengths(struct variant *variant)
{
    const size_t *lengths = variant->base->evaluation.key_lengths;
    const struct plan *plan = variant->source->plan;
    double offsets[OFFSETS_SAID_MAX] = {0};
    if (!variant->request.integers[INTEGERS_KEY_LENGTHS].given || lengths == NULL || !has_offset(variant))
        return false;
    for (size_t b = 0; b < size_min(plan->B, OFFSETS_SAID_MAX); b++)
        offsets[b] = (double)((int64_t)lengths[b] - (int64_t)plan->Tq);
    variant->request.causal = CAUSAL_TRUE;
    *offset_of(variant) = (struct integers_input){0};
    variant->request.offset_from_lengths = true;
    variant->changes_inputs |= variant->request.rope.given;
    variant_say(variant, "Yours is causal from the bottom right of each item's own keys (its key_lengths).");
    variant_patch_add(variant, "/causal", "true");
    patch_offsets(variant, offsets, plan->B, plan->has_batch);
    return true;
}

/* Choices 0 and 1 through the request; 2 and 3 of the mask alone, where other things count positions too; 4 of each item. */
bool convention_causal_corner(struct variant *variant, size_t choice)
{
    static const char *const corners[] = {"top left", "bottom right"};
    const bool bottom_right = choice % 2 == 1, has = has_offset(variant);
    if (variant->request.causal == CAUSAL_FALSE || variant->deviation.causal != CAUSAL_AS_ASKED)
        return false;
    if (choice == 4)
        return corner_of_lengths(variant);
    if (is_at_corner(variant, bottom_right) || (choice >= 2 && has && !uses_positions(variant)))
        return false;
    if (choice < 2 && (variant->request.integers[INTEGERS_QUERY_POSITIONS].given || variant->request.offset_from_lengths))
        return false;
    variant_say(variant, "Yours is causal from the %s%s; the request says %s.", corners[bottom_right],
                is_packed(variant) ? " of each sequence" : "",
                is_at_corner(variant, !bottom_right) ? corners[!bottom_right] : "other positions (query_offset)");
    if (choice >= 2)
        return own_causal(variant, bottom_right ? CAUSAL_FROM_BOTTOM_RIGHT : CAUSAL_FROM_TOP_LEFT);
    set_corner(variant, bottom_right);
    return true;
}
