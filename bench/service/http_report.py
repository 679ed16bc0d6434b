#!/usr/bin/env python3
"""Measures small requests: how many a second, and how long they take, with wrk; writes the report, Markdown, to stdout.

    bench/service/http_report.py BUILD TORCH_PYTHON [--rounds N] [--seconds S]

BUILD is the folder with attnd and bench/bare_httpd. Servers are asked in turns, and first all answers are compared. What is reported
is the median over the rounds, of the requests a second and of each percentile. wrk runs beside the servers, and takes part of a core."""
import argparse
import contextlib
import datetime
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy
import orjson

from services import FIRST_SHAPE, JSON, THREADS, Service, attnd, body_of, fastapi, node, versions, write_model

CONNECTIONS = (1, 16, 256, 1000)
LARGE_CLIENTS = 2
REST_S = 0.2  # between two turns
TOLERANCE = 1e-5
HEAD = {"seed": 1337, "x": {"shape": [4, 8, 32]}, "head_size": 16, "causal": True, "scale": 1, "return": ["output"]}
LARGE = {"seed": 1, "return": ["output"]} | {name: {"shape": [1, 8, 4096, 64]} for name in ("query", "key", "value")}


class Case:
    """A small request, and the servers that answer it: by name, the path."""

    def __init__(self, name, body, paths):
        self.name, self.body, self.paths = name, body, paths


CASES = [
    Case("Own tensors, [1,1,8,16]: 4 KB of JSON, output only", body_of(JSON, FIRST_SHAPE),
         {"attnd": "/attention", "FastAPI and PyTorch": "/attention", "Node and ONNX Runtime": "/attention"}),
    Case("A head from a seed: 32 tokens of 32 features, causal, output only", orjson.dumps(HEAD),
         {"attnd": "/attention", "FastAPI and PyTorch": "/head"}),
]


def bare(build, reply_bytes):
    return Service("bare libmicrohttpd", (JSON,), [f"{build}/bench/bare_httpd", "PORT", str(reply_bytes), str(THREADS)])


def wrk(port, path, body_file, connections, seconds):
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", "bench/service/http.lua",
               f"http://127.0.0.1:{port}{path}"]
    run = subprocess.run(command, env=os.environ | {"BODY": body_file}, check=True, capture_output=True, text=True)
    result = json.loads(run.stdout.splitlines()[-1])
    if result["requests"] == 0 or result["failed"] > 0:
        sys.exit(f"of {result['requests']} requests to {path} {result['failed']} failed")
    return {"rate": result["requests"] / result["us"] * 1e6} | {p: result[p] / 1e3 for p in ("p50", "p99", "p999")}


def medians(turns):
    return {key: statistics.median(turn[key] for turn in turns) for key in turns[0]}


def compare_answers(services, case):
    outputs = {}
    for service in services:
        if service.name in case.paths:
            service.connection.close()
            reply = orjson.loads(service.ask(JSON, case.body, case.paths[service.name]))
            outputs[service.name] = numpy.array(reply["output"], numpy.float32)
    for name, output in outputs.items():
        if not numpy.abs(output - outputs["attnd"]).max() <= TOLERANCE:
            sys.exit(f"{name} and attnd disagree")


def measure(services, case, rounds, seconds):
    """{(name, connections): medians}."""
    turns = {}
    with tempfile.NamedTemporaryFile() as body:
        body.write(case.body)
        body.flush()
        for _ in range(rounds):
            for connections in CONNECTIONS:
                for service in services:
                    path = case.paths.get(service.name, "/" if service.name == "bare libmicrohttpd" else None)
                    if path is not None:
                        turns.setdefault((service.name, connections), []).append(
                            wrk(service.port, path, body.name, connections, seconds))
                        time.sleep(REST_S)
    return {key: medians(of) for key, of in turns.items()}


