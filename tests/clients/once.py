#!/usr/bin/env python3
"""attnd --once beside a running daemon: the same bytes for the documents' examples, and what pipes and scripts rely on. Prints TAP.

    tests/clients/examples.py | ATTND_BIN=build/attnd tests/clients/once.py HOST:PORT"""
import json
import os
import subprocess
import sys

import numpy as np
import requests
import safetensors.numpy

sys.path.insert(0, __file__.rpartition("/")[0])
from tap import check, finish  # noqa: E402 (the folder of this script is not on the path of every runner)

TYPE = "application/x-safetensors"
URL = f"http://{sys.argv[1]}"
PROGRAM = os.environ["ATTND_BIN"]
SMALL = {"query": [[1, 0], [0, 1]], "key": [[1, 0], [0, 1]], "value": [[10], [20]]}
STATUS_OF = {200: 0, 400: 1, 413: 1, 415: 1, 422: 1, 503: 3}


def once(body, *options, **settings):
    return subprocess.run([PROGRAM, *options], input=body, capture_output=True, timeout=60, check=False, **settings)


def check_same(name, path, body, **headers):
    """The daemon's bytes, and the exit status that goes with its status."""
    reply = requests.post(URL + path, data=body, headers={"Accept-Encoding": "identity", **headers}, timeout=60)
    options = [part for header, value in headers.items() for part in (f"--{header.lower()}", value)]
    run = once(body, "--once" if path == "/attention" else f"--once={path}", *options)
    same = run.stdout == reply.content and run.returncode == STATUS_OF[reply.status_code] and run.stderr == b""
    check(f"{name}: {reply.status_code}", same, run)


def test_same():
    for example in json.load(sys.stdin):
        check_same(example["name"], example["path"], json.dumps(example["request"]).encode())
    tensors = {name: np.array(value, np.float32) for name, value in SMALL.items()}
    file = safetensors.numpy.save(tensors, {"request": '{"causal": true}'})
    json_body = json.dumps(SMALL).encode()
    check_same("a file in and out", "/attention", file, **{"Content-Type": TYPE, "Accept": TYPE})
    check_same("JSON in, a file out", "/attention", json_body, Accept=TYPE)
    check_same("a file without its type", "/attention", file)
    check_same("a type that is not read", "/attention", json_body, **{"Content-Type": "text/csv"})
    check_same("nothing", "/attention", b"")
    large = json.dumps({"seed": 1, "x": {"shape": [600, 8]}, "projection": "identity"}).encode()
    check_same("a reply of megabytes", "/attention", large)
    wide = json.dumps({"query": np.ones((5000, 32)).tolist(), "key": SMALL["key"], "value": SMALL["value"]}).encode()
    check_same("a request of megabytes that is wrong", "/attention", wide)


def test_statuses():
    body = json.dumps(SMALL).encode()
    run = once(body, "--once", "--max-body", "1K", "--threads", "2")
    check("options count", run.returncode == 0, run)
    run = once(body + b" " * 1024, "--once", "--max-body", "1K")
    check("a request over --max-body", run.returncode == 1 and json.loads(run.stdout)["limit"]["name"] == "max-body", run)
    with open("/dev/full", "wb") as full:
        run = subprocess.run([PROGRAM, "--once"], input=body, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    check("no space for the reply", run.returncode == 3 and b"cannot write the reply" in run.stderr, run)
    folder = os.open("/", os.O_RDONLY)
    run = subprocess.run([PROGRAM, "--once"], stdin=folder, capture_output=True, timeout=60, check=False)
    os.close(folder)
    check("no request to read", run.returncode == 3 and b"cannot read the request" in run.stderr, run)
    for wrong in (["--once=/nowhere"], ["--accept", TYPE], ["--once", "--content-type"], ["--once", "--threads", "none"]):
        run = once(body, *wrong)
        check(f"{wrong} is a wrong option", run.returncode == 2 and run.stdout == b"" and run.stderr.startswith(b"attnd: "), run)
    run = once(body, env={**os.environ, "ATTND_ONCE": "/attention", "ATTND_LISTEN": "no address"})
    check("the environment cannot turn a daemon into a filter", run.returncode == 2 and b"no address" in run.stderr, run)


def test_pipes():
    writer = subprocess.Popen([PROGRAM, "--once"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for part in (b'{"query": [[1]], ', b'"key": [[1]], ', b'"value": [[10]]}'):
        writer.stdin.write(part)
        writer.stdin.flush()
    output, _ = writer.communicate(timeout=60)
    check("a request in pieces", writer.returncode == 0 and json.loads(output)["output"] == [[10.0]], output)


test_same()
test_statuses()
test_pipes()
finish()
