#!/usr/bin/env python3
"""Measures attnd as a service beside what a user would write instead, and writes the report, Markdown, to stdout.

    bench/service/report.py ATTND TORCH_PYTHON [--rounds N] [--seconds S]

All run at once on loopback and are asked in turns, on one connection each, for unmasked attention of one batch item, output only.
What is compared is the median of whole requests, from the first byte sent to the last one read. First all answers are compared: where
they disagree, nothing is reported."""
import argparse
import datetime
import json
import os
import statistics
import struct
import sys
import tempfile
import time

import numpy
import orjson

from services import JSON, SAFETENSORS, THREADS, attnd, body_of, fastapi, node, versions, write_model

CASES = [(JSON, (1, 1, 8, 16)), (JSON, (1, 8, 128, 64)), (JSON, (1, 8, 512, 64)), (SAFETENSORS, (1, 8, 128, 64)),
         (SAFETENSORS, (1, 8, 512, 64)), (SAFETENSORS, (1, 8, 2048, 64))]
REST_S = 0.05  # between two turns: threads of the one before may spin for a while
TOLERANCE = 1e-5


def output_of(kind, reply, shape):
    if kind == JSON:
        return numpy.array(orjson.loads(reply)["output"], numpy.float32)
    length = struct.unpack("<Q", reply[:8])[0]
    begin, end = json.loads(reply[8:8 + length])["output"]["data_offsets"]
    return numpy.frombuffer(reply[8 + length + begin:8 + length + end], numpy.float32).reshape(shape)


def compare_answers(services):
    for kind, shape in CASES:
        answers = [(s.name, output_of(kind, s.ask(kind, body_of(kind, shape)), shape)) for s in services if kind in s.kinds]
        for name, answer in answers[1:]:
            if not numpy.abs(answer - answers[0][1]).max() <= TOLERANCE:
                sys.exit(f"{name} and {answers[0][0]} disagree at {shape}")


def turn(service, kind, body, seconds):
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        service.ask(kind, body)
        times.append((time.perf_counter() - start) * 1e3)
    time.sleep(REST_S)
    return times


def measure(services, kind, shape, rounds, seconds):
    """{name: median in ms}."""
    body, times = body_of(kind, shape), {s.name: [] for s in services if kind in s.kinds}
    for _ in range(rounds):
        for service in services:
            if kind in service.kinds:
                times[service.name] += turn(service, kind, body, seconds)
    return {name: statistics.median(t) for name, t in times.items()}


def cell(ms, own):
    return "" if ms is None else f"{ms:.3g}" if own is None else f"{ms:.3g} ({ms / own:.1f} x)"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("attnd")
    parser.add_argument("torch_python")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    services = []
    with tempfile.NamedTemporaryFile(suffix=".onnx") as model:
        write_model(model.name)
        try:
            services += [attnd(options.attnd), fastapi(options.torch_python), node(model.name)]
            first_mb = [s.memory_mb("VmRSS") for s in services]
            compare_answers(services)
            medians = [(kind, shape, measure(services, kind, shape, options.rounds, options.seconds)) for kind, shape in CASES]
            report(services, versions(options.attnd, options.torch_python), load, first_mb, medians, options.rounds)
        finally:
            for service in services:
                service.end()


def report(services, programs, load, first_mb, medians, rounds):
    own, *peers = services
    print("# attnd as a service beside its peers\n")
    print(f"{datetime.date.today()}, {THREADS} threads, load {load:.1f} at the start; {programs}. Written by `make bench-service`.\n")
    print("The peers are in bench/service/: orjson, numpy and safetensors around PyTorch's fused attention; JSON.parse, JSON.stringify and "
          "ONNX's `Attention` in Node.\n")
    print(f"Whole requests on one connection, medians in ms over {rounds} rounds in turns; in brackets, how many times as long the peer "
          "takes. Unmasked, float32, output only; all answers agree to within 1e-5.\n")
    print("| body | [B,H,T,D] | attnd | " + " | ".join(p.name for p in peers) + " |")
    print("|---|---|---:|" + "---:|" * len(peers))
    for kind, shape, ms in medians:
        row = [cell(ms["attnd"], None)] + [cell(ms.get(p.name), ms["attnd"]) for p in peers]
        print(f"| {'JSON' if kind == JSON else 'safetensors'} | [{','.join(map(str, shape))}] | " + " | ".join(row) + " |")
    print("\n| | attnd | " + " | ".join(p.name for p in peers) + " |")
    print("|---|---:|" + "---:|" * len(peers))
    print("| from start to the first answer, s | " + " | ".join(f"{s.start_s:.3g}" for s in services) + " |")
    print("| resident memory then, MB | " + " | ".join(f"{mb:.0f}" for mb in first_mb) + " |")
    print("| peak resident memory, MB | " + " | ".join(f"{s.memory_mb('VmHWM'):.0f}" for s in services) + " |")


main()
