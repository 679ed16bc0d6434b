#!/usr/bin/env python3
"""requests, numpy and safetensors against a running daemon, as a program without a tensor library would use it. Prints TAP.

    tests/clients/numpy_safetensors.py HOST:PORT"""
import gzip
import json
import sys

import numpy as np
import requests
import safetensors.numpy

sys.path.insert(0, __file__.rpartition("/")[0])
from tap import check, finish  # noqa: E402 (the folder of this script is not on the path of every runner)

TYPE = "application/x-safetensors"
URL = f"http://{sys.argv[1]}/attention"
rng = np.random.default_rng(4)


def attention(q, k, v):
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights @ v.astype(np.float64), weights


def send(tensors, fields=None, accept=TYPE, **options):
    metadata = None if fields is None else {"request": json.dumps(fields)}
    body = safetensors.numpy.save(tensors, metadata)
    return requests.post(URL, data=body, headers={"Content-Type": TYPE, "Accept": accept}, timeout=60, **options)


def close(got, want, tolerance=2e-6):
    return got.shape == want.shape and bool(np.abs(got - want).max() <= tolerance)


def test_round_trip():
    q, k, v = (rng.standard_normal((2, 3, 7, 16), np.float32) for _ in range(3))
    reply = send({"query": q, "key": k, "value": v})
    got = safetensors.numpy.load(reply.content)
    output, weights = attention(q, k, v)
    check("type", reply.headers["Content-Type"] == TYPE and reply.status_code == 200)
    check("output and weights", sorted(got) == ["output", "weights"] and close(got["output"], output) and
          close(got["weights"], weights))
    as_json = send({"query": q, "key": k, "value": v}, accept="application/json").json()
    check("the same as JSON, bit by bit", np.array_equal(np.array(as_json["output"], np.float32), got["output"]))
    nested = {"query": q.tolist(), "key": k.tolist(), "value": v.tolist()}
    reply = requests.post(URL, json=nested, headers={"Accept": TYPE}, timeout=60)
    check("JSON in, file out", np.array_equal(safetensors.numpy.load(reply.content)["output"], got["output"]))


def test_dtypes():
    q, k, v = (rng.standard_normal((5, 8)) for _ in range(3))
    got = safetensors.numpy.load(send({"query": q, "key": k, "value": v}, {"precision": "float64"}).content)
    check("float64", got["output"].dtype == np.float64 and close(got["output"], attention(q, k, v)[0], 1e-12))
    half = [x.astype(np.float16) for x in (q, k, v)]
    got = safetensors.numpy.load(send(dict(zip(("query", "key", "value"), half))).content)
    check("float16 in, float32 out", got["output"].dtype == np.float32 and close(got["output"], attention(*half)[0]))
    mask = np.tril(np.ones((5, 5), bool))
    got = safetensors.numpy.load(send({"query": q, "key": k, "value": v, "mask": mask}).content)
    check("booleans", bool((got["weights"][~mask] == 0).all()) and bool((got["weights"][mask] > 0).all()))
    got = safetensors.numpy.load(send({"query": q[None], "key": k[None], "value": v[None], "key_lengths": np.array([2])}).content)
    check("lengths", bool((got["weights"][..., 2:] == 0).all()))


def test_projections():
    x, w, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((6, 4), (4, 4), (4,)))
    names = ("projection.query.weight", "projection.key.weight", "projection.value")
    tensors = {"x": x, "projection.query.bias": b, **dict.fromkeys(names, w)}
    got = safetensors.numpy.load(send(tensors, {"return": ["query", "value"]}).content)
    check("projections", close(got["query"], x @ w.T + b, 1e-5) and close(got["value"], x @ w.T, 1e-5))


def test_large_and_compressed():
    q, k, v = (rng.standard_normal((1000, 300), np.float32) for _ in range(3))
    body = gzip.compress(safetensors.numpy.save({"query": q, "key": k, "value": v}), 1)
    reply = requests.post(URL, data=body, timeout=60,
                          headers={"Content-Type": TYPE, "Content-Encoding": "gzip", "Accept": "application/json"})
    check("a reply in gzip", reply.headers.get("Content-Encoding") == "gzip")  # requests asks for it unless told otherwise
    check("a request in gzip", close(np.array(reply.json()["output"]), attention(q, k, v)[0], 1e-5))


def test_errors():
    reply = send({"query": np.zeros((2, 2), np.float32)})
    check("problem+json", reply.status_code == 422 and reply.headers["Content-Type"] == "application/problem+json")
    reply = send({"querry": np.zeros((2, 2), np.float32)})
    check("the nearest name", "query" in reply.json()["detail"] and reply.json()["pointer"] == "/querry")


for test in (test_round_trip, test_dtypes, test_projections, test_large_and_compressed, test_errors):
    test()
finish()
