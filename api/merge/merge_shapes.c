#include "api/merge/merge_shapes.h"

#include <string.h>

static bool check_numbers(const struct tensor_input *input, struct error *err)
{
    if (input->kind != TENSOR_INPUT_DRAWN && !tensor_input_is_bool(input))
        return true;
    return error_set_at(err, ERROR_INVALID, input->pointer, "%s, where numbers are expected",
                        input->kind == TENSOR_INPUT_DRAWN ? "a shape without data" : "booleans");
}

static bool same_shape(const struct tensor_input *a, const struct tensor_input *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

static bool check_same(const struct tensor_input *first, const struct tensor_input *input, struct error *err)
{
    char given[SHAPE_TEXT_BYTES_MAX], wanted[SHAPE_TEXT_BYTES_MAX];
    return same_shape(first, input) || error_set_at(err, ERROR_INVALID, input->pointer,
                                                    "shape %s, where the first part has shape %s: parts have the same queries",
                                                    shape_text(input->rank, input->shape, given, sizeof given),
                                                    shape_text(first->rank, first->shape, wanted, sizeof wanted));
}

/* The axes of a first output; lse has a head axis where it has one axis more than output's tokens have. */
static bool set_axes(struct merge *merge, struct error *err)
{
    const struct tensor_input *output = &merge->parts[0].output, *lse = &merge->parts[0].lse;
    const size_t *shape = output->shape, rank = output->rank;
    if (merge->request.layout == LAYOUT_THD) {
        merge->B = 1;
        merge->T = shape[0];
        merge->H = shape[1];
        merge->Dv = shape[2];
        merge->tokens_first = true;
        return rank == 3 || error_set_at(err, ERROR_INVALID, output->pointer, "rank %zu, where layout thd has [T,H,Dv]", rank);
    }
    if (rank < 2 || rank > 4)
        return error_set_at(err, ERROR_INVALID, output->pointer,
                            "rank %zu, where [Tq,Dv], [B,Tq,Dv] or [B,H,Tq,Dv] are expected, as POST /attention returns them",
                            rank);
    if (merge->request.layout == LAYOUT_BTHD && rank != 4)
        return error_set_at(err, ERROR_INVALID, "/layout",
                            "layout speaks of rank 4 tensors, and these have no head axis of their own");
    merge->tokens_first = rank < 4 || merge->request.layout == LAYOUT_BTHD;
    const size_t tokens_axis = rank == 4 && merge->tokens_first ? 1 : rank - 2;
    const bool packed = rank < 4 && lse->rank == rank; /* heads in the last axis */
    merge->B = rank == 2 ? 1 : shape[0];
    merge->T = shape[tokens_axis];
    merge->H = rank == 4 ? shape[3 - tokens_axis] : packed ? lse->shape[rank - 2] : 1;
    merge->Dv = packed && merge->H > 0 ? shape[rank - 1] / merge->H : shape[rank - 1];
    return true;
}

static bool check_lse(const struct merge *merge, struct error *err)
{
    const struct tensor_input *output = &merge->parts[0].output, *lse = &merge->parts[0].lse;
    const size_t rank = output->rank, width = output->shape[rank - 1];
    const size_t heads[3] = {merge->B, merge->H, merge->T}, alone[2] = {merge->B, merge->T};
    const bool thd = merge->request.layout == LAYOUT_THD, no_batch = thd || rank == 2;
    const bool has_heads = thd || rank == 4 || lse->rank == rank;
    const size_t *wanted = (has_heads ? heads : alone) + no_batch;
    const size_t wanted_rank = (has_heads ? 3U : 2U) - (no_batch ? 1U : 0U);
    char given[SHAPE_TEXT_BYTES_MAX], needed[SHAPE_TEXT_BYTES_MAX], shape[SHAPE_TEXT_BYTES_MAX];
    if (lse->rank != wanted_rank || memcmp(lse->shape, wanted, wanted_rank * sizeof *wanted) != 0)
        return error_set_at(err, ERROR_INVALID, lse->pointer, "shape %s, where an output of shape %s%s needs %s%s",
                            shape_text(lse->rank, lse->shape, given, sizeof given),
                            shape_text(rank, output->shape, shape, sizeof shape),
                            rank < 4              ? ""
                            : merge->tokens_first ? " in layout bthd"
                                                  : " in layout bhtd",
                            shape_text(wanted_rank, wanted, needed, sizeof needed),
                            rank == 4 || thd ? "; layout says where the heads are" : "");
    if (rank < 4 && !thd && merge->H * merge->Dv != width)
        return error_set_at(err, ERROR_INVALID, output->pointer,
                            "a last axis of %zu, which does not divide into the %zu heads that lse has", width, merge->H);
    return true;
}

bool merge_shapes_resolve(struct merge *merge, struct error *err)
{
    for (size_t i = 0; i < merge->part_count; i++)
        if (!check_numbers(&merge->parts[i].output, err) || !check_numbers(&merge->parts[i].lse, err))
            return false;
    if (!set_axes(merge, err) || !check_lse(merge, err))
        return false;
    for (size_t i = 1; i < merge->part_count; i++)
        if (!check_same(&merge->parts[0].output, &merge->parts[i].output, err) ||
            !check_same(&merge->parts[0].lse, &merge->parts[i].lse, err))
            return false;
    return true;
}

struct tensor merge_view(const struct merge *merge, void *data)
{
    const size_t shape[4] = {merge->B, merge->H, merge->T, merge->Dv};
    struct tensor view = tensor_contiguous(data, DTYPE_F64, 4, shape);
    if (merge->tokens_first) {
        view.stride[1] = (ptrdiff_t)merge->Dv;
        view.stride[2] = (ptrdiff_t)(merge->H * merge->Dv);
    }
    return view;
}
