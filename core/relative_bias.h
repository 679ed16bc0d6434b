/* relative_bias.h: a bias that goes by how far the key stands from the query, in T5's buckets (Raffel et al. 2020).
 *
 * Of n buckets (bidirectional: of either half, the second for keys after the query) the first floor(n/2) hold one distance each. The
 * others grow with its logarithm up to max_distance:
 *   floor(n/2) + floor(ln(distance / floor(n/2)) / ln(max_distance / floor(n/2)) * (n - floor(n/2)))
 * and the last holds all beyond. Without bidirectional keys after the query share bucket 0. The logarithm is taken in float32, as Hugging
 * Face's transformers does: on a bucket's edge nothing else finds the same one.
 *
 * A bucket is a range of offsets (key position - query position), so the buckets are kept as the offsets where they begin.
 * Threads: reentrant. */
#ifndef ATTND_CORE_RELATIVE_BIAS_H
#define ATTND_CORE_RELATIVE_BIAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The offsets from `start` up to the next one's. */
struct relative_bias_range {
    int64_t start;
    size_t bucket;
};

struct relative_bias {
    const struct relative_bias_range *ranges; /* [count], by rising start; the first's is INT64_MIN */
    size_t count;
    const double *table; /* [buckets,H]: the row of bucket k begins at table + k * stride */
    size_t stride;
};

/* The distances that have a bucket of their own; max_distance has to be larger. */
size_t relative_bias_exact(size_t buckets, bool bidirectional);

/* Writes at most `buckets` ranges, and returns how many. There are at least 2 buckets; bidirectional: at least 4, an even number. */
size_t relative_bias_ranges(size_t buckets, bool bidirectional, int64_t max_distance, struct relative_bias_range *ret);

/* The number of the range that the offset is in. */
size_t relative_bias_find(const struct relative_bias *bias, int64_t offset);

/* What the key gets in head h. */
double relative_bias_at(const struct relative_bias *bias, size_t h, int64_t offset);

#endif
