#!/usr/bin/env python3
"""The Python package against a running daemon, and against one that misbehaves. Run by first_steps.py, from the wheel. Prints TAP.

    tests/clients/package.py HOST:PORT"""
import http.server
import inspect
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import typing
from pathlib import Path

import attnd
import ml_dtypes
import numpy as np

sys.path.insert(0, __file__.rpartition("/")[0])
from tap import check, finish, raises  # noqa: E402 (the folder of this script is not on the path of every runner)

ADDRESS = sys.argv[1]
TOP = Path(__file__).resolve().parent.parent.parent
PROGRAM = str(TOP / "build/attnd")
rng = np.random.default_rng(7)


def attention(q, k, v, visible=None):
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    scores = scores if visible is None else np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights @ v.astype(np.float64), weights


def close(got, want, tolerance=2e-6):
    return got.shape == want.shape and bool(np.abs(got - want).max() <= tolerance)


def test_arrays():
    q, k, v = (rng.standard_normal((2, 3, 5, 8)) for _ in range(3))
    result = attnd.attention(q, k, v)
    check("float64 in, float32 out", result["output"].dtype == np.float32 and close(result["output"], attention(q, k, v)[0]))
    check("results may be written to", result["output"].flags.writeable)
    result = attnd.attention(q, k, v, causal=True, precision="float64")
    want = attention(q, k, v, np.tril(np.ones((5, 5), bool)))
    check("float64 throughout", close(result["output"], want[0], 1e-12) and close(result["weights"], want[1], 1e-12))
    for kind, given in (("float16", q.astype(np.float16)), ("bfloat16", q.astype(ml_dtypes.bfloat16)), ("big-endian", q.astype(">f4")),
                        ("strided", np.ascontiguousarray(q.swapaxes(2, 3)).swapaxes(2, 3))):
        result = attnd.attention(given, given, given, return_=["output"])
        check(kind, list(result) == ["output"] and close(result["output"], attention(*[given.astype(np.float64)] * 3)[0]))
    empty = attnd.attention(np.ones((0, 4)), np.ones((2, 4)), np.ones((2, 3)))
    check("no queries", empty["output"].shape == (0, 3))


def test_fields():
    q = rng.standard_normal((4, 6)).astype(np.float32)
    mask = rng.random((4, 4)) < 0.5
    mask |= np.eye(4, dtype=bool)
    check("a boolean mask", close(attnd.attention(q, q, q, mask=mask)["output"], attention(q, q, q, mask)[0]))
    check("lists and integers", attnd.attention([[1]], [[1]], [[10]])["output"].tolist() == [[10]])
    result = attnd.attention(q[None], q[None], q[None], key_lengths=np.array([2]), scale=np.float32(0.5), window=[1, 0], causal=None)
    check("lengths, numpy's scalars, None", result.applied["scale"] == 0.5 and (result["weights"][..., 2:] == 0).all())
    result = attnd.attention(q[:2], q[:2], q[:2], bias=np.array([300, 0]), relative_bias={"table": np.array([[0], [-300], [0], [300]])}, query_scale=np.array([1, 0]))
    check("biases of integers", result["weights"][1].tolist() == [0.5, 0.5] and result.applied["relative_bias"]["buckets"] == 4)
    w, b = rng.standard_normal((6, 6)), rng.standard_normal(6)
    result = attnd.attention(x=q, projection={"query": {"weight": w, "bias": b}, "key": w, "value": w}, return_=["query", "output"])
    check("projections", close(result["query"], q @ w.T + b, 1e-5))
    result = attnd.attention(x={"shape": [4, 2]}, projection="identity", seed=1, return_=["x"])
    check("drawn tensors", result["x"].shape == (4, 2))
    result = attnd.attention([[1]], [[1], [2]], [[5], [6]], mask=[False, False])
    check("warnings", len(result.warnings) == 1 and "every key masked" in result.warnings[0] and result.applied["mask"] == "boolean")


def test_merge():
    q, k, v = (rng.standard_normal((2, 3, 6, 8)).astype(np.float32) for _ in range(3))
    parts = [attnd.attention(q, k[:, :, at], v[:, :, at], return_=["output", "lse"]) for at in (slice(0, 2), slice(2, 6))]
    result = attnd.merge(parts, precision="float64")
    check("parts of the keys", result["output"].dtype == np.float64 and close(result["output"], attention(q, k, v)[0]) and result.applied["parts"] == 2)
    check("or other mappings", np.array_equal(attnd.Client().merge([dict(part) for part in parts], precision="float64")["output"], result["output"]))
    error = raises(attnd.RequestError, lambda: attnd.merge([parts[0], {"output": q[:, :, :1], "lse": parts[1]["lse"]}]))
    check("parts that are unlike", error and error.status == 422 and "output.1" in (error.pointer or ""), error)
    check("an array that is no part's", raises(TypeError, lambda: attnd.merge(parts, mask=np.ones(3))) is not None)
    copy = pickle.loads(pickle.dumps(error))
    check("errors go to other processes", (str(copy), copy.pointer, copy.status) == (str(error), error.pointer, error.status), copy)


