"""The servers that the benchmarks of whole requests compare, and the bodies they are sent."""
import http.client
import json
import os
import socket
import struct
import subprocess
import sys
import time

import numpy
import onnx
import orjson

SAFETENSORS = "application/x-safetensors"
JSON = "application/json"
THREADS = min(2, os.cpu_count())
START_TIMEOUT_S = 120
FIRST_SHAPE = (1, 1, 8, 16)


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
        body = body_of(JSON, FIRST_SHAPE)
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

    def ask(self, kind, body, path="/attention"):
        self.connection.request("POST", path, body, {"Content-Type": kind, "Accept": kind})
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


def attnd(program):
    return Service("attnd", (JSON, SAFETENSORS), [program, "--listen", "127.0.0.1:PORT", "--threads", str(THREADS)])


def fastapi(torch_python):
    return Service("FastAPI and PyTorch", (JSON, SAFETENSORS),
                   [torch_python, "-m", "uvicorn", "fastapi_app:app", "--app-dir", "bench/service", "--port", "PORT", "--log-level",
                    "warning", "--no-access-log"], THREADS=str(THREADS))


def node(model):
    return Service("Node and ONNX Runtime", (JSON,), ["node", "bench/service/node_app.mjs", "PORT", model, str(THREADS)])


def versions(program, torch_python):
    """What took part, in a sentence."""
    torch = json.loads(subprocess.run(
        [torch_python, "-c", "import json, torch, fastapi, uvicorn; "
         "print(json.dumps([torch.__version__, fastapi.__version__, uvicorn.__version__]))"],
        check=True, capture_output=True, text=True).stdout)
    with open("bench/service/package.json", encoding="utf-8") as file:
        node_ort = json.load(file)["dependencies"]["onnxruntime-node"]
    node_version = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout.strip()
    own = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    return (f"{own}; PyTorch {torch[0]}, FastAPI {torch[1]}, uvicorn {torch[2]}; Node {node_version}, ONNX Runtime {node_ort}")
