#!/usr/bin/env python3
"""Measures attnd as a service beside what a user would write instead, and writes the report, Markdown, to stdout.

    bench/service/report.py ATTND TORCH_PYTHON [--rounds N] [--seconds S]

All run at once on loopback and are asked in turns, on one connection each, for unmasked attention of one batch item, output only.
What is compared is the median of whole requests, from the first byte sent to the last one read. First all answers are compared: where
they disagree, nothing is reported."""
import argparse
import datetime
import http.client
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import orjson

SAFETENSORS = "application/x-safetensors"
JSON = "application/json"
CASES = [(JSON, (1, 1, 8, 16)), (JSON, (1, 8, 128, 64)), (JSON, (1, 8, 512, 64)), (SAFETENSORS, (1, 8, 128, 64)),
         (SAFETENSORS, (1, 8, 512, 64)), (SAFETENSORS, (1, 8, 2048, 64))]
THREADS = min(2, os.cpu_count())
START_TIMEOUT_S = 120
REST_S = 0.05  # between two turns: threads of the one before may spin for a while
TOLERANCE = 1e-5


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def write_model(path):
    nodes = [onnx.helper.make_node("Attention", ["Q", "K", "V"], ["Y"])]
    tensors = {name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, list("bhtd")) for name in "QKVY"}
    graph = onnx.helper.make_graph(nodes, "attention", [tensors[n] for n in "QKV"], [tensors["Y"]])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 24)], ir_version=10), path)


class Service:
    """One server, from its start to its end, and a connection to it."""

    def __init__(self, name, kinds, command, **environment):
        self.name, self.kinds, self.port = name, kinds, free_port()
        plain = {key: value for key, value in os.environ.items() if key not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
        command = [part.replace("PORT", str(self.port)) for part in command]
        start = time.perf_counter()
        self.process = subprocess.Popen(command, env=plain | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        body = body_of(JSON, CASES[0][1])
        while True:
            try:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port)
                self.ask(JSON, body)
                break
            except OSError:
                if self.process.poll() is not None or time.perf_counter() - start > START_TIMEOUT_S:
                    sys.exit(f"{name} does not start")
                time.sleep(0.001)
        self.start_s = time.perf_counter() - start

    def ask(self, kind, body):
        self.connection.request("POST", "/attention", body, {"Content-Type": kind, "Accept": kind})
        reply = self.connection.getresponse()
        data = reply.read()
        if reply.status != 200:
            sys.exit(f"{self.name} answers {reply.status}: {data[:300]}")
        return data

    def memory_mb(self, what):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(file.read().partition(f"{what}:")[2].split()[0]) / 1e3

    def end(self):
        self.process.terminate()
        self.process.wait()


def tensors_of(shape):
    generator = numpy.random.default_rng(1)
    return {name: generator.standard_normal(shape, dtype=numpy.float32) for name in ("query", "key", "value")}


def body_of(kind, shape):
    tensors = tensors_of(shape)
    if kind == JSON:
        return orjson.dumps(tensors | {"return": ["output"]}, option=orjson.OPT_SERIALIZE_NUMPY)
    header, data = {"__metadata__": {"request": '{"return": ["output"]}'}}, b""
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + tensor.nbytes]}
        data += tensor.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 64)
    return struct.pack("<Q", len(text)) + text + data


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
            services += [
                Service("attnd", (JSON, SAFETENSORS), [options.attnd, "--listen", "127.0.0.1:PORT", "--threads", str(THREADS)]),
                Service("FastAPI and PyTorch", (JSON, SAFETENSORS),
                        [options.torch_python, "-m", "uvicorn", "fastapi_app:app", "--app-dir", "bench/service", "--port", "PORT",
                         "--log-level", "warning", "--no-access-log"], THREADS=str(THREADS)),
                Service("Node and ONNX Runtime", (JSON,), ["node", "bench/service/node_app.mjs", "PORT", model.name, str(THREADS)]),
            ]
            first_mb = [s.memory_mb("VmRSS") for s in services]
            compare_answers(services)
            medians = [(kind, shape, measure(services, kind, shape, options.rounds, options.seconds)) for kind, shape in CASES]
            report(services, load, first_mb, medians, options.rounds)
        finally:
            for service in services:
                service.end()


def report(services, load, first_mb, medians, rounds):
    own, *peers = services
    versions = json.loads(subprocess.run(
        [sys.argv[2], "-c", "import json, torch, fastapi, uvicorn; "
         "print(json.dumps([torch.__version__, fastapi.__version__, uvicorn.__version__]))"],
        check=True, capture_output=True, text=True).stdout)
    with open("bench/service/package.json", encoding="utf-8") as file:
        node_ort = json.load(file)["dependencies"]["onnxruntime-node"]
    node = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout.strip()
    program = subprocess.run([sys.argv[1], "--version"], check=True, capture_output=True, text=True).stdout.strip()
    print("# attnd as a service beside its peers\n")
    print(f"{datetime.date.today()}, {THREADS} threads, load {load:.1f} at the start; {program}; PyTorch {versions[0]}, FastAPI {versions[1]}, "
          f"uvicorn {versions[2]}; Node {node}, ONNX Runtime {node_ort}. Written by `make bench-service`.\n")
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
