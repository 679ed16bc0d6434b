#include "api/compare/search.h"

#include <string.h>

#include "core/size.h"

/* ---- memory ---- */

size_t search_cost(const struct plan *plan, const struct extract *extract, const struct executor *executor)
{
    size_t bytes =
        size_multiply(3, size_add(arena_cost(sizeof(struct variant)), variant_memory_bytes(plan, extract, executor)));
    bytes = size_add(bytes, size_multiply(2, slice_cost(plan, executor)));
    bytes = size_add(bytes, arena_cost(size_multiply(plan->Tq, sizeof(double))));
    return size_add(bytes, arena_cost(SEARCH_EXPLANATIONS_MAX * sizeof(struct explanation)));
}

static bool allocate(struct search *search, struct arena *arena, struct error *err)
{
    const struct plan *plan = search->source->plan;
    search->base = arena_alloc(arena, sizeof *search->base, err);
    search->outer = arena_alloc(arena, sizeof *search->outer, err);
    search->current = arena_alloc(arena, sizeof *search->current, err);
    search->explanations = arena_alloc(arena, SEARCH_EXPLANATIONS_MAX * sizeof *search->explanations, err);
    search->token_errors = arena_alloc(arena, plan->Tq * sizeof(double), err);
    return search->base != NULL && search->outer != NULL && search->current != NULL && search->explanations != NULL &&
           search->token_errors != NULL &&
           slice_init(&search->slice, plan, search->expected->given, search->executor, arena, err) &&
           slice_init(&search->other_slice, plan, search->expected->given, search->executor, arena, err);
}

/* ---- one variant ---- */

bool search_has(const struct search *search, size_t convention)
{
    return search->only[convention] && !conventions[convention].rounds;
}

void search_variant_init(const struct search *search, struct variant *ret)
{
    variant_init(ret, search->source, search->base, search->variant_bytes, search->executor);
}

bool search_apply(struct variant *variant, const struct convention *convention, size_t choice)
{
    variant->names[variant->name_count++] = convention->name;
    return convention->apply(variant, choice);
}

/* Without memory for it a variant is left out, and counted. */
static bool leave_out(struct search *search, struct error *err)
{
    if (err->code == ERROR_NO_MEMORY) {
        search->untried++;
        error_init(err);
    }
    return false;
}

bool search_prepare(struct search *search, struct variant *variant, const struct variant *same, struct error *err)
{
    if (!variant_prepare(variant, same, err))
        return leave_out(search, err);
    return expected_fits(search->expected, &variant->plan) && slice_capacity(&search->slice, variant) > 0;
}

bool search_compare_all(struct search *search, struct variant *variant, bool agrees, struct difference ret[RESULTS],
                        struct error *err)
{
    const size_t Tq = variant->plan.Tq, capacity = slice_capacity(&search->slice, variant);
    memset(ret, 0, RESULTS * sizeof *ret);
    for (size_t first = 0; first < Tq; first += capacity) {
        if (!slice_compute(&search->slice, variant, first, size_min(capacity, Tq - first), err))
            return leave_out(search, err);
        for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++) {
            if (!search->expected->given[i])
                continue;
            expected_compare(search->expected, (enum request_result)i, &search->slice, &ret[i]);
            if (agrees && ret[i].rows_equal < ret[i].rows)
                return false;
        }
    }
    return true;
}

/* Whether the sample's rows agree. */
static bool sample_agrees(struct search *search, struct variant *variant, struct error *err)
{
    for (size_t i = 0; i < search->sample_count; i++) {
        if (search->sample[i] >= variant->plan.Tq)
            continue;
        if (!slice_compute(&search->slice, variant, search->sample[i], 1, err))
            return leave_out(search, err);
        if (!expected_agrees(search->expected, &search->slice))
            return false;
    }
    return true;
}

/* ---- explanations ---- */

static bool same_names(const struct explanation *explanation, const struct variant *variant)
{
    if (explanation->name_count != variant->name_count)
        return false;
    for (size_t i = 0; i < variant->name_count; i++)
        if (strcmp(explanation->names[i], variant->names[i]) != 0)
            return false;
    return true;
}

