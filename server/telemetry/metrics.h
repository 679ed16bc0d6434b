/* metrics.h: counters over all requests since the daemon started, and the text of GET /metrics in Prometheus' format 0.0.4.
 *
 * Labels come from fixed sets, so a client cannot make the text grow. `path` is that of a computing endpoint, or "other";
 * `status` is the reply's, "none" where there was no reply, or "other" for one that the list in metrics.c lacks.
 *
 * Threads  one at a time. */
#ifndef ATTND_SERVER_TELEMETRY_METRICS_H
#define ATTND_SERVER_TELEMETRY_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "server/telemetry/access_log.h"
#include "server/telemetry/statistics.h"

#define METRICS_PATHS (API_PROTOCOL_COUNT + 1) /* the last one is "other" */

#define METRICS_STATUSES 19 /* listed in metrics.c */
#define METRICS_BUCKETS 16  /* of the histogram; their bounds are there, too */
#define METRICS_PHASES 6    /* receive to send, as in the log */

struct metrics_counts {
    uint64_t requests[METRICS_STATUSES];
    uint64_t buckets[METRICS_BUCKETS]; /* a request counts in the first one that it fits, or in none */
    double total_ms;
    double phase_ms[METRICS_PHASES];
    uint64_t bytes_in, bytes_out;
};

struct metrics {
    struct metrics_counts paths[METRICS_PATHS];
    uint64_t verdicts[API_VERDICTS]; /* of comparisons */
};

/* Gauges: values of the moment, beside the counters. */
struct metrics_gauges {
    const char *version, *kernel;
    size_t threads;
    size_t connections, connections_max;
    uint64_t connections_made_room;
    size_t queued, queued_max;
    size_t waiting_for_memory;
    size_t working; /* requests admitted to compute that have not ended */
    size_t bodies_bytes, grants_bytes, memory_bytes_max;
    bool ready;
    double cpu_s;          /* of all threads, user and system */
    size_t resident_bytes; /* of the process */
    double started_s;      /* of the Unix epoch */
};

/* Counts a request that has ended. `protocol` is that which computed or would have; NULL: none. */
void metrics_add(struct metrics *metrics, const struct api_protocol *protocol, const struct access_record *record);

/* Writes the text to `buffer`, with the inferences of /v2 under Triton's names; returns the number of bytes. METRICS_BYTES_MAX bytes are enough. */
#define METRICS_BYTES_MAX ((size_t)64 << 10)
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
size_t metrics_write(const struct metrics *metrics, const struct metrics_gauges *gauges, const struct statistics *inferences,
                     char buffer[METRICS_BYTES_MAX]);

#endif
