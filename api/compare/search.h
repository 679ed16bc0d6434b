/* search.h: which conventions explain what was expected.
 *
 * A variant is tried on a sample of tokens first and dropped at the first row outside the tolerance; one that the sample leaves is
 * held against every row. Query, key and value are computed once for all variants that share them. Fewest changes go first:
 * pairs are tried only where no single convention explains.
 *
 *   search.c     the order of what is tried
 *   sample.c     which tokens tell most
 *   rounding.c   rounding told from conventions
 *   nearest.c    what comes nearest where nothing explains */
#ifndef ATTND_API_COMPARE_SEARCH_H
#define ATTND_API_COMPARE_SEARCH_H

#include "api/compare/convention.h"
#include "api/compare/expected.h"
#include "api/protocol/protocol.h"

#define SEARCH_SAMPLE_TOKENS_MAX 8
#define SEARCH_EXPLANATIONS_MAX 24
#define SEARCH_NEAREST 3

struct explanation {
    const char *names[VARIANT_NAMES_MAX]; /* static */
    size_t name_count;
    char sentence[VARIANT_SENTENCE_BYTES_MAX];
    char patch[VARIANT_PATCH_BYTES_MAX];
    bool unsayable;
    double max_error;
    double distance; /* how far off all of it is: orders what is nearest */
    size_t rows, rows_equal;
};

struct search {
    /* Set by the caller. */
    const struct source *source;
    struct expected *expected;
    const struct executor *executor;
    size_t variant_bytes; /* variant_memory_bytes */
    bool pairs;
    bool only[CONVENTIONS_MAX]; /* by convention */

    /* What is found. */
    enum api_verdict verdict;
    struct difference as_asked[RESULTS];
    struct explanation *explanations; /* [SEARCH_EXPLANATIONS_MAX] */
    size_t explanation_count;
    size_t untried;                /* variants for which there was no memory */
    enum element_type rounds_like; /* what was expected was held against what this type's rounding allows; ELEMENT_F64: no */

    /* Between its files. */
    struct variant *base, *outer, *current;
    struct slice slice, other_slice;
    double *token_errors; /* [Tq]: the largest error of each token as asked, -1 where all of it is equal */
    size_t sample[SEARCH_SAMPLE_TOKENS_MAX], sample_count;
};

size_t search_cost(const struct plan *plan, const struct extract *extract, const struct executor *executor);

/* Allocates what search_cost says.
 * Fails   no_memory, deadline. */
bool search_run(struct search *search, struct arena *arena, struct error *err) __attribute__((warn_unused_result));

/* ---- for search's own files ---- */

/* Fills the sample from token_errors. */
void sample_choose(struct search *search);

/* Whether a convention is tried as one: it is among those asked for, and explains more than rounding. */
bool search_has(const struct search *search, size_t convention);

/* The request as it was asked, for conventions to change; variant_done. */
void search_variant_init(const struct search *search, struct variant *ret);

/* A variant of `choice` of a convention, on top of what the variant is already. False where there is none. */
bool search_apply(struct variant *variant, const struct convention *convention, size_t choice);

/* Prepares a variant and whether its results can be compared at all. */
bool search_prepare(struct search *search, struct variant *variant, const struct variant *same, struct error *err);

/* Adds every row of the variant, to `ret` by result. False where not all were computed. `agrees` true: stops at a row that does
 * not. */
bool search_compare_all(struct search *search, struct variant *variant, bool agrees, struct difference ret[RESULTS],
                        struct error *err);

void search_explain(struct search *search, const struct variant *variant, const struct difference differences[RESULTS]);

/* Tries rounding, which then is the explanation and the verdict. `type` ELEMENT_F64: every type. */
bool rounding_try(struct search *search, enum element_type type, struct error *err);

/* Widens the tolerances by what storing everything in the type would change. */
bool rounding_widen(struct search *search, enum element_type type, struct error *err);

/* The 16-bit type whose numbers all of what was expected are; ELEMENT_F64 where there is none. `declared`: by its own type. */
enum element_type rounding_type(const struct expected *expected, bool declared);

/* Fills the explanations with what comes nearest. */
bool nearest_find(struct search *search, struct error *err);

#endif
