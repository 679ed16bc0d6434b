#include "server/telemetry/metrics.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/json/writer.h"
#include "server/telemetry/triton_metrics.h"

static const char *path_name(size_t path)
{
    return path < API_PROTOCOL_COUNT ? api_protocols[path]->name : "other";
}

/* The last one stands for all others. */
#define STATUS_OTHER 1000
static const unsigned statuses[METRICS_STATUSES] = {0,   200, 204, 304, 400, 401, 404, 405, 408,         413,
                                                    414, 415, 422, 431, 500, 501, 503, 505, STATUS_OTHER};

static const double bounds_s[METRICS_BUCKETS] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                 0.25,   0.5,   1,      2.5,   5,    10,    25,   60};

static const char *const phase_names[METRICS_PHASES] = {"receive", "queue", "parse", "compute", "encode", "send"};

void metrics_add(struct metrics *metrics, const struct api_protocol *protocol, const struct access_record *record)
{
    struct metrics_counts *counts = &metrics->paths[protocol != NULL ? api_protocol_index(protocol) : API_PROTOCOL_COUNT];
    const double phase_ms[METRICS_PHASES] = {record->receive_ms, record->queue_ms,  record->parse_ms,
                                             record->compute_ms, record->encode_ms, record->send_ms};
    size_t status = 0, bucket = 0;
    while (statuses[status] != record->status && statuses[status] != STATUS_OTHER)
        status++;
    while (bucket < METRICS_BUCKETS && record->total_ms > bounds_s[bucket] * 1e3)
        bucket++;
    counts->requests[status]++;
    metrics->verdicts[record->verdict]++;
    if (bucket < METRICS_BUCKETS)
        counts->buckets[bucket]++;
    counts->total_ms += record->total_ms;
    for (size_t i = 0; i < METRICS_PHASES; i++)
        counts->phase_ms[i] += phase_ms[i];
    counts->bytes_in += record->bytes_in;
    counts->bytes_out += record->bytes_out;
}

/* ---- the text ---- */

