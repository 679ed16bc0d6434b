/* metrics_test.c: what is counted of requests, and Prometheus's text of it. tests/clients/prometheus.py reads that as its own
 * library does. */
#include <stdio.h>
#include <string.h>

#include "server/telemetry/metrics.h"
#include "tests/support/check.h"

static const struct metrics_gauges gauges = {
    .version = "1.2.3", .kernel = "generic", .threads = 3, .connections_max = 9, .ready = true};

static struct statistics inferences;

static const char *text_of(const struct metrics *metrics)
{
    static char buffer[METRICS_BYTES_MAX + 1];
    size_t bytes = metrics_write(metrics, &gauges, &inferences, buffer);
    assert_in_range(bytes, 1, METRICS_BYTES_MAX - 1);
    buffer[bytes] = '\0';
    assert_int_equal(strlen(buffer), bytes);
    assert_int_equal(buffer[bytes - 1], '\n');
    return buffer;
}

static void assert_line(const char *text, const char *line)
{
    char whole[256];
    (void)snprintf(whole, sizeof whole, "\n%s\n", line);
    if (strstr(text, whole) == NULL)
        fail_msg("no line %s", line);
}

static void test_counts(void **state)
{
    (void)state;
    struct metrics metrics = {0};
    struct access_record request = {.status = 200, .bytes_in = 10, .bytes_out = 200, .total_ms = 2, .compute_ms = 1.5};
    metrics_add(&metrics, &api_protocol_attention, &request);
    request.total_ms = 30;
    metrics_add(&metrics, &api_protocol_attention, &request);
    request.status = 0;
    request.total_ms = 61000;
    metrics_add(&metrics, &api_protocol_attention, &request);
    metrics_add(&metrics, &api_protocol_compare, &(struct access_record){.status = 200, .verdict = API_VERDICT_EXPLAINED});
    request.status = 418;
    metrics_add(&metrics, NULL, &request);
    const char *text = text_of(&metrics);
    assert_line(text, "attnd_requests_total{path=\"/attention\",status=\"200\"} 2");
    assert_line(text, "attnd_requests_total{path=\"/attention\",status=\"none\"} 1");
    assert_line(text, "attnd_requests_total{path=\"other\",status=\"other\"} 1");
    assert_null(strstr(text, "attnd_requests_total{path=\"/v2"));
    assert_line(text, "attnd_phase_seconds_total{path=\"/attention\",phase=\"compute\"} 0.0045");
    assert_line(text, "attnd_received_bytes_total{path=\"/attention\"} 30");
    assert_line(text, "attnd_sent_bytes_total{path=\"/attention\"} 600");
    assert_line(text, "attnd_build_info{version=\"1.2.3\",kernel=\"generic\"} 1");
    assert_line(text, "attnd_comparisons_total{verdict=\"explained\"} 1");
    assert_line(text, "attnd_comparisons_total{verdict=\"equal\"} 0");
    assert_line(text, "attnd_threads 3");
    assert_line(text, "attnd_ready 1");
}

/* Each bucket counts all that took at most so long; a bound belongs to its own bucket. */
static void test_buckets(void **state)
{
    static const char name[] = "attnd_request_duration_seconds";
    static const struct {
        const char *bound;
        int count;
    } expected[] = {{"0.0005", 0}, {"0.001", 0}, {"0.0025", 1}, {"0.025", 2}, {"0.05", 3}, {"60", 3}, {"+Inf", 4}};
    char line[256];
    (void)state;
    struct metrics metrics = {0};
    const double ms[] = {2.5, 25, 25.01, 60001};
    for (size_t i = 0; i < 4; i++)
        metrics_add(&metrics, &api_protocol_kserve, &(struct access_record){.status = 200, .total_ms = ms[i]});
    const char *text = text_of(&metrics);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        (void)snprintf(line, sizeof line, "%s_bucket{path=\"/v2/models/attention/infer\",le=\"%s\"} %d", name,
                       expected[i].bound, expected[i].count);
        assert_line(text, line);
    }
    assert_line(text, "attnd_request_duration_seconds_count{path=\"/v2/models/attention/infer\"} 4");
    assert_line(text, "attnd_request_duration_seconds_sum{path=\"/v2/models/attention/infer\"} 60.05351");
}

/* Triton's counters are those of the statistics, in microseconds. */
static void test_triton_names(void **state)
{
    const int64_t ns[STATISTICS_PARTS] = {9000000, 7000, 1000000, 2000000, 3000999, 4000000};
    struct metrics metrics = {0};
    (void)state;
    inferences = (struct statistics){0};
    statistics_add(&inferences, true, ns);
    statistics_add(&inferences, true, ns);
    statistics_add(&inferences, false, ns);
    const char *text = text_of(&metrics);
#define LABELS "{model=\"attention\",version=\"1\"}"
    assert_line(text, "nv_inference_request_success" LABELS " 2");
    assert_line(text, "nv_inference_request_failure" LABELS " 1");
    assert_line(text, "nv_inference_count" LABELS " 2");
    assert_line(text, "nv_inference_exec_count" LABELS " 2");
    assert_line(text, "nv_inference_request_duration_us" LABELS " 18000");
    assert_line(text, "nv_inference_queue_duration_us" LABELS " 2000");
    assert_line(text, "nv_inference_compute_input_duration_us" LABELS " 4000");
    assert_line(text, "nv_inference_compute_infer_duration_us" LABELS " 6001");
    assert_line(text, "nv_inference_compute_output_duration_us" LABELS " 8000");
    assert_line(text, "nv_inference_pending_request_count" LABELS " 0");
#undef LABELS
}

/* Every status on every path, and numbers as long as they get. */
static void test_longest_text(void **state)
{
    (void)state;
    struct metrics metrics;
    struct metrics_gauges most = {.version = "10.10.10-candidate", .kernel = "avx512", .cpu_s = 1.2345678901234567e-300};
    memset(&metrics, 0xff, sizeof metrics);
    memset(&inferences, 0xff, sizeof inferences);
    for (size_t path = 0; path < METRICS_PATHS; path++) {
        metrics.paths[path].total_ms = -1.2345678901234567e-300;
        for (size_t i = 0; i < METRICS_PHASES; i++)
            metrics.paths[path].phase_ms[i] = -1.2345678901234567e-300;
    }
    memset(&most.threads, 0xff, offsetof(struct metrics_gauges, ready) - offsetof(struct metrics_gauges, threads));
    char buffer[METRICS_BYTES_MAX];
    assert_in_range(metrics_write(&metrics, &most, &inferences, buffer), 8000, METRICS_BYTES_MAX / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_triton_names),
        cmocka_unit_test(test_longest_text),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
