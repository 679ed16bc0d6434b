#include "server/telemetry/statistics.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static const char *const names[STATISTICS_PARTS] = {
    "success", "fail", "queue", "compute_input", "compute_infer", "compute_output",
};

static void add(struct statistics *statistics, enum statistics_part part, int64_t ns)
{
    (void)atomic_fetch_add_explicit(&statistics->parts[part].count, 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&statistics->parts[part].ns, ns > 0 ? (uint64_t)ns : 0, memory_order_relaxed);
}

void statistics_add(struct statistics *statistics, bool success, const int64_t ns[STATISTICS_PARTS])
{
    struct timespec now;
    if (!success) {
        add(statistics, STATISTICS_FAIL, ns[STATISTICS_FAIL]);
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    atomic_store_explicit(&statistics->last_inference_ms, (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000,
                          memory_order_relaxed);
    for (size_t part = 0; part < STATISTICS_PARTS; part++)
        if (part != STATISTICS_FAIL)
            add(statistics, (enum statistics_part)part, ns[part]);
}

static uint64_t value(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

uint64_t statistics_count(const struct statistics *statistics, enum statistics_part part)
{
    return value(&statistics->parts[part].count);
}

uint64_t statistics_ns(const struct statistics *statistics, enum statistics_part part)
{
    return value(&statistics->parts[part].ns);
}

/* An inference is an execution here: nothing is batched over requests. */
size_t statistics_write(const struct statistics *statistics, char buffer[STATISTICS_BYTES_MAX])
{
    uint64_t count = value(&statistics->parts[STATISTICS_SUCCESS].count);
    int length = snprintf(buffer, STATISTICS_BYTES_MAX,
                          "{\"model_stats\":[{\"name\":\"attention\",\"version\":\"1\",\"last_inference\":%" PRIu64
                          ",\"inference_count\":%" PRIu64 ",\"execution_count\":%" PRIu64 ",\"inference_stats\":{",
                          value(&statistics->last_inference_ms), count, count);
    for (size_t part = 0; part < STATISTICS_PARTS; part++)
        length += snprintf(buffer + length, STATISTICS_BYTES_MAX - (size_t)length,
                           "%s\"%s\":{\"count\":%" PRIu64 ",\"ns\":%" PRIu64 "}", part > 0 ? "," : "", names[part],
                           value(&statistics->parts[part].count), value(&statistics->parts[part].ns));
    length += snprintf(buffer + length, STATISTICS_BYTES_MAX - (size_t)length, "},\"batch_stats\":[]}]}\n");
    assert(length > 0 && length < STATISTICS_BYTES_MAX);
    return (size_t)length;
}
