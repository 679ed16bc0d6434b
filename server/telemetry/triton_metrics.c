#include "server/telemetry/triton_metrics.h"

#include <inttypes.h>

static void write_metric(struct writer *writer, const char *name, const char *type, const char *help, uint64_t value)
{
    writer_format(writer, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
    writer_format(writer, "%s{model=\"attention\",version=\"1\"} %" PRIu64 "\n", name, value);
}

void triton_metrics_write(struct writer *writer, const struct statistics *statistics, size_t pending)
{
    static const struct {
        enum statistics_part part;
        const char *name, *help;
    } durations[] = {
        {STATISTICS_SUCCESS, "nv_inference_request_duration_us", "Time of inferences under /v2, from the request's last byte."},
        {STATISTICS_QUEUE, "nv_inference_queue_duration_us", "Of it, waiting for a thread."},
        {STATISTICS_COMPUTE_INPUT, "nv_inference_compute_input_duration_us", "Of it, reading the tensors."},
        {STATISTICS_COMPUTE_INFER, "nv_inference_compute_infer_duration_us", "Of it, computing."},
        {STATISTICS_COMPUTE_OUTPUT, "nv_inference_compute_output_duration_us", "Of it, writing the tensors."},
    };
    uint64_t done = statistics_count(statistics, STATISTICS_SUCCESS);
    write_metric(writer, "nv_inference_request_success", "counter", "Inferences under /v2 that were answered.", done);
    write_metric(writer, "nv_inference_request_failure", "counter", "Inferences under /v2 that were not.",
                 statistics_count(statistics, STATISTICS_FAIL));
    write_metric(writer, "nv_inference_count", "counter", "Inferences computed under /v2.", done);
    write_metric(writer, "nv_inference_exec_count", "counter", "The same: nothing is batched over requests.", done);
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++)
        write_metric(writer, durations[i].name, "counter", durations[i].help,
                     statistics_ns(statistics, durations[i].part) / 1000);
    write_metric(writer, "nv_inference_pending_request_count", "gauge", "Requests that wait for a thread, not under /v2 alone.",
                 pending);
}
