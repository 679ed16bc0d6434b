#!/usr/bin/env python3
"""A real Prometheus scrapes a running daemon; promtool checks the metrics and the alert rules; every expression of the dashboard and of the
rules is evaluated over what was scraped. Prints TAP.

    tests/clients/monitoring.py HOST:PORT"""
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import requests
import yaml

sys.path.insert(0, __file__.rpartition("/")[0])
from tap import check, finish  # noqa: E402 (the folder of this script is not on the path of every runner)

ADDRESS = sys.argv[1]
MONITORING = Path(__file__).resolve().parent.parent.parent / "deploy/monitoring"
SMALL = {"query": [[1, 0], [0, 1]], "key": [[1, 0], [0, 1]], "value": [[10], [20]]}
START_S = 60


def promtool(name, *arguments, given=None):
    run = subprocess.run(["promtool", *arguments], input=given, capture_output=True, text=True, timeout=60, check=False)
    check(name, run.returncode == 0, run.stdout + run.stderr)


def test_promtool():
    text = requests.get(f"http://{ADDRESS}/metrics", timeout=30).text
    own = "".join(line + "\n" for line in text.splitlines() if not re.match(r"(# (HELP|TYPE) )?nv_", line))
    check("there are names of Triton's", own != text)
    promtool("promtool accepts the metrics, but for names of Triton's", "check", "metrics", given=own)
    promtool("promtool accepts the rules", "check", "rules", str(MONITORING / "alerts.yaml"))
    promtool("each rule fires when it should, and only then", "test", "rules", str(MONITORING / "alerts-test.yaml"))


def send_requests():
    for body in (SMALL, {"query": 1}):
        requests.post(f"http://{ADDRESS}/attention", json=body, timeout=30)


class Prometheus:
    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        config = {"global": {"scrape_interval": "250ms", "evaluation_interval": "250ms"}, "rule_files": [str(MONITORING / "alerts.yaml")],
                  "scrape_configs": [{"job_name": "attnd", "static_configs": [{"targets": [ADDRESS]}]}]}
        Path(folder, "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address={self.address}"], stdout=subprocess.DEVNULL, stderr=open(f"{folder}/log", "wb"))

    def query(self, expression):
        """The samples, or what is wrong with the expression."""
        reply = requests.get(f"http://{self.address}/api/v1/query", {"query": expression}, timeout=30).json()
        return reply["data"]["result"] if reply["status"] == "success" else reply

    def wait_for(self, expression):
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            send_requests()
            try:
                if self.query(expression):
                    return True
            except requests.RequestException:
                pass
            time.sleep(0.1)
        return False

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)


def test_scraping(prometheus):
    check("it is scraped", prometheus.wait_for('up{job="attnd"} == 1'))
    check("counters count", prometheus.wait_for('increase(attnd_requests_total{path="/attention",status="422"}[10s]) > 0'))
    check("nothing is dropped of a scrape", prometheus.query("scrape_samples_scraped == scrape_samples_post_metric_relabeling"))
    check("names of Triton's", prometheus.query('nv_inference_count{model="attention",version="1"}'))
    dashboard = json.loads((MONITORING / "grafana-dashboard.json").read_text(encoding="utf-8"))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "10s").replace("$instance", ".+")
            check(f"dashboard: {panel['title']}: {target['legendFormat']}", isinstance(prometheus.query(expression), list)
                  and prometheus.query(expression), prometheus.query(expression))
    for rule in yaml.safe_load((MONITORING / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]:
        check(f"alert: {rule['alert']} does not fire", prometheus.query(rule["expr"]) == [], prometheus.query(rule["expr"]))


def main():
    test_promtool()
    with tempfile.TemporaryDirectory() as folder:
        prometheus = Prometheus(folder)
        try:
            test_scraping(prometheus)
        finally:
            prometheus.stop()
    finish()


main()