static void write_head(struct writer *writer, const char *name, const char *type, const char *help)
{
    writer_format(writer, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_gauge(struct writer *writer, const char *name, const char *help, double value)
{
    write_head(writer, name, "gauge", help);
    writer_format(writer, "%s %.15g\n", name, value);
}

static void write_requests(struct writer *writer, const struct metrics *metrics)
{
    write_head(writer, "attnd_requests_total", "counter", "Requests that have ended, by the status of their reply.");
    for (size_t path = 0; path < METRICS_PATHS; path++) {
        for (size_t i = 0; i < METRICS_STATUSES; i++) {
            char status[16];
            (void)snprintf(status, sizeof status, "%u", statuses[i]);
            if (metrics->paths[path].requests[i] > 0)
                writer_format(writer, "attnd_requests_total{path=\"%s\",status=\"%s\"} %" PRIu64 "\n", path_name(path),
                              statuses[i] == 0              ? "none"
                              : statuses[i] == STATUS_OTHER ? "other"
                                                            : status,
                              metrics->paths[path].requests[i]);
        }
    }
}

static uint64_t request_count(const struct metrics_counts *counts)
{
    uint64_t count = 0;
    for (size_t i = 0; i < METRICS_STATUSES; i++)
        count += counts->requests[i];
    return count;
}

static void write_durations(struct writer *writer, const struct metrics *metrics)
{
    static const char name[] = "attnd_request_duration_seconds";
    write_head(writer, name, "histogram", "From the request line to the reply's last byte.");
    for (size_t path = 0; path < METRICS_PATHS; path++) {
        const struct metrics_counts *counts = &metrics->paths[path];
        uint64_t sum = 0, count = request_count(counts);
        for (size_t i = 0; i < METRICS_BUCKETS; i++) {
            sum += counts->buckets[i];
            writer_format(writer, "%s_bucket{path=\"%s\",le=\"%g\"} %" PRIu64 "\n", name, path_name(path), bounds_s[i], sum);
        }
        writer_format(writer, "%s_bucket{path=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", name, path_name(path), count);
        writer_format(writer, "%s_sum{path=\"%s\"} %.15g\n", name, path_name(path), counts->total_ms / 1e3);
        writer_format(writer, "%s_count{path=\"%s\"} %" PRIu64 "\n", name, path_name(path), count);
    }
}

static void write_phases(struct writer *writer, const struct metrics *metrics)
{
    write_head(writer, "attnd_phase_seconds_total", "counter", "Where the time of requests went.");
    for (size_t path = 0; path < METRICS_PATHS; path++)
        for (size_t i = 0; i < METRICS_PHASES; i++)
            writer_format(writer, "attnd_phase_seconds_total{path=\"%s\",phase=\"%s\"} %.15g\n", path_name(path),
                          phase_names[i], metrics->paths[path].phase_ms[i] / 1e3);
}

static void write_bytes(struct writer *writer, const struct metrics *metrics)
{
    write_head(writer, "attnd_received_bytes_total", "counter", "Bytes of requests' bodies.");
    for (size_t path = 0; path < METRICS_PATHS; path++)
        writer_format(writer, "attnd_received_bytes_total{path=\"%s\"} %" PRIu64 "\n", path_name(path),
                      metrics->paths[path].bytes_in);
    write_head(writer, "attnd_sent_bytes_total", "counter", "Bytes of replies' bodies.");
    for (size_t path = 0; path < METRICS_PATHS; path++)
        writer_format(writer, "attnd_sent_bytes_total{path=\"%s\"} %" PRIu64 "\n", path_name(path),
                      metrics->paths[path].bytes_out);
}

static void write_verdicts(struct writer *writer, const struct metrics *metrics)
{
    write_head(writer, "attnd_comparisons_total", "counter", "Comparisons, by what they came to.");
    for (size_t i = API_VERDICT_NONE + 1; i < API_VERDICTS; i++)
        writer_format(writer, "attnd_comparisons_total{verdict=\"%s\"} %" PRIu64 "\n", api_verdict_names[i],
                      metrics->verdicts[i]);
}

static void write_gauges(struct writer *writer, const struct metrics_gauges *gauges)
{
    write_head(writer, "attnd_build_info", "gauge", "Always 1; the labels say what runs.");
    writer_format(writer, "attnd_build_info{version=\"%s\",kernel=\"%s\"} 1\n", gauges->version, gauges->kernel);
    write_gauge(writer, "attnd_ready", "1 while new work is taken, 0 while the daemon shuts down.", gauges->ready);
    write_gauge(writer, "attnd_threads", "Threads that compute.", (double)gauges->threads);
    write_gauge(writer, "attnd_connections", "Open connections.", (double)gauges->connections);
    write_gauge(writer, "attnd_connections_limit", "--max-connections.", (double)gauges->connections_max);
    write_head(writer, "attnd_connections_made_room_total", "counter",
               "Silent connections beyond --max-connections that were closed for newer ones.");
    writer_format(writer, "attnd_connections_made_room_total %" PRIu64 "\n", gauges->connections_made_room);
    write_gauge(writer, "attnd_working_requests", "Requests admitted to compute that are not done with.",
                (double)gauges->working);
    write_gauge(writer, "attnd_queued_requests", "Of them, those that wait for a thread.", (double)gauges->queued);
    write_gauge(writer, "attnd_memory_waiting_requests", "Of them, those that wait for memory.",
                (double)gauges->waiting_for_memory);
    write_gauge(writer, "attnd_queue_limit", "--queue.", (double)gauges->queued_max);
    write_head(writer, "attnd_memory_bytes", "gauge",
               "Memory that requests hold: their bodies, and what computing them set aside.");
    writer_format(writer, "attnd_memory_bytes{kind=\"bodies\"} %zu\nattnd_memory_bytes{kind=\"computing\"} %zu\n",
                  gauges->bodies_bytes, gauges->grants_bytes);
    write_gauge(writer, "attnd_memory_limit_bytes", "--memory.", (double)gauges->memory_bytes_max);
    write_head(writer, "process_cpu_seconds_total", "counter", "Processor time, user and system.");
    writer_format(writer, "process_cpu_seconds_total %.15g\n", gauges->cpu_s);
    write_gauge(writer, "process_resident_memory_bytes", "Memory in RAM.", (double)gauges->resident_bytes);
    write_gauge(writer, "process_start_time_seconds", "When the process started, of the Unix epoch.", gauges->started_s);
}

size_t metrics_write(const struct metrics *metrics, const struct metrics_gauges *gauges, const struct statistics *inferences,
                     char buffer[METRICS_BYTES_MAX])
{
    struct writer writer;
    writer_init(&writer, buffer, METRICS_BYTES_MAX);
    write_requests(&writer, metrics);
    write_durations(&writer, metrics);
    write_phases(&writer, metrics);
    write_bytes(&writer, metrics);
    write_verdicts(&writer, metrics);
    write_gauges(&writer, gauges);
    triton_metrics_write(&writer, inferences, gauges->queued);
    return (size_t)(writer.at - writer.start);
}
