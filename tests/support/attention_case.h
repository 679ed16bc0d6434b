/* attention_case.h: attention's inputs and options drawn from a seed, in storage of its own, and buffers for the results.
 *
 *   struct attention_case c;
 *   attention_case_init(&c, &dims, CASE_CAUSAL | CASE_STRIDES, seed);
 *   ... c.params ...
 *   attention_case_done(&c);
 *
 * The same dims, options and seed give the same case. */
#ifndef ATTND_TESTS_SUPPORT_ATTENTION_CASE_H
#define ATTND_TESTS_SUPPORT_ATTENTION_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "core/attention/attention.h"
#include "tests/support/view.h"

struct attention_dims {
    enum dtype dtype;
    size_t B, H, Hkv, Tq, Tk, D, Dv;
};

/* Core computes small float32 items in double. Grows Dv until this one is none, so that float32 is what is tested; for
 * Tq*Tk from a thousand on that is a few hundred channels at most. */
void attention_dims_outgrow_double(struct attention_dims *dims);

enum case_option {
    CASE_CAUSAL = 1 << 0,
    CASE_OFFSETS = 1 << 1, /* positions from far before the first key to far behind the last */
    CASE_LENGTHS = 1 << 2,
    CASE_WINDOW = 1 << 3,
    CASE_SOFTCAP = 1 << 4,
    CASE_ALIBI = 1 << 5,
    CASE_SINKS = 1 << 6,
    CASE_BOOL_MASK = 1 << 7,        /* broadcast along drawn axes */
    CASE_ADDED_MASK = 1 << 8,       /* as above, with some -infinity; wins over CASE_BOOL_MASK */
    CASE_SCALE = 1 << 9,            /* a drawn scale, 0 and negative ones too, instead of 1/sqrt(D) */
    CASE_STRIDES = 1 << 10,         /* inputs of drawn layouts instead of contiguous ones */
    CASE_QUERY_POSITIONS = 1 << 11, /* in any order, negative ones too */
    CASE_KEY_POSITIONS = 1 << 12,   /* in order or rolled */
    CASE_QUERY_LENGTHS = 1 << 13,
    CASE_SEGMENTS = 1 << 14, /* in one piece each or scattered, some negative */
    CASE_SPANS = 1 << 15,
    CASE_PREFIX = 1 << 16,
    CASE_CHUNKS = 1 << 17,
    CASE_SINK_TOKENS = 1 << 18,
    CASE_SEQUENCES = 1 << 19, /* items of one alone: the tokens are packed of several sequences, empty ones among them */
    CASE_BIAS = 1 << 20,      /* broadcast along drawn axes */
    CASE_RELATIVE_BIAS = 1 << 21,
    CASE_QUERY_SCALES = 1 << 22, /* 0 and negative ones too */
};
#define CASE_OPTIONS_ALL ((1U << 14) - 1) /* without the rules that follow, which together mask most rows */
#define CASE_RULES (((1U << 20) - 1) & ~CASE_OPTIONS_ALL)
#define CASE_TERMS (CASE_BIAS | CASE_RELATIVE_BIAS | CASE_QUERY_SCALES)

struct attention_case {
    struct attention_params params;
    struct attention_dims dims;
    unsigned options;
    uint64_t seed;
    struct view_pool pool; /* owns the tensors' memory */
    int64_t *query_offsets, *query_positions, *key_positions, *prefix_lengths;
    int64_t *ids[4]; /* segments of queries and keys, spans of queries and keys */
    struct attention_sequence *sequences;
    size_t *query_lengths, *key_lengths;
    double *alibi_slopes, *sinks, *query_scales, *table;
    struct relative_bias_range *ranges;
    bool bidirectional; /* of the relative bias, and what else says its buckets */
    size_t buckets;
    int64_t max_distance;
    char text[400]; /* the case in words, for a failure's message; the kernels are those in use at its init */
};

void attention_case_init(struct attention_case *c, const struct attention_dims *dims, unsigned options, uint64_t seed);
void attention_case_done(struct attention_case *c);

/* Item `b`, alone: views of the case's own memory, with B = 1; not to be done. */
struct attention_case attention_case_item(const struct attention_case *c, size_t b);

/* The members of struct attention_results that are tensors, in their order there. */
enum result_name {
    RESULT_OUTPUT,
    RESULT_WEIGHTS,
    RESULT_MEAN_WEIGHTS,
    RESULT_SCORES,
    RESULT_CAPPED_SCORES,
    RESULT_MASKED_SCORES,
    RESULT_LSE,
    RESULT_KEY_SUMS,
    RESULT_ENTROPY,
    RESULT_TOP_INDICES,
    RESULT_TOP_WEIGHTS,
    RESULT_POOLED_WEIGHTS,
    RESULT_COUNT,
};
#define RESULTS_ALL ((1U << RESULT_COUNT) - 1)

/* Those that have no row for each query of each head. */
#define RESULTS_OVER_ROWS (1U << RESULT_MEAN_WEIGHTS | 1U << RESULT_KEY_SUMS | 1U << RESULT_POOLED_WEIGHTS)

/* What a case of that size asks reductions for: how many of the largest weights, and pooled weights of how many cells, of the
 * largest or the mean. */
size_t attention_dims_top(const struct attention_dims *dims);
void attention_dims_pool(const struct attention_dims *dims, size_t *ret_rows, size_t *ret_columns, bool *ret_max);

const char *result_text(enum result_name name);

struct case_results {
    struct attention_results results;
    struct view_pool pool; /* owns their memory */
};

struct tensor *result_at(struct attention_results *results, enum result_name name);

/* Buffers for the results in the bit set `wanted`, 1 << RESULT_*, the others absent. Contiguous where `layout` is NULL, else
 * of drawn layouts. */
void case_results_init(struct case_results *r, const struct attention_dims *dims, unsigned wanted, struct draw *layout);
void case_results_done(struct case_results *r);

#endif