@contextlib.contextmanager
def large_clients(port):
    """Two clients that compute large attention all the time."""
    stop, body = threading.Event(), orjson.dumps(LARGE)

    def ask():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while not stop.is_set():
            connection.request("POST", "/attention", body, {"Content-Type": JSON, "Accept": "application/x-safetensors"})
            connection.getresponse().read()

    threads = [threading.Thread(target=ask) for _ in range(LARGE_CLIENTS)]
    for thread in threads:
        thread.start()
    time.sleep(1)  # so that they compute
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def measure_beside_large(service, case, rounds, seconds):
    """{connections: medians alone, medians beside two large requests}."""
    alone, beside = {}, {}
    with tempfile.NamedTemporaryFile() as body:
        body.write(case.body)
        body.flush()
        for _ in range(rounds):
            for connections in CONNECTIONS[:2]:
                alone.setdefault(connections, []).append(wrk(service.port, case.paths["attnd"], body.name, connections, seconds))
                with large_clients(service.port):
                    beside.setdefault(connections, []).append(
                        wrk(service.port, case.paths["attnd"], body.name, connections, seconds))
    return {connections: (medians(alone[connections]), medians(beside[connections])) for connections in alone}


def cells(of):
    return f"{of['rate']:,.0f} | {of['p50']:.3g} | {of['p99']:.3g} | {of['p999']:.3g}"


def report_case(case, measured):
    names = list(dict.fromkeys(name for name, _ in measured))
    print(f"\n## {case.name}\n\n| connections | server | requests/s | of bare | p50, ms | p99, ms | p99.9, ms |\n"
          "|---:|---|---:|---:|---:|---:|---:|")
    for connections in CONNECTIONS:
        limit = measured["bare libmicrohttpd", connections]["rate"]
        for name in names:
            rate, *percentiles = cells(measured[name, connections]).split(" | ")
            print(f"| {connections} | {name} | {rate} | {measured[name, connections]['rate'] / limit:.1%} | {' | '.join(percentiles)} |")


def report_beside(case, measured):
    print(f"\n## Beside large requests\n\n{case.name}; and {LARGE_CLIENTS} clients that compute [1,8,4096,64] all the time.\n\n"
          "| connections | beside | requests/s | p50, ms | p99, ms | p99.9, ms | p99 of alone |\n|---:|---|---:|---:|---:|---:|---:|")
    for connections, (alone, beside) in measured.items():
        print(f"| {connections} | nothing | {cells(alone)} | |")
        print(f"| {connections} | large requests | {cells(beside)} | {beside['p99'] / alone['p99']:.1f} x |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("torch_python")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    options = parser.parse_args()
    load, program = os.getloadavg()[0], f"{options.build}/attnd"
    services, measured = [], []
    with tempfile.NamedTemporaryFile(suffix=".onnx") as model:
        write_model(model.name)
        try:
            services += [attnd(program), fastapi(options.torch_python), node(model.name)]
            for case in CASES:
                compare_answers(services, case)
                services[0].connection.close()
                limit = bare(options.build, len(services[0].ask(JSON, case.body)))
                try:
                    measured.append(measure([services[0], limit] + services[1:], case, options.rounds, options.seconds))
                finally:
                    limit.end()
            beside = measure_beside_large(services[0], CASES[0], options.rounds, options.seconds)
        finally:
            for service in services:
                service.end()
    print("# Small requests\n")
    print(f"{datetime.date.today()}, {os.cpu_count()} cores, {THREADS} threads, load {load:.1f} at the start; "
          f"{versions(program, options.torch_python)}. Written by `make bench-http`.\n")
    print(f"wrk, one thread, on the same cores, {options.seconds} s a turn; medians over {options.rounds} rounds in turns. attnd logs every "
          "request. Bare libmicrohttpd reads the body and sends as many bytes as attnd, on as many threads. The peers are in "
          "bench/service/; Node has no generator with PyTorch's numbers. All answers agree to within 1e-5.")
    for case, of in zip(CASES, measured):
        report_case(case, of)
    report_beside(CASES[0], beside)


main()
