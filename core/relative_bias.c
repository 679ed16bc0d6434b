#include "core/relative_bias.h"

#include <math.h>

static size_t buckets_of_side(size_t buckets, bool bidirectional)
{
    return bidirectional ? buckets / 2 : buckets;
}

size_t relative_bias_exact(size_t buckets, bool bidirectional)
{
    return buckets_of_side(buckets, bidirectional) / 2;
}

/* The bucket of a distance from `exact` up to max_distance, before it is cut to the last. */
static size_t bucket_of(size_t n, size_t exact, int64_t max_distance, int64_t distance)
{
    float steps = logf((float)distance / (float)exact) / (float)log((double)max_distance / (double)exact);
    return exact + (size_t)(steps * (float)(n - exact));
}

/* The smallest distance in `bucket` or a later one. */
static int64_t first_distance(size_t n, int64_t max_distance, size_t bucket)
{
    size_t exact = n / 2;
    if (bucket <= exact)
        return (int64_t)bucket;
    int64_t low = (int64_t)exact, high = max_distance; /* which the last bucket holds */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (bucket_of(n, exact, max_distance, middle) >= bucket)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

size_t relative_bias_ranges(size_t buckets, bool bidirectional, int64_t max_distance, struct relative_bias_range *ret)
{
    size_t n = buckets_of_side(buckets, bidirectional), count = 0;
    for (size_t bucket = n; bucket-- > 0;) { /* keys before the query, the farthest first, and its own position */
        int64_t first = first_distance(n, max_distance, bucket);
        int64_t next = bucket + 1 == n ? 0 : first_distance(n, max_distance, bucket + 1);
        if (bucket + 1 == n)
            ret[count++] = (struct relative_bias_range){INT64_MIN, bucket};
        else if (first < next) /* a bucket may be empty */
            ret[count++] = (struct relative_bias_range){1 - next, bucket};
    }
    for (size_t bucket = 0; bidirectional && bucket < n; bucket++) {
        int64_t first = first_distance(n, max_distance, bucket);
        int64_t next = bucket + 1 == n ? INT64_MAX : first_distance(n, max_distance, bucket + 1);
        first = first > 1 ? first : 1;
        if (first < next)
            ret[count++] = (struct relative_bias_range){first, n + bucket};
    }
    return count;
}

size_t relative_bias_find(const struct relative_bias *bias, int64_t offset)
{
    size_t low = 0, high = bias->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (bias->ranges[middle].start <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double relative_bias_at(const struct relative_bias *bias, size_t h, int64_t offset)
{
    return bias->table[bias->ranges[relative_bias_find(bias, offset)].bucket * bias->stride + h];
}
