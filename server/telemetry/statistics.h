/* statistics.h: how many inferences were asked for under /v2, and how long their parts took, since the daemon started: the
 * statistics extension of the Open Inference Protocol.
 *
 * Threads  every function from any thread. A reader may see an inference in one of the numbers and not yet in another. */
#ifndef ATTND_SERVER_TELEMETRY_STATISTICS_H
#define ATTND_SERVER_TELEMETRY_STATISTICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum statistics_part {
    STATISTICS_SUCCESS, /* from the request's last byte to its reply, as FAIL, which has no other parts */
    STATISTICS_FAIL,
    STATISTICS_QUEUE,
    STATISTICS_COMPUTE_INPUT,
    STATISTICS_COMPUTE_INFER,
    STATISTICS_COMPUTE_OUTPUT,
    STATISTICS_PARTS,
};

struct statistics {
    atomic_uint_fast64_t last_inference_ms; /* of the Unix epoch; 0: none */
    struct {
        atomic_uint_fast64_t count, ns;
    } parts[STATISTICS_PARTS];
};

/* Durations by part. Of a failure only STATISTICS_FAIL is looked at. */
void statistics_add(struct statistics *statistics, bool success, const int64_t ns[STATISTICS_PARTS]);

/* How often, and for how many nanoseconds in all. */
uint64_t statistics_count(const struct statistics *statistics, enum statistics_part part);
uint64_t statistics_ns(const struct statistics *statistics, enum statistics_part part);

/* Writes {"model_stats": [..]} to `buffer`, returns the number of bytes. STATISTICS_BYTES_MAX bytes are enough. */
#define STATISTICS_BYTES_MAX 1024
size_t statistics_write(const struct statistics *statistics, char buffer[STATISTICS_BYTES_MAX]);

#endif