static bool comes_before(const struct explanation *a, const struct explanation *b)
{
    if (a->name_count != b->name_count)
        return a->name_count < b->name_count;
    double a_share = (double)a->rows_equal / (double)size_max(a->rows, 1);
    double b_share = (double)b->rows_equal / (double)size_max(b->rows, 1);
    if (a_share != b_share)
        return a_share > b_share;
    return a->distance < b->distance;
}

static void fill(struct explanation *explanation, const struct variant *variant, const struct difference differences[RESULTS])
{
    *explanation = (struct explanation){.name_count = variant->name_count, .unsayable = variant->unsayable};
    memcpy(explanation->names, variant->names, sizeof explanation->names);
    memcpy(explanation->sentence, variant->sentence, sizeof explanation->sentence);
    memcpy(explanation->patch, variant->patch, sizeof explanation->patch);
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++) {
        const struct difference *d = &differences[i];
        double squares = d->expected_squares + d->computed_squares - 2 * d->dot;
        explanation->rows += d->rows;
        explanation->rows_equal += d->rows_equal;
        explanation->max_error = d->max_error > explanation->max_error ? d->max_error : explanation->max_error;
        explanation->distance += d->expected_squares > 0 ? squares / d->expected_squares : squares;
    }
}

/* In its place; of one name's choices the best stays. */
void search_explain(struct search *search, const struct variant *variant, const struct difference differences[RESULTS])
{
    struct explanation found;
    size_t count = search->explanation_count, at = 0;
    fill(&found, variant, differences);
    for (size_t i = 0; i < count; i++)
        if (same_names(&search->explanations[i], variant)) {
            if (!comes_before(&found, &search->explanations[i]))
                return;
            memmove(&search->explanations[i], &search->explanations[i + 1], (count - i - 1) * sizeof found);
            count--;
            break;
        }
    while (at < count && !comes_before(&found, &search->explanations[at]))
        at++;
    if (at == SEARCH_EXPLANATIONS_MAX)
        return;
    count = size_min(count, SEARCH_EXPLANATIONS_MAX - 1);
    memmove(&search->explanations[at + 1], &search->explanations[at], (count - at) * sizeof found);
    search->explanations[at] = found;
    search->explanation_count = count + 1;
}

/* ---- the order of what is tried ---- */

/* Holds a variant that was changed against the sample, then against everything. False with err set. */
static bool try_variant(struct search *search, struct variant *variant, const struct variant *same, struct error *err)
{
    struct difference differences[RESULTS];
    if (search_prepare(search, variant, same, err) && sample_agrees(search, variant, err) &&
        search_compare_all(search, variant, true, differences, err))
        search_explain(search, variant, differences);
    return err->code == ERROR_NONE;
}

static bool is_explained(const struct search *search)
{
    return search->explanation_count > 0;
}

static bool try_singles(struct search *search, struct error *err)
{
    for (size_t i = 0; i < convention_count; i++) {
        for (size_t choice = 0; search_has(search, i) && choice < conventions[i].choices; choice++) {
            search_variant_init(search, search->current);
            bool done = !search_apply(search->current, &conventions[i], choice) ||
                        try_variant(search, search->current, search->current->changes_inputs ? NULL : search->base, err);
            variant_done(search->current);
            if (!done)
                return false;
        }
    }
    return true;
}

/* The second conventions of a pair, on top of the first, which `outer` is. */
static bool try_seconds(struct search *search, size_t first, size_t first_choice, struct error *err)
{
    for (size_t i = 0; i < convention_count; i++) {
        if (i == first || !search_has(search, i))
            continue;
        for (size_t choice = 0; choice < conventions[i].choices; choice++) {
            struct variant *variant = search->current;
            search_variant_init(search, variant);
            bool applied = search_apply(variant, &conventions[first], first_choice);
            bool changes_inputs = variant->changes_inputs;
            variant->changes_inputs = false;
            applied = applied && search_apply(variant, &conventions[i], choice);
            /* Each pair once: the one that changes query, key and value goes first, else the earlier row. */
            bool mine = applied && (changes_inputs == variant->changes_inputs ? i > first : changes_inputs);
            const struct variant *same = variant->changes_inputs ? NULL : search->outer;
            variant->changes_inputs |= changes_inputs;
            bool done = !mine || try_variant(search, variant, same, err);
            variant_done(variant);
            if (!done)
                return false;
        }
    }
    return true;
}

