#!/usr/bin/env python3
"""Prometheus's own parser over GET /metrics of a running daemon: types, names, and sums that must agree. Prints TAP.

    tests/clients/prometheus.py HOST:PORT"""
import sys

import requests
from prometheus_client.parser import text_string_to_metric_families

sys.path.insert(0, __file__.rpartition("/")[0])
from tap import check, finish  # noqa: E402 (the folder of this script is not on the path of every runner)

SMALL = {"query": [[1, 0], [0, 1]], "key": [[1, 0], [0, 1]], "value": [[10], [20]]}


def scrape(url):
    reply = requests.get(url + "/metrics", timeout=30)
    return reply, {family.name: family for family in text_string_to_metric_families(reply.text)}


def main():
    url = "http://" + sys.argv[1]
    for body in (SMALL, SMALL, {"query": 1}):
        requests.post(url + "/attention", json=body, timeout=30)
    reply, families = scrape(url)
    check("content type", reply.headers["Content-Type"].startswith("text/plain; version=0.0.4"))
    check("every family has a type and a help", all(f.type != "unknown" and f.documentation for f in families.values()))
    triton = {"nv_inference_" + name for name in ("request_success", "request_failure", "count", "exec_count", "request_duration_us",
              "queue_duration_us", "compute_input_duration_us", "compute_infer_duration_us", "compute_output_duration_us")}
    check("counters", {n for n, f in families.items() if f.type == "counter"} - triton ==
          {"attnd_requests", "attnd_phase_seconds", "attnd_comparisons", "attnd_connections_made_room", "attnd_received_bytes",
           "attnd_sent_bytes", "process_cpu_seconds"})
    counted = {(s.labels["path"], s.labels["status"]): s.value for s in families["attnd_requests"].samples}
    check("requests by path and status", counted == {("/attention", "200"): 2, ("/attention", "422"): 1}, counted)
    check("Triton's names", triton <= set(families) and families["nv_inference_pending_request_count"].type == "gauge")
    histogram = [s for s in families["attnd_request_duration_seconds"].samples if s.labels["path"] == "/attention"]
    buckets = [s.value for s in histogram if s.name.endswith("_bucket")]
    check("buckets grow to the count", buckets == sorted(buckets) and buckets[-1] == 3, buckets)
    total = sum(s.value for s in histogram if s.name.endswith("_sum"))
    phases = sum(s.value for s in families["attnd_phase_seconds"].samples if s.labels["path"] == "/attention")
    check("the phases are within the duration", 0 < phases <= total, (phases, total))
    _, later = scrape(url)
    check("the scrape itself is counted", any(s.labels == {"path": "other", "status": "200"} and s.value == 1
                                              for s in later["attnd_requests"].samples))
    finish()


main()
