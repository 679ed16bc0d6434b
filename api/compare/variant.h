/* variant.h: the request under other conventions: changed fields, and what no field can say, with a sentence and a JSON Patch
 * (RFC 6902) for what was changed.
 *
 * Life     variant_init; conventions change it (convention.h); variant_prepare; then slices of it are computed (slice.h);
 *          variant_done
 * Memory   borrows the source; has an arena of its own, whose cap is variant_memory_bytes. */
#ifndef ATTND_API_COMPARE_VARIANT_H
#define ATTND_API_COMPARE_VARIANT_H

#include "api/compare/deviation.h"
#include "api/compare/source.h"
#include "api/request/evaluation.h"

#define VARIANT_SENTENCE_BYTES_MAX 640
#define VARIANT_PATCH_BYTES_MAX 4096
#define VARIANT_NAMES_MAX 2

struct variant {
    const struct source *source;
    const struct variant *base; /* the request as it was asked, prepared; itself where it is that */
    struct request request;
    struct deviation deviation;
    bool changes_inputs; /* query, key or value are not those of the request as it was asked */

    const char *names[VARIANT_NAMES_MAX]; /* of the conventions. Static */
    size_t name_count;
    char sentence[VARIANT_SENTENCE_BYTES_MAX];
    char patch[VARIANT_PATCH_BYTES_MAX]; /* operations with commas between them */
    bool unsayable;                      /* no patch says it */

    struct arena memory;
    const struct executor *executor;
    struct plan plan;
    struct evaluation evaluation;
    double *column_max, *column_sum; /* [B,H,Tk]: for a softmax over queries */
    struct tensor heads_output;      /* (B,H,Tq,Dv), where all of it is needed for one row; else data NULL */
};

/* What one variant of a plan takes at most. */
size_t variant_memory_bytes(const struct plan *plan, const struct extract *extract, const struct executor *executor);

/* `base` NULL: it is the request as it was asked. */
void variant_init(struct variant *ret, const struct source *source, const struct variant *base, size_t memory_bytes,
                  const struct executor *executor);
void variant_done(struct variant *variant);

/* Appends to the sentence. */
void variant_say(struct variant *variant, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Append an operation to the patch. `value` is JSON. */
void variant_patch_add(struct variant *variant, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void variant_patch_remove(struct variant *variant, const char *path);
void variant_patch_swap(struct variant *variant, const char *path_a, const char *path_b);

/* Memory of the variant's own; NULL where there is none left. */
void *variant_alloc(struct variant *variant, size_t bytes);

/* A contiguous float64 copy of a view of any strides; data NULL where there is no memory. */
struct tensor variant_copy(struct variant *variant, const struct tensor *t);

/* Resolves and evaluates up to what attention sees. `same` NULL, or a prepared variant that has the same query, key and value,
 * which are then shared. False, with err untouched, where the fields don't fit each other: there is no such variant.
 * Fails   no_memory, deadline. */
bool variant_prepare(struct variant *variant, const struct variant *same, struct error *err)
    __attribute__((warn_unused_result));

#endif