static bool try_pairs(struct search *search, struct error *err)
{
    for (size_t i = 0; i < convention_count; i++) {
        for (size_t choice = 0; search_has(search, i) && choice < conventions[i].choices; choice++) {
            struct variant *outer = search->outer;
            search_variant_init(search, outer);
            bool prepared =
                search_apply(outer, &conventions[i], choice) &&
                (variant_prepare(outer, outer->changes_inputs ? NULL : search->base, err) || leave_out(search, err));
            bool done = (!prepared && err->code == ERROR_NONE) || (prepared && try_seconds(search, i, choice, err));
            variant_done(outer);
            if (!done)
                return false;
        }
    }
    return true;
}

/* Where they are asked for and nothing simpler explains. */
static bool try_pairs_if_asked(struct search *search, struct error *err)
{
    return !search->pairs || is_explained(search) || try_pairs(search, err);
}

/* Conventions, within what the type's rounding allows. */
static bool try_rounded(struct search *search, enum element_type type, struct error *err)
{
    search->rounds_like = type;
    return rounding_widen(search, type, err) && try_singles(search, err) && try_pairs_if_asked(search, err);
}

/* Numbers of a 16-bit type by their own word: rounding explains first. */
static bool try_declared(struct search *search, enum element_type type, struct error *err)
{
    return rounding_try(search, type, err) && (is_explained(search) || try_rounded(search, type, err));
}

/* Numbers of more digits: exactly first; then as rounding, which explains much. */
static bool try_exact(struct search *search, struct error *err)
{
    const enum element_type type = rounding_type(search->expected, false);
    return try_singles(search, err) && try_pairs_if_asked(search, err) &&
           (is_explained(search) || type == ELEMENT_F64 || rounding_try(search, type, err)) &&
           (is_explained(search) || rounding_try(search, ELEMENT_F64, err)) &&
           (is_explained(search) || type == ELEMENT_F64 || try_rounded(search, type, err));
}

/* The request as it was asked, and where it differs. */
static bool compare_as_asked(struct search *search, struct error *err)
{
    struct variant *base = search->base;
    const size_t Tq = search->source->plan->Tq;
    size_t capacity = 0;
    if (!variant_prepare(base, NULL, err) || (capacity = slice_capacity(&search->slice, base)) == 0)
        return err->code != ERROR_NONE ? false : error_set(err, ERROR_INTERNAL, "the request in memory is not what it was");
    for (size_t i = 0; i < Tq; i++)
        search->token_errors[i] = -1;
    bool equal = true;
    for (size_t first = 0; first < Tq; first += capacity) {
        size_t count = size_min(capacity, Tq - first);
        if (!slice_compute(&search->slice, base, first, count, err))
            return false;
        for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++)
            if (search->expected->given[i])
                equal &= expected_compare_tokens(search->expected, (enum request_result)i, &search->slice, &search->as_asked[i],
                                                 search->token_errors);
    }
    search->verdict = equal ? API_VERDICT_EQUAL : API_VERDICT_UNEXPLAINED;
    return true;
}

static bool find(struct search *search, struct error *err)
{
    if (!compare_as_asked(search, err))
        return false;
    if (search->verdict == API_VERDICT_EQUAL)
        return true;
    sample_choose(search);
    enum element_type declared = rounding_type(search->expected, true);
    if (!(declared != ELEMENT_F64 ? try_declared(search, declared, err) : try_exact(search, err)))
        return false;
    if (is_explained(search) && search->verdict != API_VERDICT_ROUNDING)
        search->verdict = API_VERDICT_EXPLAINED;
    return is_explained(search) || nearest_find(search, err);
}

bool search_run(struct search *search, struct arena *arena, struct error *err)
{
    if (!allocate(search, arena, err))
        return false;
    search->explanation_count = 0;
    variant_init(search->base, search->source, NULL, search->variant_bytes, search->executor);
    bool found = find(search, err);
    variant_done(search->base);
    return found;
}
