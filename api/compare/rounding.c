/* rounding.c: what rounding makes of a request, and whether what was expected is as far off as that and no farther. */
#include "api/compare/search.h"

#include <math.h>
#include <string.h>

#include "core/size.h"

#define ERRORS_ALLOWED 2 /* times our own emulation's: sums in another order round differently */
#define NOISE_MAX 0.5    /* of the numbers themselves, by their squares: rounding that leaves less explains anything */
#define SAMPLE_MARGIN 8  /* how much farther off the sample may be: all tokens have larger errors than a few */
#define TYPED_NUMBERS_MIN 8

/* How far off, by result: what was expected, and the emulation. */
struct rounding {
    double expected_error[RESULTS], emulated_error[RESULTS], largest[RESULTS];
    double expected_squares[RESULTS], emulated_squares[RESULTS],
        squares[RESULTS]; /* of these errors, and of the exact numbers */
    size_t count[RESULTS];
    bool overflows;
    bool matches; /* where one is not finite, so is the other */
};

static double epsilon(enum element_type type)
{
    return type == ELEMENT_BF16 ? 0x1p-8 : type == ELEMENT_F16 ? 0x1p-11 : 0x1p-24;
}

static void add_number(struct rounding *rounding, size_t which, double exact, double expected_error, double emulated_error)
{
    rounding->expected_error[which] = fmax(rounding->expected_error[which], expected_error);
    rounding->emulated_error[which] = fmax(rounding->emulated_error[which], emulated_error);
    if (!isfinite(exact))
        return;
    rounding->largest[which] = fmax(rounding->largest[which], fabs(exact));
    rounding->expected_squares[which] += expected_error * expected_error;
    rounding->emulated_squares[which] += emulated_error * emulated_error;
    rounding->squares[which] += exact * exact;
    rounding->count[which]++;
}

static void add_result(const struct expected *expected, enum request_result which, const struct slice *exact,
                       const struct slice *emulated, struct rounding *rounding)
{
    const struct expected_rows rows = expected_rows(which, exact);
    const double *wanted = expected->tensors[which].data;
    for (size_t row = 0; row < rows.count; row++) {
        const size_t place = expected_row_place(&rows, exact, row);
        for (size_t k = 0; k < rows.width; k++) {
            const double x = exact->buffers[which][row * rows.width + k], m = emulated->buffers[which][row * rows.width + k];
            const double e = wanted[place + k];
            if (!isfinite(e) || !isfinite(m)) {
                rounding->overflows |= isfinite(x) && !isfinite(m);
                rounding->matches &= expected_equal(expected, which, e, m);
                continue;
            }
            add_number(rounding, which, x, expected_error(which, e, x), expected_error(which, m, x));
        }
    }
}

/* Adds some tokens. */
static bool emulate_tokens(struct search *search, struct variant *emulated, size_t first, size_t count,
                           struct rounding *rounding, struct error *err)
{
    if (!slice_compute(&search->slice, search->base, first, count, err) ||
        !slice_compute(&search->other_slice, emulated, first, count, err))
        return false;
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++)
        if (search->expected->given[i])
            add_result(search->expected, (enum request_result)i, &search->slice, &search->other_slice, rounding);
    return true;
}

static double allowed(const struct rounding *rounding, enum element_type type, size_t which)
{
    return ERRORS_ALLOWED * fmax(rounding->emulated_error[which], epsilon(type) * rounding->largest[which]);
}

/* The same of the root of the mean square, times the count, squared. */
static double squares_allowed(const struct rounding *rounding, enum element_type type, size_t which)
{
    const double smallest = epsilon(type) * rounding->largest[which];
    return ERRORS_ALLOWED * ERRORS_ALLOWED *
           fmax(rounding->emulated_squares[which], (double)rounding->count[which] * smallest * smallest);
}

/* Whether rounding leaves enough of the numbers to be told from anything else. */
static bool leaves_numbers(const struct rounding *rounding, size_t which)
{
    return rounding->emulated_squares[which] <= NOISE_MAX * NOISE_MAX * rounding->squares[which];
}

/* Whether what was expected is off by at most `times` what is allowed. */
static bool is_within(const struct search *search, const struct rounding *rounding, enum element_type type, double times)
{
    bool within = rounding->matches;
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++)
        within &= !search->expected->given[i] ||
                  (rounding->expected_error[i] <= times * allowed(rounding, type, i) &&
                   rounding->expected_squares[i] <= times * times * squares_allowed(rounding, type, i) &&
                   (times > 1 || leaves_numbers(rounding, i)));
    return within;
}

static const struct convention *rounding_convention(void)
{
    size_t i = 0;
    while (!conventions[i].rounds)
        i++;
    return &conventions[i];
}

static enum element_type type_of(const struct deviation *d)
{
    return d->round_inputs != ELEMENT_F64 ? d->round_inputs : d->round_weights;
}