def test_errors():
    error = raises(attnd.RequestError, lambda: attnd.attention([[1.0]], [[1.0]], [[1.0]], querry=1))
    check("a wrong request", error and (error.status, error.type, error.pointer) == (422, "invalid", "/querry") and error.request_id
          and error.detail in str(error) and isinstance(error, (attnd.AttndError, ValueError)), error)
    error = raises(attnd.RequestError, lambda: attnd.attention(x={"shape": [100000, 4]}, seed=1, projection="identity"))
    check("over a limit", error and error.status == 413 and error.limit["name"] == "max-request-memory", error)
    check("a type that is not taken", raises(TypeError, lambda: attnd.attention(np.array([["a"]]), [[1]], [[1]])) is not None)
    check("no address", raises(ValueError, lambda: attnd.Client("localhost:8080")) is not None)
    error = raises(attnd.ConnectionFailed, lambda: attnd.Client("http://127.0.0.1:1").attention([[1]], [[1]], [[1]]))
    check("nobody there", isinstance(error, ConnectionError) and "127.0.0.1:1" in str(error), error)


class Moody(http.server.BaseHTTPRequestHandler):
    """Answers as `script` says, one entry a request."""
    protocol_version = "HTTP/1.1"
    script, asked = [], []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Moody.asked.append((self.headers["Authorization"], body))
        status, headers, reply, *ends = Moody.script.pop(0)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(reply))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply)
        self.close_connection = bool(ends)

    def log_message(self, *_):
        pass


def answer(script, **settings):
    """Result or error of one request to a daemon that answers by the script, and how often it was asked."""
    Moody.script, Moody.asked = script, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Moody)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = attnd.Client(f"http://127.0.0.1:{server.server_address[1]}", **settings)
    try:
        return client.attention([[1]], [[1]], [[10]]), len(Moody.asked)
    except attnd.AttndError as error:
        return error, len(Moody.asked)
    finally:
        client.close()
        server.shutdown()
        server.server_close()


def file_of(value):
    text = json.dumps({"output": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}}).encode()
    return len(text).to_bytes(8, "little") + text + np.float32(value).tobytes()


def test_retries():
    good = (200, {}, file_of(10))
    busy = (503, {"Retry-After": "0"}, b'{"type": "urn:attnd:problem:busy", "detail": "busy"}')
    result, asked = answer([busy, busy, good])
    check("sent again until it is served", asked == 3 and result["output"].tolist() == [[10]], result)
    check("the same request", len({body for _, body in Moody.asked}) == 1)
    error, asked = answer([busy] * 9)
    check("but not for ever", asked == 4 and isinstance(error, attnd.ServerError) and error.type == "busy" and error.status == 503)
    error, asked = answer([busy] * 9, retries=0)
    check("or not at all", asked == 1 and isinstance(error, attnd.ServerError))
    error, asked = answer([(503, {}, b"<html>no</html>"), good])
    check("nor where the reply does not say so", asked == 1 and error.status == 503 and "<html>" in error.detail, error)
    start = time.monotonic()
    _, asked = answer([(503, {"Retry-After": "1"}, b"{}"), good], api_key="sesame")
    check("after the time that it says", asked == 2 and time.monotonic() - start >= 1)
    check("with the key", {key for key, _ in Moody.asked} == {"Bearer sesame"})
    error, asked = answer([(500, {}, b'{"type": "urn:attnd:problem:internal", "detail": "a bug"}')])
    check("a bug is no reason to", asked == 1 and error.type == "internal")


def test_connections():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"

        def start(*options):
            daemon = subprocess.Popen([PROGRAM, "--listen", f"unix:{path}", *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            daemon.stdout.readline()
            return daemon

        def stop(daemon):
            daemon.terminate()
            return daemon.wait(timeout=30)

        daemon = start()
        client = attnd.Client(f"unix:{path}")
        first = client.attention([[1]], [[1]], [[10]])
        stop(daemon)
        daemon = start()
        second = client.attention([[1]], [[1]], [[20]])
        check("a path, and a connection that was closed meanwhile", (first["output"][0, 0], second["output"][0, 0]) == (10, 20))
        stop(daemon)
        daemon = start("--max-body", "1M")
        error = raises(attnd.RequestError, lambda: attnd.Client(f"unix:{path}").attention(*[np.ones((9, 99999))] * 3))
        check("refused before all was sent", error and error.limit == {"name": "max-body", "value": 1 << 20}, error)
        stop(daemon)
        check("a daemon that is gone", raises(attnd.ConnectionFailed, lambda: client.attention([[1]], [[1]], [[1]])) is not None)


def test_threads():
    wrong = []

    def ask(number):
        for _ in range(5):
            if attnd.attention([[1]], [[1]], [[number]])["output"][0, 0] != number:
                wrong.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check("threads share the module's client", not wrong, wrong)


def test_package():
    check("it comes from the wheel", "site-packages" in attnd.__file__ and Path(attnd.__file__).with_name("py.typed").exists(), attnd.__file__)
    check("versions agree", attnd.__version__ == (TOP / "VERSION").read_text(encoding="utf-8").strip())
    public = [attnd.attention, attnd.merge, attnd.Client.attention, attnd.Client.merge, attnd.Client.__init__, attnd.Client.close]
    typed = [set(inspect.signature(f).parameters) - {"self"} <= set(typing.get_type_hints(f)) for f in public]
    check("every argument has a type", all(typed), typed)
    del os.environ["ATTND_URL"]
    check("the default address", attnd.Client()._transport.url == "http://localhost:8080")


test_arrays()
test_fields()
test_merge()
test_errors()
test_retries()
test_connections()
test_threads()
test_package()
finish()
