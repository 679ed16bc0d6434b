/* nearest.c: where nothing explains: the conventions that leave the most rows equal, then those that come closest. */
#include "api/compare/search.h"

#include <math.h>
#include <string.h>

#define NO_CHANGE 1e-12 /* relative: what sums in another order differ by */

/* The sample's rows of a variant. */
static bool measure(struct search *search, struct variant *variant, struct difference ret[RESULTS], struct error *err)
{
    memset(ret, 0, RESULTS * sizeof *ret);
    for (size_t i = 0; i < search->sample_count; i++) {
        if (search->sample[i] >= variant->plan.Tq)
            continue;
        if (!slice_compute(&search->slice, variant, search->sample[i], 1, err))
            return false;
        for (size_t k = RESULT_OUTPUT; k <= RESULT_LSE; k++)
            if (search->expected->given[k])
                expected_compare(search->expected, (enum request_result)k, &search->slice, &ret[k]);
    }
    return true;
}

/* Whether a variant computes what the request does as it was asked: the same figures to the last digits. */
static bool changes_nothing(const struct search *search, const struct difference as_asked[RESULTS],
                            const struct difference differences[RESULTS])
{
    bool same = true;
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++)
        same &=
            !search->expected->given[i] ||
            (as_asked[i].rows_equal == differences[i].rows_equal &&
             fabs(as_asked[i].dot - differences[i].dot) <= NO_CHANGE * fabs(as_asked[i].dot) &&
             fabs(as_asked[i].computed_squares - differences[i].computed_squares) <= NO_CHANGE * as_asked[i].computed_squares);
    return same;
}

/* One choice of a convention, over the sample, or over everything. */
static bool add(struct search *search, const struct difference *as_asked, const struct convention *convention, size_t choice,
                bool all, struct error *err)
{
    struct difference differences[RESULTS];
    struct variant *variant = search->current;
    search_variant_init(search, variant);
    bool measured =
        search_apply(variant, convention, choice) &&
        search_prepare(search, variant, variant->changes_inputs ? NULL : search->base, err) &&
        (all ? search_compare_all(search, variant, false, differences, err) : measure(search, variant, differences, err));
    if (measured && !changes_nothing(search, as_asked, differences))
        search_explain(search, variant, differences);
    variant_done(variant);
    return err->code == ERROR_NONE || err->code == ERROR_NO_MEMORY;
}

static bool add_all(struct search *search, const struct difference *as_asked, const char *name, bool all, struct error *err)
{
    for (size_t i = 0; i < convention_count; i++)
        for (size_t choice = 0; choice < conventions[i].choices; choice++)
            if (search_has(search, i) && (name == NULL || strcmp(name, conventions[i].name) == 0) &&
                !add(search, as_asked, &conventions[i], choice, all, err))
                return false;
    return true;
}

bool nearest_find(struct search *search, struct error *err)
{
    const char *names[SEARCH_NEAREST];
    struct difference as_asked[RESULTS];
    if (!measure(search, search->base, as_asked, err) || !add_all(search, as_asked, NULL, false, err))
        return false;
    size_t count = search->explanation_count < SEARCH_NEAREST ? search->explanation_count : SEARCH_NEAREST;
    for (size_t i = 0; i < count; i++)
        names[i] = search->explanations[i].names[0];
    search->explanation_count = 0;
    for (size_t i = 0; i < count; i++)
        if (!add_all(search, search->as_asked, names[i], true, err))
            return false;
    return true;
}