/* Emulates over all tokens; where `agrees`, not if the sample is far off already. False with err set, or where it was. */
static bool emulate(struct search *search, struct variant *emulated, bool agrees, struct rounding *ret, struct error *err)
{
    const size_t Tq = emulated->plan.Tq;
    const size_t capacity = size_min(slice_capacity(&search->slice, emulated), slice_capacity(&search->slice, search->base));
    *ret = (struct rounding){.matches = true};
    for (size_t i = 0; agrees && i < search->sample_count; i++)
        if (!emulate_tokens(search, emulated, search->sample[i], 1, ret, err))
            return false;
    if (agrees && !is_within(search, ret, type_of(&emulated->deviation), SAMPLE_MARGIN))
        return false;
    for (size_t first = 0; first < Tq; first += capacity)
        if (!emulate_tokens(search, emulated, first, size_min(capacity, Tq - first), ret, err))
            return false;
    return true;
}

static bool is_searched(const struct search *search)
{
    return search->only[rounding_convention() - conventions];
}

/* The emulation of a choice. False with err set; *ret_there false where there is none of that type. */
static bool emulate_choice(struct search *search, size_t choice, enum element_type type, bool everything, struct rounding *ret,
                           bool *ret_there, struct error *err)
{
    struct variant *variant = search->current;
    search_variant_init(search, variant);
    *ret_there = search_apply(variant, rounding_convention(), choice) &&
                 (type == ELEMENT_F64 || type == type_of(&variant->deviation)) &&
                 (!everything || variant->deviation.round_scores != ELEMENT_F64) &&
                 search_prepare(search, variant, variant->changes_inputs ? NULL : search->base, err) &&
                 emulate(search, variant, !everything, ret, err);
    return err->code == ERROR_NONE;
}

static const char *largest_text(enum element_type type)
{
    return type == ELEMENT_F16 ? "65504" : "3.4e38";
}

bool rounding_try(struct search *search, enum element_type type, struct error *err)
{
    bool found = false;
    for (size_t choice = 0; is_searched(search) && !found && choice < rounding_convention()->choices; choice++) {
        struct rounding rounding;
        bool there;
        bool done = emulate_choice(search, choice, type, false, &rounding, &there, err);
        if (done && there && is_within(search, &rounding, type_of(&search->current->deviation), 1)) {
            found = true;
            search->verdict = API_VERDICT_ROUNDING;
            if (rounding.overflows)
                variant_say(search->current, "Numbers beyond the type's largest, %s, become Infinity on the way, and then NaN.",
                            largest_text(type_of(&search->current->deviation)));
            search_explain(search, search->current, search->as_asked);
            search->explanations[0].rows_equal = search->explanations[0].rows;
        }
        variant_done(search->current);
        if (!done)
            return false;
    }
    return true;
}

bool rounding_widen(struct search *search, enum element_type type, struct error *err)
{
    for (size_t choice = 0; choice < rounding_convention()->choices; choice++) {
        struct rounding rounding;
        bool there;
        bool done = emulate_choice(search, choice, type, true, &rounding, &there, err);
        for (size_t i = RESULT_OUTPUT; done && there && i <= RESULT_LSE; i++)
            if (search->expected->given[i] && leaves_numbers(&rounding, i))
                search->expected->absolute[i] = fmax(search->expected->absolute[i], allowed(&rounding, type, i));
        variant_done(search->current);
        if (!done)
            return false;
    }
    return true;
}

/* ---- types ---- */

static bool holds(enum element_type type, double x)
{
    return !isfinite(x) ||
           (type == ELEMENT_F16 ? element_f16_to(element_f16_from(x)) : element_bf16_to(element_bf16_from(x))) == x;
}

/* Whether all numbers are of the type, and some say so: whole numbers would be of any. */
static bool all_hold(const struct expected *expected, enum element_type type)
{
    size_t telling = 0;
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++) {
        const double *numbers = expected->tensors[i].data;
        for (size_t k = 0; expected->given[i] && k < tensor_count(&expected->tensors[i]); k++) {
            if (!holds(type, numbers[k]))
                return false;
            telling += isfinite(numbers[k]) && numbers[k] != floor(numbers[k]);
        }
    }
    return telling >= TYPED_NUMBERS_MIN;
}

enum element_type rounding_type(const struct expected *expected, bool declared)
{
    enum element_type type = ELEMENT_F64;
    for (size_t i = RESULT_OUTPUT; declared && i <= RESULT_LSE; i++) {
        const struct tensor_input *input = &expected->inputs[i];
        bool narrow = input->element_type == ELEMENT_F16 || input->element_type == ELEMENT_BF16;
        if (expected->given[i] && input->kind == TENSOR_INPUT_BYTES && narrow)
            type = input->element_type;
    }
    if (declared)
        return type;
    return all_hold(expected, ELEMENT_BF16) ? ELEMENT_BF16 : all_hold(expected, ELEMENT_F16) ? ELEMENT_F16 : ELEMENT_F64;
}
