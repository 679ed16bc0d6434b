#include "api/compare/expected.h"

#include <math.h>
#include <string.h>

#include "core/size.h"

#define TEXT_ABSOLUTE 1e-5
#define TEXT_RELATIVE 1e-4
#define LARGE_NEGATIVE (-9000.0) /* -10000 added to a score, or less: how a mask is often written */

/* ---- reading ---- */

/* The defaults of torch.testing.assert_close. */
static void set_tolerance(struct expected *expected, enum request_result which)
{
    static const struct {
        double absolute, relative;
    } tolerances[ELEMENT_TYPES] = {[ELEMENT_F64] = {1e-7, 1e-7},
                                   [ELEMENT_F32] = {1e-5, 1.3e-6},
                                   [ELEMENT_F16] = {1e-5, 1e-3},
                                   [ELEMENT_BF16] = {1e-5, 1.6e-2}};
    const struct tensor_input *input = &expected->inputs[which];
    bool binary = input->kind == TENSOR_INPUT_BYTES;
    if (expected->has_tolerance)
        return;
    expected->absolute[which] = binary ? tolerances[input->element_type].absolute : TEXT_ABSOLUTE;
    expected->relative[which] = binary ? tolerances[input->element_type].relative : TEXT_RELATIVE;
}

static bool same_shape(const struct plan_result *result, const struct tensor_input *input)
{
    return result->rank == input->rank && memcmp(result->shape, input->shape, input->rank * sizeof *input->shape) == 0;
}

/* The same numbers with heads and tokens exchanged. */
static bool other_layout(const struct plan *plan, const struct tensor_input *input)
{
    const size_t *shape = plan->results[RESULT_OUTPUT].shape;
    return plan->head_axis && input->rank == 4 && input->shape[0] == shape[0] && input->shape[1] == shape[2] &&
           input->shape[2] == shape[1] && input->shape[3] == shape[3];
}

bool expected_resolve(struct expected *expected, const struct plan *plan, struct error *err)
{
    bool any = false;
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++) {
        const struct tensor_input *input = &expected->inputs[i];
        const struct plan_result *result = &plan->results[i];
        char given[SHAPE_TEXT_BYTES_MAX], wanted[SHAPE_TEXT_BYTES_MAX];
        expected->given[i] = input->kind != TENSOR_INPUT_ABSENT;
        any |= expected->given[i];
        if (!expected->given[i])
            continue;
        set_tolerance(expected, (enum request_result)i);
        if (input->kind == TENSOR_INPUT_DRAWN || tensor_input_is_bool(input))
            return error_set_at(err, ERROR_INVALID, input->pointer,
                                "%s, where the numbers that your code computed are expected",
                                input->kind == TENSOR_INPUT_DRAWN ? "a shape without data" : "booleans");
        if (!same_shape(result, input))
            return error_set_at(err, ERROR_INVALID, input->pointer, "shape %s, where the request's %s has shape %s%s",
                                shape_text(input->rank, input->shape, given, sizeof given), request_result_names[i],
                                shape_text(result->rank, result->shape, wanted, sizeof wanted),
                                i == RESULT_OUTPUT && other_layout(plan, input) ? ": transpose its second and third axis" : "");
    }
    return any || error_set_at(err, ERROR_INVALID, "/expected",
                               "nothing to compare with: send output, weights, mean_weights, scores, capped_scores, "
                               "masked_scores or lse, as your code computed them");
}

size_t expected_cost(const struct expected *expected)
{
    size_t bytes = 0;
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++)
        if (expected->given[i])
            bytes = size_add(bytes, arena_cost(size_multiply(
                                        sizeof(double), shape_count(expected->inputs[i].rank, expected->inputs[i].shape))));
    return bytes;
}

bool expected_read(struct expected *expected, const struct extract *extract, struct arena *arena,
                   const struct executor *executor, struct error *err)
{
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++) {
        const struct tensor_input *input = &expected->inputs[i];
        struct tensor *t = &expected->tensors[i];
        if (!expected->given[i])
            continue;
        const void *in_place = tensor_input_in_place(input, DTYPE_F64);
        *t = tensor_contiguous((void *)(uintptr_t)in_place, DTYPE_F64, input->rank, input->shape);
        if (in_place == NULL && (t->data = arena_alloc(arena, tensor_count(t) * sizeof(double), err)) == NULL)
            return false;
        if (!tensor_input_load(extract, input, executor, t, err))
            return false;
    }
    return true;
}

bool expected_fits(const struct expected *expected, const struct plan *plan)
{
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++)
        if (expected->given[i] && !same_shape(&plan->results[i], &expected->inputs[i]))
            return false;
    return true;
}

/* ---- comparing ---- */

struct expected_rows expected_rows(enum request_result which, const struct slice *slice)
{
    const struct plan *plan = &slice->variant->plan;
    const size_t H = plan->H, Tq = plan->Tq, Dv = plan->Dv;
    struct expected_rows rows = {.width = which == RESULT_LSE ? 1 : plan->Tk, .heads = H, .tokens = slice->count};
    if (which == RESULT_MEAN_WEIGHTS)
        rows.heads = 1;
    if (which == RESULT_OUTPUT)
        rows.width = Dv;
    if (which == RESULT_OUTPUT && plan_projects(plan, PROJECTION_OUTPUT)) {
        rows.heads = 1;
        rows.width = plan->weight_shape[PROJECTION_OUTPUT][0];
    }
    bool tokens_first = which == RESULT_OUTPUT && plan->layout == PLAN_TOKENS_FIRST;
    rows.stride_item = rows.heads * Tq * rows.width;
    rows.stride_head = tokens_first ? rows.width : Tq * rows.width;
    rows.stride_token = tokens_first ? rows.heads * rows.width : rows.width;
    rows.count = plan->B * rows.heads * slice->count;
    return rows;
}

size_t expected_row_place(const struct expected_rows *rows, const struct slice *slice, size_t row)
{
    const size_t token = row % rows->tokens, head = row / rows->tokens % rows->heads, item = row / rows->tokens / rows->heads;
    return item * rows->stride_item + head * rows->stride_head + (slice->first + token) * rows->stride_token;
}

static bool is_masked_by_large(enum request_result which, double wanted, double computed)
{
    return which == RESULT_MASKED_SCORES && computed == -(double)INFINITY && wanted <= LARGE_NEGATIVE;
}

bool expected_equal(const struct expected *expected, enum request_result which, double wanted, double computed)
{
    if (wanted == computed || (isnan(wanted) && isnan(computed)) || is_masked_by_large(which, wanted, computed))
        return true;
    return fabs(wanted - computed) <= expected->absolute[which] + expected->relative[which] * fabs(computed) &&
           isfinite(computed);
}

double expected_error(enum request_result which, double wanted, double computed)
{
    if (wanted == computed || (isnan(wanted) && isnan(computed)) || is_masked_by_large(which, wanted, computed))
        return 0;
    double error = fabs(wanted - computed);
    return isnan(error) ? (double)INFINITY : error;
}

static void add_pair(struct difference *difference, double error, double wanted, double computed, size_t at)
{
    if (error > difference->max_error) {
        difference->max_error = error;
        difference->at = at;
        difference->expected = wanted;
        difference->computed = computed;
    }
    if (!isfinite(wanted) || !isfinite(computed))
        return;
    difference->dot += wanted * computed;
    difference->expected_squares += wanted * wanted;
    difference->computed_squares += computed * computed;
}

/* The largest error of the row, -1 where it is equal. */
static double add_row(struct expected *expected, enum request_result which, const double *wanted, const double *computed,
                      size_t width, size_t place, struct difference *difference)
{
    bool equal = true;
    double largest = 0;
    for (size_t k = 0; k < width; k++) {
        equal = equal && expected_equal(expected, which, wanted[k], computed[k]);
        const double error = expected_error(which, wanted[k], computed[k]);
        largest = fmax(largest, error);
        expected->masked_by_large |= isfinite(wanted[k]) && is_masked_by_large(which, wanted[k], computed[k]);
        add_pair(difference, error, wanted[k], computed[k], place + k);
    }
    difference->rows++;
    difference->rows_equal += equal;
    return equal ? -1 : largest;
}

bool expected_compare_tokens(struct expected *expected, enum request_result which, const struct slice *slice,
                             struct difference *difference, double *token_errors)
{
    const struct expected_rows rows = expected_rows(which, slice);
    const double *wanted = expected->tensors[which].data;
    bool equal = true;
    for (size_t row = 0; row < rows.count; row++) {
        const size_t place = expected_row_place(&rows, slice, row);
        double largest =
            add_row(expected, which, wanted + place, slice->buffers[which] + row * rows.width, rows.width, place, difference);
        double *token = token_errors != NULL ? &token_errors[slice->first + row % rows.tokens] : NULL;
        equal &= largest < 0;
        if (token != NULL)
            *token = fmax(*token, largest);
    }
    return equal;
}

void expected_compare(struct expected *expected, enum request_result which, const struct slice *slice,
                      struct difference *difference)
{
    (void)expected_compare_tokens(expected, which, slice, difference, NULL);
}

static bool result_agrees(const struct expected *expected, enum request_result which, const struct slice *slice)
{
    const struct expected_rows rows = expected_rows(which, slice);
    const double *computed = slice->buffers[which], *wanted = expected->tensors[which].data;
    for (size_t row = 0; row < rows.count; row++) {
        const size_t place = expected_row_place(&rows, slice, row);
        for (size_t k = 0; k < rows.width; k++)
            if (!expected_equal(expected, which, wanted[place + k], computed[row * rows.width + k]))
                return false;
    }
    return true;
}

bool expected_agrees(const struct expected *expected, const struct slice *slice)
{
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++)
        if (expected->given[i] && !result_agrees(expected, (enum request_result)i, slice))
            return false;
    return true;
}
